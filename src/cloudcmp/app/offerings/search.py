"""Searches the offerings of providers and of the price book: filtered, priced and sorted."""

import fnmatch
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal

from cloudcmp.app.concurrent import Say, offerings_by_provider, quiet
from cloudcmp.catalog import hint
from cloudcmp.catalog.parameters import nearest
from cloudcmp.cost.account_terms import effective_per_hour
from cloudcmp.cost.lookup import FRESH_DAYS, Lookup
from cloudcmp.cost.offering_prices import OWN_PRICES, unpriced_book_offerings, utc_day
from cloudcmp.cost.price_query import PriceQuery, UnknownPrice, machine_rows
from cloudcmp.cost.shapes import shape_of
from cloudcmp.errors import UserMistake
from cloudcmp.model.inventory import PricedOffering, ProviderOfferings, SearchResult
from cloudcmp.model.offering import Offering, Price
from cloudcmp.model.price import OLD_BY_NATURE, How, Item, PriceListEntry, PriceRow, Purchase, Unit
from cloudcmp.model.terms import Commitment
from cloudcmp.provider.registry import names
from cloudcmp.store.prices import PriceBook
from cloudcmp.units import Money, parse_price_per_hour

SORTS = ("name", "region", "vcpus", "memory", "price")
PURCHASES = tuple(one.value for one in (Purchase.ON_DEMAND, Purchase.SPOT, Purchase.RESERVED))
SYSTEMS = ("linux", "rhel", "suse", "windows")
Size = tuple[float | None, float | None]


@dataclass(frozen=True, slots=True)
class Span:
    """Numbers from `low` to `high`."""

    low: float = 0.0
    high: float = math.inf

    def has(self, value: float | None) -> bool:
        """True if the value is known and in the range."""
        return value is not None and self.low <= value <= self.high


@dataclass(frozen=True, slots=True)
class Filters:
    """A search; None or empty filters nothing. `places` are the regions of some providers where `region` is None."""

    provider: str | None = None
    region: str | None = None
    pattern: str | None = None
    vcpus: Span | None = None
    memory_gib: Span | None = None
    category: str | None = None
    system: str = "linux"
    purchase: Purchase = Purchase.ON_DEMAND
    most: Money | None = None
    sort: str | None = None
    places: Mapping[str, Sequence[str]] = field(default_factory=dict)

    @property
    def usual(self) -> bool:
        """True if prices are those of the providers' own lists: Linux, on demand."""
        return self.system == "linux" and self.purchase is Purchase.ON_DEMAND

    @property
    def by_size(self) -> bool:
        """True if the search filters by size."""
        return self.vcpus is not None or self.memory_gib is not None

    def unsized(self, sold: Offering) -> bool:
        """True if part of the size is unknown and the known part matches the filter."""
        pairs = [
            (span, value) for span, value in ((self.vcpus, sold.vcpus), (self.memory_gib, sold.memory_gib)) if span
        ]
        return any(value is None for _, value in pairs) and all(
            value is None or span.has(value) for span, value in pairs
        )

    def fits(self, sold: Offering, *, sized: bool = True) -> bool:
        """True if an offering matches the search; `sized` includes its size."""
        return (
            (sold.region in self.places.get(sold.provider, (sold.region,)))
            and (self.region is None or sold.region == self.region)
            and (self.pattern is None or fnmatch.fnmatchcase(sold.name.lower(), self.pattern.lower()))
            and (not sized or self.vcpus is None or self.vcpus.has(sold.vcpus))
            and (not sized or self.memory_gib is None or self.memory_gib.has(sold.memory_gib))
            and (self.category is None or sold.category == self.category)
        )


