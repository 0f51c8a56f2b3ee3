"""Unit prices of a service candidate from the price book, where the study gives none."""

from dataclasses import replace
from datetime import date

from cloudcmp.cost.offering_prices import OWN_PRICES, rate_of
from cloudcmp.cost.service_operations import charged_names, protocol_of
from cloudcmp.model.bill import Rate, Use
from cloudcmp.model.cast import Service
from cloudcmp.model.plan import Candidate
from cloudcmp.model.price import Item, UnitPrice
from cloudcmp.model.price_lists import fetch_command


def with_service_prices(candidate: Candidate, today: date | None = None) -> tuple[Candidate, tuple[str, ...]]:
    """Returns a candidate with the book's unit prices of its service, and why one is unknown.

    The study's own prices win: then no list is asked. An older list is asked where a newer one does not have a name,
    because providers list each service apart.
    """
    service = candidate.service
    if service is None or candidate.unit_prices or service.provider in OWN_PRICES:
        return candidate, ()
    prices, unknown = service_prices(service, today)
    return replace(candidate, unit_prices=prices), unknown


def service_prices(service: Service, today: date | None = None) -> tuple[tuple[UnitPrice, ...], tuple[str, ...]]:
    """Returns the prices of a service's requests, capacity, storage and downloads, and a line for each unknown one.

    If none of its requests is listed there is one line, which names the command that fetches them.
    """
    kind = f"{service.api} {service.kind.value}".lstrip()
    protocol, place = protocol_of(service), f"{service.provider}/{service.region} {kind}"
    wanted = tuple(charged_names(protocol))
    if not wanted:  # nobody can fetch what another endpoint costs: the quote says that its requests have no price
        return (), () if service.endpoint else (f"{place}: its requests have no price list: {fetch_command(service)}",)
    rates = {(item, name): _rate(service, item, name, today) for item, name in wanted}
    prices = tuple(_unit_price(rate, *key) for key, rate in rates.items() if rate.rows)
    billed = {key: rate for key, rate in rates.items() if key[0] in {Item.REQUEST, Item.CAPACITY}}
    if all(rate.unlisted for rate in billed.values()):
        return prices, (f"{place}: no price list at hand has its requests: {fetch_command(service)}",)
    return prices, tuple(f"{place}, {name}: {rate.why}" for (_, name), rate in billed.items() if not rate.rows)


def _rate(service: Service, item: Item, name: str, today: date | None) -> Rate:
    to = "internet" if item is Item.EGRESS else ""
    return rate_of(Use(service.provider, service.region, item, name, to=to), today)


def _unit_price(rate: Rate, item: Item, name: str) -> UnitPrice:
    """Returns the price of the first tier, which is the dearest of them in every list of these providers."""
    row = max(rate.rows, key=lambda one: one.amount)
    return UnitPrice(item, row.amount, row.currency, row.unit, rate.source, rate.dated, name)
