"""The sheets of the network between machines: by data centre, by streams, by session, and by message size.

They follow CloudCmp's figures 10 and 11 (IMC 2010), Deval's tables 32 to 40 (2017) and Shah's table, each beside what
the document printed.
"""

from collections.abc import Iterable, Iterator, Sequence
from statistics import median, pstdev, quantiles

from cloudcmp.model.cast import LOOPBACK, REGION
from cloudcmp.model.cell import Cell
from cloudcmp.model.plan import Candidate
from cloudcmp.model.result import Estimate
from cloudcmp.published import load as load_document
from cloudcmp.report.numbers import UNKNOWN, known, plain
from cloudcmp.report.report_model import CellView, StudyView
from cloudcmp.report.sheets import co_location
from cloudcmp.report.sheets.sheet import Column, Field, Row, Sheet, captioned, columns, heading, row
from cloudcmp.report.words import parse_cell
from cloudcmp.units import format_in

TITLE = "The network between machines"
TCP, _UDP, _RTT = "tcp_bytes_per_s", "udp_bytes_per_s", "rtt_s"
_MBIT = 1e6 / 8
# Deval's tables of each category: throughput, by session, and for money.
_DEVAL = {"general": ("32", "33", "34"), "memory": ("35", "36", "37"), "compute": ("38", "39", "40")}
_SIZES = {"1 Byte": (1,), "1Byte": (1,), "1 KB": (1000, 1024), "1KB": (1000, 1024), "64KB": (64000, 65536)}
_SHAH = "Network Benchmarking"


def transfers(study: StudyView) -> tuple[CellView, ...]:
    """The measurements of TCP between machines."""
    return tuple(one for one in study.cells if one.metric.name == TCP and (_path(one) or LOOPBACK) != LOOPBACK)


def _path(one: CellView) -> str | None:
    return parse_cell(one.cell).get("path")


def is_within(one: CellView) -> bool:
    """True if both ends are in one data centre: in one zone of a region, in two, or in any."""
    path = _path(one) or ""
    return "zone" in path or path == REGION


def sheets(study: StudyView) -> tuple[Sheet, ...]:
    """Return the tables that the study has measurements for; empty if nothing went between machines."""
    some = transfers(study)
    places = (_places(study, some), co_location.sheet(study))
    made = (*places, _streams(study, some), _sessions(study, some), _messages(study, some))
    return tuple(one for one in made if one is not None)


def quartiles(values: Sequence[float]) -> tuple[float, float, float] | None:
    """The lower quartile, the median and the upper one; None with fewer than two values."""
    return tuple(quantiles(values, n=4, method="inclusive")) if len(values) > 1 else None  # type: ignore[return-value]


def mbit(value: float | None) -> str:
    """A rate in Mbit/s, without its unit."""
    return format_in(value / _MBIT, 1.0, "") if known(value) else UNKNOWN


def _fastest(some: Iterable[CellView], candidate: int) -> tuple[CellView, Estimate] | None:
    """The setting with the highest median of a candidate."""
    found = [(one, own) for one in some if (own := one.estimates.get(candidate)) is not None and known(own.median)]
    return max(found, key=lambda pair: pair[1].median or 0.0, default=None)


def _places(study: StudyView, some: Sequence[CellView]) -> Sheet | None:
    """Within and between data centres, beside the text on CloudCmp's figures."""
    if not some:
        return None
    rows = []
    for one in study.candidates:
        fields = []
        for here in (True, False):
            best = _fastest([view for view in some if is_within(view) is here], one.index)
            fields.append(Field("not measured") if best is None else _spread(study, *best))
        rows.append(row(one.id, *fields))
    table = load_document("cloudcmp-2010").table("figures 10, 11")
    rows.append(heading("CloudCmp", f"{table.number}, section {table.section}: {table.note}"))
    rows += [row(*cells) for cells in table.rows]
    titles = ("candidate", "in one data centre, Mbit/s", "between data centres, Mbit/s")
    note = (
        "Median over launches, each a pair of machines, of the fastest setting; below, quartiles and the setting. "
        "Payload of TCP, without headers. Launches that are marked as co-located count here. "
        f"{co_location.untold(study, some)}"
    ).strip()
    return Sheet(captioned(study.origin, "TCP throughput by place"), columns(*titles, numeric=titles[1:]),
                 tuple(rows), note)  # fmt: skip


