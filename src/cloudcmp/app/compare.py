"""Compares the candidates of a study."""

from dataclasses import replace
from pathlib import Path

from cloudcmp import answer
from cloudcmp.app.study_view import cell_names, view
from cloudcmp.catalog import hint
from cloudcmp.errors import UserMistake
from cloudcmp.model.price import Purchase
from cloudcmp.model.view import View


def compare(
    folder: Path, metric: str | None = None, *, reprice: bool = False, purchase: Purchase | None = None,
    terms: Path | None = None,
) -> View:  # fmt: skip
    """Compare a study's candidates, in one metric or cell if given; raises UserMistake and CorruptStore like `view`."""
    whole = view(folder, reprice=reprice, purchase=purchase, terms=terms, drawn=False)
    return whole if metric is None else only(whole, metric)


def only(shown: View, metric: str) -> View:
    """Return the view with one cell, or all cells of a metric; verdicts stay those of the whole family.

    Raises UserMistake if the study has no such cell.
    """
    cells = {one.cell for one in shown.analysis.estimates}
    kept = {cell for cell in cells if _named(cell, metric)}
    if not kept:
        nearest = hint(metric, cells | {cell.split(" ", 1)[0] for cell in cells}, "cloudcmp compare DIR")
        raise UserMistake.at("--metric", f"the study has no cell {metric!r}", nearest)
    whole = shown.analysis
    some = replace(
        whole,
        estimates=tuple(one for one in whole.estimates if one.cell in kept),
        comparisons=whole.comparisons.only(kept),
        money=whole.money.only(kept),
        winners=tuple(one for one in whole.winners if one.cell in kept),
        money_winners=tuple(one for one in whole.money_winners if one.cell in kept),
        outlooks=tuple(one for one in whole.outlooks if one.cell in kept),
    )
    words = answer.in_words(shown.plan, some, shown.metrics, cell_names(some.estimates))
    scaling = tuple(one for one in shown.scaling if one.cell in kept)
    return replace(shown, analysis=replace(some, answer=words), scaling=scaling)


def _named(cell: str, wanted: str) -> bool:
    """True if a metric, or a metric with some parameters, names the cell; as in a study's `decide`."""
    name, _, params = wanted.strip().partition(" ")
    metric, _, known = cell.partition(" ")
    return name == metric and set(filter(None, params.split(";"))) <= set(known.split(";"))
