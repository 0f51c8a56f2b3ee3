"""Compares billed with estimated costs, by resource and kind. Amounts in different currencies have no difference."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from enum import StrEnum

from cloudcmp.cost.billed.fields import USED, Kind
from cloudcmp.cost.billed.formats import Format
from cloudcmp.cost.billed.gather import BillContents, BilledItem, Key, OtherStudy
from cloudcmp.units import Money, format_money

_HOUR_S = 3600.0
_DAY_S = 86400.0
# Days after the end of a month until its bill rarely changes. AWS adds charges for the whole month until the seventh
# (docs.aws.amazon.com/cur/latest/userguide/view-finalized-cur.html). Azure closes usage three days after the period
# (R). Google promises no time (R).
_SETTLES_DAYS = {Format.AWS: 7, Format.AZURE: 5, Format.GCP: 7, Format.FOCUS: 7}


class State(StrEnum):
    """How a line of the bill relates to the ledger. The last two are alarms."""

    BOTH = "billed"
    NOT_YET = "not billed yet"
    BY_TAG = "by its tag alone"
    AFTER_END = "billed after its end"
    UNKNOWN = "not in the ledger"


ALARMS = (State.AFTER_END, State.UNKNOWN)


@dataclass(frozen=True, slots=True)
class EstimatedCost:
    """Our estimate for one kind on one lease; None if a price is unknown."""

    key: Key
    kind: Kind
    money: Money | None


@dataclass(frozen=True, slots=True)
class LeasedMachine:
    """A machine of the ledger: its candidate, its id, and its time (Unix s; `until` None while it may exist)."""

    candidate: str
    cloud_id: str
    since: float
    until: float | None


@dataclass(frozen=True, slots=True)
class ComparedLine:
    """One line of the comparison. Unknown values are None; `ratio` is billed / estimated."""

    slot: str
    attempt: int | None
    candidate: str
    resource: str
    kind: Kind
    billed: Money | None
    estimated: Money | None
    difference: Money | None
    ratio: float | None
    state: State
    lines: int = 0
    what: str = ""


@dataclass(frozen=True, slots=True)
class Total:
    """The sums in one currency: usage, its estimate, and what is not usage (`apart`)."""

    currency: str
    used: Decimal
    estimated: Decimal | None
    difference: Decimal | None
    ratio: float | None
    apart: tuple[tuple[Kind, Decimal], ...]


@dataclass(frozen=True, slots=True)
class BillComparison:
    """A bill compared with the estimate; it may change until `preliminary_until` (Unix s), None if final."""

    sides: tuple[ComparedLine, ...]
    totals: tuple[Total, ...]
    foreign: tuple[OtherStudy, ...]
    alarms: tuple[str, ...]
    notes: tuple[str, ...]
    reach: float | None
    preliminary_until: float | None


def reconcile_bill(
    billed: BillContents, estimated: Iterable[EstimatedCost], leased: Mapping[Key, LeasedMachine], now: float
) -> BillComparison:
    """Compares a bill with an estimate; `now` in Unix seconds."""
    estimates = {(one.key, one.kind): one.money for one in estimated}
    until = _final_from(billed, leased, now)
    used = [one for one in billed.charged if one.item.kind in USED]
    apart = [one for one in billed.charged if one.item.kind not in USED]
    sides = [*_billed_lines(used, estimates, leased), *_unbilled_lines(used, estimates, leased)]
    sides.sort(key=lambda one: (one.slot == "", one.slot, one.attempt or 0, one.resource, USED.index(one.kind)))
    apart_sides = [_compared_line(one, None, leased, State.BOTH) for one in apart]
    return BillComparison(
        sides=(*sides, *apart_sides),
        totals=_totals(sides, apart, whole=None not in estimates.values()),
        foreign=billed.foreign,
        alarms=tuple(_alarm(one) for one in sides if one.state in ALARMS),
        notes=(*_notes(billed, sides, estimates, leased, until), *billed.notes),
        reach=billed.reach,
        preliminary_until=until,
    )


def _billed_lines(
    used: Sequence[BilledItem], estimates: Mapping[tuple[Key, Kind], Money | None], leased: Mapping[Key, LeasedMachine]
) -> list[ComparedLine]:
    """Returns a line for each billed thing; if several share an estimate, the most expensive one gets it."""
    sides = []
    groups: dict[tuple[Key, Kind], list[BilledItem]] = {}
    for one in used:
        if one.item.key is not None:
            groups.setdefault((one.item.key, one.item.kind), []).append(one)
    shared = {key: max(some, key=lambda one: (one.amount, one.item.resource)) for key, some in groups.items()}
    for one in used:
        key = one.item.key
        estimate = None
        if key is not None and shared[key, one.item.kind] is one:
            estimate = estimates.get((key, one.item.kind))
        sides.append(_compared_line(one, estimate, leased, _state(one, leased)))
    return sides


def _compared_line(
    one: BilledItem, estimate: Money | None, leased: Mapping[Key, LeasedMachine], state: State
) -> ComparedLine:
    key, money = one.item.key, Money(one.amount, one.item.currency)
    lease = leased.get(key) if key else None
    difference, ratio = _difference(money, estimate)
    slot, attempt = key or ("", None)
    return ComparedLine(slot, attempt, lease.candidate if lease else "", one.item.resource, one.item.kind, money,
                        estimate, difference, ratio, state, one.lines, one.what)  # fmt: skip


def _difference(billed: Money, estimate: Money | None) -> tuple[Money | None, float | None]:
    if estimate is None or estimate.currency != billed.currency:
        return None, None
    difference = Money(billed.amount - estimate.amount, billed.currency)
    return difference, float(billed.amount / estimate.amount) if estimate.amount else None


def _state(one: BilledItem, leased: Mapping[Key, LeasedMachine]) -> State:
    """Returns how a line relates to the ledger; only what comes with machines may have the study's tag alone."""
    lease = leased.get(one.item.key) if one.item.key else None
    if lease is not None:
        late = lease.until is not None and one.last is not None and one.last > lease.until + _slack(one)
        return State.AFTER_END if late else State.BOTH
    if one.item.kind is Kind.MACHINE or not leased:
        return State.UNKNOWN
    ends = [each.until for each in leased.values()]
    over = None if None in ends else max(end for end in ends if end is not None)
    late = over is not None and one.last is not None and one.last > over + _slack(one)
    return State.AFTER_END if late else State.BY_TAG


