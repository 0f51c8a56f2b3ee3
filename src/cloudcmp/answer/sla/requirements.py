"""How many samples a claim takes, before anything is measured and after."""

import math
from dataclasses import dataclass

from cloudcmp.answer.sla.timeline import length_s
from cloudcmp.model.result import Bounds
from cloudcmp.model.service_level import Claim, Needed, OutageDays, Quantity, Requirement
from cloudcmp.stats.service_level import samples_at_share, samples_needed

_MISSES = (0, 1, 5)
_OUTAGES_S = (300.0, 1800.0, 4 * 3600.0)
CORRELATED = 2.0
"""Samples this many mean outages apart tell as much as independent ones."""


@dataclass(frozen=True, slots=True)
class Seen:
    """What was found so far: samples, misses (None for a mean), the value with its bounds, the effective samples."""

    n: int
    misses: int | None
    value: float | None
    bounds: Bounds | None
    effective: float | None = None


def requirement_of(claim: Claim, confidence: float, seen: Seen | None = None) -> Requirement:
    """What proves a claim: samples by misses, their interval within a window, and days for correlated outages.

    For a mean only the present scatter tells what it takes, so nothing is known before anything was `seen`.

    Outages that begin at random and last D on average leave the mean of T seconds with the variance of about T / (2 D)
    independent samples, if they are rare. Source: Cox and Miller, "The Theory of Stochastic Processes", section 4.5
    (the two-state process, whose correlation falls as exp(-t / D)).
    """
    share = claim.share
    if share is None:
        return Requirement((), samples=None if seen is None else _more_for_mean(claim, seen))
    counts = [(one, samples_needed(share, one, confidence)) for one in _MISSES]
    needed = tuple(Needed(misses, many) for misses, many in counts if many is not None)
    if not needed:
        return Requirement(())
    least = needed[0].samples
    days: tuple[OutageDays, ...] = ()
    if claim.quantity is Quantity.AVAILABILITY:
        days = tuple(OutageDays(one, least * CORRELATED * one / 86400.0) for one in _OUTAGES_S)
    more = None
    if seen is not None and seen.misses:
        more = samples_at_share(share, seen.misses / seen.n, confidence)
        if more is not None and seen.effective:
            more = math.ceil(more * seen.n / seen.effective)
    every = None if claim.window is None else length_s(claim.window) / least
    return Requirement(needed, every, days, more)


def _more_for_mean(claim: Claim, seen: Seen) -> int | None:
    """As many samples, at the present scatter between groups, as bring the bound of a mean to the limit."""
    if seen.value is None or seen.bounds is None or claim.limit is None or seen.value == claim.limit:
        return None
    reach = (seen.bounds.high - seen.bounds.low) / 2
    return max(1, math.ceil(seen.n * (reach / (seen.value - claim.limit)) ** 2))
