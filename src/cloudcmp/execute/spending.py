"""The budget request of a launch, and the monitor of a study's spend."""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from decimal import Decimal

from cloudcmp.cost import added_support
from cloudcmp.cost.offering_prices import with_prices
from cloudcmp.errors import Refused
from cloudcmp.model.lease import LeaseRow
from cloudcmp.model.plan import LEASE_MARGIN_S, Candidate, Extra, Plan, PlannedTrial, unit_cost
from cloudcmp.model.price import OLD_BY_NATURE
from cloudcmp.model.protocol import Progress, Provider
from cloudcmp.model.safety import Spend
from cloudcmp.plan import list_prices_apply, resize_price
from cloudcmp.provider.registry import has_driver, make
from cloudcmp.provision import (
    BudgetRequest,
    ExtraCosts,
    Guard,
    accrued_cost,
    charges,
    committed_cost,
    launch_of,
    terms_of,
)
from cloudcmp.store import StudyStore
from cloudcmp.units import Money, format_money, parse_money

_SHORTEST_MARGIN_S = 600.0
"""The least time that a machine gets beyond its trials' deadlines: to boot, to be set up and to be deleted."""
_POLL_S = 2.0
BUDGET = "budget"
"""The key of the note with a budget that was raised after planning."""


def budget_of(store: StudyStore) -> Money | None:
    """The plan's budget, or the one to which it was raised on resume."""
    raised = store.meta(BUDGET)
    return parse_money(raised) if raised else store.plan.budget


def request_for(
    provider: Provider, candidate: Candidate, todo: Sequence[PlannedTrial], slots: tuple[str, ...]
) -> BudgetRequest:
    """The budget request of a launch: a machine for each slot, for the deadlines of its trials and a margin.

    The cost of restarts is counted as additional time to live. In two regions, each machine counts at the dearer price.
    """
    restart_s = restarts_s(provider, candidate, todo)
    candidate = max(candidate.ends, key=_dearness)
    offering, work_s = candidate.offering, sum(trial.deadline_s for trial in todo)
    return BudgetRequest(
        provider=provider.name,
        where=f"{offering.provider}/{offering.region}/{offering.name}",
        price_per_hour=unit_cost(candidate),
        currency=offering.price.currency if offering.price else None,
        wanted_ttl_s=work_s + LEASE_MARGIN_S + restart_s,
        shortest_ttl_s=work_s + _SHORTEST_MARGIN_S + restart_s,
        slots=slots,
        hourly=provider.billing.hourly(dict(candidate.options)),
    )


def _dearness(candidate: Candidate) -> tuple[bool, Decimal]:
    """The sort key of a candidate by its price; an unknown price comes last, as the dearest."""
    price = unit_cost(candidate)
    return price is None, price or Decimal(0)


def restarts_s(provider: Provider, candidate: Candidate, todo: Iterable[PlannedTrial]) -> float:
    """Seconds that are billed beyond a machine's time to live: each start begins a new billing period."""
    billing = provider.billing.in_hours() if provider.billing.hourly(dict(candidate.options)) else provider.billing
    return sum(billing.anew_s for trial in todo if trial.probe == "resize" and provider.billed)


def extra_costs_of(plan: Plan) -> ExtraCosts:
    """The costs that the prices in a ledger's rows do not include, as the plan bounds them: per launch, and support."""
    extra = {one.candidate: one.extra for one in plan.usage}
    of_launch = {launch.index: extra.get(launch.candidate, Extra()) for launch in plan.launches}

    def of(slot: str) -> Extra:
        launch, first = launch_of(slot)
        launch_extra = of_launch.get(launch, Extra())
        return launch_extra if first else Extra(launch_extra.timed)

    def on_top(spend: Decimal) -> Decimal:
        """The upper bound of the cost of support plans, as if each applied to the whole spend."""
        return sum((added_support(one, spend) for one in plan.terms.support), Decimal(0))

    return ExtraCosts(of, on_top)


def dearest_candidate(
    provider: Provider, candidate: Candidate, todo: Sequence[PlannedTrial], candidates: Sequence[Candidate] = ()
) -> Candidate:
    """The candidate at the highest price that its machine will have: a trial may resize it to another type.

    The study's own price for that type counts first, given by the candidate or by another one of `candidates`; then the
    listed price. Raises Refused if the provider bills the type and its price is unknown.
    """
    offering = candidate.offering
    types = {dict(trial.params)["to"] for trial in todo if trial.probe == "resize"}
    if not types or not provider.billed or offering.price is None:
        return candidate
    own = {name: resize_price(candidate, name, candidates) for name in types}
    missing = any(price is None for price in own.values())
    known = provider.offerings(offering.region) if missing else ()
    known = with_prices(known) if list_prices_apply(candidate) else known
    listed = {one.name: one.price for one in known}
    prices = [offering.price]
    for name in types:
        price = own[name] or listed.get(name)
        if price is None or price.how in OLD_BY_NATURE or price.currency != offering.price.currency:
            what = f"its price is not known in {offering.price.currency}, and a trial makes the machine one"
            where = f"{offering.provider}/{offering.region}/{name}"
            raise Refused.at(where, what, "write resize_price, or leave resize out")
        prices.append(price)
    dearest = max(prices, key=lambda price: price.amount_per_hour)
    return replace(candidate, offering=replace(offering, price=dearest))


async def watch_money(
    guard: Guard,
    progress: Progress,
    drain: Callable[[str], None],
    teardown: Callable[[str], None],
    poll_s: float = _POLL_S,
) -> None:
    """Watches the money until cancelled: reports it, launches nothing new from 95 % of the budget, ends all at 100 %.

    Also ends all if the spend cannot be counted any more, because it may be above the budget.
    """
    level = "ok"
    while True:
        try:
            spend = guard.spend()
        except Exception as fault:
            teardown(f"what was spent cannot be counted ({fault}): everything is ended")
            return
        if spend.accrued is None:
            if spend.level == "teardown":
                teardown(f"{spend.note}: everything is ended")
            return
        line = spent_line(spend)
        progress.money(line)
        if spend.level != level:
            level = spend.level
            progress.note(line)
            if level == "drain":
                drain(f"{line}: nothing new is launched")
            elif level == "teardown":
                teardown(f"{line}: everything is ended")
        await asyncio.sleep(poll_s)


def spend_of(plan: Plan, rows: Iterable[LeaseRow], budget: Money | None, now: float) -> Spend | None:
    """The spend of a study by its own ledger, None if nothing of it is billed; `now` in Unix seconds."""
    terms = terms_of({name: make(name) for name in plan.drivers if has_driver(name)})
    if not terms or budget is None:
        return None
    leased = charges(rows, now)
    extras = extra_costs_of(plan)
    accrued = accrued_cost(leased, terms, budget.currency, extras)
    worst = committed_cost(leased, terms, budget.currency, extras)
    note = "" if accrued is not None else f"a machine has no known price in {budget.currency}"
    return Spend(accrued, worst, budget, note=note)


def spent_line(spend: Spend) -> str:
    """One line: money spent, at worst, and allowed."""
    if spend.accrued is None or spend.committed is None or spend.budget is None:
        return spend.note
    worst = f"at worst {format_money(spend.committed)}"
    return f"{format_money(spend.accrued)} of {format_money(spend.budget)} spent by our own count, {worst}"
