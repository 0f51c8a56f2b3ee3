"""`cloudcmp start`: five questions, then a first study."""

import shutil
import sys
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cloudcmp.cli.options import Json, Quiet, option
from cloudcmp.cli.output import console, emit, say, warn
from cloudcmp.errors import CloudcmpError, Fault, UserMistake

if TYPE_CHECKING:
    from cloudcmp.model.start import Answers, CloudAccess, FetchedPrices, StarterStudy


def start(
    purpose: Annotated[str | None, option("--for", "Purpose of the machines.", "web|batch|database|general")] = None,
    users: Annotated[
        str | None, option("--users", "Place of the users: europe, us, asia, australia or south-america.", "PLACE")
    ] = None,
    size: Annotated[
        str | None, option("--size", "small, medium, large, xlarge, or vCPUs/GiB such as 2/8.", "SIZE")
    ] = None,
    matters: Annotated[
        str | None, option("--matters", "Some of cpu, memory, disk, network, scaling, separated by commas.", "LIST")
    ] = None,
    budget: Annotated[str | None, option("--budget", "Limit of the worst-case cost.", "'20 USD'")] = None,
    yes: Annotated[
        bool, typer.Option("--yes", help="Do not ask: use the default of each option that is not given.")
    ] = False,
    out: Annotated[Path, typer.Option("--out", metavar="FILE", help="The study file to write.")] = Path("start.yaml"),
    fetch: Annotated[
        bool | None, option("--fetch/--no-fetch", "Fetch price lists first, of clouds with credentials, else of all.")
    ] = None,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Ask five questions, then write a study file and show its quote and list prices.

    Creates no machines and spends nothing. Without credentials of a cloud, the study uses three simulated clouds.

    Example: cloudcmp start --for web --users europe --yes
    """
    from cloudcmp.app import start as study_start
    from cloudcmp.app.settings import with_currency
    from cloudcmp.study import starter

    budget = budget and with_currency(budget)
    given = {"--for": purpose, "--users": users, "--size": size, "--matters": matters, "--budget": budget}
    interactive = not yes and not json and sys.stdin.isatty() and sys.stdout.isatty()
    chosen, open_ = _check_given({name: text for name, text in given.items() if text is not None}, out,
                                 interactive=interactive, yes=yes)  # fmt: skip
    interactive = interactive and bool(open_)
    for name in open_ if interactive else ():
        chosen[name] = _ask(name, chosen)
    answers = starter.answers(chosen)
    report = (lambda _: None) if json or quiet else warn
    clouds = study_start.detect_clouds()
    if fetch is None and interactive:
        fetch = _fetch_now(answers, clouds)
    missing = study_start.missing_price_lists(answers, clouds, fetch)
    fetched = tuple(study_start.fetch_price_lists(missing, report))
    found = study_start.start(answers, out, clouds, report)
    if json:
        from cloudcmp.report import documents
        from cloudcmp.report.first_study import fetched_line

        faults = [fetched_line(one) for one in fetched if one.fault]
        emit("start", documents.started(found, fetched), [*faults, *found.left_out])
        return
    _show(found, fetched)


def _show(found: "StarterStudy", fetched: "tuple[FetchedPrices, ...]") -> None:
    from cloudcmp.report import first_study
    from cloudcmp.report.table import Head, table

    for one in found.seen:
        _line(f"{one.provider}: {'usable' if one.usable else 'not used'}: {one.text}")
    for list_ in fetched:
        _line(first_study.fetched_line(list_))
    if found.cheapest:
        say()
        heads, rows = first_study.prices_table(found.cheapest)
        table(
            console(), [*heads[:3], Head(heads[3]), heads[4]], rows,
                        title="The cheapest of that size near the users, by list price, not measured",
        )  # fmt: skip
    here = {one.provider for one in fetched if not one.fault}
    for name, region in found.unlisted:
        if name in here:
            _line(f"the price list of {name} has no price of this size in {region}")
        else:
            _line(f"no price list has this size on {name}:", f"cloudcmp fetch {name} --region {region}")
    say()
    for line in (f"written: {found.path}", *first_study.summary_lines(found)):
        _line(line)
    say("next:")
    for line in first_study.next_commands(found):
        say(f"  {line}")


def _line(text: str, command: str = "") -> None:
    """Print a line that fits the terminal; a command at its end gets its own line if it would be wrapped."""
    from cloudcmp.report import table

    out = console()
    before, found, after = text.partition("cloudcmp ")
    if found and not command and len(text) > out.width:
        text, command = before.rstrip(), found + after
    table.say(out, text)
    if command:
        say(f"  {command}")


def _check_given(given: dict[str, str], out: Path, *, interactive: bool, yes: bool) -> tuple[dict[str, str], list[str]]:
    """The answers that options give, and the options of the open questions.

    Raises UserMistake with every fault at once: wrong answers, open questions that nobody can be asked, and the file.
    """
    from cloudcmp.app.start import check_new_file
    from cloudcmp.study import starter

    chosen: dict[str, str] = {}
    faults = []
    for name, text in given.items():
        try:
            chosen[name] = starter.checked(name, text)
        except ValueError as wrong:
            what, _, next_ = str(wrong).partition("; ")
            faults.append(Fault(name, what, next_ or "see 'cloudcmp start --help'"))
    open_ = [one.option for one in starter.QUESTIONS if one.option not in given]
    if open_ and not interactive and not yes:
        faults.append(
            Fault("cloudcmp start", "there is no terminal to ask the questions", f"give {', '.join(open_)}, or --yes")
        )
    try:
        check_new_file(out)
    except CloudcmpError as fault:
        faults += fault.faults
    if faults:
        raise UserMistake(*faults)
    return chosen, open_


def _ask(option: str, chosen: dict[str, str]) -> str:
    """The answer to one question, asked until it is valid; an empty line is the default."""
    from cloudcmp.app.settings import with_currency
    from cloudcmp.study import starter

    question = next(one for one in starter.QUESTIONS if one.option == option)
    default = starter.default_of(option, chosen)
    while True:
        line = _typed(question.prompt(default))
        try:
            return starter.checked(option, with_currency(line or default) if option == "--budget" else line or default)
        except ValueError as wrong:
            _line(f"  {wrong}")


def _fetch_now(answers: "Answers", clouds: "tuple[CloudAccess, ...]") -> bool:
    """Ask whether to fetch missing price lists now; the default is yes if any cloud is usable."""
    from cloudcmp.app.start import missing_price_lists

    usable = any(one.usable for one in clouds)
    missing = missing_price_lists(answers, clouds, None if usable else True)
    if not missing:
        return False
    names = ", ".join(f"{name} {region}" for name, region in missing)
    while True:
        line = _typed(f"fetch prices now? ({names}; hundreds of MB for aws) [{'Y/n' if usable else 'y/N'}] ").lower()
        if line in {"", "y", "yes", "n", "no"}:
            return line.startswith("y") or (usable and not line)
        say("  answer y or n")


def _typed(prompt: str) -> str:
    """A line from the terminal; the prompt is wrapped at words."""
    width = shutil.get_terminal_size().columns
    lines = textwrap.wrap(prompt, max(20, width - 1), break_long_words=False, break_on_hyphens=False)
    try:
        sys.stdout.write("\n".join(lines) + " ")
        sys.stdout.flush()
        line = sys.stdin.readline()
    except KeyboardInterrupt:
        say()  # the fault that follows gets its own line
        sys.stdout.flush()
        raise
    if not line:
        say()
        raise UserMistake.at("cloudcmp start", "the input ended early", "start again, or give the options")
    return line.strip()
