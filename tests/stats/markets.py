"""Simulated markets of clouds, whose best one is known: what rules of selection are tried on.

A market has k clouds. Column 0 is the best. A launch costs exp(truth + noise) seconds or money, so all costs here are
logarithms. The noise of a launch has mean 0 and the standard deviation of its cloud.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cloudcmp.stats.play import Draw

Floats = npt.NDArray[np.float64]
CLOUDS = 6


@dataclass(frozen=True, eq=False)
class Markets:
    """The truth and the spread of each cloud, shape (markets, clouds), and the draw of a round's costs."""

    truth: Floats
    draw: Draw

    @property
    def shape(self) -> tuple[int, int]:
        """Markets x clouds."""
        count, clouds = self.truth.shape
        return count, clouds

    def behind(self, lead: npt.NDArray[np.int64]) -> Floats:
        """By which share each market's named cloud is behind its best one."""
        return np.asarray(np.expm1(np.take_along_axis(self.truth, lead[:, None], 1)[:, 0] - self.truth.min(axis=1)))


def _spreads(rng: np.random.Generator, n: int) -> Floats:
    """CoV of 2 to 20 %, log-uniform, as standard deviations of logarithms."""
    cov = np.exp(rng.uniform(np.log(0.02), np.log(0.2), (n, CLOUDS)))
    return np.asarray(np.sqrt(np.log1p(cov**2)))


def _normal(truth: Floats, sd: Floats, seed: int) -> Draw:
    return lambda number: truth + sd * _rng(seed, number).standard_normal(truth.shape)


def _rng(seed: int, number: int) -> np.random.Generator:
    return np.random.default_rng((seed, number))


def _rivals(n: int, gaps: Floats) -> Floats:
    return np.concatenate([np.zeros((n, 1)), np.log1p(gaps)], axis=1)


def hard_truth(rng: np.random.Generator, n: int) -> Floats:
    """Each rival 3 to 30 % behind the best."""
    return _rivals(n, rng.uniform(0.03, 0.30, (n, CLOUDS - 1)))


def ordinary_truth(rng: np.random.Generator, n: int) -> Floats:
    """Each cloud 3 to 30 % behind the one before."""
    return np.concatenate([np.zeros((n, 1)), np.log1p(rng.uniform(0.03, 0.30, (n, CLOUDS - 1))).cumsum(axis=1)], axis=1)


def hard(n: int, seed: int) -> Markets:
    """S1: hard truth, normal noise."""
    rng = np.random.default_rng(seed)
    truth = hard_truth(rng, n)
    return Markets(truth, _normal(truth, _spreads(rng, n), seed))


def ordinary(n: int, seed: int) -> Markets:
    """S2: ordinary truth, normal noise."""
    rng = np.random.default_rng(seed)
    truth = ordinary_truth(rng, n)
    return Markets(truth, _normal(truth, _spreads(rng, n), seed))


def least_favourable(n: int, seed: int) -> Markets:
    """LF: five rivals all 3 % behind, CoV 10 %."""
    truth = _rivals(n, np.full((n, CLOUDS - 1), 0.03))
    return Markets(truth, _normal(truth, np.full(truth.shape, np.sqrt(np.log1p(0.01))), seed))


def at_the_edge(n: int, seed: int) -> Markets:
    """The worst for a tolerance of 2 %: five rivals just beyond it, CoV 5 %."""
    truth = _rivals(n, np.full((n, CLOUDS - 1), 0.0201))
    return Markets(truth, _normal(truth, np.full(truth.shape, np.sqrt(np.log1p(0.0025))), seed))


def near_ties(n: int, seed: int) -> Markets:
    """Each rival 0 to 3 % behind."""
    rng = np.random.default_rng(seed)
    truth = _rivals(n, rng.uniform(0.0, 0.03, (n, CLOUDS - 1)))
    return Markets(truth, _normal(truth, _spreads(rng, n), seed))


