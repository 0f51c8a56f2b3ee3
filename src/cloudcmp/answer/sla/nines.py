"""Money against nines: one zone, two zones or two regions, by what they cost and the downtime that they avoid."""

from decimal import Decimal

import numpy as np

from cloudcmp.answer.sla.timeline import Timeline
from cloudcmp.errors import UserMistake
from cloudcmp.model.nines import Arrangement, ArrangementFinding, Joint, NinesFinding
from cloudcmp.model.result import Bounds
from cloudcmp.units import Money

CORRELATIONS = (0.0, 0.01, 0.1, 0.5, 1.0)
MONTH_S = 30 * 86400
"""A month of 30 days."""
_LEAST_PAIRS = 100


def money_against_nines(
    target: str, availability: float, bounds: Bounds | None, n: int, loss: Money, costs: dict[Arrangement, Money],
    measured: float | None = None,
) -> NinesFinding:  # fmt: skip
    """What each arrangement costs and avoids in a month of 30 days.

    With one copy down for a share u of the time, and the outages of two copies correlated by c, both are down for
    u^2 + c u (1 - u): c = 0 means independence, c = 1 the same outages. The service is up while one copy is; the time
    of a switch is left out.

    Raises UserMistake for costs of another currency than the loss.
    """
    for cost in costs.values():
        if cost.currency != loss.currency:
            what = f"the loss is in {loss.currency} and a cost is in {cost.currency}"
            raise UserMistake.at("--loss", what, f"write both in {loss.currency}")
    down = 1.0 - availability
    points = sorted({*CORRELATIONS, *([measured] if measured is not None else [])})
    single = _joint(0.0, down, costs[Arrangement.ONE_ZONE], loss)
    found = []
    for arrangement, cost in costs.items():
        if arrangement is Arrangement.ONE_ZONE:
            found.append(ArrangementFinding(arrangement, cost, (single,), None, None))
            continue
        joints = tuple(_joint(one, joint_share(down, one), cost, loss) for one in points)
        extra = cost.amount - costs[Arrangement.ONE_ZONE].amount
        found.append(ArrangementFinding(arrangement, cost, joints, _per_minute(extra, single, joints[0]),
                                        _pays_below(extra, down, loss)))  # fmt: skip
    return NinesFinding(target, availability, bounds, n, loss, tuple(found), measured)


def joint_share(down: float, correlation: float) -> float:
    """The share of time in which two copies are both down."""
    return down**2 + correlation * down * (1.0 - down)


def correlation_of(a: Timeline, b: Timeline) -> float | None:
    """The correlation of two copies being down, from samples of both at nearly the same times.

    Each sample of one is taken with the nearest of the other within half an interval. None for fewer than 100 pairs, or
    if one copy never failed or always did.
    """
    at = np.clip(np.searchsorted(b.at, a.at), 1, len(b.at) - 1) if len(b.at) > 1 else np.zeros(len(a.at), np.int64)
    nearest = np.where(np.abs(b.at[at - 1] - a.at) <= np.abs(b.at[at] - a.at), at - 1, at)
    close = np.abs(b.at[nearest] - a.at) <= min(a.every_s, b.every_s) / 2
    x, y = (~a.ok[close]).astype(np.float64), (~b.ok[nearest[close]]).astype(np.float64)
    if len(x) < _LEAST_PAIRS or x.std() == 0 or y.std() == 0:
        return None
    return float(np.mean((x - x.mean()) * (y - y.mean())) / (x.std() * y.std()))


def _joint(correlation: float, down: float, cost: Money, loss: Money) -> Joint:
    down_s = Decimal(str(down)) * Decimal(MONTH_S)
    lost = loss.amount * down_s / 3600
    return Joint(correlation, 1.0 - down, float(down_s), lost, cost.amount + lost)


def _per_minute(extra: Decimal, single: Joint, joint: Joint) -> Decimal | None:
    """The money for each avoided minute; None if nothing is avoided."""
    avoided = Decimal(str(single.down_s - joint.down_s)) / 60
    return extra / avoided if avoided > 0 else None


def _pays_below(extra: Decimal, down: float, loss: Money) -> float | None:
    """The correlation at which the avoided loss equals the extra cost; None if even independence is not enough.

    The avoided loss is L u (1 - u) (1 - c), for L the loss of a month of downtime.
    """
    most = float(loss.amount * Decimal(MONTH_S) / 3600) * down * (1.0 - down)
    if most <= 0 or float(extra) > most:
        return None
    return min(1.0, 1.0 - float(extra) / most)
