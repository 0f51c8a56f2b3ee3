"""The verb with which people begin: start."""

import shutil
import sys
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cloudcmp.cli.options import Json
from cloudcmp.cli.output import console, emit, say, warn
from cloudcmp.errors import CloudcmpError, Fault, UserMistake

if TYPE_CHECKING:
    from cloudcmp.app.first_prices import Brought
    from cloudcmp.app.start import Seen, Started
    from cloudcmp.study.starter import Answers


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
    fetch: Annotated[
        bool | None,
        typer.Option("--fetch/--no-fetch", help="Fetch price lists first: of clouds with credentials, else of all.",
                     show_default=False),
    ] = None,
    json: Json = False,
) -> None:  # fmt: skip
    """Five questions, then a study file with its quote and what price lists say.

    Nothing is created and nothing is spent. Without credentials of a cloud the study is of three simulated ones.

    Example: cloudcmp start --for web --users europe --yes
    """
    from cloudcmp.app import first_prices
    from cloudcmp.app import start as starting
    from cloudcmp.study import starter

    given = {"--for": purpose, "--users": users, "--size": size, "--matters": matters, "--budget": budget}
    asking = not yes and not json and sys.stdin.isatty() and sys.stdout.isatty()
    told, left = _given({option: text for option, text in given.items() if text is not None}, out, alone=not asking,
                        yes=yes)  # fmt: skip
    asking = asking and bool(left)
    for option in left if asking else ():
        told[option] = _asked(option, told)
    answers = starter.answers(told)
    quiet = (lambda _: None) if json else warn
    seen = starting.look()
    if fetch is None and asking:
        fetch = _fetch_now(answers, seen)
    brought = tuple(first_prices.bring(first_prices.wanted(answers, seen, fetch), quiet))
    found = starting.start(answers, out, seen, quiet)
    if json:
        faults = [one.line() for one in brought if one.fault]
        emit("start", {**starting.as_data(found), "fetched": brought}, [*faults, *found.left_out])
        return
    _show(found, brought)


def _show(found: "Started", brought: "tuple[Brought, ...]") -> None:
    from cloudcmp.app import start as starting
    from cloudcmp.report import terminal

    for one in found.seen:
        _line(f"{one.provider}: {'usable' if one.usable else 'not used'}: {one.text}")
    for list_ in brought:
        _line(list_.line())
    if found.cheapest:
        say()
        heads, rows = starting.prices_table(found.cheapest)
        terminal.table(
            console(), [*heads[:3], terminal.Head(heads[3]), heads[4]], rows,
            title="The cheapest of that size near the users, by price list, not measured",
        )  # fmt: skip
    here = {one.provider for one in brought if not one.fault}
    for name, region in found.unlisted:
        if name in here:
            _line(f"the price list of {name} tells no price of this size in {region}")
        else:
            _line(f"no price list tells of this size on {name}:", f"cloudcmp fetch {name} --region {region}")
    say()
    for line in (f"written: {found.path}", *starting.told_of(found)):
        _line(line)
    say("next:")
    for line in starting.next_commands(found):
        say(f"  {line}")


def _line(text: str, command: str = "") -> None:
    """A line that fits the terminal; a command at its end has a line of its own where it would be wrapped."""
    from cloudcmp.report import terminal

    out = console()
    before, found, after = text.partition("cloudcmp ")
    if found and not command and len(text) > out.width:
        text, command = before.rstrip(), found + after
    terminal.say(out, text)
    if command:
        say(f"  {command}")


def _given(given: dict[str, str], out: Path, *, alone: bool, yes: bool) -> tuple[dict[str, str], list[str]]:
    """The answers that were given by their options, and the options that were not.

    Raises UserMistake with all that is wrong at once: the answers, then what is missing where nobody can be asked, then
    the file to write.
    """
    from cloudcmp.app import start as starting
    from cloudcmp.study import starter

    told: dict[str, str] = {}
    faults = []
    for option, text in given.items():
        try:
            told[option] = starter.checked(option, text)
        except ValueError as wrong:
            what, _, next_ = str(wrong).partition("; ")
            faults.append(Fault(option, what, next_ or "see 'cloudcmp start --help'"))
    left = [one.option for one in starter.QUESTIONS if one.option not in given]
    if left and alone and not yes:
        faults.append(Fault("cloudcmp start", "nobody is there to be asked", f"give {', '.join(left)}, or --yes"))
    try:
        starting.check_free(out)
    except CloudcmpError as fault:
        faults += fault.faults
    if faults:
        raise UserMistake(*faults)
    return told, left


def _asked(option: str, told: dict[str, str]) -> str:
    """What was typed for one question, asked again until it is an answer; nothing typed is the default."""
    from cloudcmp.study import starter

    question = next(one for one in starter.QUESTIONS if one.option == option)
    default = starter.default_of(option, told)
    while True:
        line = _typed(question.prompt(default))
        try:
            return starter.checked(option, line or default)
        except ValueError as wrong:
            _line(f"  {wrong}")


def _fetch_now(answers: "Answers", seen: "tuple[Seen, ...]") -> bool:
    """Whether price lists are to be fetched now, if there are any to fetch; yes unless there are no credentials."""
    from cloudcmp.app import first_prices

    usable = any(one.usable for one in seen)
    missing = first_prices.wanted(answers, seen, None if usable else True)
    if not missing:
        return False
    names = ", ".join(f"{name} {region}" for name, region in missing)
    while True:
        line = _typed(f"fetch prices now? ({names}; hundreds of MB for aws) [{'Y/n' if usable else 'y/N'}] ").lower()
        if line in {"", "y", "yes", "n", "no"}:
            return line.startswith("y") or (usable and not line)
        say("  answer y or n")


def _typed(prompt: str) -> str:
    """A line that somebody types; the prompt is wrapped at words."""
    width = shutil.get_terminal_size().columns
    lines = textwrap.wrap(prompt, max(20, width - 1), break_long_words=False, break_on_hyphens=False)
    try:
        sys.stdout.write("\n".join(lines) + " ")
        sys.stdout.flush()
        line = sys.stdin.readline()
    except KeyboardInterrupt:
        say()  # what interrupts is told on a line of its own
        sys.stdout.flush()
        raise
    if not line:
        say()
        raise UserMistake.at("cloudcmp start", "the answers ended", "begin again, or give the options")
    return line.strip()
