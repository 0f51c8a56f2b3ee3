"""Shares, windows and money in words, for answers about service levels."""

import math
from datetime import UTC, datetime
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal

from cloudcmp.model.result import Bounds
from cloudcmp.model.service_level import Calendar, Claim, Quantity, Statistic, WindowFinding
from cloudcmp.units import Money, format_bound, format_money, format_quantity, format_seconds

_MOST_DECIMALS = 6


def share_words(share: float, *, upper: bool | None = None) -> str:
    """A share in percent with three digits of what it lacks of all, or of itself: `99.888 %`, `42.0 %`.

    An upper bound is rounded up and a lower one (`upper` is false) down, so that what is printed is still a bound.
    """
    lacking = min(share, 1.0 - share) * 100
    if lacking <= 0:
        return "100 %" if share >= 1 else "0 %"
    decimals = min(_MOST_DECIMALS, max(0, 2 - math.floor(math.log10(lacking))))
    if upper is None:
        return f"{share * 100:.{decimals}f} %"
    # By its shortest digits, so that 0.95 is not taken for a little less than 95 %.
    percent, digit = Decimal(repr(float(share))).scaleb(2), Decimal(1).scaleb(-decimals)
    return f"{percent.quantize(digit, ROUND_CEILING if upper else ROUND_FLOOR)} %"


def target_words(share: float) -> str:
    """A target share in percent as it was written: `99.9 %`."""
    return f"{share * 100:.10g} %"


def value_words(claim: Claim, unit: str, value: float | None, *, upper: bool | None = None) -> str:
    """The share or the mean of a claim's samples, or a bound of it as of `share_words`; `unknown` without a value."""
    if value is None:
        return "unknown"
    if claim.share is not None:
        return share_words(value, upper=upper)
    return format_quantity(value, unit) if upper is None else format_bound(value, unit, upper=upper)


def bounds_words(claim: Claim, unit: str, bounds: Bounds | None) -> str:
    """Both bounds of a claim's value; `unknown` without them."""
    if bounds is None:
        return "unknown"
    low, high = value_words(claim, unit, bounds.low, upper=False), value_words(claim, unit, bounds.high, upper=True)
    same = claim.share is not None or low.rpartition(" ")[2] == high.rpartition(" ")[2]
    return f"{low.rpartition(' ')[0] if same else low} to {high}"


def good_words(claim: Claim, unit: str) -> str:
    """What good samples do: `of the time up`, `of requests took at most 300 ms`."""
    if claim.quantity is Quantity.AVAILABILITY:
        return "of the time up"
    assert claim.limit is not None  # as `bound_claim` sees to
    limit = format_quantity(claim.limit, unit)
    verbs = {Quantity.RESPONSE: "of requests took", Quantity.THROUGHPUT: "of answers carried"}
    verb = verbs.get(claim.quantity, "of samples were")
    order = {
        (True, False): "at most",
        (True, True): "less than",
        (False, False): "at least",
        (False, True): "more than",
    }
    return f"{verb} {order[claim.at_most, claim.strict]} {limit}"


def figure_name(claim: Claim) -> str:
    """The figure that a claim bounds: `p99`, `mean`, `maximum`."""
    if claim.statistic is Statistic.PERCENTILE:
        return f"p{claim.percent:g}"
    return claim.statistic.value


def window_words(claim: Claim, one: WindowFinding) -> str:
    """A window as people name it: `2026-05`, `2026-05-17`, `the week of 2026-05-18`."""
    assert claim.window is not None  # only claims with windows have findings of them
    day = datetime.fromtimestamp(one.start, UTC)
    if claim.window.unit is Calendar.YEAR:
        return f"{day.year}"
    last = datetime.fromtimestamp(one.end - 1, UTC)
    forms = {Calendar.MONTH: "%Y-%m", Calendar.HOUR: "%Y-%m-%d %H:00"}
    form = forms.get(claim.window.unit, "%Y-%m-%d")
    if claim.window.unit is Calendar.WEEK and claim.window.count == 1:
        return f"the week of {day:%Y-%m-%d}"
    first = day.strftime(form)
    return first if claim.window.count == 1 else f"{first} to {last.strftime(form)}"


def time_words(seconds: float) -> str:
    """A time as `43 min 12 s`, and in days from one hundred hours upwards."""
    return f"{seconds / 86400:,.0f} days" if seconds >= 360000 else format_seconds(seconds)


def long_words(seconds: float) -> str:
    """A time of any length: `50 min 00 s`, `80 days`, `5.7 years`."""
    return f"{seconds / 86400 / 365.25:,.1f} years" if seconds >= 2 * 365.25 * 86400 else time_words(seconds)


def span_words(seconds: float) -> str:
    """A round time in its largest whole unit: `30 min`, `6 h`, `3 days`."""
    for length, unit in ((86400, "day"), (3600, "h"), (60, "min")):
        if seconds % length == 0:
            count = round(seconds / length)
            return f"{count} {unit}{'s' * (unit == 'day' and count != 1)}"
    return format_seconds(seconds)


def money_words(money: Money) -> str:
    """Money rounded for people."""
    return format_money(Money(Decimal(money.amount), money.currency))
