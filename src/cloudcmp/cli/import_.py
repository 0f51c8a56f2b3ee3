"""`cloudcmp import`: makes a study of another tool's measurements."""

from typing import Annotated

import typer

from cloudcmp.cli.options import AllowBlocks, Json, Out, option
from cloudcmp.cli.output import emit, say
from cloudcmp.model.metric import Better


def import_(
    files: Annotated[
        list[str],
        typer.Argument(help="A tidy table, or output files of a tool: FILE or OFFERING=FILE.", show_default=False),
    ],
    out: Out = None,
    format_: Annotated[str | None, option("--format", "Format of the files; default: by content.", "WORD")] = None,
    offering: Annotated[str | None, option("--offering", "Offering that a tool's files measured.", "NAME")] = None,
    provider: Annotated[str | None, option("--provider", "Provider of that offering.", "NAME")] = None,
    region: Annotated[str | None, option("--region", "Region of that offering.", "NAME")] = None,
    allow_blocks: AllowBlocks = False,
    better: Annotated[
        Better | None, option("--better", "Direction of metrics for which a table has no column better.")
    ] = None,
    name: Annotated[str | None, option("--name", "Name of the study; default: the file's.")] = None,
    json: Json = False,
) -> None:
    """Make a study of another tool's measurements.

    Reads a tidy table, which needs only offering, metric, unit and value; output files of benchmarks such as fio,
    sysbench, hyperfine or k6, each file one launch; samples of PerfKitBenchmarker (see: cloudcmp list tools); and a
    folder that `cloudcmp export --bundle` wrote.

    Example: cloudcmp import results.csv

    Example: cloudcmp import small=a1.json small=a2.json large=b1.json
    """
    from cloudcmp.app.import_ import import_files
    from cloudcmp.app.tool_files import ImportOptions

    imported = import_files(files, out, name, ImportOptions(format_, offering, provider, region, allow_blocks, better))
    if json:
        emit("import", {"folder": imported.folder, "values": imported.values}, imported.notes)
        return
    for line in imported.notes:
        say(line)
    say(f"{imported.values} values; next: cloudcmp compare {imported.folder}")
    say(str(imported.folder))
