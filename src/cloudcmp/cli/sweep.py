"""`cloudcmp sweep`: finds leftovers of any study by their tags."""

from typing import TYPE_CHECKING, Annotated

import typer

from cloudcmp.cli.interruption import leaving
from cloudcmp.cli.options import Ca, Json, Quiet, option, trust_also
from cloudcmp.cli.output import EXIT_DONE, EXIT_FAULT, emit, say, warn

if TYPE_CHECKING:
    from cloudcmp.model.leftover import SweepResult


def sweep(
    providers: Annotated[
        list[str] | None, typer.Argument(metavar="[PROVIDER...]", help="None: all providers.", show_default=False)
    ] = None,
    study: Annotated[
        str | None, option("--study", "Only this study's leftovers, even before they expire.", "TAG")
    ] = None,
    delete: Annotated[
        bool, typer.Option("--delete", help="Destroy leftovers that are due; default: only list them.")
    ] = False,
    ca: Ca = None,
    quiet: Quiet = False,
    json: Json = False,
) -> int:
    """Find leftovers of any study by their tags, from any machine.

    Dry run unless --delete is given. Destroys only resources with cloudcmp's tags that have expired or belong to
    --study.

    A dry run queries all providers at once. If one has not listed everything after 180 s, the exit code is 3.

    Example: cloudcmp sweep aws
    """
    from cloudcmp.app.sweep import sweep_providers

    def show_interrupted(swept: "SweepResult") -> None:
        _show(swept, delete, json)
        if not json:
            next_ = "; run the same command again" if delete else ": nothing was destroyed"
            say(f"interrupted{next_}")

    trust_also(ca)
    swept = sweep_providers(
        providers or [],
        study=study,
        delete=delete,
        leave=leaving(show_interrupted),
        say=None if json or quiet else warn,
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