def filters(
    *, provider: str | None = None, region: str | None = None, pattern: str | None = None, vcpus: str | None = None,
    memory_gib: str | None = None, category: str | None = None, system: str | None = None,
    purchase: str | None = None, max_price: str | None = None, sort: str | None = None,
    places: Mapping[str, Sequence[str]] | None = None,
) -> Filters:  # fmt: skip
    """The filters of a command's words; raises UserMistake for an unknown word, naming the nearest."""
    if sort is not None and sort not in SORTS:
        raise UserMistake.at("--sort", f"unknown order {sort!r}", _near(sort, SORTS))
    if system is not None and system not in SYSTEMS:
        raise UserMistake.at("--os", f"unknown system {system!r}", f"known are {', '.join(SYSTEMS)}")
    if purchase is not None and purchase not in PURCHASES:
        raise UserMistake.at("--purchase", f"unknown way to buy {purchase!r}", _near(purchase, PURCHASES))
    if pattern is not None and not _whole(pattern):
        raise UserMistake.at("--match", f"{pattern!r} has a [ without its ]", "write e.g. 'm7[ai].*'")
    try:
        most = parse_price_per_hour(max_price) if max_price is not None else None
    except ValueError as error:
        raise UserMistake.at("--max-price", str(error)) from None
    return Filters(
        provider, region, pattern, _span("--vcpus", vcpus), _span("--memory-gib", memory_gib), category,
        system or "linux", Purchase(purchase) if purchase else Purchase.ON_DEMAND, most, sort, places or {},
    )  # fmt: skip


def _near(word: str, known: Sequence[str]) -> str:
    close = nearest(word, known)
    listed = f"known are {', '.join(known)}"
    return f"did you mean {close}? {listed}" if close else listed


def _whole(pattern: str) -> bool:
    """True if each [ of a pattern has its ]."""
    return "[" not in re.sub(r"\[!?\]?[^\]]*\]", "", pattern)


def _span(option: str, text: str | None) -> Span | None:
    """Parse `4` (exactly), `4-8` (a range), `4-` (at least) or `-8` (at most)."""
    if text is None:
        return None
    low, dash, high = text.partition("-")
    try:
        least, most = float(low or 0), float(high or math.inf) if dash else float(low)
    except ValueError:
        raise UserMistake.at(option, f"{text!r} is no number or span", "write e.g. 4, 4-8, 4- or -8") from None
    if not least <= most:
        raise UserMistake.at(option, f"{text!r} holds no number", "write the smaller one first")
    return Span(least, most)


def search(wanted: Filters, say: Say = quiet, *, most: int = 0, each_once: bool = False) -> SearchResult:
    """The offerings that fit, in order, the first `most` of them (0: all).

    `each_once` shows each offering once that is known to be sold so, whatever its prices. `say` reports which providers
    are awaited. Raises UserMistake for an unknown provider, naming the nearest.
    """
    fitting: list[Offering] = []
    unsized = 0
    with PriceBook() as book:
        chosen = _providers(wanted, book)
        answers = offerings_by_provider([name for name in chosen if name in names()], wanted.region, say)
        unavailable: dict[str, ProviderOfferings] = {}
        for name in chosen:
            answer = answers.get(name) or ProviderOfferings(why="the price book has none of its machines there")
            offered: Sequence[Offering] = answer.offerings
            if answer.why and not (offered := unpriced_book_offerings(name, wanted.region)):
                unavailable[name] = answer
            some = [one for one in offered if wanted.fits(one, sized=False)]
            if wanted.by_size:
                some = _sized(some, book, name)
                unsized += sum(map(wanted.unsized, some))
            fitting += filter(wanted.fits, some)
        result = _first(fitting, wanted, Lookup(book, utc_day()), most, each_once=each_once)
    return replace(result, unsized=unsized, unavailable=unavailable)


def _providers(wanted: Filters, book: PriceBook) -> list[str]:
    """The providers to ask: the requested one, else all with a driver or in the price book."""
    known = sorted({*names(), *(name for name, _ in book.places())})
    if wanted.provider is None:
        return known
    if wanted.provider not in known:
        near = hint(wanted.provider, known, "cloudcmp list providers")
        raise UserMistake.at("--provider", f"unknown {wanted.provider!r}", near)
    return [wanted.provider]


