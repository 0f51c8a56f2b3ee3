"""What a plan takes, and what it could tell apart."""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from decimal import ROUND_HALF_EVEN, ROUND_UP, Decimal

from cloudcmp.catalog import METRICS
from cloudcmp.model.offering import Billing
from cloudcmp.model.plan import LEASE_MARGIN_S, Candidate, hourly_cost
from cloudcmp.model.study import Decide
from cloudcmp.plan.traffic import machines
from cloudcmp.plan.trials import Visits
from cloudcmp.plan.visit import Task
from cloudcmp.units import Money

# The spread between launches that a plan assumes before anything was measured; published clouds show 1 to 10 %.
ASSUMED_COV = 0.05
_ALPHA = 0.05
_POWER = 0.8
# With fewer launches no verdict is given, so nothing can be told apart, whatever the difference.
LAUNCHES_MIN = 6
_STEP = Decimal("0.000001")

BillingOf = Callable[[str], Billing]
"""How a provider bills; the coarsest way, every hour begun, for one of which it is not known."""


Free = Callable[[Candidate], bool]
"""Whether whoever runs a candidate bills nothing."""


def by_the_hour(provider: str) -> Billing:  # noqa: ARG001
    return Billing()


def nobody_is_free(candidate: Candidate) -> bool:  # noqa: ARG001
    """Every candidate without a price leaves the cost unknown."""
    return False


def with_beside(candidate: Candidate, billing: Billing) -> Candidate:
    """The candidate with what its provider bills beside its price, where that is in the same currency."""
    price, beside = candidate.offering.price, billing.beside
    same = price is not None and beside is not None and price.currency == beside.currency
    return replace(candidate, beside=beside) if same else candidate


def beside_notes(candidates: Sequence[Candidate], billing_of: BillingOf) -> list[str]:
    """What is counted beside the prices, and what is billed and in no cost; one line each."""
    lines = []
    for name in dict.fromkeys(one.offering.provider for one in candidates if one.offering.price):
        billing = billing_of(name)
        counted = next((one.beside for one in candidates if one.beside and one.offering.provider == name), None)
        if counted:
            amount = f"{counted.amount_per_hour.normalize():f} {counted.currency}/h"
            lines.append(f"{name}: each machine's price counts {amount} more ({counted.source}, {counted.as_of})")
        missing = [*billing.uncounted, *([billing.beside.source] if billing.beside and not counted else [])]
        if missing:
            lines.append(f"{name}: no cost counts {'; '.join(missing)}")
    hourly = [c.id for c in candidates if c.offering.price and _terms(c, billing_of) != billing_of(c.offering.provider)]
    if hourly:
        lines.append(f"counted by the hour begun, for how its image is billed is not known: {_listed(hourly)}")
    return lines


def expected_cost(
    visits: Visits, rounds: int, billing_of: BillingOf = by_the_hour, free: Free = nobody_is_free
) -> Money | None:
    """Money for all launches if all goes as expected, paid in the minimum and steps of its offering's provider.

    None where a price is unknown or currencies differ.
    """
    paid = {c.index: _expected_s(visits, c, _terms(c, billing_of)) * rounds for c in visits.candidates}
    return _cost([_with_peers(visits, c) for c in _counted(visits.candidates, free)], paid, ROUND_HALF_EVEN)


def worst_cost(
    visits: Visits, rounds: int, billing_of: BillingOf = by_the_hour, free: Free = nobody_is_free
) -> Money | None:
    """Money for all launches if each lives its whole lease, paid in the minimum and steps of its offering's provider.

    A lease is what a run asks for: all deadlines of a launch's trials and `LEASE_MARGIN_S`. Without what a resumed
    study takes anew: its interrupted launch gets a second machine. A machine that is resized costs the dearer price all
    the time, and begins a period of billing anew each time.
    """
    worst = {c.index: _paid_s(visits.of(c), _terms(c, billing_of)) * rounds for c in visits.candidates}
    counted = _counted(visits.candidates, free)
    return _cost([_at_most(_with_peers(visits, c), visits.of(c)) for c in counted], worst, ROUND_UP)


def _terms(candidate: Candidate, billing_of: BillingOf) -> Billing:
    """How a candidate's machines are billed: by the hour begun where its provider's terms rest on an unknown image."""
    billing = billing_of(candidate.offering.provider)
    return billing.in_hours() if billing.hourly(dict(candidate.options)) else billing


def _counted(candidates: Sequence[Candidate], free: Free) -> list[Candidate]:
    """The candidates whose money is counted: all, but those without a price that nobody bills, beside others."""
    some = [one for one in candidates if one.offering.price is not None or not free(one)]
    return some or list(candidates)


def _with_peers(visits: Visits, candidate: Candidate) -> Candidate:
    """The candidate with as many machines as its launches take: measuring a network takes a second one."""
    needed = machines(candidate, (dict(task.params) for task in visits.of(candidate)))
    return replace(candidate, count=needed)


