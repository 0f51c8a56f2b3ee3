"""Verbs that exchange tables with other tools: export, import."""

from typing import Annotated

import typer

from cloudcmp.cli.options import Folder, IncludeIds, Json, Out, OutFile
from cloudcmp.cli.output import emit, say


def export(
    folder: Folder,
    out: OutFile = None,
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
    from cloudcmp.app import exchange
    from cloudcmp.store.output_files import is_standard_output

    if out is not None and not json and is_standard_output(out):
        out, format_ = None, format_ or "csv"
    if json and out is None:
        emit("export", exchange.rows(folder, include_ids=include_ids))
        return
    written = exchange.export(folder, out, format_, include_ids=include_ids)
    if json:
        emit("export", {"path": out, "rows": written})
    elif out is not None:
        say(str(out))


def import_(
    files: Annotated[
        list[str],
        typer.Argument(help="A tidy table, or files that a tool wrote: FILE or OFFERING=FILE.", show_default=False),
    ],
    out: Out = None,
    format_: Annotated[
        str | None, typer.Option("--format", metavar="WORD", help="What the files are; else their content tells.")
    ] = None,
    offering: Annotated[
        str | None, typer.Option("--offering", metavar="NAME", help="Files of tools: what was measured.")
    ] = None,
    provider: Annotated[
        str | None, typer.Option("--provider", metavar="NAME", help="Files of tools: of which provider.")
    ] = None,
    region: Annotated[
        str | None, typer.Option("--region", metavar="NAME", help="Files of tools: in which region.")
    ] = None,
    name: Annotated[
        str | None, typer.Option("--name", help="The study's name; else the file's.", show_default=False)
    ] = None,
    json: Json = False,
) -> None:
    """Make a study of what another tool measured.

    A tidy table, in which only offering, metric, unit and value must be there; or the outputs of benchmarks such as
    fio, sysbench or UnixBench, each file a launch, and samples of PerfKitBenchmarker (cloudcmp list tools).

    Example: cloudcmp import results.csv

    Example: cloudcmp import small=a1.json small=a2.json large=b1.json
    """
    from cloudcmp.app import exchange
    from cloudcmp.app.tool_files import Asked

    folder, values, warnings = exchange.import_files(files, out, name, Asked(format_, offering, provider, region))
    if json:
        emit("import", {"folder": folder, "values": values}, warnings)
        return
    for line in warnings:
        say(line)
    say(f"{values} values; next: cloudcmp compare {folder}")
    say(str(folder))
