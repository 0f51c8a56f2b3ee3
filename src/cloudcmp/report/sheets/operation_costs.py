"""The sheet of what one operation of a service costs, and when operations cost as much as the machine that asks."""

from decimal import Decimal

from cloudcmp.cost import break_even_per_hour, cost_per_request
from cloudcmp.model.cell import Cell
from cloudcmp.model.plan import Candidate, hourly_cost
from cloudcmp.model.price import Item, UnitPrice
from cloudcmp.report.numbers import UNKNOWN
from cloudcmp.report.report_model import StudyView
from cloudcmp.report.sheets.sheet import Column, Field, Row, Sheet, captioned, heading, row
from cloudcmp.report.words import param_words, parse_cell
from cloudcmp.units import Money

_LATENCIES = frozenset({"table_latency_s", "blob_latency_s", "queue_latency_s"})
_CENT = Decimal("0.00001")  # a thousandth of a cent
_WITHOUT_CENTS = frozenset({"JPY", "KRW", "VND", "CLP", "ISK", "UGX"})
_APART = frozenset({Item.STORAGE, Item.CAPACITY})  # no part of an operation's cost
_NOTE = (
    "As table 4 of CloudCmp: requests with the bytes they move out, at the prices of the study, in thousandths of a "
    "cent. Not counted: what storing costs, nodes that are billed by the hour, and the machine that asks. As much as "
    "the machine: the operations an hour whose cost is an hour of that machine."
)


def sheet(study: StudyView) -> Sheet | None:
    """Return the cost of each operation that was measured on a service; None without prices."""
    work = _operations(study)
    rows: list[Row] = []
    for (service, words), cells in work.items():
        lines = [line for at, cell in cells.items() if (line := _line(study.candidates[at], cell)) is not None]
        rows += [heading(f"{service} {words}"), *lines] if lines else []
    rows += _units(study, Item.STORAGE, "a GB stored for a month")
    rows += _units(study, Item.CAPACITY, "a node for an hour")
    if not any(one.unit_prices for one in study.candidates):
        return None
    titles = (Column("candidate"), Column("milli-cents", True), Column("price from"), Column("machine an hour", True),
              Column("as much as the machine", True))  # fmt: skip
    return Sheet(captioned(study.origin, "Cost of an operation"), titles, tuple(rows), _NOTE)


def _operations(study: StudyView) -> dict[tuple[str, str], dict[int, Cell]]:
    """The operations that were measured on services, each with a cell for each of its candidates."""
    found: dict[tuple[str, str], dict[int, Cell]] = {}
    for view in study.cells:
        cell = parse_cell(view.cell)
        if cell.metric not in _LATENCIES:
            continue
        params = dict(cell.params)
        sized = params.get("op") in {"download", "upload"} and "size_bytes" in params
        words = f"{params.get('op', '')}{', ' + param_words('size_bytes', params['size_bytes']) if sized else ''}"
        for at in view.estimates:
            if study.candidates[at].service is not None:
                found.setdefault((cell.metric.partition("_")[0], words), {}).setdefault(at, cell)
    return found


def _line(one: Candidate, cell: Cell) -> Row | None:
    cost, machine = cost_per_request(one, cell), hourly_cost(one)
    if cost is None:
        return row(one.id, Field("no price", kind="unsure"), UNKNOWN, _machine(one, machine), UNKNOWN)
    source = "; ".join(dict.fromkeys(_source(price) for price in one.unit_prices if price.item not in _APART))
    price = one.offering.price
    even = break_even_per_hour(Money(machine, price.currency), cost) if machine is not None and price else None
    shown = UNKNOWN if even is None else f"{int(even.to_integral_value()):,}/h"
    return row(one.id, Field(_milli(cost), kind="strong"), source, _machine(one, machine), shown)


def _milli(cost: Money) -> str:
    if cost.currency in _WITHOUT_CENTS:
        return f"{cost.amount.normalize():f} {cost.currency}"
    amount = float(cost.amount / _CENT)
    return f"{amount:,.3g}" if amount < 1000 else f"{amount:,.0f}"


def _machine(one: Candidate, amount: Decimal | None) -> Field:
    price = one.offering.price
    if amount is None or price is None:
        return Field("unknown", one.offering.name, "unsure")
    return Field(f"{amount.normalize():f} {price.currency}", one.offering.name)


def _source(price: UnitPrice) -> str:
    return f"{price.source}, {price.as_of.isoformat() if price.as_of else 'undated'}"


def _units(study: StudyView, item: Item, title: str) -> list[Row]:
    """What a unit of use costs that no operation is billed for, where a price is known."""
    lines = [
        row(one.id, f"{price.amount.normalize():f} {price.currency}", _source(price), UNKNOWN, UNKNOWN)
        for one in study.candidates
        for price in one.unit_prices
        if price.item is item
    ]
    return [heading(title), *lines] if lines else []
