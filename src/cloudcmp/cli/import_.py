"""`cloudcmp import`: makes a study of what another tool measured."""

from typing import Annotated

import typer

from cloudcmp.cli.options import Json, Out, option
from cloudcmp.cli.output import emit, say


def import_(
    files: Annotated[
        list[str],
        typer.Argument(help="A tidy table, or files that a tool wrote: FILE or OFFERING=FILE.", show_default=False),
    ],
    out: Out = None,
    format_: Annotated[str | None, option("--format", "What the files are; else their content tells.", "WORD")] = None,
    offering: Annotated[str | None, option("--offering", "Files of tools: what was measured.", "NAME")] = None,
    provider: Annotated[str | None, option("--provider", "Files of tools: of which provider.", "NAME")] = None,
    region: Annotated[str | None, option("--region", "Files of tools: in which region.", "NAME")] = None,
    name: Annotated[str | None, option("--name", "The study's name; else the file's.")] = None,
    json: Json = False,
) -> None:
    """Make a study of what another tool measured.

    A tidy table, in which only offering, metric, unit and value must be there; or the outputs of benchmarks such as
    fio, sysbench or UnixBench, each file a launch, and samples of PerfKitBenchmarker (cloudcmp list tools).

    Example: cloudcmp import results.csv

    Example: cloudcmp import small=a1.json small=a2.json large=b1.json
    """
    from cloudcmp.app.import_ import import_files
    from cloudcmp.app.tool_files import ImportOptions

    imported = import_files(files, out, name, ImportOptions(format_, offering, provider, region))
    if json:
        emit("import", {"folder": imported.folder, "values": imported.values}, imported.notes)
        return
    for line in imported.notes:
        say(line)
    say(f"{imported.values} values; next: cloudcmp compare {imported.folder}")
    say(str(imported.folder))
