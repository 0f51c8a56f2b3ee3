"""The sheets of table, blob and queue services: throughput with its limiter, clients, consistency, availability."""

from cloudcmp.model.cell import Cell
from cloudcmp.model.services import ClientFactor, Delays, Limit, Limiter, OperationCounts
from cloudcmp.report.numbers import UNKNOWN, Scale, known
from cloudcmp.report.report_model import CellView, StudyView
from cloudcmp.report.sheets import operation_costs
from cloudcmp.report.sheets.sheet import Field, Row, Sheet, captioned, columns, heading, row
from cloudcmp.report.words import param_words, parse_cell
from cloudcmp.stats.describe import share_interval
from cloudcmp.units import format_quantity

TITLE = "Storage services"
_BITS = 8e-6
_CLIENT_TITLES = ("native client", "this client", "factor", "n")
_DELAY_TITLES = ("stale reads", "changes", "50 % seen", "95 % seen", "99 % seen", "never seen")
_COUNT_TITLES = (
    "operations",
    "throttled",
    "server errors",
    "client errors",
    "timeouts",
    "wrong bodies",
    "never started",
)


def sheets(study: StudyView) -> tuple[Sheet, ...]:
    """Return the tables of services that a study has numbers for; empty for a study without services."""
    made = (
        operation_costs.sheet(study),
        _throughput(study),
        _clients(study),
        _consistency(study),
        _availability(study),
    )
    return tuple(one for one in made if one is not None)


def _throughput(study: StudyView) -> Sheet | None:
    """The highest throughput of each operation from one machine (as table 5 of CloudCmp), with what limits it."""
    limits = {(one.candidate, one.cell): one for one in study.view.services.limits}
    best: dict[tuple[Cell, int], tuple[CellView, Limit]] = {}
    for view in study.cells:
        cell = parse_cell(view.cell)
        work = _without_count(cell)
        for at, one in view.estimates.items():
            limit, had = limits.get((at, view.cell)), best.get((work, at))
            least = (had[0].estimates[at].median or 0.0) if had else 0.0
            if limit is not None and known(one.median) and one.median > least:
                best[work, at] = view, limit
    counts: dict[Cell, set[str | None]] = {}
    for view in study.cells:
        cell = parse_cell(view.cell)
        counts.setdefault(_without_count(cell), set()).add(cell.get("concurrency"))
    rows: list[Row] = []
    for work in dict.fromkeys(work for work, _ in best if counts[work] != {"1"}):
        some = {at: found for (own, at), found in best.items() if own == work}
        first = next(iter(some.values()))[0]
        rows.append(heading(study.names.short(first.cell, frozenset({"concurrency"})), "more is better"))
        rows += [_throughput_row(study, at, *found) for at, found in sorted(some.items())]
    titles = columns("candidate", "throughput", "Mbit/s", "in flight", "n", "limited by",
                     numeric=("throughput", "Mbit/s", "in flight", "n"))  # fmt: skip
    note = (
        "As table 5 of CloudCmp: median of the launches at the number of operations in flight that gives most, with "
        "its 95 % interval; only operations of which several were in flight. What limits: a client that is busy for "
        "more than half of its threads' time, else a service that refuses more than 1 %, else a network of which 90 % "
        "is used; anything else is unknown."
    )
    caption = captioned(study.origin, "Highest throughput from one machine")
    return Sheet(caption, titles, tuple(rows), note) if rows else None


def _without_count(cell: Cell) -> Cell:
    return Cell(cell.metric, tuple(pair for pair in cell.params if pair[0] != "concurrency"))


def _throughput_row(study: StudyView, at: int, view: CellView, limit: Limit) -> Row:
    one, count = view.estimates[at], parse_cell(view.cell).get("concurrency") or UNKNOWN
    ends = view.scale.interval(one.median_bounds) if one.median_bounds else "no interval"
    bits = f"{one.median * _BITS:,.1f}" if view.metric.unit == "B/s" and known(one.median) else UNKNOWN
    kind = "" if limit.limiter is Limiter.UNKNOWN else "label"
    return row(
        study.candidates[at].id, Field(view.scale.quantity(one.median), ends), bits, count, str(one.n),
        Field(limit.limiter, _evidence(limit), kind),
    )  # fmt: skip


def _evidence(limit: Limit) -> str:
    parts = [
        "client CPU unknown" if limit.cpu_ratio is None else f"client CPU {100 * limit.cpu_ratio:.0f} %",
        f"throttled {limit.throttled:,} of {limit.operations:,}" if limit.operations else "operations not counted",
    ]
    if limit.network_bytes_per_s is not None:
        parts.append(f"network {format_quantity(limit.network_bytes_per_s, 'B/s')} ({limit.network_from})")
    return ", ".join(parts)


def _clients(study: StudyView) -> Sheet | None:
    """How many times as long operations take with another client."""
    by_work: dict[str, list[ClientFactor]] = {}
    for one in study.view.services.clients:
        by_work.setdefault(one.native, []).append(one)
    rows: list[Row] = []
    for view in study.cells:
        some = by_work.get(view.cell, [])
        if not some:
            continue
        rows.append(heading(study.names.short(view.cell, frozenset({"client"})), "less is better"))
        for one in sorted(some, key=lambda one: (one.candidate, one.client)):
            other = study.by_cell[one.cell]
            rows.append(
                row(
                    study.candidates[one.candidate].id,
                    Field(param_words("client", one.client), one.version),
                    _median(view, one.candidate, view.scale),
                    _median(other, one.candidate, view.scale),
                    Field(_factor(one.factor), _ends(one), "strong"),
                    str(one.n),
                )
            )
    titles = columns("candidate", "client", *_CLIENT_TITLES, numeric=_CLIENT_TITLES)
    note = "Medians of the launches. Factor: geometric mean over the rounds (n) that have both, with its 95 % interval."
    return Sheet(captioned(study.origin, "What another client costs"), titles, tuple(rows), note) if rows else None


