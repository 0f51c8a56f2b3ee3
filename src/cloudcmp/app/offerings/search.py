"""What is sold, by all that is known here: asked of providers, or told by the price book; filtered, sorted, priced."""

import fnmatch
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from cloudcmp.app.offerings.reservations import Sale, reserved
from cloudcmp.app.offerings.sizes import sized
from cloudcmp.app.offerings.sources import Say, Told, left_out, quiet, told_by
from cloudcmp.catalog import hint
from cloudcmp.catalog.parameters import nearest
from cloudcmp.cost.lookup import Lookup
from cloudcmp.cost.offering_prices import OWN_PRICES, booked_unpriced, today_of
from cloudcmp.cost.price_query import PriceQuery, UnknownPrice
from cloudcmp.errors import UserMistake
from cloudcmp.model.offering import Offering, Price
from cloudcmp.model.price import Purchase
from cloudcmp.provider.registry import names
from cloudcmp.store.prices import PriceBook
from cloudcmp.units import Money, format_money, parse_price_per_hour

Row = tuple[str, ...]
FACTS = ("provider", "region", "offering", "vCPUs", "GiB", "category")
PRICES = ("where", "offering", "vCPUs", "GiB", "price", "of")
DATA = ("provider", "region", "offering", "vcpus", "memory_gib", "category", "system", "purchase", "amount_per_hour",
        "currency", "as_of", "how", "source", "sku", "unknown", "term_months", "upfront")  # fmt: skip
SORTS = ("name", "region", "vcpus", "memory", "price")
PURCHASES = ("on-demand", "spot", "reserved")
SYSTEMS = ("linux", "rhel", "suse", "windows")


@dataclass(frozen=True, slots=True)
class Span:
    """Numbers from `low` to `high`."""

    low: float = 0.0
    high: float = math.inf

    def has(self, value: float | None) -> bool:
        """Whether a number is known and among them."""
        return value is not None and self.low <= value <= self.high


@dataclass(frozen=True, slots=True)
class Filters:
    """What is to be shown; what is None or empty is not asked for."""

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

    @property
    def usual(self) -> bool:
        """Whether prices are those that providers tell of what they sell: of Linux, on demand."""
        return self.system == "linux" and self.purchase is Purchase.ON_DEMAND

    @property
    def by_size(self) -> bool:
        """Whether the size is asked for."""
        return self.vcpus is not None or self.memory_gib is not None

    def unsized(self, sold: Offering) -> bool:
        """Whether it cannot be told if an offering is of the asked size: no known number of it is another one."""
        asked = [
            (span, value) for span, value in ((self.vcpus, sold.vcpus), (self.memory_gib, sold.memory_gib)) if span
        ]
        return any(value is None for _, value in asked) and all(
            value is None or span.has(value) for span, value in asked
        )

    def fits(self, sold: Offering, *, sized: bool = True) -> bool:
        """Whether what is advertised of an offering is asked for; `sized`: its size as well."""
        return (
            (self.region is None or sold.region == self.region)
            and (self.pattern is None or fnmatch.fnmatchcase(sold.name.lower(), self.pattern.lower()))
            and (not sized or self.vcpus is None or self.vcpus.has(sold.vcpus))
            and (not sized or self.memory_gib is None or self.memory_gib.has(sold.memory_gib))
            and (self.category is None or sold.category == self.category)
        )


def filters(
    *, provider: str | None = None, region: str | None = None, pattern: str | None = None, vcpus: str | None = None,
    memory_gib: str | None = None, category: str | None = None, system: str | None = None,
    purchase: str | None = None, max_price: str | None = None, sort: str | None = None,
) -> Filters:  # fmt: skip
    """The filters that words stand for; raises UserMistake for what is none, naming the nearest."""
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
        system or "linux", Purchase(purchase) if purchase else Purchase.ON_DEMAND, most, sort,
    )  # fmt: skip


def _near(word: str, known: Sequence[str]) -> str:
    close = nearest(word, known)
    listed = f"known are {', '.join(known)}"
    return f"did you mean {close}? {listed}" if close else listed


def _whole(pattern: str) -> bool:
    """Whether each [ of a pattern has its ]."""
    return "[" not in re.sub(r"\[!?\]?[^\]]*\]", "", pattern)


def _span(option: str, text: str | None) -> Span | None:
    """`4` is just that, `4-8` from the one to the other, `4-` at least, `-8` at most."""
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


def sales(
    wanted: Filters, say: Say = quiet, *, most: int = 0, each_once: bool = False
) -> tuple[tuple[Sale, ...], int, tuple[str, ...]]:
    """What is sold that fits, in order, the first `most` of it (0: all); how many there are; and a line for what was
    left out, with the reason.

    `each_once`: each offering that is known to be sold so, whatever its prices. `say` is told who is waited for. Raises
    UserMistake for an unknown provider, naming the nearest.
    """
    fitting: list[Offering] = []
    unsized = 0
    with PriceBook() as book:
        known = sorted({*names(), *(name for name, _ in book.places())})
        if wanted.provider is not None and wanted.provider not in known:
            near = hint(wanted.provider, known, "cloudcmp list providers")
            raise UserMistake.at("--provider", f"unknown {wanted.provider!r}", near)
        asked = [wanted.provider] if wanted.provider else known
        told = told_by([name for name in asked if name in names()], wanted.region, say)
        look = Lookup(book, today_of())
        missing: dict[str, Told] = {}
        for name in asked:
            answer = told.get(name) or Told(why="the price book has no machine of it there")
            offered: Sequence[Offering] = answer.offerings
            if answer.why and not (offered := booked_unpriced(name, wanted.region)):
                missing[name] = answer
            some = [one for one in offered if wanted.fits(one, sized=False)]
            if wanted.by_size:
                some = sized(some, book, name)
                unsized += sum(map(wanted.unsized, some))
            fitting += filter(wanted.fits, some)
        found, count, lines = _first(fitting, wanted, look, most, each_once=each_once)
    lines = (*lines, *left_out(missing))
    if unsized:
        lines = (f"{unsized:,} offerings of unknown size were left out", *lines)
    return tuple(found), count, lines