def _spread(study: StudyView, view: CellView, own: Estimate) -> Field:
    box = quartiles(own.values)
    ends = f"{mbit(box[0])} to {mbit(box[2])}, " if box else ""
    return Field(mbit(own.median), f"{ends}n {own.n}; {study.names.short(view.cell)}")


def _settings(some: Sequence[CellView]) -> dict[Cell, dict[int, CellView]]:
    """The measurements by all parameters but the streams, and by their number; those with one number are left out."""
    found: dict[Cell, dict[int, CellView]] = {}
    for one in some:
        cell = parse_cell(one.cell)
        streams = cell.get("streams") or ""
        if streams.isdigit():
            rest = Cell(cell.metric, tuple(pair for pair in cell.params if pair[0] != "streams"))
            found.setdefault(rest, {})[int(streams)] = one
    return {rest: dict(sorted(views.items())) for rest, views in found.items() if len(views) > 1}


def _kind(one: Candidate) -> str:
    """The category of Deval's that a candidate falls into; empty for any other."""
    kind = one.offering.category or ""
    return "general" if kind == "burstable" else kind if kind in _DEVAL else ""


def _all_values(views: Iterable[CellView], candidate: int) -> list[tuple[str | None, float]]:
    """The launch values of all settings of a candidate, with their sessions."""
    return [
        pair
        for view in views
        if (own := view.estimates.get(candidate)) is not None
        for pair in zip(own.sessions, own.values, strict=True)
    ]


def _of_kinds(study: StudyView) -> dict[str, list[Candidate]]:
    """The candidates by their category, Deval's categories first."""
    found: dict[str, list[Candidate]] = {kind: [] for kind in (*_DEVAL, "")}
    for one in study.candidates:
        found[_kind(one)].append(one)
    return {kind: some for kind, some in found.items() if some}


def _streams(study: StudyView, some: Sequence[CellView]) -> Sheet | None:
    """Throughput by parallel streams, and for money, as Deval's tables 32, 34, 35, 37, 38 and 40."""
    settings = _settings([one for one in some if is_within(one)])
    if not settings:
        return None
    views = max(settings.values(), key=len)
    rows: list[Row] = []
    for kind, candidates in _of_kinds(study).items():
        rows.append(heading(kind or "other categories"))
        for one in candidates:
            values = [value for _, value in _all_values(views.values(), one.index)]
            middle, price = median(values) if values else None, one.offering.price
            for_money = UNKNOWN
            if middle is not None and price is not None:
                for_money = f"{middle / _MBIT / float(price.amount_per_hour):.2f}"
            fields = (_estimate(view.estimates.get(one.index)) for view in views.values())
            rows.append(row(one.id, *fields, mbit(middle), for_money))
        if kind:
            document = load_document("deval-2017")
            rate, _, money = (document.table(number) for number in _DEVAL[kind])
            for name, figure in rate.column(rate.figures()[0]).items():
                value = money.column(money.figures()[0])[name]
                where = f"Deval, tables {rate.number} and {money.number}, pages {rate.page} and {money.page}"
                rows.append(row(Field(name, where), *([UNKNOWN] * len(views)), figure, value))
    heads = (Column("candidate"), *(Column(f"{n} stream{'s' * (n > 1)}, Mbit/s", True) for n in views),
             Column("all, Mbit/s", True), Column("Mbit/s for the price of an hour", True))  # fmt: skip
    note = (
        "All: the median of the launch values of every number of streams, as in the thesis; it prints no table by "
        "streams. For money: that median, divided by the hourly price of one machine in its own currency."
    )
    return Sheet(captioned(study.origin, "TCP throughput by parallel streams"), heads, tuple(rows), note)


def _estimate(own: Estimate | None) -> Field:
    if own is None:
        return Field("not offered")
    bounds = own.median_bounds
    return Field(mbit(own.median), f"{mbit(bounds.low)} to {mbit(bounds.high)}" if bounds else f"n {own.n}")


