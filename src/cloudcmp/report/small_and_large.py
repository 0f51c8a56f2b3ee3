"""Shows several small machines against one large: in a terminal, and as a sheet of the page."""

from collections.abc import Iterator

from rich.console import Console

from cloudcmp.model.market import TOTAL
from cloudcmp.model.recommendation import Against, Several
from cloudcmp.report.sheets.sheet import Sheet, columns, row
from cloudcmp.report.table import Head, table

_TITLES = ("one of", "price", "work", "at equal cost", "at equal time")
_MORE = "more than asked"


def show_against(console: Console, found: Several) -> None:
    """Print what several of the choice's machine do at the price of a larger one, and what as much work costs."""
    heads = [Head(_TITLES[0], numeric=False), *map(Head, _TITLES[1:])]
    table(
        console, heads, [[*cells] for cells in _rows(found)], title=f"Small against large: {_of(found)}", note=_note()
    )


def sheet_of(found: Several) -> Sheet:
    """The same as a sheet."""
    rows = tuple(row(*cells) for cells in _rows(found))
    return Sheet(f"{_of(found)}; {_note()}", columns(*_TITLES, numeric=_TITLES[1:]), rows)


def _of(found: Several) -> str:
    return f"{found.small}, by {found.of.removeprefix(TOTAL)}"


def _note() -> str:
    return (
        "price and work against one small machine; at equal cost: so many small ones, and their work against the large "
        "one's; at equal time: so many do as much, and their price against its"
    )


def _rows(found: Several) -> Iterator[tuple[str, ...]]:
    for one in found.against:
        yield str(one.large), f"×{one.cost:.2f}", f"×{one.work:.2f}", _equal_cost(one), _equal_time(one)


def _equal_cost(one: Against) -> str:
    if one.work_ratio is None:
        return _MORE if one.cost >= 1 else "–"
    return f"{one.equal_cost} do ×{one.work_ratio:.2f}"


def _equal_time(one: Against) -> str:
    return _MORE if one.cost_ratio is None else f"{one.equal_work} cost ×{one.cost_ratio:.2f}"