def _first(
    fitting: Sequence[Offering], wanted: Filters, look: Lookup, most: int, *, each_once: bool
) -> tuple[list[Sale], int, tuple[str, ...]]:
    """The first of them with their prices, how many there are, and a line for those that are not sold so.

    Prices are looked up of what is shown alone, where which that is does not hang on them.
    """
    order = _ORDERS[wanted.sort or "name"]
    by_price = wanted.most is not None or wanted.sort == "price" or wanted.purchase is Purchase.RESERVED
    sold = [one for one in fitting if wanted.usual or one.provider not in OWN_PRICES]
    unsold, unknown, rest = len(fitting) - len(sold), 0, 0
    if most and not by_price and (wanted.usual or not each_once):
        first = sorted((Sale(one, None) for one in sold), key=order)[:most]
        rest = len(sold) - len(first)
        sold = [one.offering for one in first]
    found: list[Sale] = []
    for one in sold:
        priced = _priced(one, wanted, look)
        unsold += not priced
        if each_once and not wanted.usual:
            known = [sale for sale in priced if sale.price is not None]
            unknown += bool(priced) and not known
            priced = known
        if wanted.most is not None:
            priced = [sale for sale in priced if _within(sale.price, wanted.most)]
        found += priced[:1] if each_once else priced
    how = f"{wanted.purchase.value} with {wanted.system}"
    lines = [f"{unsold:,} offerings are not sold {how}"] if unsold else []
    if unknown:
        lines.append(f"{unknown:,} offerings were left out: no price {how} is known")
    return sorted(found, key=order)[: most or None], len(found) + rest, tuple(lines)


def _priced(sold: Offering, wanted: Filters, look: Lookup) -> list[Sale]:
    """What an offering is sold at as it is wanted: nothing where it surely is not sold so."""
    if wanted.purchase is Purchase.RESERVED:
        return reserved(sold, wanted.system, look)
    if sold.provider in OWN_PRICES or (wanted.usual and sold.price is not None):
        return [Sale(sold, sold.price)]
    told = look.machine(PriceQuery(sold.provider, sold.region, sold.name, wanted.system, wanted.purchase))
    if isinstance(told, UnknownPrice):
        return [Sale(replace(sold, price=None), None, told.line)]
    return [Sale(replace(sold, price=told), told)]


def _within(price: Price | None, most: Money) -> bool:
    return price is not None and price.currency == most.currency and price.amount_per_hour <= most.amount


def _named(one: Sale) -> tuple[str, str, str]:
    return one.offering.provider, one.offering.region, one.offering.name


def _number(value: float | None) -> float:
    return math.inf if value is None else value


_ORDERS: dict[str, Callable[[Sale], tuple[object, ...]]] = {
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


def table(kind: str, found: Sequence[Sale]) -> tuple[Row, list[Row]]:
    """Columns and rows for people."""
    if kind == "offerings":
        return FACTS, [(*_short(one.offering), one.offering.category or "unknown") for one in found]
    rows, terms = [], [one.term_months for one in found]
    for one in found:
        provider, region, *rest = _short(one.offering)
        rows.append((f"{provider} {region}", *rest, *_money(one.price), *([_term(one)] if any(terms) else [])))
    return (*PRICES, *(["term, upfront"] if any(terms) else [])), rows


def _term(one: Sale) -> str:
    if not one.term_months or one.price is None:
        return "unknown"
    return f"{one.term_months} months, {format_money(Money(one.upfront, one.price.currency))}"


def _short(sold: Offering) -> Row:
    numbers = ("unknown" if one is None else f"{one:.4g}" for one in (sold.vcpus, sold.memory_gib))
    return (sold.provider, sold.region, sold.name, *numbers)


def _money(price: Price | None) -> Row:
    if price is None:
        return "unknown", "no list"
    amount = f"{format_money(Money(price.amount_per_hour, price.currency))}/h"
    return amount, " ".join(filter(None, (str(price.as_of or "no date"), price.how)))


def records(found: Sequence[Sale], wanted: Filters) -> list[dict[str, object]]:
    """All that is known, a record each, for JSON and CSV."""
    rows = []
    for one in found:
        sold, price = one.offering, one.price
        told = (price.amount_per_hour, price.currency, price.as_of, price.how, price.source, price.sku) if price else ()
        values = (sold.provider, sold.region, sold.name, sold.vcpus, sold.memory_gib, sold.category, wanted.system,
                  wanted.purchase.value, *(told or (None,) * 6), one.why or None,
                  one.term_months or None, one.upfront if one.term_months else None)  # fmt: skip
        rows.append(dict(zip(DATA, values, strict=True)))
    return rows
