"""Renders the result of an offering search as tables and lines."""

from collections.abc import Iterator, Mapping

from cloudcmp.model.inventory import PricedOffering, ProviderOfferings, SearchResult
from cloudcmp.model.offering import Offering, Price
from cloudcmp.units import Money, format_money

Row = tuple[str, ...]
FACTS = ("provider", "region", "offering", "vCPUs", "GiB", "category")
PRICES = ("where", "offering", "vCPUs", "GiB", "price", "of")
DATA = ("provider", "region", "offering", "vcpus", "memory_gib", "category", "system", "purchase", "amount_per_hour",
        "currency", "as_of", "how", "source", "sku", "unknown", "term_months", "upfront")  # fmt: skip


def unavailable_lines(unavailable: Mapping[str, ProviderOfferings]) -> tuple[str, ...]:
    """One line for all providers without credentials, and one for each that failed for another reason."""
    bare = [name for name, one in unavailable.items() if one.why and one.no_credentials]
    lines = [f"left out, no credentials: {', '.join(bare)}; see: cloudcmp check"] if bare else []
    others = [(name, one.why) for name, one in unavailable.items() if one.why and not one.no_credentials]
    return (*lines, *(f"{name} is left out: {why}" for name, why in others))


def left_out_lines(result: SearchResult) -> Iterator[str]:
    """One line for each kind of offering that a search left out."""
    how = f"{result.purchase.value} with {result.system}"
    if result.unsized:
        yield f"{result.unsized:,} offerings of unknown size were left out"
    if result.unsold:
        yield f"{result.unsold:,} offerings are not sold {how}"
    if result.unpriced:
        yield f"{result.unpriced:,} offerings were left out: no price {how} is known"
    yield from unavailable_lines(result.unavailable)


def table(kind: str, result: SearchResult) -> tuple[Row, list[Row]]:
    """Columns and rows of the offerings that were found, or of their prices."""
    found = result.offerings
    if kind == "offerings":
        return FACTS, [facts(one.offering) for one in found]
    with_terms = any(one.term_months for one in found)
    rows = []
    for one in found:
        provider, region, *rest = facts(one.offering)[:-1]
        rows.append((f"{provider} {region}", *rest, *_money(one.price), *([_term(one)] if with_terms else [])))
    return (*PRICES, *(["term, upfront"] if with_terms else [])), rows


def facts(sold: Offering) -> Row:
    """An offering as a row of `FACTS`."""
    numbers = ("unknown" if one is None else f"{one:.4g}" for one in (sold.vcpus, sold.memory_gib))
    return (sold.provider, sold.region, sold.name, *numbers, sold.category or "unknown")


def _term(one: PricedOffering) -> str:
    if not one.term_months or one.price is None:
        return "unknown"
    return f"{one.term_months} months, {format_money(Money(one.upfront, one.price.currency))}"


def _money(price: Price | None) -> Row:
    if price is None:
        return "unknown", "no list"
    amount = f"{format_money(Money(price.amount_per_hour, price.currency))}/h"
    return amount, " ".join(filter(None, (str(price.as_of or "no date"), price.how)))


def records(result: SearchResult) -> list[dict[str, object]]:
    """Return everything known about each offering, one record each, for JSON and CSV."""
    rows = []
    for one in result.offerings:
        sold, price = one.offering, one.price
        paid = (price.amount_per_hour, price.currency, price.as_of, price.how, price.source, price.sku) if price else ()
        values = (sold.provider, sold.region, sold.name, sold.vcpus, sold.memory_gib, sold.category, result.system,
                  result.purchase.value, *(paid or (None,) * 6), one.why or None,
                  one.term_months or None, one.upfront if one.term_months else None)  # fmt: skip
        rows.append(dict(zip(DATA, values, strict=True)))
    return rows