def _first(fitting: Sequence[Offering], wanted: Filters, look: Lookup, most: int, *, each_once: bool) -> SearchResult:
    """The first offerings with their prices, and counts of the others.

    If the order does not depend on prices, only those that are shown are priced.
    """
    order = _ORDERS[wanted.sort or "name"]
    by_price = wanted.most is not None or wanted.sort == "price" or wanted.purchase is Purchase.RESERVED
    sold = [one for one in fitting if wanted.usual or one.provider not in OWN_PRICES]
    unsold, unpriced, rest = len(fitting) - len(sold), 0, 0
    if most and not by_price and (wanted.usual or not each_once):
        first = sorted((PricedOffering(one, None) for one in sold), key=order)[:most]
        rest = len(sold) - len(first)
        sold = [one.offering for one in first]
    found: list[PricedOffering] = []
    for one in sold:
        priced = _priced(one, wanted, look)
        unsold += not priced
        if each_once and not wanted.usual:
            known = [each for each in priced if each.price is not None]
            unpriced += bool(priced) and not known
            priced = known
        if wanted.most is not None:
            priced = [each for each in priced if _within(each.price, wanted.most)]
        found += priced[:1] if each_once else priced
    shown = tuple(sorted(found, key=order)[: most or None])
    return SearchResult(shown, len(found) + rest, wanted.system, wanted.purchase, unsold=unsold, unpriced=unpriced)


def _priced(sold: Offering, wanted: Filters, look: Lookup) -> list[PricedOffering]:
    """The prices of an offering for this system and purchase; empty if it is certainly not sold so."""
    if wanted.purchase is Purchase.RESERVED:
        return reserved(sold, wanted.system, look)
    if sold.provider in OWN_PRICES or (wanted.usual and sold.price is not None):
        return [PricedOffering(sold, sold.price)]
    price = look.machine(PriceQuery(sold.provider, sold.region, sold.name, wanted.system, wanted.purchase))
    if isinstance(price, UnknownPrice):
        return [PricedOffering(replace(sold, price=None), None, price.line)]
    return [PricedOffering(replace(sold, price=price), price)]


def _within(price: Price | None, most: Money) -> bool:
    return price is not None and price.currency == most.currency and price.amount_per_hour <= most.amount


def _named(one: PricedOffering) -> tuple[str, str, str]:
    return one.offering.provider, one.offering.region, one.offering.name


def _number(value: float | None) -> float:
    return math.inf if value is None else value


_ORDERS: dict[str, Callable[[PricedOffering], tuple[object, ...]]] = {
    "name": _named,
    "region": lambda one: (one.offering.region, *_named(one)),
    "vcpus": lambda one: (_number(one.offering.vcpus), *_named(one)),
    "memory": lambda one: (_number(one.offering.memory_gib), *_named(one)),
    "price": lambda one: (
        one.price is None,
        one.price.currency if one.price else "",
        one.price.amount_per_hour if one.price else 0,
        *_named(one),
    ),
}


def _sized(offered: Sequence[Offering], book: PriceBook, provider: str) -> list[Offering]:
    """The offerings, with unknown sizes filled in from other lists of any region, or from Google's naming scheme.

    A provider's type has one size everywhere; if two lists differ, it stays unknown.
    """
    wanted = {one.name for one in offered if one.vcpus is None or one.memory_gib is None}
    if not wanted:
        return list(offered)
    known = _listed_sizes(wanted, book, provider)
    return [_with(one, known.get(one.name, (None, None))) for one in offered]


def _listed_sizes(wanted: set[str], book: PriceBook, provider: str) -> dict[str, Size]:
    sizes: dict[str, tuple[set[float], set[float]]] = {name: (set(), set()) for name in wanted}
    for list_ in book.lists(provider, item=Item.INSTANCE):
        for one in book.sold(list_, provider):
            if one.name in sizes:
                _add(sizes[one.name], (one.vcpus, one.memory_gib))
    if provider == "gcp":
        for name, values in sizes.items():
            shape = shape_of(name)
            # A shared type is billed for part of a processor, unlike the number of vCPUs that it shows.
            if shape is not None and shape.vcpus >= 1 and name != "e2-medium" and not any(values):
                _add(values, (shape.vcpus, shape.memory_gib))
    return {name: (_only(vcpus), _only(gib)) for name, (vcpus, gib) in sizes.items()}


