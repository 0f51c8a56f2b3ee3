"""Verbs that plan and measure: run, demo, plan, cleanup."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cloudcmp.cli.options import All, Figures, Folder, Json, On, Out, Short
from cloudcmp.cli.output import EXIT_DONE, EXIT_FAULT, EXIT_INTERRUPTED, console, emit, say, warn
from cloudcmp.errors import UserMistake

if TYPE_CHECKING:
    from cloudcmp.model.protocol import Progress
    from cloudcmp.pipeline.running import Ending

Seed = Annotated[
    int | None, typer.Option("--seed", help="Seed of the order and of simulated numbers.", show_default=False)
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
    wait: Annotated[bool, typer.Option("--wait", help="Sleep until the study's next session opens.")] = False,
    figures: Figures = None,
    every: All = False,
    json: Json = False,
) -> int:
    """Measure what a study asks; without a study, this machine.

    This machine takes about two minutes: one, half and all of its processors against each other.

    Example: cloudcmp run studies/deval-2017.yaml --on simulated --short
    """
    from cloudcmp.pipeline import planning, running

    if resume is not None:
        if study is not None or on or short or seed is not None or out is not None:
            raise UserMistake.at(
                "cloudcmp run", "--resume goes on with the study as it was planned", "give only its folder"
            )
        ending = running.resume(resume, work=work, wait=wait, progress=_progress(json))
    else:
        plan_, text = planning.plan_file(study, on=on, short=short, seed=seed)
        ending = running.start(
            plan_, text, running.new_folder(plan_, out), work=work, wait=wait, progress=_progress(json)
        )
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
    from cloudcmp.pipeline import planning, running

    plan_, text = planning.plan_demo(seed=seed)
    ending = running.start(plan_, text, running.new_folder(plan_, out), work=None, wait=False, progress=_progress(json))
    return _ended("demo", ending, figures, json, every=every)


def _progress(json: bool) -> "Progress":
    """Who is told how it goes: standard error, so that standard output holds only the answer."""
    from rich.console import Console

    from cloudcmp.report.progress import LiveProgress, Silence

    return Silence() if json else LiveProgress(Console(stderr=True))


def _ended(verb: str, ending: "Ending", figures: Path | None, json: bool, *, every: bool) -> int:
    """Show what a measuring verb came to: the tables and the report's path as the last line."""
    from cloudcmp.pipeline import viewing
    from cloudcmp.report import terminal

    if not ending.finished:
        if json:
            emit(verb, {"folder": ending.folder, "finished": False, "reason": ending.reason, "report": None})
        else:
            say(ending.reason)
            say(f"go on with: cloudcmp run --resume {ending.folder}")
        return EXIT_INTERRUPTED if ending.interrupted else EXIT_DONE
    if not json:
        warn("comparing, and writing the report")
    view = viewing.view(ending.folder)
    path = viewing.write_report(view, ending.folder / "report.html")
    if figures is not None:
        viewing.write_figures(view, figures)
    if json:
        data = {"folder": ending.folder, "finished": True, "reason": "", "report": path} | viewing.as_data(view)
        emit(verb, data, view.warnings)
    else:
        terminal.show(console(), view, exploratory="brief" if every else "hidden")
        say(str(path))
    return EXIT_DONE


def plan(
    study: Annotated[Path, typer.Argument(help="A study file.", show_default=False)],
    on: On = None,
    short: Short = False,
    seed: Seed = None,
    json: Json = False,
) -> None:
    """Say what a study would take, and what it could tell apart.

    Trials, hours, expected and worst-case money, and the smallest difference that it would find.

    Example: cloudcmp plan studies/cloudcmp-2010.yaml
    """
    from cloudcmp.pipeline import planning

    plan_, _ = planning.plan_file(study, on=on, short=short, seed=seed)
    if json:
        emit("plan", planning.as_data(plan_), plan_.quote.notes)
        return
    from cloudcmp.report import terminal

    terminal.show_plan(console(), plan_)


def cleanup(folder: Folder, json: Json = False) -> int:
    """Destroy all that a study still owns, and say what is left.

    Example: cloudcmp cleanup cloudcmp-studies/demo-20260105T000000Z
    """
    from cloudcmp.pipeline import running

    destroyed, left = running.cleanup(folder)
    if json:
        emit("cleanup", {"destroyed": destroyed, "left": left})
    else:
        say(f"{len(destroyed)} destroyed, {len(left)} left")
        for line in left:
            warn(f"left: {line}")
    return EXIT_FAULT if left else EXIT_DONE
