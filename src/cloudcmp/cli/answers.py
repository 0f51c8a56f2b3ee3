"""Verbs that answer from what was measured: compare, report, published."""

from typing import TYPE_CHECKING, Annotated

import typer

from cloudcmp.cli.options import (
    All,
    Buying,
    Figures,
    Folder,
    IncludeIds,
    Json,
    Metric,
    OutFile,
    Purchase,
    Reprice,
    WhatIf,
)
from cloudcmp.cli.output import console, emit, say

if TYPE_CHECKING:
    from cloudcmp.model.price import Purchase as Way


def _bought(purchase: Buying | None) -> "Way | None":
    from cloudcmp.model.price import Purchase as Way

    return Way(purchase.value) if purchase else None


def compare(
    folder: Folder,
    metric: Metric = None,
    every: All = False,
    reprice: Reprice = False,
    purchase: Purchase = None,
    terms: WhatIf = None,
    json: Json = False,
) -> None:
    """Set a study's candidates against each other.

    Each cell that decides gets a verdict; the answer follows in words.

    `--metric` chooses what is shown; the family of tests that the verdicts are corrected for stays the study's.
    Example: cloudcmp compare cloudcmp-studies/demo-20260105T000000Z --metric rtt_s
    """
    from cloudcmp.app import study_view as viewing

    view = viewing.view(folder, reprice=reprice, purchase=_bought(purchase), terms=terms, drawn=False)
    shown = viewing.only(view, metric)
    if json:
        emit("compare", viewing.as_data(shown), view.warnings)
        return
    from cloudcmp.report import terminal

    terminal.show(console(), shown, exploratory="full" if metric else "brief" if every else "hidden")


def report(
    folder: Folder,
    out: OutFile = None,
    figures: Figures = None,
    reprice: Reprice = False,
    purchase: Purchase = None,
    terms: WhatIf = None,
    include_ids: IncludeIds = False,
    json: Json = False,
) -> None:
    """Write a study's report as one HTML file.

    It runs no script and loads nothing. Public addresses, account and instance ids have pseudonyms of the study's own.

    Example: cloudcmp report cloudcmp-studies/demo-20260105T000000Z --figures figures
    """
    from cloudcmp.app import study_view as viewing

    view = viewing.view(folder, reprice=reprice, include_ids=include_ids, purchase=_bought(purchase), terms=terms)
    path = viewing.write_report(view, out or folder / "report.html")
    written = viewing.write_figures(view, figures) if figures is not None else ()
    if json:
        emit("report", {"report": path, "figures": written}, view.warnings)
    else:
        say(str(path))


def published(
    document: Annotated[str | None, typer.Argument(help="A document; none: all of them.", show_default=False)] = None,
    every: Annotated[bool, typer.Option("--all", help="Show also the figures that follow.")] = False,
    json: Json = False,
) -> None:
    """Recompute what published studies print.

    Printed figures beside recomputed ones, and every figure and sentence that does not follow.

    Example: cloudcmp published deval-2017
    """
    from cloudcmp.app import published as recomputing

    results = recomputing.recompute(document)
    if json:
        emit("published", results)
        return
    from cloudcmp.report.recomputed import print_published

    for result in results:
        print_published(console(), result, every=every)
