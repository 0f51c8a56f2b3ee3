"""The price of a GB from regions to the internet: of a table, or of the price book."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from cloudcmp.cost.offering_prices import rate_of
from cloudcmp.errors import UserMistake
from cloudcmp.model.bill import Rate, Use
from cloudcmp.model.placement import PriceTier
from cloudcmp.model.price import Item, Unit
from cloudcmp.model.wide_area import Site
from cloudcmp.store.egress_prices import INTERNET, EgressPrices, read_egress_prices

BOOK = "prices"
"""The name of the price book as a source."""
_GB = {Unit.GB: 1.0, Unit.GIB: 2**30 / 1e9}


def egress_prices(source: str, sites: Sequence[Site]) -> EgressPrices:
    """The prices of a table, or of the price book for these sites if `source` is `prices`.

    Raises UserMistake for a table that cannot be read, and if the book has no price, or some in several currencies.
    """
    if source != BOOK:
        return read_egress_prices(Path(source))
    rates = {site: rate_of(Use(site.provider, site.region, Item.EGRESS, "egress", to=INTERNET)) for site in sites}
    found = {(site.provider, site.region): tuple(_tiers(rate)) for site, rate in rates.items()}
    currencies = sorted({row.currency for rate in rates.values() for row in rate.rows})
    if len(currencies) != 1:
        what = f"the price book has egress in {' and '.join(currencies)}" if currencies else "no price of egress"
        raise UserMistake.at("prices", what, "'cloudcmp fetch aws' gets a list; or name a CSV file")
    days = sorted({str(rate.dated) for rate in rates.values() if rate.rows and rate.dated})
    notes = [f"prices of egress are of {days[0]}{f' to {days[-1]}' if len(days) > 1 else ''}"] if days else []
    if any(not row.amount for rate in rates.values() for row in rate.rows):
        notes.append(
            "tiers that the price book lists at zero are counted at the price of the next tier: at most so much"
        )
    return EgressPrices(found, {}, currencies[0], "the price book", tuple(notes))


def _tiers(rate: Rate) -> Iterator[PriceTier]:
    for row in rate.rows:
        if row.amount > 0 and row.unit in _GB:
            size = _GB[row.unit]
            yield PriceTier(float(row.tier_from) * size, float(row.amount) / size)
