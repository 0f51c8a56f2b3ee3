"""`cloudcmp export`: writes a study's values as a table."""

from typing import Annotated

from cloudcmp.cli.options import Folder, IncludeIds, Json, OutFile, option
from cloudcmp.cli.output import emit, say


def export(
    folder: Folder,
    out: OutFile = None,
    format_: Annotated[
        str | None, option("--format", "Format of the table; default: by the file's suffix.", "csv|parquet")
    ] = None,
    include_ids: IncludeIds = False,
    json: Json = False,
) -> None:
    """Write a study's values as one tidy table.

    Without --out, writes CSV to standard output. Pseudonyms replace public addresses, account and instance ids.

    Example: cloudcmp export cloudcmp-studies/demo-20260105T000000Z --out demo.parquet
    """
    from cloudcmp.app.export import export as export_study
    from cloudcmp.app.export import rows
    from cloudcmp.store.output_files import is_standard_output

    if out is not None and not json and is_standard_output(out):
        out, format_ = None, format_ or "csv"
    if json and out is None:
        emit("export", rows(folder, include_ids=include_ids))
        return
    written = export_study(folder, out, format_, include_ids=include_ids)
    if json:
        emit("export", {"path": out, "rows": written})
    elif out is not None:
        say(str(out))
