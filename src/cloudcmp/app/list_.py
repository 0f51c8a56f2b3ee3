"""Lists providers, offerings, prices, probes, suites, metrics, tools, credit tables and studies."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence

from cloudcmp import published
from cloudcmp.app import concurrent
from cloudcmp.app.study_folder import known_studies
from cloudcmp.catalog import METRICS, PROBES, SUITES, TOOLS, hint
from cloudcmp.cost.credits.tables import credit_tables
from cloudcmp.errors import CloudcmpError, UserMistake
from cloudcmp.model.inventory import PUBLISHED_PRICES, Inventory, ProviderOfferings, ProviderSummary
from cloudcmp.model.offering import Offering
from cloudcmp.provider.registry import make, names

_CATALOG: Mapping[str, Mapping[str, object]] = {
    "probes": PROBES,
    "suites": SUITES,
    "metrics": METRICS,
    "tools": TOOLS,
}


def inventory(
    kind: str, name: str | None, say: concurrent.Say = concurrent.quiet,
    places: Mapping[str, Sequence[str]] | None = None,
) -> Inventory:  # fmt: skip
    """The items of a kind; `name` picks one provider, or one item to be shown in full.

    `places` are the regions to which the offerings and prices of some providers are limited. `say` reports which
    providers are awaited. Raises UserMistake for an unknown name, naming the nearest, and what the provider raises that
    was named.
    """
    if kind == "prices" and name in published.documents():
        return Inventory(PUBLISHED_PRICES, (published.load(name),))
    if kind == "studies":
        studies = {one.path: one for one in known_studies()}
        return Inventory(kind, tuple(studies[one] for one in _select(name, tuple(studies), kind)))
    if kind in _CATALOG or kind == "credits":
        known = _CATALOG.get(kind) or {one.name: one for one in credit_tables()}
        return Inventory(kind, tuple(known[one] for one in _select(name, tuple(known), kind)), whole=name is not None)
    if kind != "providers" and name is not None:
        return Inventory(kind, _ordered(kind, _in_places(_offerings_of(name), places or {})))
    answers = concurrent.offerings_by_provider(names(), None, say)
    if kind == "providers":
        return Inventory(kind, tuple(_summary(one, answers[one]) for one in _select(name, names(), kind)))
    return Inventory(kind, _ordered(kind, _in_places(_priced(answers), places or {})), unavailable=answers)


def _ordered(kind: str, found: Iterable[Offering]) -> tuple[Offering, ...]:
    """Prices the cheapest first, each currency by itself; offerings by provider, region and size. Unknown ones last."""

    def by_price(one: Offering) -> tuple[object, ...]:
        price = () if one.price is None else (one.price.currency, one.price.amount_per_hour)
        return (one.price is None, *price, one.provider, one.region, one.name)

    def by_size(one: Offering) -> tuple[object, ...]:
        sizes = (math.inf if size is None else size for size in (one.vcpus, one.memory_gib))
        return (one.provider, one.region, *sizes, one.name)

    return tuple(sorted(found, key=by_price if kind == "prices" else by_size))


def _in_places(found: Iterable[Offering], places: Mapping[str, Sequence[str]]) -> Iterator[Offering]:
    return (one for one in found if one.region in places.get(one.provider, (one.region,)))


def _select(name: str | None, known: Sequence[str], kind: str) -> Sequence[str]:
    if name is None:
        return known
    if name not in known:
        raise UserMistake.at(kind, f"unknown {name!r}", hint(name, known, f"cloudcmp list {kind}"))
    return [name]


def _summary(name: str, answer: ProviderOfferings) -> ProviderSummary:
    provider = make(name)
    return ProviderSummary(name, provider.simulated, provider.billed, None if answer.why else len(answer.offerings))


def _priced(answers: Mapping[str, ProviderOfferings]) -> list[Offering]:
    from cloudcmp.cost import offering_prices

    return [one for answer in answers.values() for one in offering_prices.with_prices(answer.offerings)]


def _offerings_of(name: str) -> Sequence[Offering]:
    """Return one provider's offerings; those of the price book if it does not answer or has no driver."""
    from cloudcmp.cost import offering_prices

    if name not in names() and (booked := offering_prices.book_offerings(name)):
        return booked
    provider = make(_select(name, names(), "providers")[0])
    try:
        return offering_prices.with_prices(provider.offerings())
    except CloudcmpError:
        if booked := offering_prices.book_offerings(name):
            return booked
        raise