def _add(values: tuple[set[float], set[float]], size: Size) -> None:
    for known, value in zip(values, size, strict=True):
        if value is not None:
            known.add(value)


def _only(values: Iterable[float]) -> float | None:
    found = list(values)
    return found[0] if len(found) == 1 else None


def _with(one: Offering, size: Size) -> Offering:
    vcpus, memory_gib = size
    return replace(
        one,
        vcpus=vcpus if one.vcpus is None else one.vcpus,
        memory_gib=memory_gib if one.memory_gib is None else one.memory_gib,
    )


def reserved(sold: Offering, system: str, look: Lookup) -> list[PricedOffering]:
    """The reservations of an offering in the newest list with reservations there; empty if that list sells none of it.

    A single entry without a price if it is unknown: no list has any there, or the list is doubtful, or it is the user's
    own, which may be incomplete. An hourly price is that of a machine that runs every hour of the term. Lists older
    than 30 days are ignored.
    """
    query = PriceQuery(sold.provider, sold.region, sold.name, system, Purchase.RESERVED)
    why = "no known list has reservations"
    for list_ in look.book.lists(sold.provider, sold.region, Item.INSTANCE, Purchase.RESERVED):
        if list_.how in OLD_BY_NATURE or list_.dated is None or not -1 <= (look.today - list_.dated).days <= FRESH_DAYS:
            why = f"its list is of {list_.dated or 'no date'}, not of the last {FRESH_DAYS} days"
            continue
        rows = look.book.rows(list_, sold.provider, sold.region, Item.INSTANCE, sold.name)
        sales = [_sale(sold, list_, row) for row in dict.fromkeys(rows) if _fits(row, query, look)]
        why = _doubted(sold, list_, look, found=bool(sales))
        if not why and not sales and any(_about(row, query) for row in rows):
            why = "its list has no reservation price that applies today"
        elif not why and not sales and list_.how == How.GIVEN:
            why = "no known list has a reservation of it"
            continue
        if not why:
            return sales
        break
    return [PricedOffering(replace(sold, price=None), None, f"{sold.provider}/{sold.region} {sold.name}: {why}")]


def _doubted(sold: Offering, list_: PriceListEntry, look: Lookup, *, found: bool) -> str:
    """Why a line of the list makes the reservations doubtful; a line without a name matters only if none was found."""
    for one in look.book.doubts(list_, sold.provider, sold.region, sold.name):
        about = one.item in {None, Item.INSTANCE} and one.purchase in {None, Purchase.RESERVED}
        if about and one.tenancy in {"", "shared"} and (one.name or not found):
            return one.why
    return ""


def _about(row: PriceRow, query: PriceQuery) -> bool:
    """True if a row is a reservation of this machine, of any term."""
    return machine_rows(replace(query, term_months=row.term_months)).row(row)


def _fits(row: PriceRow, query: PriceQuery, look: Lookup) -> bool:
    begun = row.starts is None or row.starts <= look.today
    usable = row.term_months > 0 and row.unit is Unit.HOUR and row.amount + row.upfront > 0
    return begun and usable and _about(row, query)


def _sale(sold: Offering, list_: PriceListEntry, row: PriceRow) -> PricedOffering:
    term = Commitment(
        sold.provider, sold.name, row.purchase, row.term_months, Money(row.amount, row.currency), row.upfront
    )
    hour = effective_per_hour(term)
    amount = hour.amount.quantize(Decimal("1e-12")).normalize() + 0
    price = Price(amount, hour.currency, list_.source, list_.dated, list_.how, row.sku, list_.sha256[:12])
    return PricedOffering(replace(sold, price=price), price, "", row.term_months, row.upfront)
