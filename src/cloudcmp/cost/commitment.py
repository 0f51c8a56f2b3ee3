"""From how much use on a commitment is cheaper than paying for each hour."""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from cloudcmp.cost.account_terms import effective_per_hour
from cloudcmp.cost.metering import EXACT, hours_for
from cloudcmp.model.price import MONTH_HOURS
from cloudcmp.model.terms import Commitment


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
