"""`cloudcmp report`: writes a study's report."""

from typing import Annotated

import typer

from cloudcmp.cli.options import (
    Anonymise,
    Figures,
    Folder,
    IncludeIds,
    Json,
    OutFile,
    Purchase,
    Reprice,
    WhatIf,
    check_hidden,
    purchase_of,
)
from cloudcmp.cli.output import emit, say, warn


def report(
    folder: Folder,
    out: OutFile = None,
    figures: Figures = None,
    reprice: Reprice = False,
    purchase: Purchase = None,
    terms: WhatIf = None,
    include_ids: IncludeIds = False,
    anonymise: Anonymise = False,
    open_: Annotated[bool, typer.Option("--open", help="Open the report in the browser.")] = False,
    json: Json = False,
) -> None:
    """Write a study's report as one HTML file.

    The file runs no script and loads nothing. Pseudonyms replace public addresses, account and instance ids.

    Example: cloudcmp report cloudcmp-studies/demo-20260105T000000Z --figures figures
    """
    from cloudcmp.app.report import report as report_study

    check_hidden(include_ids=include_ids, anonymise=anonymise)
    written = report_study(folder, out, figures, reprice=reprice, purchase=purchase_of(purchase), terms=terms,
                           include_ids=include_ids, anonymise=anonymise)  # fmt: skip
    if json:
        emit("report", {"report": written.path, "figures": written.figures}, written.view.warnings)
    else:
        say(str(written.path))
    if open_:
        import webbrowser

        if not webbrowser.open(written.path.resolve().as_uri()):
            warn("no browser was found: open the file yourself")
