"""Bills for past or planned usage, as a provider would write them."""

from collections.abc import Iterable, Sequence
from datetime import date
from decimal import ROUND_HALF_EVEN, ROUND_UP, Decimal

from cloudcmp.cost.account_terms import terms_lines
from cloudcmp.cost.metering import EXACT, SHORTEST_MONTH_HOURS, Part, Sustained, misfit, parts
from cloudcmp.model.bill import NO_RATE, Bill, BillLine, Rate, RateOf, Use
from cloudcmp.model.price import MONTH_HOURS, PriceRow, Unit
from cloudcmp.model.terms import NO_TERMS, Terms
from cloudcmp.units import Money

STEP = Decimal("1e-10")
"""Amounts have ten decimals, as in AWS's cost and usage reports (R)."""
FRESH_DAYS = 30


def bill(
    usage: Iterable[Use],
    price: RateOf,
    terms: Terms = NO_TERMS,
    *,
    on: date | None = None,
    month_h: int = MONTH_HOURS,
    worst: bool = False,
) -> Bill:
    """Returns the bill for one month of usage, with a line for each use and price tier.

    `price` returns the rate of a use; the lines of `terms` follow the list's. `on` is the day of the bill: an ended
    credit pays nothing, and a rate more than 30 days older is unknown. A monthly price is divided by `month_h` hours.
    With `worst` each use costs its dearest tier in the shortest month without a discount for long use, amounts are
    rounded up, and of the terms only support plans count.

    If a price is zero, missing, too old, ambiguous or in another currency, its line and the sums are unknown. Taxes are
    never included.
    """
    wanted = tuple(usage)
    if worst:
        month_h, terms = SHORTEST_MONTH_HOURS, Terms(support=terms.support, currency=terms.currency)
    lines: list[BillLine] = []
    before: dict[tuple[PriceRow, ...], Decimal] = {}
    ran: dict[tuple[str, tuple[PriceRow, ...]], Sustained] = {}  # by candidate: they run at once
    currency = terms.currency
    uses: list[Use] = []
    for use in wanted:
        rate = price(use)
        why = _unknown(use, rate, currency, on)
        if why:
            lines.append(BillLine(use.label(), None, "", None, None, why, use.about))
            uses.append(use)
            continue
        currency = currency or rate.rows[0].currency
        use_lines = _lines(use, rate, before, month_h, worst=worst)
        if rate.monthly and rate.rows[0].unit is Unit.HOUR and len(rate.rows) == 1 and not worst:
            use_lines += _sustained(
                use, rate, ran.setdefault((use.about, rate.rows), Sustained()), use_lines[0], month_h
            )
        lines += use_lines
        uses += [use] * len(use_lines)
    listed = _sum(lines, currency)
    own = terms_lines(list(zip(uses, lines, strict=True)), terms, on, STEP) if listed is not None else ()
    total = _sum([*lines, *own], currency)
    unknown = tuple(f"{one.item}: {one.why}" for one in (*lines, *own) if one.amount is None)
    return Bill(tuple(lines), own, listed, total, unknown)


def _unknown(use: Use, rate: Rate, currency: str | None, on: date | None) -> str:
    """Returns why a use has no amount, empty if it has one."""
    rows = rate.rows
    if rate.why or not rows:
        return rate.why or NO_RATE.why
    if on is not None and rate.dated is not None and (on - rate.dated).days > FRESH_DAYS:
        return f"its price is of {rate.dated}, more than {FRESH_DAYS} days old"
    if currency is not None and rows[0].currency != currency:
        return f"its price is in {rows[0].currency}, the others are in {currency}"
    return _invalid_price(rows) or _extra_payment(rows) or misfit(use, rows[0].unit)


def _invalid_price(rows: Sequence[PriceRow]) -> str:
    """Returns why the rows are no valid price, empty if they are."""
    if any(not row.amount.is_finite() or row.amount < 0 for row in rows):
        return "its price is negative or not finite"
    if all(row.amount == 0 for row in rows):
        return "its price is zero, which is unknown and not free"
    if len({(row.unit, row.currency) for row in rows}) > 1:
        return "its tiers are in several units or currencies"
    return "its tiers do not follow each other: which price holds is ambiguous" if _has_gaps(rows) else ""


