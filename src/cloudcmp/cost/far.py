"""The prices of a launch in two regions: of its machines in each, and of what goes between them."""

from collections.abc import Iterator
from dataclasses import replace

from cloudcmp.cost.parts import with_extra_prices
from cloudcmp.model.bill import Rate, RateOf, Use
from cloudcmp.model.offering import Billing
from cloudcmp.model.plan import Candidate
from cloudcmp.model.price import Item, UnitPrice


def with_all_prices(candidate: Candidate, billing: Billing, rate_of: RateOf) -> Candidate:
    """Returns the candidate with the prices of `with_extra_prices` in each of its regions, and that of its traffic.

    The study's own price of the traffic stays. Otherwise it is the dearer of both directions, because either end may
    send; unknown unless both are known.
    """
    near = with_extra_prices(candidate, billing, rate_of)
    if near.far is None:
        return near
    far = with_extra_prices(near.far, billing, rate_of)
    return replace(near, far=far, traffic_price=near.traffic_price or _dearer_direction(near, far, rate_of))


def _dearer_direction(near: Candidate, far: Candidate, rate_of: RateOf) -> UnitPrice | None:
    prices = [*_prices(near, far, rate_of), *_prices(far, near, rate_of)]
    known = [price for price in prices if price is not None]
    if len(known) < len(prices) or len({(price.currency, price.unit) for price in known}) > 1:
        return None
    return max(known, key=lambda price: price.amount)


def _prices(sender: Candidate, receiver: Candidate, rate_of: RateOf) -> Iterator[UnitPrice | None]:
    """Yields the price of each tier of what one end sends to the other; one None if there is none."""
    sold, to = sender.offering, receiver.offering.region
    rate: Rate = rate_of(Use(sold.provider, sold.region, Item.EGRESS, "egress", to=to))
    if not any(row.amount > 0 for row in rate.rows):
        yield None
    for row in rate.rows:
        yield UnitPrice(
            Item.EGRESS, row.amount, row.currency, row.unit, f"{sold.region} to {to}, {rate.source}", rate.dated
        )
