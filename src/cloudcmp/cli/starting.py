"""The verb with which people begin: start."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from cloudcmp.cli.options import Json
from cloudcmp.cli.output import console, emit, say, warn
from cloudcmp.errors import UserMistake


def start(
    purpose: Annotated[
        str | None,
        typer.Option("--for", metavar="web|batch|database|general", help="What a machine is for.", show_default=False),
    ] = None,
    users: Annotated[
        str | None,
        typer.Option("--users", metavar="PLACE", help="europe, us, asia, australia or south-america.",
                     show_default=False),
    ] = None,
    size: Annotated[
        str | None,
        typer.Option("--size", metavar="SIZE", help="small, medium, large, xlarge, or vCPUs/GiB such as 2/8.",
                     show_default=False),
    ] = None,
    matters: Annotated[
        str | None,
        typer.Option("--matters", metavar="LIST", help="Of cpu, memory, disk, network, scaling; with commas.",
                     show_default=False),
    ] = None,
    budget: Annotated[
        str | None, typer.Option("--budget", metavar="'20 USD'", help="The worst that it may cost.", show_default=False)
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Ask nothing: take the default of what is not given.")] = False,
    out: Annotated[Path, typer.Option("--out", metavar="FILE", help="The study file to write.")] = Path("start.yaml"),
    json: Json = False,
) -> None:  # fmt: skip
    """Five questions, then a study file with its quote and what price lists say.

    Nothing is created and nothing is spent. Without credentials of a cloud the study is of three simulated ones.

    Example: cloudcmp start --for web --users europe --yes
    """
    from cloudcmp.pipeline import starting
    from cloudcmp.study import starter

    given = {"--for": purpose, "--users": users, "--size": size, "--matters": matters, "--budget": budget}
    starting.check_free(out)
    told = _answered({option: text for option, text in given.items() if text is not None}, yes=yes, json=json)
    answers = starter.answers(told)
    found = starting.start(answers, out, starting.look(), (lambda _: None) if json else warn)
    if json:
        emit("start", starting.as_data(found), found.left_out)
        return
    from cloudcmp.report import terminal

    for seen in found.seen:
        terminal.say(console(), f"{seen.provider}: {'usable' if seen.usable else 'not used'}: {seen.text}")
    if found.cheapest:
        say()
        heads, rows = starting.prices_table(found.cheapest)
        terminal.table(
            console(), [*heads[:3], terminal.Head(heads[3]), heads[4]], rows,
            title="The cheapest of that size near the users, by price list, not measured",
        )  # fmt: skip
    for name, region in found.unlisted:
        terminal.say(console(), f"no price list tells of this size on {name}: cloudcmp fetch {name} --region {region}")
    say()
    for line in (f"written: {found.path}", *starting.told_of(found)):
        terminal.say(console(), line)
    say("next:")
    for line in starting.next_commands(found):
        say(f"  {line}")


def _answered(given: dict[str, str], *, yes: bool, json: bool) -> dict[str, str]:
    """The answers by their options: those given, and those typed where somebody is there to be asked."""
    from cloudcmp.study import starter

    told: dict[str, str] = {}
    for question in starter.QUESTIONS:
        if question.option in given:
            try:
                told[question.option] = starter.checked(question.option, given[question.option])
            except ValueError as wrong:
                raise UserMistake.at(question.option, str(wrong), "see 'cloudcmp start --help'") from None
    left = [one for one in starter.QUESTIONS if one.option not in told]
    if not left or yes:
        return told
    if json or not (sys.stdin.isatty() and sys.stdout.isatty()):
        options = ", ".join(one.option for one in left)
        raise UserMistake.at("cloudcmp start", "nobody is there to be asked", f"give {options}, or --yes")
    for question in left:
        told[question.option] = _asked(
            question.option, question.prompt(starter.default_of(question.option, told)), told
        )
    return told


def _asked(option: str, prompt: str, told: dict[str, str]) -> str:
    """What was typed for one question, asked again until it is an answer; nothing typed is the default."""
    from cloudcmp.study import starter

    while True:
        sys.stdout.write(prompt)
        sys.stdout.flush()
        line = sys.stdin.readline()
        if not line:
            say()
            raise UserMistake.at("cloudcmp start", "the answers ended", "begin again, or give the options")
        try:
            return starter.checked(option, line.strip() or starter.default_of(option, told))
        except ValueError as wrong:
            say(f"  {wrong}")
