"""`cloudcmp start`: five questions, then a first study."""

import shlex
import shutil
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cloudcmp.cli.options import Anonymise, Json, Quiet, option
from cloudcmp.cli.output import console, emit, say, warn
from cloudcmp.errors import CloudcmpError, Fault, RefusedAnswer, UserMistake

if TYPE_CHECKING:
    from cloudcmp.model.start import Answers, CloudAccess, FetchedPrices, StarterStudy


def start(
    purpose: Annotated[str | None, option("--for", "Purpose of the machines.", "web|batch|database|general")] = None,
    users: Annotated[
        str | None,
        option("--users", "europe, us, asia, australia, south-america, or a country or city near one.", "PLACE"),
    ] = None,
    size: Annotated[
        str | None, option("--size", "small, medium, large, xlarge, or vCPUs/GiB such as 2/8.", "SIZE")
    ] = None,
    matters: Annotated[
        str | None,
        option("--matters", "Some of cpu, memory, disk, network, scaling, price; with commas.", "LIST"),
    ] = None,
    budget: Annotated[str | None, option("--budget", "Limit of the worst-case cost.", "'20 USD'")] = None,
    yes: Annotated[
        bool, typer.Option("--yes", help="Do not ask: use the default of each option that is not given.")
    ] = False,
    out: Annotated[Path, typer.Option("--out", metavar="FILE", help="The study file to write.")] = Path("start.yaml"),
    fetch: Annotated[
        bool | None, option("--fetch/--no-fetch", "Fetch price lists first, of clouds with credentials, else of all.")
    ] = None,
    anonymise: Anonymise = False,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Ask five questions, then write a study file and show its quote and list prices.

    Creates no machines and spends nothing. Without credentials of a cloud, the study uses three simulated clouds.

    Example: cloudcmp start --for web --users europe --yes
    """
    from cloudcmp.app import start as study_start
    from cloudcmp.app.settings import with_currency
    from cloudcmp.study import questions

    budget = budget and with_currency(budget)
    given = {"--for": purpose, "--users": users, "--size": size, "--matters": matters, "--budget": budget}
    interactive = not yes and not json and sys.stdin.isatty() and sys.stdout.isatty()
    chosen, open_, assumed = _check_given({name: text for name, text in given.items() if text is not None}, out,
                                          interactive=interactive, yes=yes)  # fmt: skip
    interactive = interactive and bool(open_)
    report = (lambda _: None) if json or quiet or anonymise else warn
    for line in assumed:
        report(line)
    if interactive:
        _open()
    try:
        for name in open_ if interactive else ():
            chosen[name] = _ask(name, questions.default_of(name, chosen))
    except (KeyboardInterrupt, UserMistake):
        if chosen:
            _line("To go on with these answers:",
                  shlex.join(["cloudcmp", "start", *(word for pair in chosen.items() for word in pair)]))  # fmt: skip
        raise
    clouds = study_start.detect_clouds()
    if fetch is None and interactive and not anonymise:
        fetch = _fetch_now(questions.answers(chosen), clouds)
    missing = study_start.missing_price_lists(questions.answers(chosen), clouds, fetch)
    fetched = tuple(study_start.fetch_price_lists(missing, report))
    found = _make(chosen, out, clouds, report, interactive=interactive)
    if anonymise:
        from cloudcmp.report.anonymous_answers import anonymous_start

        found, fetched = anonymous_start(found, fetched)
    if json:
        from cloudcmp.report import documents
        from cloudcmp.report.first_study import fetched_line

        faults = [fetched_line(one) for one in fetched if one.fault]
        emit("start", documents.started(found, fetched), [*assumed, *faults, *found.left_out])
        return
    _show(found, fetched)


def _open() -> None:
    """Say what the questions lead to, before the first one."""
    _line("Five questions lead to a study file that compares machines of your clouds, or of simulated ones. "
          "Nothing is created and nothing is spent. Enter takes the answer in brackets.")  # fmt: skip


def _make(
    chosen: dict[str, str], out: Path, clouds: "tuple[CloudAccess, ...]", report: Callable[[str], None], *,
    interactive: bool,
) -> "StarterStudy":  # fmt: skip
    """The study; at a terminal, a refused answer is asked again, and all others are kept."""
    from cloudcmp.app import start as study_start
    from cloudcmp.study import questions

    while True:
        try:
            return study_start.start(questions.answers(chosen), out, clouds, report)
        except RefusedAnswer as refused:
            if not interactive:
                raise
            (fault,) = refused.faults
            say()
            _line(f"{fault.what}; {fault.next}.")
            _ask_again(fault.where, refused.instead, chosen)


def _show(found: "StarterStudy", fetched: "tuple[FetchedPrices, ...]") -> None:
    from cloudcmp.report import first_study
    from cloudcmp.report.table import Head, table

    for one in found.seen:
        _line(": ".join(filter(None, (one.provider, "usable" if one.usable else "not used", one.text))))
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
    for line in (*first_study.written_lines(found), *first_study.summary_lines(found)):
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


def _check_given(
    given: dict[str, str], out: Path, *, interactive: bool, yes: bool
) -> tuple[dict[str, str], list[str], list[str]]:
    """The answers that options give, the options of the open questions, and lines on what was assumed.

    Raises UserMistake with every fault at once: wrong answers, open questions that nobody can be asked, and the file.
    """
    from cloudcmp.app.start import check_new_file
    from cloudcmp.study import questions

    chosen: dict[str, str] = {}
    assumed = []
    faults = []
    for name, text in given.items():
        try:
            answer = questions.understood(name, text)
            chosen[name] = answer.text
            assumed += [f"{name}: {answer.assumed}"] if answer.assumed else []
        except ValueError as wrong:
            what, _, next_ = str(wrong).partition("; ")
            faults.append(Fault(name, what, next_ or "see 'cloudcmp start --help'"))
    open_ = [one.option for one in questions.QUESTIONS if one.option not in given]
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
    return chosen, open_, assumed


def _ask(option: str, default: str, also: str = "") -> str:
    """The answer to one question, asked until it is valid; an empty line is the default, `also` another answer."""
    from cloudcmp.app.settings import with_currency
    from cloudcmp.study import questions

    question = next(one for one in questions.QUESTIONS if one.option == option)
    say()
    say(question.words)
    _hint(f"{question.explained}, or {also} to answer that question again" if also else question.explained)
    while True:
        line = _typed(f"{_INDENT}[{default}] ")
        if also and line.lower() == also:
            return also
        try:
            answer = questions.understood(
                option, with_currency(line or default) if option == "--budget" else line or default
            )
        except ValueError as wrong:
            _hint(str(wrong))
            continue
        if answer.assumed:
            _hint(answer.assumed)
        return answer.text


def _ask_again(option: str, default: str, chosen: dict[str, str]) -> None:
    """Ask a question whose answer was refused; too small a budget can also be met by smaller machines."""
    answer = _ask(option, default, "size" if option == "--budget" else "")
    if answer == "size":
        option, answer = "--size", _ask("--size", chosen["--size"])
    chosen[option] = answer


_INDENT = "    "


def _hint(text: str) -> None:
    """Print an indented text, wrapped at words."""
    say(
        textwrap.fill(
            text,
            _width(),
            initial_indent=_INDENT,
            subsequent_indent=_INDENT,
            break_long_words=False,
            break_on_hyphens=False,
        )
    )


def _fetch_now(answers: "Answers", clouds: "tuple[CloudAccess, ...]") -> bool:
    """Ask whether to fetch missing price lists now; the default is yes if any cloud is usable."""
    from cloudcmp.app.start import missing_price_lists

    usable = any(one.usable for one in clouds)
    missing = missing_price_lists(answers, clouds, None if usable else True)
    if not missing:
        return False
    places = ", ".join(f"{name} {region}" for name, region in missing)
    say()
    say("Fetch price lists now?")
    _hint(f"They show what such machines cost: {places}; hundreds of MB for aws")
    while True:
        line = _typed(f"{_INDENT}[{'Y/n' if usable else 'y/N'}] ").lower()
        if line in {"", "y", "yes", "n", "no"}:
            say()
            return line.startswith("y") or (usable and not line)
        _hint("answer y or n")


def _width() -> int:
    return max(20, shutil.get_terminal_size().columns - 1)


def _typed(prompt: str) -> str:
    """A line from the terminal."""
    try:
        sys.stdout.write(prompt)
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