def _at_most(candidate: Candidate, tasks: Sequence[Task]) -> Candidate:
    """The candidate as the dearest that its machines become; as one without a price where that is not known."""
    kinds = [candidate.offering, *(task.becomes for task in tasks if task.becomes)]
    unknown = next((one for one in kinds if one.price is None), None)
    return replace(
        candidate, offering=unknown or max(kinds, key=lambda one: one.price.amount_per_hour if one.price else 0)
    )


def _expected_s(visits: Visits, candidate: Candidate, billing: Billing) -> float:
    return billing.paid_s(visits.launch_s(candidate)) + _anew_s(visits.of(candidate), billing)


def _paid_s(tasks: Sequence[Task], billing: Billing) -> float:
    lease_s = sum(task.deadline_s * task.runs for task in tasks) + LEASE_MARGIN_S
    return billing.paid_s(lease_s) + _anew_s(tasks, billing)


def _anew_s(tasks: Sequence[Task], billing: Billing) -> float:
    """What the periods cost that a resized machine begins anew."""
    return sum(task.runs for task in tasks if task.becomes) * max(billing.minimum_s, billing.step_s)


def _cost(candidates: Sequence[Candidate], seconds: dict[int, float], rounding: str) -> Money | None:
    total = Decimal(0)
    currencies = set()
    for candidate in candidates:
        hourly = hourly_cost(candidate)
        if hourly is None or candidate.offering.price is None:
            return None
        total += hourly * Decimal(repr(seconds[candidate.index])) / 3600
        currencies.add(candidate.offering.price.currency)
    return Money(total.quantize(_STEP, rounding), currencies.pop()) if len(currencies) == 1 else None


def money_notes(
    candidates: Sequence[Candidate], worst: Money | None, budget: Money | None, free: Free = nobody_is_free
) -> list[str]:
    """Why there is no cost, or what it means for the budget; one line each."""
    volumes = [str(c.volume) for c in candidates if c.volume and c.offering.price and c.volume.price is None]
    beside = [f"no cost counts the price of a volume: {_listed(list(dict.fromkeys(volumes)))}"] if volumes else []
    counted = _counted(candidates, free)
    left = [one.id for one in candidates if one not in counted]
    if left:
        beside.append(f"the cost leaves out {_listed(left)}: without a price, and billed by nobody")
    return [*_why_no_quote(counted, worst, budget), *beside]


def _why_no_quote(candidates: Sequence[Candidate], worst: Money | None, budget: Money | None) -> list[str]:
    unknown = [c.id for c in candidates if c.offering.price is None]
    currencies = sorted({c.offering.price.currency for c in candidates if c.offering.price})
    if unknown:
        return [f"no cost is quoted: no price is known for {_listed(unknown)}"]
    if len(currencies) > 1:
        return [f"no cost is quoted: the prices are in {' and '.join(currencies)}"]
    if worst and budget and worst.currency == budget.currency and worst.amount > budget.amount:
        return [f"the worst case is above the budget of {budget.amount} {budget.currency}"]
    return []


def _listed(names: Sequence[str], most: int = 3) -> str:
    return ", ".join(names) if len(names) <= most else f"{', '.join(names[:most])} and {len(names) - most} more"


def deciding_cells(decide: Sequence[Decide], tasks: Sequence[Task]) -> tuple[str, ...]:
    """The cells that decide: those that are named or whose metric is, or all where none is named."""
    cells = dict.fromkeys(cell for task in tasks for cell in task.cells)
    named = {one.cell for one in decide}
    return tuple(cell for cell in cells if not named or cell in named or cell.partition(" ")[0] in named)


def detectable(cells: Sequence[str], candidates: int, rounds: int) -> tuple[tuple[str, float], ...]:
    """For each deciding cell the smallest true difference (a ratio - 1) that is found with 80 % power.

    The paired t test over rounds on log launch values, at Holm's first step (0.05 / (pairs x cells)), for launches that
    vary by `ASSUMED_COV`. Cells compared by differences have no ratio and are left out; so is all with fewer than two
    candidates or six rounds, which give no verdict.
    """
    # scipy takes a third of a second to import: only a quote pays for it.
    from cloudcmp.stats.power import detectable_log_difference

    pairs = candidates * (candidates - 1) // 2
    if not pairs or not cells or rounds < LAUNCHES_MIN:
        return ()
    sd = math.sqrt(2 * math.log1p(ASSUMED_COV**2))
    found = detectable_log_difference(sd, rounds, _ALPHA / (pairs * len(cells)), _POWER)
    if found is None:
        return ()
    ratio = math.expm1(found)
    return tuple((cell, ratio) for cell in cells if not METRICS[cell.partition(" ")[0]].signed)
