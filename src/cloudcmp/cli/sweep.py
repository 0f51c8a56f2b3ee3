"""`cloudcmp sweep`: finds leftovers of any study by their tags."""

from typing import TYPE_CHECKING, Annotated

import typer

from cloudcmp.cli.interruption import leaving
from cloudcmp.cli.options import Json, option
from cloudcmp.cli.output import EXIT_DONE, EXIT_FAULT, emit, say, warn

if TYPE_CHECKING:
    from cloudcmp.model.leftover import SweepResult


def sweep(
    providers: Annotated[
        list[str] | None, typer.Argument(metavar="[PROVIDER...]", help="None: all providers.", show_default=False)
    ] = None,
    study: Annotated[str | None, option("--study", "Only this study's, also before they expire.", "TAG")] = None,
    delete: Annotated[bool, typer.Option("--delete", help="Destroy what is due; else it is only told.")] = False,
    json: Json = False,
) -> int:
    """Find leftovers of any study by their tags, from any machine.

    A dry run, but for --delete. Destroyed is only what bears our tags and has expired, or whose study is named.

    A dry run asks all providers at once. One that has not listed all after 180 s was not listed: exit code 3.

    Example: cloudcmp sweep aws
    """
    from cloudcmp.app.sweep import sweep_providers

    def show_interrupted(swept: "SweepResult") -> None:
        _show(swept, delete, json)
        if not json:
            next_ = "; give the same command once more" if delete else ": nothing was destroyed"
            say(f"interrupted{next_}")

    swept = sweep_providers(
        providers or [], study=study, delete=delete, leave=leaving(show_interrupted), say=None if json else warn
    )
    _show(swept, delete, json)
    return EXIT_DONE if swept.complete else EXIT_FAULT


def _show(swept: "SweepResult", delete: bool, json: bool) -> None:
    """Print the result on standard output, and what is wrong on standard error."""
    from cloudcmp.report import documents, leftovers

    if json:
        emit("sweep", documents.sweep(swept, delete=delete))
        return
    for line in (*leftovers.lines(swept), *leftovers.summary_lines(swept, delete=delete)):
        say(line)
    for line in leftovers.faults(swept):
        warn(line)
