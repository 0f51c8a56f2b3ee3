"""Compares a study's own estimate with its bill."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

from cloudcmp.app.adoption import Say, bill_actions, check_maker
from cloudcmp.catalog import hint
from cloudcmp.cost.billed import (
    BillComparison,
    EstimatedCost,
    Format,
    Key,
    Kind,
    LeasedMachine,
    StudyMarks,
    read,
    reconcile_bill,
    spellings,
)
from cloudcmp.errors import UserMistake
from cloudcmp.model.lease import INSTANCE, STATE_OF, LeaseEvent, LeaseRow, LeaseState
from cloudcmp.model.offering import Billing
from cloudcmp.model.plan import Candidate, Plan
from cloudcmp.model.price import Item
from cloudcmp.provider.registry import has_driver, make
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
) -> BillComparison:
    """Read the billed lines of a study's tag and machines, and compare them with the estimate by its ledger.

    A folder that was made elsewhere is refused, or adopted with `adopt`, which `say` reports. Raises UserMistake if the
    folder holds no study, a file cannot be read, or the format is unknown.
    """
    known = [one.value for one in Format]
    if format is not None and format not in known:
        raise UserMistake.at("--format", f"unknown format {format!r}", hint(format, known, "cloudcmp reconcile --help"))
    check_maker(folder, bill_actions, adopt=adopt, say=say)
    with StudyStore.open(folder, write=False) as store:
        rows, plan, tag = store.lease_rows(), store.plan, store.tag
    moment = time.time() if now is None else now
    leased = {key: _leased(plan, some) for key, some in _machines(rows).items()}
    ids = {(one.slot, one.attempt): one.cloud_id for one in rows if one.cloud_id}
    wanted = StudyMarks.of(tag, {**dict.fromkeys(leased), **ids}, _spellings)
    billed = read(bills, wanted, Format(format) if format else None)
    result = reconcile_bill(billed, _estimated(plan, rows, moment), leased, moment)
    return replace(result, notes=(*result.notes, *_unbilled_providers(plan), *_quoted(plan)))


def _spellings(text: str) -> tuple[str, ...]:
    """The forms of a study's tag on a bill, including the hashed label of Google Cloud."""
    from cloudcmp.provider.gcp.tags import label

    return (*spellings(text), label(text))


def _unbilled_providers(plan: Plan) -> Iterator[str]:
    free = [name for name in plan.drivers if has_driver(name) and not make(name).billed]
    if free:
        yield f"{', '.join(free)}: nothing is billed there, and nothing is estimated"


def _quoted(plan: Plan) -> Iterator[str]:
    """Yield the quote of the whole plan, which an interrupted study does not reach."""
    quote = plan.quote
    if quote.expected_cost and quote.worst_cost:
        worst = format_money(quote.worst_cost)
        yield f"quoted for the whole plan: {format_money(quote.expected_cost)}, at worst {worst}"


def _machines(rows: Sequence[LeaseRow]) -> dict[Key, list[LeaseRow]]:
    """The ledger rows of each machine that may have existed."""
    by_machine: dict[Key, list[LeaseRow]] = {}
    for row in rows:
        if row.kind == INSTANCE:
            by_machine.setdefault((row.slot, row.attempt), []).append(row)
    return {key: some for key, some in by_machine.items() if some[-1].event is not LeaseEvent.REFUSED}


def _leased(plan: Plan, rows: Sequence[LeaseRow]) -> LeasedMachine:
    times = [row.at for row in rows]
    gone = STATE_OF[rows[-1].event] is LeaseState.GONE
    cloud_id = next((row.cloud_id for row in reversed(rows) if row.cloud_id), "")
    candidate = _candidate(plan, rows[0].slot)
    return LeasedMachine(
        candidate.id if candidate else rows[0].slot, cloud_id or "", min(times), max(times) if gone else None
    )


def _candidate(plan: Plan, slot: str) -> Candidate | None:
    """The candidate of a slot's launch; None if the plan has no such launch."""
    number, _ = launch_of(slot)
    launch = next((one for one in plan.launches if one.index == number), None)
    return plan.candidates[launch.candidate] if launch else None


def _estimated(plan: Plan, rows: Sequence[LeaseRow], now: float) -> Iterator[EstimatedCost]:
    """Our own estimate by kind: paid time at the ledger's hourly price, and traffic as quoted.

    Disk and address have their planned share of that price. Traffic is expected, not counted: a launch's share of the
    quote's lines, on the last attempt at its first machine.
    """
    terms = terms_of({name: make(name) for name in plan.drivers if has_driver(name)})
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
            yield EstimatedCost(charge.key, kind, money)
    for key in sending.values():
        candidate = _candidate(plan, key[0])
        if candidate and (money := _traffic(plan, candidate)):
            yield EstimatedCost(key, Kind.TRAFFIC, money)


def _traffic(plan: Plan, candidate: Candidate) -> Money | None:
    """The traffic cost of one launch of a candidate by the quote; None if the quote has none."""
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
    """A machine's hourly price split into machine, disk and address.

    The address's share of the additional charges follows the provider's terms; the rest is the system disk.
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
    if rest <= 0:  # the ledger's price was for something else
        yield Kind.MACHINE, per_hour
        return
    yield Kind.MACHINE, rest
    if disk:
        yield Kind.DISK, disk
    if address:
        yield Kind.ADDRESS, address