def _sessions(study: StudyView, some: Sequence[CellView]) -> Sheet | None:
    """Throughput by session with its coefficient of variation, as Deval's tables 33, 36 and 39."""
    sessions = study.view.plan.sessions
    within = [one for one in some if is_within(one)]
    if len(sessions) < 2 or not within:
        return None
    settings = _settings(within)
    views = list(max(settings.values(), key=len).values()) if settings else within[:1]
    document, count = load_document("deval-2017"), max(4, len(sessions))
    rows: list[Row] = []
    for kind, candidates in _of_kinds(study).items():
        rows.append(heading(kind or "other categories"))
        for one in candidates:
            pairs = _all_values(views, one.index)
            medians = [_median([value for name, value in pairs if name == session.name]) for session in sessions]
            texts = [mbit(value) for value in medians] + [UNKNOWN] * (count - len(sessions))
            rows.append(row(one.id, *texts, _variation([value for _, value in pairs])))
        if kind:
            table = document.table(_DEVAL[kind][1])
            for name in table.figures():
                *medians_, cov = table.column(name).values()
                cells = [*medians_, *([UNKNOWN] * (count - len(medians_)))]
                where = f"Deval, table {table.number}, page {table.page}"
                rows.append(row(Field(name.removesuffix(" (Mbps)"), where), *cells, cov.replace("%", " %")))
    names = [sessions[at].name if at < len(sessions) else f"session {at + 1}" for at in range(count)]
    heads = (Column("candidate"), *(Column(f"{name}, Mbit/s", True) for name in names), Column("CoV", True))
    note = (
        "Medians of the launch values of every number of streams. CoV: standard deviation of the same values over "
        "their mean. The thesis numbers its sessions: its first one stands in the first column, and so on."
    )
    return Sheet(captioned(study.origin, "TCP throughput by session"), heads, tuple(rows), note)


def _median(values: Sequence[float]) -> float | None:
    return median(values) if values else None


def _variation(values: Sequence[float]) -> str:
    """The coefficient of variation in percent; a dash with fewer than two values."""
    if len(values) < 2 or not sum(values):
        return UNKNOWN
    return f"{plain(100 * pstdev(values) * len(values) / sum(values))} %"


def _messages(study: StudyView, some: Sequence[CellView]) -> Sheet | None:
    """Throughput and round trips by the size of a message, as Shah's table."""
    table = load_document("shah").table(_SHAH)
    rows: list[Row] = []
    measured = 0
    for sr, protocol, size, *figures in table.rows:
        threads = figures[3]
        rows.append(heading(f"{protocol}, {size}, {threads} thread{'s' * (threads != '1')}"))
        rows.append(row(Field("Shah", f"row {sr}"), *figures[:3]))
        for one in study.candidates:
            found = list(_of_message(study, some, one, (protocol, size, threads)))
            measured += len(found)
            rows += found
    if not measured:
        return None
    heads = ("measured", "MB/s", "Mbit/s", "latency, ms")
    note = (
        f"Ours: median over launches; latency: median round trip of such a message, one in flight. {table.note} "
        "Between two t2.micro; its sizes are taken as powers of ten or of two."
    )
    return Sheet(captioned(study.origin, "Throughput by the size of a message"), columns(*heads, numeric=heads[1:]),
                 tuple(rows), note)  # fmt: skip


def _of_message(
    study: StudyView, some: Sequence[CellView], one: Candidate, printed: tuple[str, str, str]
) -> Iterator[Row]:
    """The row of a candidate's own measurement of one printed setting; none without it. UDP has one stream only."""
    protocol, size, threads = printed
    sizes = _SIZES[size]
    if protocol == "UDP" and threads != "1":
        return
    udp = [view for view in study.cells if view.metric.name == _UDP]
    for view in some if protocol == "TCP" else udp:
        cell = parse_cell(view.cell)
        usual = cell.get("streams") == threads if protocol == "TCP" else cell.get("rate_bytes_per_s") == "max"
        own = view.estimates.get(one.index)
        of_size = int(cell.get("size_bytes") or 0) in sizes
        if not usual or not of_size or own is None or not known(own.median) or not is_within(view):
            continue
        trip = _round_trip(study, one.index, protocol.lower(), cell)
        yield row(Field(one.id, f"n {own.n}"), f"{own.median / 1e6:.4g}", mbit(own.median), trip)


def _round_trip(study: StudyView, candidate: int, protocol: str, like: Cell) -> str:
    """The median round trip of a message of the same size on the same path, in milliseconds."""
    for view in study.cells:
        cell = parse_cell(view.cell)
        same = all(cell.get(key) == like.get(key) for key in ("path", "size_bytes"))
        if view.metric.name == _RTT and same and (cell.get("protocol"), cell.get("percentile")) == (protocol, "50"):
            own = view.estimates.get(candidate)
            return format_in(own.median, 1e-3, "") if own is not None and known(own.median) else UNKNOWN
    return UNKNOWN
