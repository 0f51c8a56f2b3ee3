"""What a credit table pays for measured downtime: in each period, and in a month like those watched."""

from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from cloudcmp.model.credits import (
    ClaimWindow,
    Counting,
    CreditCase,
    CreditFinding,
    CreditPeriod,
    CreditTable,
    Downtime,
    ExpectedCredit,
    PeriodCredit,
    Spans,
)
from cloudcmp.stats.service_level import resampled_sums
from cloudcmp.units import Money

Floats = NDArray[np.float64]

_HOUR, _DAY = 3600, 86400
_LEAST_DAYS = 6
_MONTH_DAYS = 30
_YEAR_DAYS = 365
DRAWS = 4000
_MICRO = 10**6
_MOMENT_S = 1e-3


def credit_of(table: CreditTable, down: Downtime, bill: Money | None, seed: int = 1) -> CreditFinding:
    """What a table pays for a watched service: every month or year of the watch, and what to expect.

    `bill` is that of one month. Between samples, seconds that nobody saw are up in the readings `least` and `likely`,
    and down in `most`; before the first sample and after the last they are up in all. A month without a sample is
    `unseen`.
    """
    spans = list(_spans(table, down))
    unseen = tuple(one for one in spans if not within(down.watched, *one))
    periods = tuple(_period(table, down, one, bill) for one in spans if one not in unseen)
    return CreditFinding(down.target, table, bill, periods, expected_credit(table, down, bill, seed), unseen=unseen)


