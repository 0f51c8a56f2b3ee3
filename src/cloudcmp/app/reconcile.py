"""A study's own count beside what was really billed for it."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

from cloudcmp.app.adoption import Say, check_maker, reads
from cloudcmp.catalog import hint
from cloudcmp.cost.billed import (
    Estimated,
    Format,
    Key,
    Kind,
    Leased,
    Reconciled,
    Side,
    State,
    Wanted,
    read,
    reconcile_bill,
    spellings,
)
from cloudcmp.errors import UserMistake
from cloudcmp.model.lease import INSTANCE, STATE_OF, LeaseEvent, LeaseRow, LeaseState
from cloudcmp.model.offering import Billing
from cloudcmp.model.plan import Candidate, Plan
from cloudcmp.model.price import Item
from cloudcmp.provider.registry import make, names
from cloudcmp.provision import charges, launch_of, terms_of
from cloudcmp.store import StudyStore
from cloudcmp.units import Money, format_money

_CENT = Decimal("0.000001")


def reconcile(
    folder: Path,
    bills: Sequence[Path],
    format: str | None = None,
    now: float | None = None,
    *,
    adopt: bool = False,
    say: Say = lambda _: None,
) -> Reconciled:
    """Read what was billed for a study's tag and machines, and set it beside the count by its own ledger.

    A folder that was made elsewhere is refused, or adopted with `adopt`, of which `say` is told. Raises UserMistake
    where the folder holds no study, a file cannot be read, or the format is unknown.
    """
    known = [one.value for one in Format]
    if format is not None and format not in known:
        raise UserMistake.at("--format", f"unknown format {format!r}", hint(format, known, "cloudcmp reconcile --help"))
    check_maker(folder, reads, adopt=adopt, say=say)
    with StudyStore.open(folder, write=False) as store:
        rows, plan, tag = store.lease_rows(), store.plan, store.tag
    moment = time.time() if now is None else now
    leased = {key: _leased(plan, some) for key, some in _machines(rows).items()}
    ids = {(one.slot, one.attempt): one.cloud_id for one in rows if one.cloud_id}
    wanted = Wanted.of(tag, {**dict.fromkeys(leased), **ids}, _spelled)
    billed = read(bills, wanted, Format(format) if format else None)
    found = reconcile_bill(billed, _estimated(plan, rows, moment), leased, moment)
    return replace(found, notes=(*found.notes, *_unbilled_providers(plan), *_planned(plan)))


def _spelled(text: str) -> tuple[str, ...]:
    """How the tags of a study may stand on a bill: also as a label that a hash tells from its likes."""
    from cloudcmp.provider.gcp.marks import label

    return (*spellings(text), label(text))


def _unbilled_providers(plan: Plan) -> Iterator[str]:
    runners = dict.fromkeys(one.runner for one in plan.candidates)
    free = [name for name in runners if name in names() and not make(name).billed]
    if free:
        yield f"{', '.join(free)}: nothing is billed there, and nothing is estimated"


def _planned(plan: Plan) -> Iterator[str]:
    """What the whole plan was quoted at, which a study that was cut short does not come to."""
    quote = plan.quote
    if quote.expected_cost and quote.worst_cost:
        worst = format_money(quote.worst_cost)
        yield f"quoted for the whole plan: {format_money(quote.expected_cost)}, at worst {worst}"


def _machines(rows: Sequence[LeaseRow]) -> dict[Key, list[LeaseRow]]:
    """The rows of each machine that may have been there."""
    found: dict[Key, list[LeaseRow]] = {}
    for row in rows:
        if row.kind == INSTANCE:
            found.setdefault((row.slot, row.attempt), []).append(row)
    return {key: some for key, some in found.items() if some[-1].event is not LeaseEvent.REFUSED}


def _leased(plan: Plan, rows: Sequence[LeaseRow]) -> Leased:
    times = [row.at for row in rows]
    gone = STATE_OF[rows[-1].event] is LeaseState.GONE
    cloud_id = next((row.cloud_id for row in reversed(rows) if row.cloud_id), "")
    candidate = _candidate(plan, rows[0].slot)
    return Leased(candidate.id if candidate else rows[0].slot, cloud_id or "", min(times), max(times) if gone else None)


def _candidate(plan: Plan, slot: str) -> Candidate | None:
    """The candidate that a slot's launch is of; None for one that the plan does not have."""
    number, _ = launch_of(slot)
    launch = next((one for one in plan.launches if one.index == number), None)
    return plan.candidates[launch.candidate] if launch else None


def _estimated(plan: Plan, rows: Sequence[LeaseRow], now: float) -> Iterator[Estimated]:
    """Our own count, kind by kind: the ledger's price an hour for what is paid, and traffic as the plan's bill has it.

    Of that price disk and address have their planned share. Traffic is expected, not counted: a launch's share of the
    lines of the quote, on the last attempt at its first machine.
    """
    runners = dict.fromkeys(one.runner for one in plan.candidates)
    terms = terms_of({name: make(name) for name in runners if name in names()})
    sending: dict[int, Key] = {}
    for charge in charges(rows, now):
        billing = terms.get(charge.provider)
        if billing is None:
            continue
        launch, first = launch_of(charge.key[0])
        if first:
            sending[launch] = max(charge.key, sending.get(launch, charge.key))
        paid = Decimal(charge.seconds(billing, worst=False))
        for kind, price in _parts(_candidate(plan, charge.key[0]), charge.price_per_hour, billing):
            money = None
            if price is not None and charge.currency is not None:
                money = Money((price * paid / 3600).quantize(_CENT), charge.currency)
            yield Estimated(charge.key, kind, money)
    for key in sending.values():
        candidate = _candidate(plan, key[0])
        if candidate and (money := _traffic(plan, candidate)):
            yield Estimated(key, Kind.TRAFFIC, money)


