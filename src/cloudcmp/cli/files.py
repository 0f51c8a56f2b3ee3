"""Verbs that exchange tables with other tools: export, import."""

from pathlib import Path
from typing import Annotated

import typer

from cloudcmp.cli.options import Folder, IncludeIds, Json, Out
from cloudcmp.cli.output import emit, say


def export(
    folder: Folder,
    out: Out = None,
    format_: Annotated[
        str | None, typer.Option("--format", metavar="csv|parquet", help="Kind of table; else the file's ending tells.")
    ] = None,
    include_ids: IncludeIds = False,
    json: Json = False,
) -> None:
    """Write a study's values as one tidy table.

    Without --out as CSV to standard output. Public addresses, account and instance ids have pseudonyms.

    Example: cloudcmp export cloudcmp-studies/demo-20260105T000000Z --out demo.parquet
    """
    from cloudcmp.pipeline import exchange

    if json and out is None:
        emit("export", exchange.rows(folder, include_ids=include_ids))
        return
    written = exchange.export(folder, out, format_, include_ids=include_ids)
    if json:
        emit("export", {"path": out, "rows": written})
    elif out is not None:
        say(str(out))


def import_(
    table: Annotated[Path, typer.Argument(help="A tidy table, CSV or Parquet.", show_default=False)],
    out: Out = None,
    name: Annotated[
        str | None, typer.Option("--name", help="The study's name; else the file's.", show_default=False)
    ] = None,
    json: Json = False,
) -> None:
    """Make a study of a tidy table of another tool.

    Only offering, metric, unit and value must be there. Example: cloudcmp import results.csv
    """
    from cloudcmp.pipeline import exchange

    folder, values, warnings = exchange.import_table(table, out, name)
    if json:
        emit("import", {"folder": folder, "values": values}, warnings)
        return
    for line in warnings:
        say(line)
    say(f"{values} values; next: cloudcmp compare {folder}")
    say(str(folder))
