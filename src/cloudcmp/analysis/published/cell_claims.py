"""Checks sentences about single cells: one predicate for each kind of claim, one table of kinds.

`Claim.cells` names the cells, each `table | column | row` with the row's short label. A ratio or a change follows if
some value lies within the rounding of the cells and of the stated figure; an order is that of the figures as printed.
"""

import itertools
import math
from collections.abc import Sequence
from typing import TypeVar

from cloudcmp.analysis.published.number import Number, along, figure, is_cut, printed, table_name
from cloudcmp.analysis.published.verdict import Finding, Predicate
from cloudcmp.published import Claim, Document
from cloudcmp.stats.describe import mean

T = TypeVar("T")
BETWEEN = " | "
"""Separates table, column and row in the name of a cell."""


def cell_text(document: Document, name: str) -> str:
    """The cell of a name, as printed; raises KeyError if there is none."""
    number, column, row = name.split(BETWEEN)
    return printed(document, document.table(number), column)[row]


def cell_is(document: Document, claim: Claim) -> Finding:
    """The cell's figure is the stated one, within the coarser rounding of the two."""
    (text,) = _texts(document, claim)
    return f"{_place(claim)} prints {text}", figure(text).meets(figure(claim.stated))


def cell_contains(document: Document, claim: Claim) -> Finding:
    """The cell's text contains the stated words."""
    (text,) = _texts(document, claim)
    return f"{_place(claim)} prints {text}", claim.stated in text


def cells_alike(document: Document, claim: Claim) -> Finding:
    """All cells can be one figure, within their rounding."""
    texts = _texts(document, claim)
    figures = [figure(text) for text in texts]
    return f"printed: {', '.join(texts)}", all(a.meets(b) for a, b in itertools.combinations(figures, 2))


def cell_times(document: Document, claim: Claim) -> Finding:
    """The first cell is `stated` times the second."""
    first, second = _figures(document, claim)
    return _stated(claim, first.over(second), " times")


def cell_percent(document: Document, claim: Claim) -> Finding:
    """The first cell is `stated` percent of the second."""
    first, second = _figures(document, claim)
    return _stated(claim, first.over(second).times(100.0), " %")


def cell_percent_more(document: Document, claim: Claim) -> Finding:
    """The first cell of each pair is `stated` percent more than the second, in the mean over the pairs."""
    pairs = _in_pairs(_figures(document, claim))
    ratios = [first.over(second).times(100.0) for first, second in pairs]
    mean_ratio = along(mean, ratios)
    more = Number(*(end - 100.0 for end in (mean_ratio.value, mean_ratio.low, mean_ratio.high)))
    return _stated(claim, more, f" % more{f' in the mean of {len(pairs)}' if len(pairs) > 1 else ''}")


def cell_less_than_percent_below(document: Document, claim: Claim) -> Finding:
    """The first cell is below the second, by less than `stated` percent."""
    first, second = _figures(document, claim)
    drop = 100.0 * (1.0 - first.value / second.value)
    return f"{drop:.3g} % less", 0.0 < drop < float(claim.stated)


def cells_apart(document: Document, claim: Claim) -> Finding:
    """The first cell can be more than `stated` above the second, within their rounding."""
    first, second = _figures(document, claim)
    return f"{first.value - second.value:.4g} more", first.high - second.low > float(claim.stated)


def cells_above(document: Document, claim: Claim) -> Finding:
    """The first cell is above all others, or more than `stated` times each of them."""
    found, ratios = _against(document, claim)
    return found, min(ratios) > float(claim.stated or 1)


def cells_below(document: Document, claim: Claim) -> Finding:
    """The first cell is below all others, or less than `stated` times each of them."""
    found, ratios = _against(document, claim)
    return found, max(ratios) < float(claim.stated or 1)


def pairs_above(document: Document, claim: Claim) -> Finding:
    """In every pair of cells the first is above the second, or more than `stated` times the second."""
    found, above, count = _pairs(document, claim)
    return found, above == count


def pairs_mostly_above(document: Document, claim: Claim) -> Finding:
    """In more than half of the pairs of cells the first is above the second."""
    found, above, count = _pairs(document, claim)
    return found, 2 * above > count


