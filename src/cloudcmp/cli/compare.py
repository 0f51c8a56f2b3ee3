"""`cloudcmp compare`: compares a study's candidates."""

from cloudcmp.cli.options import All, Folder, Json, Metric, Purchase, Reprice, WhatIf, purchase_of
from cloudcmp.cli.output import console, emit


def compare(
    folder: Folder,
    metric: Metric = None,
    every: All = False,
    reprice: Reprice = False,
    purchase: Purchase = None,
    terms: WhatIf = None,
    json: Json = False,
) -> None:
    """Compare a study's candidates.

    Each deciding cell (measurement) gets a verdict; the answer follows in words.

    `--metric` selects what is shown; verdicts are still corrected for all tests of the study.

    Example: cloudcmp compare cloudcmp-studies/demo-20260105T000000Z --metric rtt_s
    """
    from cloudcmp.app.compare import compare as compare_study

    view = compare_study(folder, metric, reprice=reprice, purchase=purchase_of(purchase), terms=terms)
    if json:
        from cloudcmp.report import documents

        emit("compare", documents.comparison(view), view.warnings)
        return
    from cloudcmp.report import comparison, first_screen

    if metric or every:
        comparison.show(console(), view, exploratory="full" if metric else "brief")
    else:
        first_screen.show_first(console(), view, folder)