def _slack(one: BilledItem) -> float:
    """Returns how far a thing's last line may exceed its end: bills round up to an hour, or to a day."""
    daily = one.last is not None and one.first is not None and not one.last % _DAY_S and not one.first % _DAY_S
    return _DAY_S if daily else _HOUR_S


def _unbilled_lines(
    used: Sequence[BilledItem], estimates: Mapping[tuple[Key, Kind], Money | None], leased: Mapping[Key, LeasedMachine]
) -> list[ComparedLine]:
    """Returns what the ledger has and the bill lacks, by kind."""
    seen = {(one.item.key, one.item.kind) for one in used}
    return [
        ComparedLine(
            key[0], key[1], leased[key].candidate, leased[key].cloud_id, kind, None, money, None, None, State.NOT_YET
        )
        for (key, kind), money in estimates.items()
        if (key, kind) not in seen and key in leased
    ]


def _totals(sides: Sequence[ComparedLine], apart: Sequence[BilledItem], *, whole: bool) -> tuple[Total, ...]:
    """Returns the sums by currency; without a difference if an estimate is incomplete or not yet billed."""
    late = any(one.state is State.NOT_YET for one in sides)
    moneys = [money for one in sides for money in (one.billed, one.estimated) if money]
    currencies = sorted({one.currency for one in moneys} | {one.item.currency for one in apart})
    totals = []
    for code in currencies:
        used = sum((one.billed.amount for one in sides if one.billed and one.billed.currency == code), Decimal(0))
        guesses = [one.estimated.amount for one in sides if one.estimated and one.estimated.currency == code]
        both = whole and bool(guesses) and not late and any(one.billed and one.billed.currency == code for one in sides)
        guess = sum(guesses, Decimal(0)) if guesses else None
        kinds = {one.item.kind for one in apart if one.item.currency == code}
        sums = ((kind, sum((one.amount for one in apart if (one.item.kind, one.item.currency) == (kind, code)),
                           Decimal(0))) for kind in sorted(kinds))  # fmt: skip
        difference = used - guess if both and guess is not None else None
        ratio = float(used / guess) if both and guess else None
        totals.append(Total(code, used, guess, difference, ratio, tuple(sums)))
    return tuple(totals)


def _alarm(one: ComparedLine) -> str:
    money = format_money(one.billed) if one.billed else "an unknown amount"
    what = f"{one.kind} {one.resource or 'without an id'}: {money}"
    if one.state is State.AFTER_END:
        return f"{what}, billed after it was seen gone"
    return f"{what}, billed with this study's tag, and not in its ledger"


def _final_from(billed: BillContents, leased: Mapping[Key, LeasedMachine], now: float) -> float | None:
    """Returns until when the bill may change: some days after the month of the last use."""
    if billed.invoiced:
        return None
    last = max([now if one.until is None else one.until for one in leased.values()], default=billed.reach or now)
    day = datetime.fromtimestamp(last, UTC)
    month_end = datetime(day.year + day.month // 12, day.month % 12 + 1, 1, tzinfo=UTC).timestamp()
    until = month_end + max((_SETTLES_DAYS[one] for one in billed.formats), default=7) * _DAY_S
    return until if now < until else None


def _notes(
    billed: BillContents, sides: Sequence[ComparedLine], estimates: Mapping[tuple[Key, Kind], Money | None],
    leased: Mapping[Key, LeasedMachine], until: float | None,
) -> Iterable[str]:  # fmt: skip
    if until is not None:
        yield f"preliminary: bills come hours to days late, and this one may change until {_day(until)}"
    missing = [one for one in sides if one.state is State.NOT_YET and one.kind is Kind.MACHINE]
    if missing:
        reach = f"the files reach until {_time(billed.reach)}" if billed.reach else "the files contain no usage"
        after = sum(billed.reach is None or leased[one.slot, one.attempt or 0].since >= billed.reach for one in missing)
        later = f", {after} of them began later" if after else ""
        yield f"{len(missing)} of {len(leased)} machines of the ledger are not billed yet; {reach}{later}"
    currencies = {one.currency for one in estimates.values() if one}
    other = sorted({one.billed.currency for one in sides if one.billed} - currencies)
    if currencies and other:
        yield f"billed in {', '.join(other)}, estimated in {', '.join(sorted(currencies))}: no difference is known"
    if any(one.state is State.BY_TAG for one in sides):
        yield "some lines have only the study's tag: activate cloudcmp:slot and cloudcmp:attempt as tags too"
    if any(one is None for one in estimates.values()):
        yield "part of the ledger has no known price: it has no estimate, and the sums have no ratio"
    traffic = [one for one in sides if one.kind is Kind.TRAFFIC]
    if any(one.estimated for one in traffic):
        yield "traffic is estimated from the plan, not from what was sent"
    elif traffic:
        yield "the estimate contains no traffic"


def _day(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d")


def _time(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M UTC")
