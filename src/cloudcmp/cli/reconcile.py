"""`cloudcmp reconcile`: compares the estimate with the bill."""

from pathlib import Path
from typing import Annotated

from cloudcmp.cli.options import Adopt, Folder, Json, option
from cloudcmp.cli.output import EXIT_DONE, EXIT_NO, console, emit, warn
from cloudcmp.model.untrusted_text import one_line


def reconcile(
    folder: Folder,
    bill: Annotated[list[Path], option("--bill", "A file of the bill; may be repeated.", "FILE")],
    format_: Annotated[
        str | None, option("--format", "Format of the bill; default: by its columns.", "aws-cur|azure|gcp|focus")
    ] = None,
    adopt: Adopt = False,
    json: Json = False,
) -> int:
    """Compare the estimate with the provider's bill.

    Reads AWS Cost and Usage Reports, Azure cost exports, Google billing exports and FOCUS; CSV, gzip, Parquet, NDJSON.
    Exit code 1 if a resource was billed that the ledger does not know, or after its end.

    Example: cloudcmp reconcile cloudcmp-studies/demo-20260105T000000Z --bill focus.parquet
    """
    from cloudcmp.app.reconcile import reconcile as reconcile_study

    found = reconcile_study(folder, bill, format_, adopt=adopt, say=warn)
    if json:
        from cloudcmp.report import documents

        emit("reconcile", documents.reconciliation(found), found.notes)
    else:
        from cloudcmp.report import reconciliation
        from cloudcmp.report.table import Head, table
        from cloudcmp.report.table import say as say_wrapped

        heads, rows = reconciliation.table(found)
        table(console(), [heads[0], *map(Head, heads[1:])], rows)
        for line in reconciliation.summary_lines(found):
            say_wrapped(console(), line)
        for line in found.notes:
            say_wrapped(console(), f"note: {line}", "yellow")

        for line in found.alarms:
            warn(f"alarm: {one_line(line)}")
        if found.alarms:
            warn("look for leftovers with: cloudcmp sweep")
    return EXIT_NO if found.alarms else EXIT_DONE
