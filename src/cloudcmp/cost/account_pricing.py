"""A candidate's hourly price under an account's own terms, and the break-even of commitments."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal

from cloudcmp.cost.account_terms import covering_commitments, effective_per_hour, terms_lines
from cloudcmp.cost.metering import EXACT, hours_for
from cloudcmp.cost.parts import with_system
from cloudcmp.cost.rules import USER_SOURCES, shares_of
from cloudcmp.model.bill import BillLine, Use
from cloudcmp.model.offering import Billing, Price
from cloudcmp.model.plan import Candidate, unit_cost
from cloudcmp.model.price import MONTH_HOURS, Item, Purchase, Unit
from cloudcmp.model.terms import Commitment, Terms
from cloudcmp.units import Money

_STEP = Decimal("1e-12")


def apply_terms(candidate: Candidate, terms: Terms, billing: Billing, purchase: Purchase) -> tuple[Candidate, str]:
    """Returns the candidate with its hourly prices under the terms, and a line that explains them.

    Commitments replace the list price, as if every hour of their term were used; discounts apply to the rest, as in a
    bill. Support plans and credits belong to a whole bill, so they are left out. A price is unknown if the terms reduce
    it to zero or use another currency. `billing` says which part of `candidate.beside` is for the address.
    """
    price, before = candidate.offering.price, unit_cost(candidate)
    if price is None or before is None:
        return candidate, f"{candidate.id}: no price is known, so none under your terms"
    terms = replace(terms, support=(), credits=())
    if terms.currency not in {None, price.currency}:
        why = f"its price is in {price.currency}, your terms are in {terms.currency}"
        return _without_price(candidate), f"{candidate.id}: unknown under your terms: {why}"
    volume, beside, effects = candidate.volume, candidate.beside, list[str]()
    try:
        machine = _hour_under_terms(
            candidate, price, (Item.INSTANCE, candidate.offering.name), terms, purchase, effects
        )
        if volume is not None and volume.price is not None:
            disk = _hour_under_terms(candidate, volume.price, (Item.VOLUME, volume.type), terms, purchase, effects)
            volume = replace(volume, price=disk)
        if beside is not None:
            beside = _extras_under_terms(candidate, beside, billing, terms, purchase, effects)
    except _Unknown as no:
        return _without_price(candidate), f"{candidate.id}: unknown under your terms: {no}"
    priced = replace(candidate, offering=replace(candidate.offering, price=machine), volume=volume, beside=beside)
    if not effects:
        return priced, f"{candidate.id}: {_per_hour(before, price)}: your terms do not apply to it"
    now = _per_hour(unit_cost(priced) or Decimal(0), price)
    return priced, f"{candidate.id}: {now} under your terms, {_per_hour(before, price)} without: {'; '.join(effects)}"


class _Unknown(Exception):
    """A price under the terms is unknown; the text is the reason."""


def _hour_under_terms(
    candidate: Candidate, price: Price, what: tuple[Item, str], terms: Terms, purchase: Purchase, effects: list[str]
) -> Price:
    """Returns an hourly price under the terms, and adds what they do to `effects`, once.

    Raises _Unknown if the currencies differ or if nothing is left to pay.
    """
    sold, count = candidate.offering, Decimal(candidate.count)
    use = with_system(Use(sold.provider, sold.region, *what, count=candidate.count, purchase=purchase), candidate)
    listed = EXACT.multiply(price.amount_per_hour, count)
    line = BillLine(use.label(), count, Unit.HOUR.value, price.amount_per_hour, Money(listed, price.currency), "")
    own = terms_lines([(use, line)], terms, None, _STEP)
    unknown = next((one for one in own if one.amount is None), None)
    if unknown is not None:
        raise _Unknown(f"{unknown.item}: {unknown.why}")
    if not own:
        return price
    paying = iter(covering_commitments(use, terms))
    for one in own:
        why = one.why
        if one.quantity is not None:  # the line of a commitment; both are in the same order
            paid, machines = next(paying)
            part = f" (for {machines} of {candidate.count} machines)" if machines < candidate.count else ""
            monthly = () if price.source in USER_SOURCES else shares_of(sold.provider, sold.name)
            why = describe(paid, price.amount_per_hour, monthly) + part
        if why not in effects:
            effects.append(why)
    left = listed + sum((one.amount.amount for one in own if one.amount), Decimal(0))
    if left <= 0:
        raise _Unknown(f"{'; '.join(effects)}: that leaves nothing to pay, and a price of zero is unknown")
    amount = EXACT.divide(left, count).quantize(_STEP).normalize() + 0
    return replace(price, amount_per_hour=amount, source=f"{price.source}, under your terms")


def _extras_under_terms(
    candidate: Candidate, beside: Price, billing: Billing, terms: Terms, purchase: Purchase, effects: list[str]
) -> Price:
    """Returns the price of the extras of a machine under the terms: the provider's address, else a disk."""
    address = billing.beside
    part = Decimal(0)
    if address is not None and address.source in beside.source and address.currency == beside.currency:
        part = min(address.amount_per_hour, beside.amount_per_hour)
    parts = {(Item.ADDRESS, "ipv4"): part, (Item.VOLUME, "root"): beside.amount_per_hour - part}
    prices = [
        _hour_under_terms(candidate, replace(beside, amount_per_hour=amount), what, terms, purchase, effects)
        for what, amount in parts.items()
        if amount > 0
    ]
    whole = sum((one.amount_per_hour for one in prices), Decimal(0))
    return replace(beside, amount_per_hour=whole, source=next((one.source for one in prices), beside.source))


