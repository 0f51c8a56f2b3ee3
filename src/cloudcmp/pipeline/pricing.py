"""Today's prices in place of a study's own."""

from dataclasses import replace

from cloudcmp.model.offering import Price
from cloudcmp.model.plan import Candidate, Plan
from cloudcmp.provider.registry import make, names

# Sources of prices that people gave: nobody lists them.
_UNLISTED = {"study file", "imported"}


def reprice(plan: Plan) -> Plan:
    """The plan with the prices that providers list now; a price that is not listed any more is unknown.

    A price that the study itself gave stays: nobody lists it.
    """
    return replace(plan, candidates=tuple(_repriced(candidate) for candidate in plan.candidates))


def _repriced(candidate: Candidate) -> Candidate:
    offering = candidate.offering
    if offering.price is None or offering.price.source in _UNLISTED or offering.provider not in names():
        return candidate
    return replace(candidate, offering=replace(offering, price=_today(candidate)))


def _today(candidate: Candidate) -> Price | None:
    wanted = candidate.offering
    for offering in make(wanted.provider).offerings(wanted.region):
        if (offering.region, offering.name) == (wanted.region, wanted.name):
            return offering.price
    return None
