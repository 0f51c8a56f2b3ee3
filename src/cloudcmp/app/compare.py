"""Compares the candidates of a study."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from cloudcmp.answer.requirement import Judgement, parse
from cloudcmp.answer.requirement import judge as judge_pair
from cloudcmp.answer.words import in_words
from cloudcmp.app.several import folders_of, side_by_side
from cloudcmp.app.study_view import cell_names, view
from cloudcmp.app.tool_files import ImportOptions
from cloudcmp.catalog import hint
from cloudcmp.errors import UserMistake
from cloudcmp.model.cell import Cell
from cloudcmp.model.price import Purchase
from cloudcmp.model.view import View
from cloudcmp.report.text import without_common


def compare(
    sources: Sequence[str], metric: str | None = None, *, reprice: bool = False, purchase: Purchase | None = None,
    terms: Path | None = None, all_pairs: bool = False, allow_blocks: bool = False, steadiness: bool = False,
    anonymise: bool = False,
) -> View:  # fmt: skip
    """Compare the candidates of one or more studies, in one metric or cell if given.

    A source is a study's folder, or a file that `import_files` can read. Raises UserMistake and CorruptStore like
    `view` and `side_by_side`, and UserMistake with every fault of a file.
    """
    with folders_of(sources, ImportOptions(allow_blocks=allow_blocks)) as folders:
        if len(folders) == 1:
            whole = view(folders[0], reprice=reprice, purchase=purchase, terms=terms, drawn=False, all_pairs=all_pairs,
                         allow_blocks=allow_blocks, steadiness=steadiness, anonymise=anonymise)  # fmt: skip
        else:
            whole = side_by_side(folders, reprice=reprice, purchase=purchase, terms=terms, all_pairs=all_pairs,
                                 allow_blocks=allow_blocks, steadiness=steadiness, anonymise=anonymise)  # fmt: skip
    return whole if metric is None else only(whole, metric)


def judge(shown: View, requirement: str) -> tuple[Judgement, ...]:
    """Judge a requirement such as `large not worse than small by 5 %` in each deciding cell, or in the ones it names.

    Raises UserMistake for a text that is no requirement, and for a candidate or cell that the study does not have.
    """
    try:
        wanted = parse(requirement)
    except ValueError as error:
        raise UserMistake.at("--assert", *str(error).split("; ", 1)) from None
    if wanted.cell is not None:
        shown = only(shown, wanted.cell)
    places = {_short: at for names in _names(shown) for at, _short in enumerate(names)}
    for name in (wanted.a, wanted.b):
        if name not in places:
            raise UserMistake.at(
                "--assert", f"the study has no candidate {name!r}", hint(name, places, "cloudcmp compare DIR")
            )
    a, b = places[wanted.a], places[wanted.b]
    if a == b:
        raise UserMistake.at("--assert", f"{wanted.a!r} is both candidates", "name two")
    judgements = []
    for cell in shown.analysis.comparisons.cells:
        pairs = shown.analysis.comparisons.of(cell)
        pair = pairs.between(a, b)
        if pair is not None and (pair.decides or wanted.cell is not None):
            judgements.append(judge_pair(wanted, shown.metrics[Cell.parse(cell).metric], pair, turned=pair.a != a))
    return tuple(judgements)


def _names(shown: View) -> tuple[list[str], list[str]]:
    """The whole names of the candidates, and those without their common parts, as screens show them."""
    whole = [one.id for one in shown.plan.candidates]
    return without_common(whole), whole


def only(shown: View, metric: str) -> View:
    """Return the view with one cell, or all cells of a metric; verdicts stay those of the whole family.

    Raises UserMistake if the study has no such cell.
    """
    cells = {one.cell for one in shown.analysis.estimates}
    kept = {cell for cell in cells if is_named(cell, metric)}
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
    words = in_words(shown.plan, some, shown.metrics, cell_names(some.estimates))
    scaling = tuple(one for one in shown.scaling if one.cell in kept)
    steadiness = shown.steadiness and shown.steadiness.only(kept)
    return replace(shown, analysis=replace(some, answer=words), scaling=scaling, steadiness=steadiness)


def is_named(cell: str, wanted: str) -> bool:
    """True if a metric, or a metric with some parameters, names the cell; as in a study's `decide`."""
    name, _, params = wanted.strip().partition(" ")
    metric, _, known = cell.partition(" ")
    return name == metric and set(filter(None, params.split(";"))) <= set(known.split(";"))
