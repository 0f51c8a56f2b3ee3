"""The verb that shows what there is: list."""

from collections.abc import Sequence
from enum import StrEnum
from typing import Annotated, Any

import typer

from cloudcmp.cli.options import Json
from cloudcmp.cli.output import console, emit, warn


class Kind(StrEnum):
    """What can be listed."""

    PROVIDERS = "providers"
    OFFERINGS = "offerings"
    PRICES = "prices"
    PROBES = "probes"
    SUITES = "suites"
    METRICS = "metrics"
    STUDIES = "studies"


def list_(
    kind: Annotated[Kind, typer.Argument(help="What to list.", show_default=False)],
    name: Annotated[str | None, typer.Argument(help="Only this one, in full.", show_default=False)] = None,
    json: Json = False,
) -> None:
    """Show what there is to choose from.

    Providers, offerings, prices, probes, suites, metrics and studies; with a name, one of them in full.

    Example: cloudcmp list offerings simulated
    """
    from cloudcmp.pipeline import inventory

    columns, rows = inventory.table(kind.value, name)
    left_out = inventory.unasked(kind.value, name)
    if json:
        emit("list", {"kind": kind.value, "rows": _records(columns, rows)}, left_out)
        return
    from cloudcmp.report.table import table

    table(console(), columns, rows)
    for line in left_out:
        warn(line)


def _records(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> list[dict[str, Any]]:
    return [dict(zip(columns, row, strict=True)) for row in rows]