def _without_price(candidate: Candidate) -> Candidate:
    return replace(candidate, offering=replace(candidate.offering, price=None))


def _per_hour(amount: Decimal, price: Price) -> str:
    return f"{amount.normalize():.6g} {price.currency}/h"


@dataclass(frozen=True, slots=True)
class BreakEven:
    """The hours at which a commitment and paying by the hour cost the same; None if it never pays off."""

    of_term: Decimal | None
    a_month: Decimal | None


def break_even(own: Commitment, per_hour: Decimal, monthly: Sequence[Decimal] = ()) -> BreakEven:
    """Returns from how many hours, in the term and a month, a commitment is cheaper than `per_hour`.

    The upfront and hourly amounts are due for the whole term, whether the machine runs or not. `monthly` are the shares
    of the price in equal parts of a month, for providers with a discount for long use.
    """
    term_h = Decimal(own.term_months * MONTH_HOURS)
    paid = own.upfront + EXACT.multiply(own.hourly.amount, term_h)
    if per_hour <= 0:
        return BreakEven(None, None)
    hours = EXACT.divide(paid, per_hour)
    if monthly:
        each = hours_for(EXACT.divide(hours, Decimal(own.term_months)), MONTH_HOURS, monthly)
        return BreakEven(None if each is None else each * own.term_months, each)
    if hours >= term_h:
        return BreakEven(None, None)
    return BreakEven(hours, EXACT.divide(hours, Decimal(own.term_months)))


def describe(own: Commitment, per_hour: Decimal, monthly: Sequence[Decimal] = ()) -> str:
    """Describes a commitment and its break-even."""
    name = f"{own.purchase.value} for {own.term_months} months"
    effective = effective_per_hour(own)
    even = break_even(own, per_hour, monthly)
    long = ", less for long use," if monthly else ""
    each = f"{effective.amount:.6g} {effective.currency}/h if it runs all the time"
    if even.a_month is None:
        return f"{name}: {each}, and never cheaper than {per_hour.normalize():f} {effective.currency}/h{long} on demand"
    share = even.a_month / MONTH_HOURS * 100
    return (
        f"{name}: {each}; cheaper than {per_hour.normalize():f} {effective.currency}/h{long} on demand from "
        f"{even.a_month:.0f} of {MONTH_HOURS} hours a month on ({share:.0f} %)"
    )
