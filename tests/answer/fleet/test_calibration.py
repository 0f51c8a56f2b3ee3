"""Simulated fleets with planted speeds: how often a move is wrong, and how often the interval holds what is saved.

The figures of METHODOLOGY.md are those of 1,000 fleets: `python -m tests.answer.fleet.test_calibration`.
"""

from dataclasses import dataclass
from datetime import date

import numpy as np
from tests.answer.choice.markets import market

from cloudcmp.answer.fleet.answer import fleet_answer
from cloudcmp.answer.fleet.space import FleetQuestion
from cloudcmp.model.fleet import FleetMachine, Inventory
from cloudcmp.model.market import OfferKey

_OWN, _OTHER = 4, 6
_USE = 0.5


@dataclass(frozen=True)
class Tally:
    """Machines that moved, those whose offering is really too slow, and intervals that hold what is really saved."""

    moved: int = 0
    wrong: int = 0
    intervals: int = 0
    holding: int = 0

    def __add__(self, other: "Tally") -> "Tally":
        return Tally(self.moved + other.moved, self.wrong + other.wrong, self.intervals + other.intervals,
                     self.holding + other.holding)  # fmt: skip


def simulated(seed: int, rounds: int, width: float) -> Tally:
    """Ask about four types at 50 % of their CPU, and six cheaper ones within `width` of half their speed.

    All are measured in one study whose rounds vary by 2 % together and by 3 % each. With a width of 0 every type is
    just too slow.
    """
    rng = np.random.default_rng(seed)
    keys = [OfferKey("aws", "r", f"m{at}i.large") for at in range(_OWN + _OTHER)]
    others = _USE * np.exp(rng.uniform(-width, width, _OTHER)) * (1 if width else 1 - 1e-12)
    true = 100 * np.concatenate([np.ones(_OWN), others])
    noise = rng.normal(0, 0.02, rounds) + rng.normal(0, 0.03, (len(keys), rounds))
    prices = [*[1.0] * _OWN, *np.linspace(0.3, 0.6, _OTHER).tolist()]
    sold = market(
        prices, {"memory_gib": [8.0] * len(keys)}, launches={"speed": true[:, None] * np.exp(noise)}, keys=keys
    )
    machines = [FleetMachine(key.name, key, cpu=_USE) for key in keys[:_OWN]]
    found = fleet_answer(Inventory(tuple(machines)), sold, FleetQuestion("speed", headroom=0.0), date(2026, 1, 1))
    speed = dict(zip(keys, true.tolist(), strict=True))
    moves = [one for one in found.answers if one.to is not None]
    enough = [one.to is not None and speed[one.to] >= _USE * speed[one.of] for one in moves]
    saved = sum(float(one.saving.amount) for one, holds in zip(moves, enough, strict=True) if holds and one.saving)
    if found.bounds is None:
        return Tally()
    low, high = (float(one.amount) for one in found.bounds)
    return Tally(len(moves), enough.count(False), 1, int(low - 0.01 <= saved <= high + 0.01))


def simulate(fleets: int, rounds: int, width: float) -> Tally:
    """The tally of some fleets."""
    return sum((simulated(seed, rounds, width) for seed in range(fleets)), Tally())


def test_types_at_the_limit_replace_at_most_five_percent_of_the_machines() -> None:
    found = simulate(250, 6, 0.0)
    assert 0 < found.moved <= 0.05 * 250 * _OWN
    assert found.wrong == found.moved


def test_intervals_hold_what_is_saved() -> None:
    found = simulate(250, 6, 0.05)
    assert found.moved > 200
    assert found.wrong <= 0.05 * found.moved
    assert found.holding >= 0.95 * found.intervals


if __name__ == "__main__":
    for rounds, width in ((6, 0.08), (6, 0.03), (20, 0.05), (6, 0.0)):
        print(f"{rounds:3} rounds, within {width * 100:.0f} %: {simulate(1000, rounds, width)}")