def _traffic(plan: Plan, candidate: Candidate) -> Money | None:
    """What the plan expects one launch of a candidate to be billed for traffic; None where its quote has none."""
    launches = sum(one.candidate == candidate.index for one in plan.launches)
    lines = [one.amount for one in plan.quote.lines
             if one.about == candidate.id and one.item.startswith(Item.EGRESS) and one.amount]  # fmt: skip
    if not lines or not launches:
        return None
    total = sum((one.amount for one in lines), Decimal(0))
    return Money((total / launches).quantize(_CENT), lines[0].currency)


def _parts(
    candidate: Candidate | None, per_hour: Decimal | None, billing: Billing
) -> Iterator[tuple[Kind, Decimal | None]]:
    """A machine's price an hour by what it is for; what is neither disk nor address is the machine's.

    What comes beside a machine is its address, as far as its provider's terms say, and else the disk under its system.
    """
    if per_hour is None or candidate is None:
        yield Kind.MACHINE, per_hour
        return
    beside, disk, address = candidate.beside, Decimal(0), Decimal(0)
    if beside is not None:
        same = billing.beside is not None and billing.beside.currency == beside.currency
        address = min(beside.amount_per_hour, billing.beside.amount_per_hour) if same and billing.beside else address
        disk = beside.amount_per_hour - address
    if candidate.volume and candidate.volume.price:
        disk += candidate.volume.price.amount_per_hour
    rest = per_hour - disk - address
    if rest <= 0:  # the ledger's price was of something else
        yield Kind.MACHINE, per_hour
        return
    yield Kind.MACHINE, rest
    if disk:
        yield Kind.DISK, disk
    if address:
        yield Kind.ADDRESS, address


def as_data(found: Reconciled) -> dict[str, Any]:
    """The answer as the JSON document's data; times as ISO 8601 in UTC."""
    return {
        "lines": found.sides,
        "totals": [
            {
                "currency": one.currency,
                "used": one.used,
                "estimated": one.estimated,
                "difference": one.difference,
                "ratio": one.ratio,
                "apart": [{"kind": kind, "amount": amount} for kind, amount in one.apart],
            }
            for one in found.totals
        ],
        "foreign": found.foreign,
        "alarms": found.alarms,
        "reach": _iso(found.reach),
        "preliminary_until": _iso(found.preliminary_until),
    }


def _iso(at: float | None) -> str | None:
    return None if at is None else datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def table(found: Reconciled) -> tuple[tuple[str, ...], list[tuple[str | None, ...]]]:
    """The columns and rows of the lines; the first column is text. None is unknown."""
    codes = sorted({one.currency for side in found.sides for one in (side.billed, side.estimated) if one})
    unit = f" {codes[0]}" if len(codes) == 1 else ""
    heads = ("for", f"billed{unit}", "estimated", "difference", "ratio")
    return heads, [_row(one, bare=bool(unit)) for one in found.sides]


def _row(one: Side, *, bare: bool) -> tuple[str | None, ...]:
    whose = " ".join(filter(None, (one.candidate, one.slot and f"{one.slot}/{one.attempt}", one.resource)))
    state = "" if one.state is State.BOTH else f" ({one.state})"
    return (
        f"{one.kind}: {whose or one.what or 'no resource'}{state}",
        _money(one.billed, bare=bare),
        _money(one.estimated, bare=bare),
        _money(one.difference, bare=bare, sign="+"),
        f"{one.ratio:.3f}" if one.ratio is not None else None,
    )


def _money(money: Money | None, *, bare: bool, sign: str = "") -> str | None:
    """An amount to four decimals, which is what an hour's price has; None where unknown."""
    if money is None:
        return None
    text = f"{money.amount:{sign}.4f}"
    return text if bare else f"{text} {money.currency}"


def told(found: Reconciled) -> Iterator[str]:
    """The sums and what stands apart from use, a line each."""
    for one in found.totals:
        estimate = "unknown" if one.estimated is None else format_money(Money(one.estimated, one.currency))
        ratio = "" if one.ratio is None else f", ratio {one.ratio:.3f}"
        yield f"used: {format_money(Money(one.used, one.currency))} billed, {estimate} estimated{ratio}"
        for kind, amount in one.apart:
            yield f"{kind.value}: {format_money(Money(amount, one.currency))}, apart from what was used"
    for other in found.foreign:
        money = format_money(Money(other.amount, other.currency))
        lines = f"{other.lines} {'lines' if other.lines > 1 else 'line'}"
        yield f"another study's tag {other.study!r}: {money} on {lines}, not in these sums"
