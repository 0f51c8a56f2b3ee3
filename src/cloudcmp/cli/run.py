"""`cloudcmp run` and `cloudcmp demo`: measure a study, this machine, or three simulated clouds."""

import math
import os
import pwd
import shlex
import shutil
import sys
import time
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cloudcmp.cli.interruption import EXIT_INTERRUPTED, leaving
from cloudcmp.cli.options import Adopt, All, Ca, Figures, Json, On, Out, Quiet, Seed, Short, Terms, option, trust_also
from cloudcmp.cli.output import EXIT_DONE, EXIT_FAULT, console, emit, say, warn, warn_left
from cloudcmp.errors import UserMistake

if TYPE_CHECKING:
    from cloudcmp.execute.teardown import Leave, RunEnd
    from cloudcmp.model.protocol import Progress
    from cloudcmp.units import Money

Yes = Annotated[
    bool,
    typer.Option("--yes", help="Do not ask before a study's commands run on this machine or on yours by SSH."),
]


def run(
    study: Annotated[
        Path | None, typer.Argument(help="A study file; default: this machine.", show_default=False)
    ] = None,
    resume: Annotated[Path | None, option("--resume", "Resume the study in this folder.", "DIR")] = None,
    on: On = None,
    short: Short = False,
    seed: Seed = None,
    out: Out = None,
    work: Annotated[Path | None, option("--dir", "Folder for test files on local.")] = None,
    budget: Annotated[str | None, option("--budget", "With --resume: the new total budget, e.g. '10 USD'.")] = None,
    more: Annotated[int | None, option("--more", "With --resume: add rounds to a study that has ended.", "N")] = None,
    terms: Terms = None,
    wait: Annotated[bool, typer.Option("--wait", help="Sleep until the study's next session opens.")] = False,
    until: Annotated[
        str | None, option("--until", "Wait for rounds, and start none from this time on.", "YYYY-MM-DD[THH:MM]")
    ] = None,
    timer: Annotated[
        bool, typer.Option("--timer", help="With --resume: print a systemd timer that continues the study.")
    ] = False,
    adopt: Adopt = False,
    ca: Ca = None,
    figures: Figures = None,
    every: All = False,
    yes: Yes = False,
    quiet: Quiet = False,
    json: Json = False,
) -> int:
    """Measure a study; without a study file, this machine.

    Measuring this machine takes about two minutes and compares one, half and all of its processors. A study's commands
    on this machine, or on a machine that you reach by SSH, are shown and confirmed once.

    Example: cloudcmp run studies/deval-2017.yaml --on simulated --short
    """
    from cloudcmp.app import run as study_run
    from cloudcmp.app.plan import plan_file
    from cloudcmp.app.study_folder import new_folder

    if timer:
        return _show_timer(resume, json=json)
    trust_also(ca)
    last = _time(until)
    wait = wait or until is not None
    confirm = confirmation(yes=yes, json=json)
    if resume is not None:
        if study is not None or on or short or seed is not None or out is not None or terms is not None:
            raise UserMistake.at(
                "cloudcmp run", "--resume continues the study as it was planned", "give only its folder"
            )
        ending = study_run.resume(
            resume,
            work=work,
            wait=wait,
            progress=_progress(json=json, quiet=quiet),
            leave=_leaving("run", json),
            budget=_money("--budget", budget),
            more=more,
            adopt=adopt,
            confirm=confirm,
            until=last,
        )
    else:
        if adopt:
            raise UserMistake.at("--adopt", "needs --resume", "add --resume DIR, or leave it out")
        if more is not None:
            raise UserMistake.at("--more", "adds rounds to a study that has ended", "add --resume DIR")
        if budget is not None:
            raise UserMistake.at(
                "--budget", "a new study has its own budget", "write it into the study: budget: 10 USD"
            )
        plan, text = plan_file(study, on=on, short=short, seed=seed, terms=terms)
        folder, leave = new_folder(plan.name, out), _leaving("run", json)
        ending = study_run.start(
            plan, text, folder, work=work, wait=wait, progress=_progress(json=json, quiet=quiet), leave=leave,
            confirm=confirm, study=str(study or ""), until=last,
        )  # fmt: skip
    return _ended("run", ending, figures, json, every=every, quiet=quiet)


def _time(typed: str | None) -> float:
    """A day or time of this machine's zone, or of the zone that it names, as Unix time; infinite if none is typed."""
    if typed is None:
        return math.inf
    try:
        at = datetime.fromisoformat(typed).timestamp()
    except ValueError:
        raise UserMistake.at("--until", f"{typed!r} is no time", "write e.g. 2026-03-01T18:00") from None
    if at <= time.time():
        raise UserMistake.at("--until", f"{typed} is past", "name a later time")
    return at


def _show_timer(folder: Path | None, *, json: bool) -> int:
    """Print the unit files of a study's timer, and how to install them."""
    if folder is None:
        raise UserMistake.at("--timer", "continues a study", "run its first round, then add --resume DIR")
    from cloudcmp.app.run import timer
    from cloudcmp.report.timer import units

    found = timer(folder)
    files = units(found, shutil.which("cloudcmp") or str(Path(sys.argv[0]).absolute()))
    if json:
        emit("run", {"folder": found.folder, "units": files})
        return EXIT_DONE
    for name, text in files.items():
        say(f"# ~/.config/systemd/user/{name}")
        say(text)
    name = next(iter(files)).removesuffix(".service")
    say(f"# systemctl --user daemon-reload && systemctl --user enable --now {name}.timer")
    say(f"# At its end: systemctl --user disable --now {name}.timer")
    return EXIT_DONE