def _extra_payment(rows: Sequence[PriceRow]) -> str:
    """Returns why the amount of the rows is not the whole payment, empty if it is."""
    row = next((one for one in rows if one.upfront > 0), None)
    if row is not None:
        return f"{_plain(row.upfront)} {row.currency} more are paid upfront"
    row = next((one for one in rows if one.least > 0 and one.unit in {Unit.HOUR, Unit.MONTH}), None)
    return f"at least {_plain(row.least)} {row.unit} of it are billed" if row else ""


def _has_gaps(rows: Sequence[PriceRow]) -> bool:
    """True if tiers leave a gap, overlap or end."""
    ends = [row.tier_until for row in rows]
    return ends[-1] is not None or any(end != later.tier_from for end, later in zip(ends, rows[1:], strict=False))


def _lines(
    use: Use, rate: Rate, before: dict[tuple[PriceRow, ...], Decimal], month_h: int, *, worst: bool
) -> list[BillLine]:
    """Returns one line for each tier of a use."""
    key = rate.rows
    had = before.get(key, Decimal(0))
    tiers = parts(use, rate, had, month_h=month_h, worst=worst)
    before[key] = had + sum((one.quantity for one in tiers), Decimal(0))
    return [_line(use, rate, one, worst=worst) for one in tiers]


def _line(use: Use, rate: Rate, part: Part, *, worst: bool) -> BillLine:
    row = part.row
    amount = EXACT.multiply(part.quantity, row.amount)
    money = Money(amount.quantize(STEP, ROUND_UP if worst else ROUND_HALF_EVEN), row.currency)
    return BillLine(
        use.label(), part.quantity, row.unit.value, row.amount, money, _why(use, rate, row, worst=worst), use.about
    )


def _why(use: Use, rate: Rate, row: PriceRow, *, worst: bool) -> str:
    """Explains how the quantity was computed."""
    notes = []
    if use.periods_s:
        notes.append(f"{use.times} x {use.count} for {_plain(sum(use.periods_s, Decimal(0)))} s each")
        notes.append(f"at least {rate.billing.minimum_s:g} s, then each {rate.billing.step_s:g} s begun")
    if len(rate.rows) > 1:
        end = "" if row.tier_until is None else f" up to {_plain(row.tier_until)}"
        notes.append("the dearest tier" if worst else f"from {_plain(row.tier_from)}{end} {row.unit.value} in a month")
    if rate.included:
        notes.append(f"{_plain(rate.included)} of each are included")
    if rate.source:
        notes.append(f"{rate.source}, {rate.dated}" if rate.dated else rate.source)
    return "; ".join(notes)


def _sustained(use: Use, rate: Rate, ran: Sustained, line: BillLine, month_h: int) -> list[BillLine]:
    """Returns the discount for long use on a line of hours."""
    row, full = rate.rows[0], line.quantity or Decimal(0)
    if use.count < 1 or full <= 0:
        return []
    billed = ran.add(EXACT.divide(full, Decimal(use.count)), use.count, month_h, rate.monthly)
    off = EXACT.multiply(full - billed, row.amount).quantize(STEP, ROUND_HALF_EVEN)
    if off <= 0:
        return []
    why = "long use in a month is cheaper by itself"
    return [BillLine(f"sustained use of {use.label()}", None, "", None, Money(-off, row.currency), why, use.about)]


def _sum(lines: Sequence[BillLine], currency: str | None) -> Money | None:
    """Returns the sum of the lines; None if one is unknown or there are none."""
    amounts = [one.amount for one in lines]
    known = [one for one in amounts if one is not None]
    if not known or len(known) < len(amounts):
        return None
    code = currency or known[0].currency
    if any(one.currency != code for one in known):
        return None
    return Money(sum((one.amount for one in known), Decimal(0)), code)


def _plain(value: Decimal) -> str:
    return f"{value.normalize():f}" if value == value.to_integral_value() else f"{value:.3f}".rstrip("0")
