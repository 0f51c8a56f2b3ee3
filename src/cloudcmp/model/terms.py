"""The terms of an account: payments in addition to or in place of the list price."""

from dataclasses import dataclass
from datetime import date
from decimal import Decimal

from cloudcmp.model.price import Purchase
from cloudcmp.units import Money


@dataclass(frozen=True, slots=True)
class Discount:
    """A share (0.1 is 10 %) off a provider's prices, off one kind of item, or off everything."""

    share: Decimal
    provider: str = ""
    item: str = ""


@dataclass(frozen=True, slots=True)
class Credit:
    """Granted money that pays bills until a day, inclusive; None: without an end."""

    money: Money
    until: date | None = None
    provider: str = ""


@dataclass(frozen=True, slots=True)
class Commitment:
    """A machine type that is paid for a term, used or not.

    `upfront` is paid at the start, `hourly` each hour of the term; `count` machines at once are covered, of this
    `system` (linux or windows) and `tenancy` only: others do not include the surcharge for Windows or dedicated hosts.
    """

    provider: str
    offering: str
    purchase: Purchase
    term_months: int
    hourly: Money
    upfront: Decimal = Decimal(0)
    region: str = ""
    count: int = 1
    system: str = "linux"
    tenancy: str = "shared"


@dataclass(frozen=True, slots=True)
class SupportTier:
    """A share of the month's spend up to a sum; None: of everything above the tier before."""

    share: Decimal
    up_to: Decimal | None = None


@dataclass(frozen=True, slots=True)
class Support:
    """A support plan of one provider: the greater of a minimum and the tiers' shares of the month's spend.

    `spend` is the provider's other bill of the month: then only the difference that a study makes is counted.
    """

    provider: str
    minimum: Money
    tiers: tuple[SupportTier, ...]
    spend: Decimal = Decimal(0)


@dataclass(frozen=True, slots=True)
class Terms:
    """All of an account's terms. `currency` is that of the account's bills; None if not given."""

    discounts: tuple[Discount, ...] = ()
    credits: tuple[Credit, ...] = ()
    commitments: tuple[Commitment, ...] = ()
    support: tuple[Support, ...] = ()
    currency: str | None = None

    def __bool__(self) -> bool:
        """True if there are any terms."""
        return self != Terms()


NO_TERMS = Terms()