def demo(
    seed: Seed = None,
    out: Out = None,
    figures: Figures = None,
    every: All = False,
    quiet: Quiet = False,
    json: Json = False,
) -> int:
    """Compare three simulated clouds whose true values are planted.

    Compares compute, storage, network and wide area, in seconds, and shows what was planted below what was found.

    Example: cloudcmp demo --seed 7
    """
    from cloudcmp.app import run as study_run
    from cloudcmp.app.plan import plan_demo
    from cloudcmp.app.study_folder import new_folder

    plan, text = plan_demo(seed=seed)
    folder, leave = new_folder(plan.name, out), _leaving("demo", json)
    ending = study_run.start(
        plan, text, folder, work=None, wait=False, progress=_progress(json=json, quiet=quiet), leave=leave
    )
    return _ended("demo", ending, figures, json, every=every, quiet=quiet)


def _money(option: str, typed: str | None) -> "Money | None":
    from cloudcmp.app.settings import with_currency
    from cloudcmp.units import parse_money

    try:
        return None if typed is None else parse_money(with_currency(typed))
    except ValueError as error:
        raise UserMistake.at(option, str(error), "write e.g. 10 USD") from error


def _progress(*, json: bool, quiet: bool) -> "Progress":
    """Progress on standard error, so that standard output holds only the answer."""
    from cloudcmp.report.progress import Silence, progress_on

    return Silence() if json else progress_on(sys.stderr, quiet=quiet)


def _leaving(verb: str, json: bool) -> "Leave":
    return leaving(lambda ending: _show_unfinished(verb, ending, json))


def _show_unfinished(verb: str, ending: "RunEnd", json: bool) -> None:
    """Print why a study is not finished, what is left of it, and how to resume it."""
    warn_left(ending.left, ending.folder)
    if json:
        from cloudcmp.report import documents

        emit(verb, documents.run(ending.folder, ending.left, reason=ending.reason))
        return
    say(ending.reason)
    say(f"go on with: cloudcmp run --resume {ending.folder}")


def _ended(verb: str, ending: "RunEnd", figures: Path | None, json: bool, *, every: bool, quiet: bool) -> int:
    """Show the result of a measuring verb: the tables, and the report's path as the last line."""
    if not ending.finished:
        _show_unfinished(verb, ending, json)
        if ending.interrupted and not ending.left:
            return EXIT_INTERRUPTED
        return EXIT_FAULT if ending.left or ending.fault else EXIT_DONE
    for line in ending.left:
        warn(f"left: {line}; end it with: cloudcmp cleanup {ending.folder}")
        # Leftovers are shown first, because this takes a while and may be interrupted.
    from cloudcmp.app.report import report
    from cloudcmp.report import comparison, documents, first_screen

    if not json and not quiet:
        warn("comparing, and writing the report")
    written = report(ending.folder, figures=figures)
    if json:
        data = documents.run(ending.folder, ending.left, report=written.path) | documents.comparison(written.view)
        emit(verb, data, written.view.warnings)
    else:
        if every:
            comparison.show(console(), written.view, exploratory="brief")
        else:
            first_screen.show_first(console(), written.view, shlex.quote(str(ending.folder)), planted=verb == "demo")
        say(str(written.path))
    return EXIT_FAULT if ending.left else EXIT_DONE


if TYPE_CHECKING:
    from cloudcmp.app.confirmation import Confirm, ConfirmationRequest


def confirmation(*, yes: bool, json: bool) -> "Confirm":
    """Confirms commands by `--yes`, else by asking at the terminal; refuses if there is no terminal.

    Questions go to standard error, so that standard output holds only the answer.
    """

    def confirm(request: "ConfirmationRequest") -> bool:
        if not yes and (json or not (sys.stdin.isatty() and sys.stderr.isatty())):
            what = f"it runs commands {request.where}, and there is no terminal to confirm them"
            raise UserMistake.at(request.study, what, f"look at them with '{request.look}', then add --yes")
        if not json:
            _show(request)
        return yes or _agrees(f"Run these commands {_places(request.where)}? [y/N] ")

    return confirm


def _show(request: "ConfirmationRequest") -> None:
    from rich.console import Console

    from cloudcmp.report.command_lines import show_commands

    show_commands(Console(stderr=True, highlight=False), request.uses)


def _places(where: str) -> str:
    return where.replace(", as you", f" as {_user()}")


def _user() -> str:
    try:
        return pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        return f"user {os.geteuid()}"


def _agrees(question: str) -> bool:
    """True if the typed line says yes; the end of the input means no."""
    try:
        sys.stderr.write(question)
        sys.stderr.flush()
        line = sys.stdin.readline()
    except KeyboardInterrupt:
        sys.stderr.write("\n")  # the fault that follows gets its own line
        raise
    if not line:
        sys.stderr.write("\n")
    return line.strip().lower() in {"y", "yes"}