def rising(document: Document, claim: Claim) -> Finding:
    """Each cell is above the one before it."""
    values = [one.value for one in _figures(document, claim)]
    return _in_order(document, claim), all(a < b for a, b in itertools.pairwise(values))


def falling(document: Document, claim: Claim) -> Finding:
    """Each cell is below the one before it."""
    values = [one.value for one in _figures(document, claim)]
    return _in_order(document, claim), all(a > b for a, b in itertools.pairwise(values))


def grows_in_proportion(document: Document, claim: Claim) -> Finding:
    """What cells have above the first of their group grows in proportion to the figures in `names`, one for each."""
    size, figures = len(claim.names) + 1, _figures(document, claim)
    shown, holds = [], True
    for start in range(0, len(figures), size):
        base, *others = figures[start : start + size]
        each = [_growth(base, other, float(name)) for name, other in zip(claim.names, others, strict=True)]
        shown.append(", ".join(f"{one.value:.3g} at {name}" for name, one in zip(claim.names, each, strict=True)))
        holds = holds and all(a.meets(b) for a, b in itertools.combinations(each, 2))
    return f"for each unit: {'; '.join(shown)}", holds


def cell_sum(document: Document, claim: Claim) -> Finding:
    """The cells add up to the stated figure."""
    total = along(math.fsum, _figures(document, claim))
    return f"{total.value:.10g} in sum", total.meets(figure(claim.stated))


KINDS: dict[str, Predicate] = {
    one.__name__: one
    for one in (
        cell_is, cell_contains, cells_alike, cell_times, cell_percent, cell_percent_more, cell_less_than_percent_below,
        cells_apart, cells_above, cells_below, pairs_above, pairs_mostly_above, rising, falling, grows_in_proportion,
        cell_sum,
    )
}  # fmt: skip
"""The predicates by the kinds of claims, which are their names."""


def _texts(document: Document, claim: Claim) -> list[str]:
    return [cell_text(document, name) for name in claim.cells]


def _figures(document: Document, claim: Claim) -> list[Number]:
    return [figure(text) for text in _texts(document, claim)]


def _place(claim: Claim) -> str:
    return table_name(claim.cells[0].partition(BETWEEN)[0])


def _stated(claim: Claim, found: Number, unit: str) -> Finding:
    meets = found.meets(figure(claim.stated))
    cut = "" if meets or not is_cut(found, claim.stated) else " (cut off, not rounded)"
    return f"{found.value:.5g}{unit}{cut}", meets


def _growth(base: Number, other: Number, units: float) -> Number:
    differences = (other.value - base.value, other.low - base.high, other.high - base.low)
    return Number(*(difference / units for difference in differences))


def _against(document: Document, claim: Claim) -> tuple[str, list[float]]:
    """The first cell beside the others, and its ratio to each of them."""
    text, *texts = _texts(document, claim)
    ratios = [figure(text).value / figure(other).value for other in texts]
    low, high = f"{min(ratios):.4g}", f"{max(ratios):.4g}"
    times = low if low == high else f"{low} to {high}"
    return f"{text} against {', '.join(texts)}: {times} times", ratios


def _pairs(document: Document, claim: Claim) -> tuple[str, int, int]:
    """What the pairs show, how many have the first figure above the second, and how many there are."""
    pairs = _in_pairs(list(zip(claim.cells, _figures(document, claim), strict=True)))
    times = float(claim.stated or 1)
    against = [
        f"{_row(a)} {x.value:g} against {_row(b)} {y.value:g}"
        for (a, x), (b, y) in pairs
        if not x.value > times * y.value
    ]
    above = len(pairs) - len(against)
    text = f"{above} of {len(pairs)} pairs"
    return "; ".join([text, *against]), above, len(pairs)


def _in_pairs(items: Sequence[T]) -> list[tuple[T, T]]:
    return list(zip(items[::2], items[1::2], strict=True))


def _row(name: str) -> str:
    return name.split(BETWEEN)[2]


def _in_order(document: Document, claim: Claim) -> str:
    return f"in this order: {', '.join(_texts(document, claim))}"
