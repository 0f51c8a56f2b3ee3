"""The price of a candidate for an hour under an account's own terms, and what commitments are worth."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal

from cloudcmp.cost.account_terms import covering, effective_per_hour, own_lines
from cloudcmp.cost.metering import EXACT, hours_for
from cloudcmp.cost.parts import as_rented
from cloudcmp.cost.rules import TOLD, shares_of
from cloudcmp.model.bill import BillLine, Use
from cloudcmp.model.offering import Billing, Price
from cloudcmp.model.plan import Candidate, unit_cost
from cloudcmp.model.price import MONTH_HOURS, Item, Purchase, Unit
from cloudcmp.model.terms import Commitment, Terms
from cloudcmp.units import Money

_STEP = Decimal("1e-12")


def apply_terms(candidate: Candidate, terms: Terms, billing: Billing, purchase: Purchase) -> tuple[Candidate, str]:
    """The candidate with its prices for an hour under the terms, and a line that says what they make of them.

    Commitments take their machines off the list, if every hour of their term is used, and discounts are of what is
    left, as in a bill. Support plans and credits are of a bill as a whole: an hour's price holds none of them. A price
    that the terms leave at zero, or that is in another currency than they, is unknown. `billing` tells which part of
    what comes beside a machine is for its address; `purchase` is how the machine is bought.
    """
    price, before = candidate.offering.price, unit_cost(candidate)
    if price is None or before is None:
        return candidate, f"{candidate.id}: no price is known, so none under your terms"
    terms = replace(terms, support=(), credits=())
    if terms.currency not in {None, price.currency}:
        why = f"its price is in {price.currency}, your terms are in {terms.currency}"
        return _unpriced(candidate), f"{candidate.id}: unknown under your terms: {why}"
    volume, beside, effects = candidate.volume, candidate.beside, list[str]()
    try:
        machine = _hour(candidate, price, (Item.INSTANCE, candidate.offering.name), terms, purchase, effects)
        if volume is not None and volume.price is not None:
            disk = _hour(candidate, volume.price, (Item.VOLUME, volume.type), terms, purchase, effects)
            volume = replace(volume, price=disk)
        if beside is not None:
            beside = _beside(candidate, beside, billing, terms, purchase, effects)
    except _Unknown as no:
        return _unpriced(candidate), f"{candidate.id}: unknown under your terms: {no}"
    found = replace(candidate, offering=replace(candidate.offering, price=machine), volume=volume, beside=beside)
    if not effects:
        return found, f"{candidate.id}: {_per_hour(before, price)}, for your terms have nothing about it"
    now = _per_hour(unit_cost(found) or Decimal(0), price)
    return found, f"{candidate.id}: {now} under your terms, {_per_hour(before, price)} without: {'; '.join(effects)}"


class _Unknown(Exception):
    """A price under the terms is not known; its text says why."""


def _hour(
    candidate: Candidate, price: Price, what: tuple[Item, str], terms: Terms, purchase: Purchase, effects: list[str]
) -> Price:
    """A price for an hour under the terms; what they do to it is added to `told`, once.

    Raises _Unknown where it is in another currency than they, and where they leave nothing.
    """
    sold, count = candidate.offering, Decimal(candidate.count)
    use = as_rented(Use(sold.provider, sold.region, *what, count=candidate.count, purchase=purchase), candidate)
    listed = EXACT.multiply(price.amount_per_hour, count)
    line = BillLine(use.label(), count, Unit.HOUR.value, price.amount_per_hour, Money(listed, price.currency), "")
    own = own_lines([(use, line)], terms, None, _STEP)
    unknown = next((one for one in own if one.amount is None), None)
    if unknown is not None:
        raise _Unknown(f"{unknown.item}: {unknown.why}")
    if not own:
        return price
    paying = iter(covering(use, terms))
    for one in own:
        why = one.why
        if one.quantity is not None:  # one of a commitment, in their order
            paid, machines = next(paying)
            part = f" (for {machines} of {candidate.count} machines)" if machines < candidate.count else ""
            monthly = () if price.source in TOLD else shares_of(sold.provider, sold.name)
            why = describe(paid, price.amount_per_hour, monthly) + part
        if why not in effects:
            effects.append(why)
    left = listed + sum((one.amount.amount for one in own if one.amount), Decimal(0))
    if left <= 0:
        raise _Unknown(f"{'; '.join(effects)}: that leaves nothing to pay, and a price of zero is unknown")
    amount = EXACT.divide(left, count).quantize(_STEP).normalize() + 0
    return replace(price, amount_per_hour=amount, source=f"{price.source}, under your terms")


def _beside(
    candidate: Candidate, beside: Price, billing: Billing, terms: Terms, purchase: Purchase, effects: list[str]
) -> Price:
    """What comes beside a machine under the terms: its address as far as the provider bills one, else a disk."""
    address = billing.beside
    part = Decimal(0)
    if address is not None and address.source in beside.source and address.currency == beside.currency:
        part = min(address.amount_per_hour, beside.amount_per_hour)
    parts = {(Item.ADDRESS, "ipv4"): part, (Item.VOLUME, "root"): beside.amount_per_hour - part}
    found = [
        _hour(candidate, replace(beside, amount_per_hour=amount), what, terms, purchase, effects)
        for what, amount in parts.items()
        if amount > 0
    ]
    whole = sum((one.amount_per_hour for one in found), Decimal(0))
    return replace(beside, amount_per_hour=whole, source=next((one.source for one in found), beside.source))


def _unpriced(candidate: Candidate) -> Candidate:
    return replace(candidate, offering=replace(candidate.offering, price=None))


def _per_hour(amount: Decimal, price: Price) -> str:
    return f"{amount.normalize():.6g} {price.currency}/h"


@dataclass(frozen=True, slots=True)
class BreakEven:
    """Hours at which a commitment and paying by the hour cost the same; None where it never comes to that."""

    of_term: Decimal | None
    a_month: Decimal | None


def break_even(own: Commitment, per_hour: Decimal, monthly: Sequence[Decimal] = ()) -> BreakEven:
    """The hours of the term, and of each month, from which on a commitment is cheaper than `per_hour`.

    `monthly` are the shares of that price in equal parts of a month, where long use is cheaper by itself.

    What is paid at the beginning and each hour of the term is paid whether the machine runs or not: upfront + hourly x
    term. It is cheaper for more hours than that sum buys on demand, and never where those are more than the term has.
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
    """The same in words."""
    name = f"{own.purchase.value} for {own.term_months} months"
    effective = effective_per_hour(own)
    found = break_even(own, per_hour, monthly)
    long = ", less for long use," if monthly else ""
    each = f"{effective.amount:.6g} {effective.currency}/h if it runs all the time"
    if found.a_month is None:
        return f"{name}: {each}, and never cheaper than {per_hour.normalize():f} {effective.currency}/h{long} on demand"
    share = found.a_month / MONTH_HOURS * 100
    return (
        f"{name}: {each}; cheaper than {per_hour.normalize():f} {effective.currency}/h{long} on demand from "
        f"{found.a_month:.0f} of {MONTH_HOURS} hours a month on ({share:.0f} %)"
    )
