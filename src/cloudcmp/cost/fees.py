"""What is billed for a region and not for a machine: once for all candidates that are there."""

from collections.abc import Iterable, Mapping
from decimal import Decimal

from cloudcmp.cost.parts import Priced, fee_of
from cloudcmp.model.bill import Use
from cloudcmp.model.offering import Billing
from cloudcmp.model.plan import Candidate, Plan
from cloudcmp.model.price import Item

_HOUR_S = 3600.0


def region_fees(plan: Plan, candidates: Iterable[Candidate], billing: Mapping[int, Billing]) -> list[Priced]:
    """The fees of regions with dedicated machines, for the hours of the clock that their launches are to touch.

    How many hours a time of so many seconds touches depends on the minute at which it begins; counted is the mean over
    all of them: the launches' times, each an hour longer, where they overlap taken once.
    """
    spans: dict[tuple[str, str], list[tuple[float, float]]] = {}
    rates = {}
    for one in candidates:
        place = (one.offering.provider, one.offering.region)
        use = Use(*place, Item.FEE, "dedicated")
        rate = fee_of(one, billing[one.index], use)
        if rate is None:
            continue
        rates[place] = (use, rate)
        life_s = plan.usage[one.index].expected_s
        starts = (launch.start_s for launch in plan.launches if launch.candidate == one.index)
        spans.setdefault(place, []).extend((start, start + life_s + _HOUR_S) for start in starts)
    return [(_lasting(use, _covered_s(spans[place])), rate) for place, (use, rate) in rates.items()]


def _lasting(use: Use, seconds: float) -> Use:
    hours = Decimal(round(seconds / _HOUR_S))
    return Use(use.provider, use.region, use.item, use.name, periods_s=(max(hours, Decimal(1)) * 3600,))


def _covered_s(spans: Iterable[tuple[float, float]]) -> float:
    """Seconds in at least one of the spans."""
    total, end = 0.0, float("-inf")
    for start, until in sorted(spans):
        total += max(0.0, until - max(start, end))
        end = max(end, until)
    return total
