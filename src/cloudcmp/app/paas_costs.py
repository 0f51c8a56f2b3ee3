"""What the requests of a measurement of platforms cost by published rules, for a million of them."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from decimal import Decimal

from cloudcmp.analysis import platforms as analysis
from cloudcmp.cost.platform_bills import PlatformBill, cost_of, cost_of_load, lack_of
from cloudcmp.model.platform import Page, PlatformRun, Request, RequestCost, Stage
from cloudcmp.units import Money

_MILLION = 10**6
_BRIEF_S = 1e-9
"""A request of this time is billed as the shortest one."""


def costs_of(run: PlatformRun, bills: Mapping[int, PlatformBill]) -> tuple[RequestCost, ...]:
    """The costs of each page in the rounds and of the load, on each platform that has a bill."""
    return tuple(cost for platform, bill in bills.items() for cost in _costs(run, platform, bill))


def completed(bill: PlatformBill, memory_bytes: int | None) -> PlatformBill:
    """The bill with what the answers tell: a function's memory is its setting on AWS; Cloud Run has one processor."""
    if bill.memory_bytes is None and bill.rule.name == "lambda":
        bill = replace(bill, memory_bytes=memory_bytes)
    if bill.cpus is None and bill.rule.name == "cloud-run":
        bill = replace(bill, cpus=Decimal(1))
    return bill


def _costs(run: PlatformRun, platform: int, bill: PlatformBill) -> Iterator[RequestCost]:
    own = [one for one in run.requests if one.platform == platform and not one.reason]
    rounds = [one for one in own if one.stage is Stage.ROUNDS and analysis.is_warm(one)]
    for page in Page:
        yield _page_cost(platform, page, bill, [one for one in rounds if one.page is page])
    load = [one for one in own if one.stage is Stage.LOAD]
    if load:
        yield _load_cost(platform, bill, load)


def _page_cost(platform: int, page: Page, bill: PlatformBill, some: list[Request]) -> RequestCost:
    """The mean of the requests' costs; its interval is of the means of processes, where there are enough of them.

    Fewer than `ENOUGH_INSTANCES` values have no interval.
    """
    from cloudcmp.stats import describe

    by_instance: dict[str, list[float]] = {}
    for one in some:
        cost = cost_of(bill, one.handler.took_s) if one.handler and one.handler.took_s is not None else None
        if one.handler and cost is not None:
            by_instance.setdefault(one.handler.instance, []).append(float(cost) * _MILLION)
    values = [one for costs in by_instance.values() for one in costs]
    count = len(values)
    if not values:
        return RequestCost(platform, Stage.ROUNDS, page, bill.rule.name, None, None, None, 0, lack_of(bill))
    if len(by_instance) >= analysis.ENOUGH_INSTANCES:
        values = [describe.mean(costs) for costs in by_instance.values()]
    bounds = describe.t_interval(values) if len(values) >= analysis.ENOUGH_INSTANCES else None
    least = float(cost_of(bill, _BRIEF_S) or 0) * _MILLION  # no mean lies below what every request costs
    low, high = (max(bounds.low, least), bounds.high) if bounds else (None, None)
    money = Money(Decimal(repr(describe.mean(values))), bill.rule.currency)
    return RequestCost(platform, Stage.ROUNDS, page, bill.rule.name, money, low, high, count)


def _load_cost(platform: int, bill: PlatformBill, load: list[Request]) -> RequestCost:
    """What the load cost, for a million of its answers; requests that an instance had at once may be billed once."""
    stays: dict[str, list[tuple[float, float]]] = {}
    for one in load:
        if one.handler and one.handler.age_s is not None and one.handler.took_s is not None:
            age_s = one.handler.age_s
            stays.setdefault(one.handler.instance, []).append((age_s, age_s + one.handler.took_s))
    count, total = sum(map(len, stays.values())), cost_of_load(bill, stays.values())
    money = Money(total / count * _MILLION, bill.rule.currency) if total is not None and count else None
    return RequestCost(platform, Stage.LOAD, Page.CPU, bill.rule.name, money, None, None, count, lack_of(bill))