def percent_of(table: CreditTable, uptime: Fraction, down_s: Fraction) -> Decimal:
    """The credit in percent of the bill, for an uptime in percent and the seconds of downtime.

    The lower end of a tier is included, the upper one is not.
    """
    if table.step_s is not None and table.step_percent is not None:
        return min(Decimal(100), table.step_percent * (down_s // table.step_s))
    for tier in table.tiers:
        if Fraction(tier.lower) <= uptime < Fraction(tier.upper):
            return tier.percent
    return Decimal(0)


def counted_s(table: CreditTable, spans: Spans) -> Fraction:
    """The downtime of some spans in seconds, as a table counts it."""
    return sum((_counted(table, _exact(start), _exact(end)) for start, end in spans), Fraction(0))


def _counted(table: CreditTable, start: Fraction, end: Fraction) -> Fraction:
    unit = table.unit_s
    if table.counting is Counting.TIME:
        return end - start
    if table.counting is Counting.WHOLE:
        return Fraction((end - start) // unit * unit)
    return Fraction(max(0, end // unit - -(-start // unit)) * unit)


def _exact(seconds: float) -> Fraction:
    """Seconds to the microsecond, so that sums and boundaries are exact."""
    return Fraction(round(seconds * _MICRO), _MICRO)


def _spans(table: CreditTable, down: Downtime) -> Iterator[tuple[float, float]]:
    """The months that the watch touches, or the 365 days before its end."""
    if table.period is CreditPeriod.YEAR:
        yield down.end - _YEAR_DAYS * _DAY, down.end
        return
    day = datetime.fromtimestamp(down.start, UTC)
    month = datetime(day.year, day.month, 1, tzinfo=UTC)
    while month.timestamp() <= down.end:
        after = datetime(month.year + month.month // 12, month.month % 12 + 1, 1, tzinfo=UTC)
        yield month.timestamp(), after.timestamp()
        month = after


def within(spans: Spans, start: float, end: float) -> Spans:
    """The parts of spans inside a time span."""
    return tuple((max(a, start), min(b, end)) for a, b in spans if b > start and a < end)


def _period(table: CreditTable, down: Downtime, span: tuple[float, float], bill: Money | None) -> PeriodCredit:
    start, end = span
    readings = [within(one, start, end) for one in (down.least, down.likely, down.most)]
    least, likely, most = (_case(table, one, end - start, bill) for one in readings)
    watched = sum(b - a for a, b in within(down.watched, start, end)) / (end - start)
    pays = likely.percent > 0 and (likely.money is None or likely.money.amount > 0)
    until = _claim_until(table, readings[1][-1][1]) if readings[1] and pays else None
    return PeriodCredit(start, end, watched, least, likely, most, until)


def _case(table: CreditTable, spans: Spans, length_s: float, bill: Money | None) -> CreditCase:
    total, counted = _exact(length_s), counted_s(table, spans)
    uptime = 100 * (total - counted) / total
    percent = percent_of(table, uptime, counted)
    free = _free_hours(table, spans)
    money = None if bill is None else _money(table, bill, percent, Fraction(free * _HOUR) / total)
    return CreditCase(float(counted), float(uptime), float(percent), free, money)


def _free_hours(table: CreditTable, spans: Spans) -> int:
    """The clock hours that are not charged because they were down for too long."""
    if table.free_hour_s is None:
        return 0
    down: dict[int, float] = {}
    for start, end in spans:
        for hour in range(int(start // _HOUR), int(-(-end // _HOUR))):
            part = min(end, (hour + 1) * _HOUR) - max(start, hour * _HOUR)
            down[hour] = down.get(hour, 0.0) + part
    return sum(seconds > table.free_hour_s for seconds in down.values())


def _money(table: CreditTable, bill: Money, percent: Decimal, free: Fraction) -> Money:
    """The uncharged hours, and the credit on what is left of the bill; a credit up to the minimum is not paid."""
    uncharged = Money(bill.amount * free.numerator / free.denominator, bill.currency)
    credit = Money((bill.amount - uncharged.amount) * percent / 100, bill.currency)
    if table.minimum is not None and credit.currency == table.minimum.currency and credit <= table.minimum:
        credit = Money(Decimal(0), bill.currency)
    return uncharged + credit


def _claim_until(table: CreditTable, last: float) -> date:
    """The last day on which a claim is in time, if the last incident ended at `last`."""
    day = datetime.fromtimestamp(last, UTC).date()
    if table.claim_by is ClaimWindow.DAYS_AFTER:
        return day + timedelta(days=table.claim_n)
    if table.claim_by is ClaimWindow.WORKDAYS_AFTER:
        left = table.claim_n
        while left:
            day += timedelta(days=1)
            left -= day.weekday() < 5
        return day
    day = datetime.fromtimestamp(last - _MOMENT_S, UTC).date()  # midnight at its end is still of a month
    months = table.claim_n if table.claim_by is ClaimWindow.MONTHS_AFTER else 0
    month = day.month + months + 1
    first = date(day.year + (month - 1) // 12, (month - 1) % 12 + 1, 1)
    end_of_month = first - timedelta(days=1)
    return end_of_month + timedelta(days=table.claim_n if table.claim_by is ClaimWindow.DAYS_AFTER_MONTH else 0)


def expected_credit(table: CreditTable, down: Downtime, bill: Money | None, seed: int = 1) -> ExpectedCredit | None:
    """The credit of a month (or year) like the watched days, drawn with replacement; None for fewer than 6 days.

    Days are drawn whole, because outages within a day belong together. Each has the share of its downtime in what was
    watched of it. A table for a year pays its credit on one month's bill.
    """
    days = _days(table, down)
    if len(days) < _LEAST_DAYS:
        return None
    times = _MONTH_DAYS if table.period is CreditPeriod.MONTH else _YEAR_DAYS
    sums = resampled_sums(np.array(days), times, DRAWS, seed)
    counted, free = sums[:, 0], sums[:, 1]
    percents = _percents(table, 100.0 * (1.0 - counted / (times * _DAY)), counted)
    amounts, counts = np.unique(percents, return_counts=True)
    chances = tuple((float(one), float(many) / DRAWS) for one, many in zip(amounts, counts, strict=True))
    money = None
    if bill is not None:
        kinds, repeats = np.unique(np.stack([percents, free], axis=1), axis=0, return_counts=True)
        total = sum(
            (_money(table, bill, Decimal(str(percent)), Fraction(int(hours), times * 24)).amount * int(many)
             for (percent, hours), many in zip(kinds.tolist(), repeats, strict=True)),
            Decimal(0),
        )  # fmt: skip
        money = Money(total / DRAWS, bill.currency)
    return ExpectedCredit(float(percents.mean()), chances, float(free.mean()), money, len(days), DRAWS)


def _days(table: CreditTable, down: Downtime) -> list[tuple[float, float]]:
    """Downtime in seconds, scaled to a whole day, and uncharged hours of each day that was watched for half or more."""
    found = []
    for day in range(int(down.start // _DAY), int(down.end // _DAY) + 1):
        start, end = float(day * _DAY), float((day + 1) * _DAY)
        watched = sum(b - a for a, b in within(down.watched, start, end))
        if watched >= _DAY / 2:
            spans = within(down.likely, start, end)
            found.append((float(counted_s(table, spans)) * _DAY / watched, float(_free_hours(table, spans))))
    return found


def _percents(table: CreditTable, uptime: Floats, counted: Floats) -> Floats:
    """The credit of many drawn periods, in percent."""
    if table.step_s is not None and table.step_percent is not None:
        return np.minimum(100.0, float(table.step_percent) * np.floor(counted / table.step_s))
    tiers = sorted(table.tiers, key=lambda one: one.lower)
    lowers = np.array([float(one.lower) for one in tiers])
    amounts = np.array([float(one.percent) for one in tiers])
    found = amounts[np.searchsorted(lowers, uptime, side="right") - 1]
    return np.where(uptime < float(table.commitment), found, 0.0)
