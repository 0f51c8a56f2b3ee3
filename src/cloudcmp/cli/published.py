"""`cloudcmp published`: recomputes the figures of published studies."""

from typing import Annotated

import typer

from cloudcmp.cli.options import Json, OutFile
from cloudcmp.cli.output import console, emit, say


def published(
    document: Annotated[str | None, typer.Argument(help="A document; default: all.", show_default=False)] = None,
    every: Annotated[bool, typer.Option("--all", help="Also show the figures that follow.")] = False,
    sessions: Annotated[bool, typer.Option("--sessions", help="Show what its sessions can bear out.")] = False,
    out: OutFile = None,
    json: Json = False,
) -> None:
    """Recompute the figures of published studies.

    Shows each printed figure that does not follow next to the recomputed one, and every sentence that does not follow.
    With --sessions, weighs the printed values of a document's sessions: intervals, Welch's test of all pairs after
    Holm, and which conclusions stand. --out writes these values as a table that import reads.

    Example: cloudcmp published deval-2017
    """
    from cloudcmp.app.published import recompute, write_sessions
    from cloudcmp.app.published import sessions as sessions_of

    if sessions or out is not None:
        evidence = sessions_of(document)
        written = None if out is None else write_sessions(evidence, out)
        if json:
            emit("published", evidence)
        elif sessions:
            from cloudcmp.report.published_sessions import print_sessions

            print_sessions(console(), evidence, every=every)
        if out is not None and not json:
            say(f"{written} values; next: cloudcmp import {out}")
        return
    results = recompute(document)
    if json:
        emit("published", results)
        return
    from cloudcmp.report.published import print_published

    for result in results:
        print_published(console(), result, every=every)