def tied(n: int, seed: int) -> Markets:
    """All six equal."""
    rng = np.random.default_rng(seed)
    truth = np.zeros((n, CLOUDS))
    return Markets(truth, _normal(truth, _spreads(rng, n), seed))


def nested(n: int, seed: int) -> Markets:
    """S2 with half of the variance between instances, and two runs on each: a launch is their mean."""
    rng = np.random.default_rng(seed)
    truth = ordinary_truth(rng, n)
    half = _spreads(rng, n) / np.sqrt(2.0)

    def draw(number: int) -> Floats:
        own = _rng(seed, number)
        runs = own.standard_normal((2, *truth.shape)).mean(axis=0)
        return np.asarray(truth + half * (own.standard_normal(truth.shape) + runs))

    return Markets(truth, draw)


def _walk(start: Floats, part: float, seed: int) -> Callable[[int], Floats]:
    """A stationary AR(1) series of standard normal values, one for each entry of `start`, whose step `part` is kept."""
    values = [start]

    def at(number: int) -> Floats:
        while len(values) <= number:
            step = np.random.default_rng((seed, 1, len(values))).standard_normal(start.shape)
            values.append(part * values[-1] + np.sqrt(1.0 - part**2) * step)
        return values[number]

    return at


def drifting(n: int, seed: int) -> Markets:
    """S1, and a drift that all clouds share: AR(1) with 0.95 a round, 60 % of the variance of a middling cloud."""
    rng = np.random.default_rng(seed)
    truth = hard_truth(rng, n)
    sd = _spreads(rng, n)
    size = np.sqrt(0.6 / 0.4) * np.exp(np.log(sd).mean(axis=1, keepdims=True))
    shared = _walk(rng.standard_normal((n, 1)), 0.95, seed)
    noise = _normal(truth, sd, seed)
    return Markets(truth, lambda number: noise(number) + size * shared(number))


def own_drift(n: int, seed: int) -> Markets:
    """S1, but 60 % of each cloud's variance is its own AR(1) drift with 0.95 a round, which nothing pairs away."""
    rng = np.random.default_rng(seed)
    truth = hard_truth(rng, n)
    sd = _spreads(rng, n)
    own = _walk(rng.standard_normal(truth.shape), 0.95, seed)
    noise = _normal(truth, np.sqrt(0.4) * sd, seed)
    return Markets(truth, lambda number: noise(number) + np.sqrt(0.6) * sd * own(number))


def heavy_tails(n: int, seed: int) -> Markets:
    """S1 with Student's t of three degrees of freedom, of the same variance."""
    rng = np.random.default_rng(seed)
    truth = hard_truth(rng, n)
    sd = _spreads(rng, n) / np.sqrt(3.0)
    return Markets(truth, lambda number: truth + sd * _rng(seed, number).standard_t(3, truth.shape))


def spikes(n: int, seed: int) -> Markets:
    """S1, where one launch in ten is slower by an exponential amount with a mean of three standard deviations."""
    rng = np.random.default_rng(seed)
    truth = hard_truth(rng, n)
    sd = _spreads(rng, n)

    def draw(number: int) -> Floats:
        own = _rng(seed, number)
        extra = (own.random(truth.shape) < 0.1) * own.exponential(3.0, truth.shape) - 0.3
        return np.asarray(truth + sd * (own.standard_normal(truth.shape) + extra))

    return Markets(truth, draw)


KINDS: dict[str, Callable[[int, int], Markets]] = {
    "hard (S1)": hard,
    "ordinary (S2)": ordinary,
    "least favourable (LF)": least_favourable,
    "at the edge of the tolerance": at_the_edge,
    "near ties": near_ties,
    "all tied": tied,
    "half between instances (S2)": nested,
    "shared AR(1) drift (S1)": drifting,
    "heavy tails (S1)": heavy_tails,
    "spikes (S1)": spikes,
}
"""The kinds that the promise holds for."""
