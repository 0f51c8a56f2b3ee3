"""The lines that an account's own terms add to a bill at list price: commitments, discounts, support, credits."""

from collections.abc import Iterator, Sequence
from datetime import date
from decimal import ROUND_HALF_EVEN, ROUND_UP, Decimal

from cloudcmp.cost.metering import EXACT
from cloudcmp.model.bill import BillLine, Use
from cloudcmp.model.price import MONTH_HOURS, Item, Purchase, Unit
from cloudcmp.model.terms import Commitment, Credit, Discount, Support, SupportTier, Terms
from cloudcmp.units import Money

Listed = Sequence[tuple[Use, BillLine]]


def terms_lines(listed: Listed, terms: Terms, on: date | None, step: Decimal) -> tuple[BillLine, ...]:
    """Returns the lines that follow a list's, in the order in which they apply.

    A commitment replaces the list price of its machines; candidates run at once and share it. A discount applies to
    what is left of the list. Support is a share of the list's sum before discounts and credits
    (https://aws.amazon.com/premiumsupport/pricing/). A credit pays at most what is left. All listed amounts must be
    known.
    """
    left = [one.amount.amount if one.amount else Decimal(0) for _, one in listed]
    lines: list[BillLine] = []
    cover = _Coverage(terms)
    for number, (use, one) in enumerate(listed):
        shares = [(paid, EXACT.divide(Decimal(many), Decimal(use.count))) for paid, many in cover.of(use)]
        lines += _commitment_lines(one, shares, left, number, step)
    for discount in terms.discounts:
        lines += _discount_lines(discount, listed, left, step)
    due: dict[str, Decimal] = {}
    for (use, _), rest in zip(listed, left, strict=True):
        due[use.provider] = due.get(use.provider, Decimal(0)) + rest
    for plan in terms.support:
        spend = sum(
            (one.amount.amount for use, one in listed if use.provider == plan.provider and one.amount), Decimal(0)
        )
        lines.append(_support_line(plan, spend, _currency(listed), step))
        if lines[-1].amount:
            due[plan.provider] = due.get(plan.provider, Decimal(0)) + lines[-1].amount.amount
    for credit in terms.credits:
        lines += _credit_lines(credit, _currency(listed), due, on)
    return tuple(lines)


def commitment_for(use: Use, terms: Terms) -> Commitment | None:
    """Returns the first commitment that covers a use, if any: on demand, of its type and region."""
    return next((one for one in terms.commitments if _covers(one, use)), None)


def covering_commitments(use: Use, terms: Terms) -> list[tuple[Commitment, int]]:
    """Returns the commitments of a use that runs alone, each with the number of machines it covers."""
    return _Coverage(terms).of(use)


def _covers(one: Commitment, use: Use) -> bool:
    """True if a commitment is for such a machine."""
    on_demand = use.item is Item.INSTANCE and use.purchase is Purchase.ON_DEMAND
    wanted = (use.provider, use.name, use.system or "linux", use.tenancy)
    return (
        on_demand and (one.provider, one.offering, one.system, one.tenancy) == wanted and one.region in {"", use.region}
    )


def effective_per_hour(one: Commitment) -> Money:
    """Returns the hourly cost of a commitment with its share of the upfront payment, if every hour is used."""
    share = EXACT.divide(one.upfront, Decimal(one.term_months * MONTH_HOURS))
    return Money(one.hourly.amount + share, one.hourly.currency)


def support_due(plan: Support, spend: Decimal) -> Decimal:
    """Returns a support plan's cost for a month's spend: at least its minimum, else the sum of the tiers' shares."""
    return max(plan.minimum.amount, _shares(plan.tiers, spend))


def added_support(plan: Support, spend: Decimal) -> Decimal:
    """Returns what a bill adds to a support plan, given the account's other spend in the month."""
    return support_due(plan, plan.spend + spend) - (support_due(plan, plan.spend) if plan.spend else Decimal(0))


def _shares(tiers: Sequence[SupportTier], spend: Decimal) -> Decimal:
    total, start = Decimal(0), Decimal(0)
    for tier in tiers:
        end = spend if tier.up_to is None else min(spend, tier.up_to)
        if end > start:
            total += EXACT.multiply(end - start, tier.share)
            start = end
    return total