def _median(view: CellView, at: int, scale: Scale) -> Field:
    one = view.estimates.get(at)
    if one is None:
        return Field(UNKNOWN)
    return Field(scale.quantity(one.median), scale.interval(one.median_bounds) if one.median_bounds else "no interval")


def _factor(value: float | None) -> str:
    return f"×{value:.3g}" if known(value) else UNKNOWN


def _ends(one: ClientFactor) -> str:
    return f"{one.bounds.low:.3g} to {one.bounds.high:.3g}" if one.bounds else "no interval"


def _consistency(study: StudyView) -> Sheet | None:
    """How often and how long reads were stale."""
    by_cell: dict[str, list[Delays]] = {}
    for one in study.view.services.delays:
        by_cell.setdefault(one.cell, []).append(one)
    rows: list[Row] = []
    for view in study.cells:
        some = by_cell.get(view.cell, [])
        if some:
            rows.append(heading(study.names.short(view.cell).partition(", ")[2] or view.name, "less is better"))
            rows += [_delay_row(study, one) for one in some]
    titles = columns("candidate", *_DELAY_TITLES, numeric=_DELAY_TITLES)
    note = (
        "Stale reads: the share of reads right after a change that did not return it, median of the launches with its "
        "95 % interval. Then the time after which a share of all changes was returned by every read; changes that were "
        "not seen within the wait count as later than any of these times."
    )
    if any(one.way_s is not None for one in study.view.services.delays):
        note += (
            " Written on another machine: the clock is the reader's, and starts when the writer's answer arrives. Each "
            "delay may be longer by at most the way of the answer, and what was stale within it is not seen."
        )
    return Sheet(captioned(study.origin, "Time to consistency"), titles, tuple(rows), note) if rows else None


def _delay_row(study: StudyView, one: Delays) -> Row:
    stale = study.by_cell.get(one.cell.replace("consistency_time_s", "stale_read_ratio", 1))
    estimate = stale.estimates.get(one.candidate) if stale else None
    shown = Field(UNKNOWN)
    if stale and estimate and known(estimate.median):
        ends = estimate.median_bounds
        shown = Field(
            _percent(estimate.median), f"{_percent(ends.low)} to {_percent(ends.high)}" if ends else "no interval"
        )
    times = (_seen_by(one, share) for share in (0.5, 0.95, 0.99))
    wait = f"within {format_quantity(one.wait_s, 's')}" if one.wait_s is not None else ""
    way = f"way of the answer: at most {format_quantity(one.way_s, 's')}" if one.way_s is not None else ""
    name = Field(study.candidates[one.candidate].id, way)
    return row(name, shown, f"{one.n:,}", *times, Field(f"{one.unseen:,}", wait))


def _seen_by(one: Delays, share: float) -> str:
    found = next((x_s for x_s, y in zip(one.x_s, one.share, strict=True) if y >= share), None)
    if found is None:
        return f"> {format_quantity(one.wait_s, 's')}" if one.wait_s is not None else UNKNOWN
    return "at once" if found == 0 else format_quantity(found, "s")


def _availability(study: StudyView) -> Sheet | None:
    """The operations that did not succeed, by their kind."""
    by_operation: dict[str, list[OperationCounts]] = {}
    for one in study.view.services.counts:
        by_operation.setdefault(one.operation, []).append(one)
    rows: list[Row] = []
    for operation, some in by_operation.items():
        rows += [heading(operation), *(_count_row(study, one) for one in some)]
    titles = columns("candidate", *_COUNT_TITLES, numeric=_COUNT_TITLES)
    note = (
        "Over all trials, also those that failed; no failed operation is in a response time, and none is sent a second "
        "time. Where none failed: the highest share that is compatible with that at 97.5 %, if operations fail "
        "independently. Never started: operations of an open loop that were due while all in flight were waiting."
    )
    return Sheet(captioned(study.origin, "Availability"), titles, tuple(rows), note) if rows else None


def _count_row(study: StudyView, one: OperationCounts) -> Row:
    name = study.candidates[one.candidate].id
    silent = one.trials - one.counted
    below = f"{silent} of {one.trials} trials sent no counts" if silent else ""
    if not one.operations:
        return row(Field(name, below), *[UNKNOWN] * 7)
    kinds = (one.throttled, one.server_errors, one.client_errors, one.timeouts, one.wrong_bodies)
    dropped = Field(f"{one.dropped_starts:,}", _percent(one.dropped_starts / (one.dropped_starts + one.operations)))
    return row(Field(name, below), f"{one.operations:,}", *(_share(count, one.operations) for count in kinds), dropped)


def _share(count: int, operations: int) -> Field:
    if count:
        return Field(f"{count:,}", _percent(count / operations), "unsure" if count / operations > 0.01 else "")
    return Field("0", f"< {_percent(share_interval(0, operations).high)}")


def _percent(value: float) -> str:
    return f"{100 * value:.2g} %" if value < 0.1 else f"{100 * value:.1f} %"
