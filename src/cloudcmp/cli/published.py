"""`cloudcmp published`: recomputes the figures of published studies."""

from typing import Annotated

import typer

from cloudcmp.cli.options import Json
from cloudcmp.cli.output import console, emit


def published(
    document: Annotated[str | None, typer.Argument(help="A document; default: all.", show_default=False)] = None,
    every: Annotated[bool, typer.Option("--all", help="Also show the figures that follow.")] = False,
    json: Json = False,
) -> None:
    """Recompute the figures of published studies.

    Shows each printed figure that does not follow next to the recomputed one, and every sentence that does not follow.

    Example: cloudcmp published deval-2017
    """
    from cloudcmp.app.published import recompute

    results = recompute(document)
    if json:
        emit("published", results)
        return
    from cloudcmp.report.published import print_published

    for result in results:
        print_published(console(), result, every=every)
