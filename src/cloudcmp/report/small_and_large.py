"""Shows several small machines against one large: in a terminal, and as a sheet of the page."""

from collections.abc import Iterator, Sequence

from rich.console import Console

from cloudcmp.model.market import TOTAL
from cloudcmp.model.recommendation import Against, Several, Used
from cloudcmp.report.sheets.sheet import Sheet, columns, row
from cloudcmp.report.table import Head, table

_TITLES = ("price", "work", "at equal cost", "at equal time")
_MORE = "more than asked"
_NOTE = (
    "price and work of the large one as ratios to one small one; at equal cost: so many small ones for its price, and "
    "their work against its; at equal time: so many do as much, and their price against its"
)


def show_against(console: Console, found: Several, used: Sequence[Used]) -> None:
    """Print what several small machines do at the price of a large one, and what as much work of theirs costs."""
    head, of = _common(found, used)
    heads = [Head(head, numeric=False), *map(Head, _TITLES)]
    table(console, heads, [[*cells] for cells in _rows(found)], title=f"Small against large: {of}", note=_NOTE)


def sheet_of(found: Several, used: Sequence[Used]) -> Sheet:
    """The same as a sheet."""
    head, of = _common(found, used)
    rows = tuple(row(*cells) for cells in _rows(found))
    return Sheet(f"{of}; {_NOTE}", columns(head, *_TITLES, numeric=_TITLES), rows)


def _common(found: Several, used: Sequence[Used]) -> tuple[str, str]:
    """The head of the machines that differ, and the one that stays with the total that is compared."""
    first = found.against[0]
    of = next(one.label for one in used if one.name == found.of).removeprefix(TOTAL)
    if _is_one_small(found):
        return "one large", f"{first.small} against each, by {of}"
    return "several of", f"each against one {first.large}, by {of}"


def _is_one_small(found: Several) -> bool:
    return len({one.small for one in found.against}) == 1


def _rows(found: Several) -> Iterator[tuple[str, ...]]:
    one_small = _is_one_small(found)
    for one in found.against:
        name = one.large if one_small else one.small
        yield str(name), f"×{one.cost:.2f}", f"×{one.work:.2f}", _equal_cost(one), _equal_time(one)


def _equal_cost(one: Against) -> str:
    if one.work_ratio is None:
        return _MORE
    return f"{one.equal_cost} do ×{one.work_ratio:.2f}"


def _equal_time(one: Against) -> str:
    return _MORE if one.cost_ratio is None else f"{one.equal_work} cost ×{one.cost_ratio:.2f}"
