"""Credits that providers pay for downtime: their tables, the downtime that was measured, and the money."""

from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from enum import StrEnum

from cloudcmp.units import Money

Spans = tuple[tuple[float, float], ...]
"""Time spans in Unix seconds, in order and apart."""


class Verified(StrEnum):
    """How the figures of a table are known."""

    TEXT = "the provider's text"
    SECONDARY = "others who quote it"
    RECALLED = "memory: check the provider's text"


class CreditPeriod(StrEnum):
    """The time over which an uptime counts."""

    MONTH = "calendar month"
    YEAR = "365 days"


class Counting(StrEnum):
    """How downtime becomes the units of a table: as time, as whole units of each outage, as units of the clock."""

    TIME = "time"
    WHOLE = "whole units of each outage"
    CLOCK = "units of the clock that are down throughout"


class ClaimWindow(StrEnum):
    """Until when a credit must be claimed."""

    MONTHS_AFTER = "months after the month of the incident"
    DAYS_AFTER_MONTH = "days after the month of the incident"
    DAYS_AFTER = "days after the last incident"
    WORKDAYS_AFTER = "working days after the last incident"


@dataclass(frozen=True, slots=True)
class CreditTier:
    """A credit in percent of the bill for an uptime of at least `lower` and below `upper` percent."""

    lower: Decimal
    upper: Decimal
    percent: Decimal


@dataclass(frozen=True, slots=True)
class CreditTable:
    """What a provider pays for downtime, as of a day.

    `commitment` is the uptime in percent. Downtime counts in units of `unit_s` seconds. Either `tiers` by uptime, or
    `step_percent` for each `step_s` seconds of downtime, at most 100 %. With `free_hour_s` a clock hour that is down
    for longer is not charged at all. A credit of at most `minimum` is not paid. A claim must come within `claim_n` of
    `claim_by`, with what `bring` lists.
    """

    name: str
    title: str
    provider: str
    commitment: Decimal
    period: CreditPeriod
    counting: Counting
    unit_s: int
    tiers: tuple[CreditTier, ...]
    claim_by: ClaimWindow
    claim_n: int
    bring: tuple[str, ...]
    text_of: str
    source: str
    verified: Verified
    down: str
    minimum: Money | None = None
    free_hour_s: int | None = None
    step_s: int | None = None
    step_percent: Decimal | None = None
    assumed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Downtime:
    """When a watched service was down, in three readings, and when somebody looked.

    `start` and `end` are the times of the first and the last sample.

    `least`: from the first to the last failed sample of each outage. `likely`: each failed sample for its interval.
    `most`: from the last good sample before to the first one after, and all that nobody saw within the watch, or saw
    in samples that are left out because nobody signed them.
    """

    target: str
    start: float
    end: float
    watched: Spans
    least: Spans
    likely: Spans
    most: Spans


@dataclass(frozen=True, slots=True)
class CreditCase:
    """The credit of one reading of a period: downtime in seconds as the table counts it, uptime and credit in percent.

    `free_hours` are not charged. `money` is the credit and the uncharged hours together; None without a bill.
    """

    down_s: float
    uptime_percent: float
    percent: float
    free_hours: int
    money: Money | None


@dataclass(frozen=True, slots=True)
class PeriodCredit:
    """The credit of one month or year, in three readings; `watched` is the share of it that somebody saw.

    `claim_until` is the last day of a claim, None if there is nothing to claim.
    """

    start: float
    end: float
    watched: float
    least: CreditCase
    likely: CreditCase
    most: CreditCase
    claim_until: date | None


@dataclass(frozen=True, slots=True)
class ExpectedCredit:
    """The credit of a month like the watched days: mean percent and money, and the chance of each credit in percent.

    `days` were drawn with replacement, `draws` times. Outages rarer or longer than those watched are not in it.
    """

    percent: float
    chances: tuple[tuple[float, float], ...]
    free_hours: float
    money: Money | None
    days: int
    draws: int


@dataclass(frozen=True, slots=True)
class CreditFinding:
    """What a provider's table pays for a watched service; `expected` is None for fewer than 6 days.

    `unseen` are months between the first sample and the last that have none: nothing is known of them, and they are not
    among `periods`. Each is its start and end (Unix time).
    """

    target: str
    table: CreditTable
    bill: Money | None
    periods: tuple[PeriodCredit, ...]
    expected: ExpectedCredit | None
    sentence: str = ""
    unseen: Spans = ()
