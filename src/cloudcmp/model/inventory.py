"""The items of `list`: offerings with their prices, and items of every other kind."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from cloudcmp.model.offering import Offering, Price
from cloudcmp.model.price import Purchase

PUBLISHED_PRICES = "published prices"
"""The kind of an inventory that holds one published document."""


@dataclass(frozen=True, slots=True)
class ProviderOfferings:
    """A provider's offerings. `why` says why they are unknown; `no_credentials` if credentials are missing."""

    offerings: tuple[Offering, ...] = ()
    why: str = ""
    no_credentials: bool = False


@dataclass(frozen=True, slots=True)
class ProviderSummary:
    """A provider in a list of providers; `offerings` is None if it could not be queried."""

    name: str
    simulated: bool
    billed: bool
    offerings: int | None


@dataclass(frozen=True, slots=True)
class StudyEntry:
    """A study file, or the folder of a study that was measured, imported, or cannot be read.

    Of a study: its name, its number of candidates, whether it has finished, and when it was last written (UTC).
    """

    path: str
    kind: str
    name: str = ""
    candidates: int | None = None
    state: str = ""
    written: str = ""


@dataclass(frozen=True, slots=True)
class Inventory:
    """Items of one kind; `whole` if a single one was requested, to be shown in full.

    `unavailable` are the providers whose offerings are unknown, with the reason.
    """

    kind: str
    items: tuple[Any, ...]
    whole: bool = False
    unavailable: Mapping[str, ProviderOfferings] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PricedOffering:
    """An offering with its price for the requested system and purchase, or `why` the price is unknown.

    The hourly price of a reservation includes its share of `upfront`, which is paid at the start of `term_months`.
    """

    offering: Offering
    price: Price | None
    why: str = ""
    term_months: int = 0
    upfront: Decimal = Decimal(0)


@dataclass(frozen=True, slots=True)
class SearchResult:
    """The offerings that fit a search, sorted: the first ones, and their total count.

    `unsized` counts offerings whose size is unknown, `unsold` those that are not sold for this system and purchase,
    `unpriced` those without a known price; these are left out.
    """

    offerings: tuple[PricedOffering, ...]
    count: int
    system: str
    purchase: Purchase
    unsized: int = 0
    unsold: int = 0
    unpriced: int = 0
    unavailable: Mapping[str, ProviderOfferings] = field(default_factory=dict)
