"""Verbs that plan and measure: run, demo, plan."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from cloudcmp.cli.confirmation import confirmation
from cloudcmp.cli.interruption import EXIT_INTERRUPTED, leave_now
from cloudcmp.cli.options import Adopt, All, Figures, Json, On, Out, Short, Terms
from cloudcmp.cli.output import EXIT_DONE, EXIT_FAULT, console, emit, say, warn
from cloudcmp.errors import UserMistake

if TYPE_CHECKING:
    from cloudcmp.execute.teardown import Leave, RunEnd
    from cloudcmp.model.protocol import Progress
    from cloudcmp.units import Money

Seed = Annotated[
    int | None, typer.Option("--seed", help="Seed of the order and of simulated numbers.", show_default=False)
]

Yes = Annotated[
    bool,
    typer.Option("--yes", help="Do not ask: a study's commands may run on this machine, and on yours by SSH."),
]


def run(
    study: Annotated[Path | None, typer.Argument(help="A study file; none: this machine.", show_default=False)] = None,
    resume: Annotated[
        Path | None, typer.Option("--resume", metavar="DIR", help="Go on with a study.", show_default=False)
    ] = None,
    on: On = None,
    short: Short = False,
    seed: Seed = None,
    out: Out = None,
    work: Annotated[
        Path | None, typer.Option("--dir", help="Where test files are made, on local.", show_default=False)
    ] = None,
    budget: Annotated[
        str | None,
        typer.Option("--budget", help="With --resume: spend up to this, e.g. '10 USD'.", show_default=False),
    ] = None,
    terms: Terms = None,
    wait: Annotated[bool, typer.Option("--wait", help="Sleep until the study's next session opens.")] = False,
    adopt: Adopt = False,
    figures: Figures = None,
    every: All = False,
    yes: Yes = False,
    json: Json = False,
) -> int:
    """Measure what a study asks; without a study, this machine.

    This machine takes about two minutes: one, half and all of its processors against each other. Commands that a study
    brings for this machine, or for one that you reach by SSH, are shown and confirmed once.

    Example: cloudcmp run studies/deval-2017.yaml --on simulated --short
    """
    from cloudcmp.app import plan as planning
    from cloudcmp.app import run as running

    confirm = confirmation(yes=yes, json=json)
    if resume is not None:
        if study is not None or on or short or seed is not None or out is not None or terms is not None:
            raise UserMistake.at(
                "cloudcmp run", "--resume goes on with the study as it was planned", "give only its folder"
            )
        ending = running.resume(
            resume,
            work=work,
            wait=wait,
            progress=_progress(json),
            leave=_leaving("run", json),
            budget=_money("--budget", budget),
            adopt=adopt,
            confirm=confirm,
        )
    else:
        if adopt:
            raise UserMistake.at("--adopt", "it belongs to --resume", "add --resume DIR, or leave it out")
        if budget is not None:
            raise UserMistake.at("--budget", "a study has its own", "write it in the study: budget: 10 USD")
        plan_, text = planning.plan_file(study, on=on, short=short, seed=seed, terms=terms)
        folder, leave = running.new_folder(plan_, out), _leaving("run", json)
        ending = running.start(
            plan_, text, folder, work=work, wait=wait, progress=_progress(json), leave=leave, confirm=confirm,
            study=str(study or ""),
        )  # fmt: skip
    # This machine is measured to be looked at: nothing of it is hidden.
    return _ended("run", ending, figures, json, every=every or (study is None and resume is None))


def demo(
    seed: Seed = None,
    out: Out = None,
    figures: Figures = None,
    every: All = False,
    json: Json = False,
) -> int:
    """Compare three simulated clouds whose truth is planted.

    Over compute, storage, network and wide area, in seconds; the report names the planted winners.

    Example: cloudcmp demo --seed 7
    """
    from cloudcmp.app import plan as planning
    from cloudcmp.app import run as running

    plan_, text = planning.plan_demo(seed=seed)
    folder, leave = running.new_folder(plan_, out), _leaving("demo", json)
    ending = running.start(plan_, text, folder, work=None, wait=False, progress=_progress(json), leave=leave)
    return _ended("demo", ending, figures, json, every=every)


def _money(option: str, text: str | None) -> "Money | None":
    from cloudcmp.units import parse_money

    try:
        return None if text is None else parse_money(text)
    except ValueError as error:
        raise UserMistake.at(option, str(error), "write e.g. 10 USD") from error


def _progress(json: bool) -> "Progress":
    """Who is told how it goes: standard error, so that standard output holds only the answer."""
    from cloudcmp.report.progress import Silence, progress_on

    return Silence() if json else progress_on(sys.stderr)


def _leaving(verb: str, json: bool) -> "Leave":
    """Tells what is left, and ends the process: its threads may wait for clouds that do not answer."""

    def leave(ending: "RunEnd") -> NoReturn:
        try:
            _unfinished(verb, ending, json)
        finally:
            leave_now()

    return leave


def _unfinished(verb: str, ending: "RunEnd", json: bool) -> None:
    """Say why a study is not finished, what is left of it, and how to go on."""
    for line in ending.left:
        warn(f"left: {line}")
    if ending.left:
        warn(f"end it with: cloudcmp cleanup {ending.folder}")
    if json:
        data = {"folder": ending.folder, "finished": False, "reason": ending.reason, "report": None}
        emit(verb, {**data, "left": ending.left})
        return
    say(ending.reason)
    say(f"go on with: cloudcmp run --resume {ending.folder}")


def _ended(verb: str, ending: "RunEnd", figures: Path | None, json: bool, *, every: bool) -> int:
    """Show what a measuring verb came to: the tables and the report's path as the last line."""
    if not ending.finished:
        _unfinished(verb, ending, json)
        if ending.interrupted and not ending.left:
            return EXIT_INTERRUPTED
        return EXIT_FAULT if ending.left or ending.fault else EXIT_DONE
    for line in ending.left:
        warn(f"left: {line}; end it with: cloudcmp cleanup {ending.folder}")
    # Only now, for it takes a while: whoever interrupts it knows already what is left.
    from cloudcmp.app import study_view as viewing
    from cloudcmp.report import terminal

    if not json:
        warn("comparing, and writing the report")
    view = viewing.view(ending.folder)
    path = viewing.write_report(view, ending.folder / "report.html")
    if figures is not None:
        viewing.write_figures(view, figures)
    if json:
        data = {
            "folder": ending.folder,
            "finished": True,
            "reason": "",
            "report": path,
            "left": ending.left,
        } | viewing.as_data(view)
        emit(verb, data, view.warnings)
    else:
        terminal.show(console(), view, exploratory="brief" if every else "hidden")
        say(str(path))
    return EXIT_FAULT if ending.left else EXIT_DONE


def plan(
    study: Annotated[Path, typer.Argument(help="A study file, or a study's folder.", show_default=False)],
    on: On = None,
    short: Short = False,
    seed: Seed = None,
    terms: Terms = None,
    json: Json = False,
) -> None:
    """Say what a study would take, and what it could tell apart.

    Trials, hours, expected and worst-case money line by line, the smallest difference that it would find, and every
    line that a shell would get.

    Example: cloudcmp plan studies/cloudcmp-2010.yaml
    """
    from cloudcmp.app import command_uses as commands
    from cloudcmp.app import plan as planning

    if study.is_dir():
        if on or short or seed is not None or terms is not None:
            raise UserMistake.at("cloudcmp plan", "a study's folder holds its plan as it is", "give only the folder")
        plan_ = planning.plan_stored(study)
    else:
        plan_, _ = planning.plan_file(study, on=on, short=short, seed=seed, terms=terms)
    if json:
        emit("plan", planning.as_data(plan_), plan_.quote.notes)
        return
    from cloudcmp.report import terminal

    terminal.show_plan(console(), plan_)
    terminal.show_commands(console(), commands.commands(plan_), commands.notice(plan_))
    terminal.show_safeguards(console(), planning.safeguards(plan_))