def _support_line(plan: Support, spend: Decimal, currency: str, step: Decimal) -> BillLine:
    name = f"support, {plan.provider}"
    if plan.minimum.currency != currency:
        return BillLine(name, None, "", None, None, f"it is in {plan.minimum.currency}, the bill in {currency}")
    due = added_support(plan, spend)
    why = f"the greater of {plan.minimum.amount} {currency} and its shares of the spend"
    if plan.spend:
        why = f"what the bill adds to it, given {plan.spend} {currency} of other spend"
    return BillLine(name, None, "", None, Money(due.quantize(step, ROUND_UP), currency), why)


class _Coverage:
    """Distributes commitments over uses; those of different candidates (`about`) run at once and share them."""

    def __init__(self, terms: Terms) -> None:
        self._known = [(one, dict[str, int]()) for one in terms.commitments]

    def of(self, use: Use) -> list[tuple[Commitment, int]]:
        """Returns the commitments of a use, each with the number of its machines that it covers."""
        covered_by, left = [], use.count
        for one, taken in self._known:
            if left < 1 or not _covers(one, use):
                continue
            free = one.count - sum(count for about, count in taken.items() if about != use.about)
            covered = min(left, max(0, free))
            if covered:
                taken[use.about] = max(covered, taken.get(use.about, 0))
                covered_by.append((one, covered))
                left -= covered
        return covered_by


def _commitment_lines(
    line: BillLine, cover: Sequence[tuple[Commitment, Decimal]], left: list[Decimal], number: int, step: Decimal
) -> Iterator[BillLine]:
    if line.amount is None:
        return
    for commitment, share in cover:
        hour = effective_per_hour(commitment)
        name = f"{commitment.purchase.value}, {line.item}"
        if line.unit == Unit.HOUR.value and hour.currency != line.amount.currency:
            why = f"it is in {hour.currency}, the bill in {line.amount.currency}"
            yield BillLine(name, None, "", None, None, why, line.about)
        elif line.quantity is None:  # a discount for long use
            off = EXACT.multiply(line.amount.amount, share).quantize(step, ROUND_HALF_EVEN)
            left[number] -= off
            # https://cloud.google.com/compute/docs/sustained-use-discounts: such hours count for none.
            why = "hours under a commitment get no discount for long use"
            yield BillLine(f"no {line.item}", None, "", None, Money(-off, line.amount.currency), why, line.about)
        elif line.unit == Unit.HOUR.value:
            hours = EXACT.multiply(line.quantity, share)
            off = EXACT.multiply(line.amount.amount, share)
            change = (EXACT.multiply(hours, hour.amount) - off).quantize(step, ROUND_HALF_EVEN)
            left[number] += change
            why = f"{hour.amount:.6g} {hour.currency}/h in place of the list price, if every hour of its term is used"
            yield BillLine(name, hours, Unit.HOUR.value, hour.amount, Money(change, hour.currency), why, line.about)


def _discount_lines(discount: Discount, listed: Listed, left: list[Decimal], step: Decimal) -> list[BillLine]:
    hit = [
        number
        for number, (use, _) in enumerate(listed)
        if discount.provider in {"", use.provider} and discount.item in {"", use.item.value}
    ]
    off = Decimal(0)
    for number in hit:
        one = EXACT.multiply(left[number], discount.share).quantize(step, ROUND_HALF_EVEN)
        left[number] -= one
        off += one
    if not hit:
        return []
    what = " ".join(filter(None, (discount.provider, discount.item))) or "everything"
    percent = f"{(discount.share * 100).normalize():f}"
    return [BillLine("discount", None, "", None, Money(-off, _currency(listed)), f"{percent} % off {what}")]


def _credit_lines(credit: Credit, currency: str, due: dict[str, Decimal], on: date | None) -> list[BillLine]:
    """Returns the line of a credit, and subtracts it from `due` per provider: its own, or each in the bill's order."""
    if credit.until is not None and on is not None and on > credit.until:
        return []
    if credit.money.currency != currency:
        why = f"it is in {credit.money.currency}, the bill in {currency}"
        return [BillLine("credit", None, "", None, None, why)]
    paid = Decimal(0)
    for provider in [credit.provider] if credit.provider else [*due]:
        one = max(Decimal(0), min(credit.money.amount - paid, due.get(provider, Decimal(0))))
        due[provider] = due.get(provider, Decimal(0)) - one
        paid += one
    until = f", until {credit.until}" if credit.until else ""
    return [BillLine("credit", None, "", None, Money(-paid, currency), f"of {credit.money.amount} {currency}{until}")]


def _currency(listed: Listed) -> str:
    return next((one.amount.currency for _, one in listed if one.amount), "")
