"""The p-median problem: the k of m sites that serve everyone at least cost, with a bound that proves how good it is."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from cloudcmp.stats.check import Floats

Sites = tuple[int, ...]
_T = TypeVar("_T", np.float64, np.int64)
_ROUNDS = 300
_PATIENCE = 15
_TOLERANCE = 1e-9
NODES = 10_000
"""The largest number of partial sets that a search looks at before it gives up its proof."""


@dataclass(frozen=True, slots=True)
class PMedian:
    """The best set that was found: its sites in order, its cost, and a lower bound on the cost of every set.

    `proven` is true if no other set is better; then `bound` is `value`. `sites` is empty, and `value` infinite, if no
    set serves everyone; that is proven too, or the search gave up. `nodes` counts the partial sets that were looked at.
    """

    sites: Sites
    value: float
    bound: float
    proven: bool
    nodes: int


def p_median(
    costs: Floats, k: int, *, accept: Callable[[Sites], bool] | None = None, enough: float = -np.inf, nodes: int = NODES
) -> PMedian:
    """Choose the `k` columns of `costs` (rows, sites) that make the sum over rows of the least chosen cost smallest.

    A cost of infinity means that the site may not serve the row. `accept` can refuse whole sets, such as those over a
    budget: it is asked about sets in increasing cost, and the bound does not know of it. The search ends when a set
    costs at most `enough`.

    A Lagrangian relaxation (each row is served once) gives the bound; a depth-first search over sites in the order of
    their reduced costs closes what is left. Up to `nodes` partial sets are looked at; beyond, the set is the best one
    found, and the bound says how far it can be from the best there is.

    Raises ValueError for negative or undefined costs and for a `k` that is not between 1 and the number of sites.
    Source: Daskin, "Network and Discrete Location", 2nd edition, section 6.7.2 (Lagrangian relaxation of the p-median).
    """
    m = costs.shape[1]
    if not 1 <= k <= m:
        raise ValueError(f"{k} of {m} sites; choose at least 1 and at most all")
    if np.isnan(costs).any() or (costs < 0).any():
        raise ValueError("a cost is negative or not a number")
    search = _Search(costs, k, accept or (lambda _: True), enough, nodes)
    prices, bound = search.relax()
    if search.value > enough and search.run(prices):
        bound = search.value if enough == -np.inf else max(bound, float(np.nextafter(enough, np.inf)))
    bound = min(bound, search.value)
    return search.result(bound, proven=bool(bound >= search.value - _slack(search.value)))


def exchanges(costs: Floats, sites: Sites, judge: "Callable[[Floats], NDArray[_T]]") -> "NDArray[_T]":
    """What `judge` finds of each set that differs from `sites` in one site; shape (k, sites).

    `judge` gets the least costs of rows with each site of `costs` in place of one, shape (rows, sites). Where the site
    is of the set already, the result is that of the set without the one.
    """
    found = []
    for one in sites:
        rest = [other for other in sites if other != one]
        base = costs[:, rest].min(axis=1) if rest else np.full(len(costs), np.inf)
        found.append(judge(np.minimum(base[:, None], costs)))
    return np.array(found)


class _Search:
    def __init__(self, costs: Floats, k: int, accept: Callable[[Sites], bool], enough: float, limit: int) -> None:
        self._costs, self._k, self._accept, self._enough, self._limit = costs, k, accept, enough, limit
        self.value: float = np.inf
        self._sites: Sites = ()
        self._nodes = 0
        self._refused: set[Sites] = set()

    def result(self, bound: float, *, proven: bool) -> PMedian:
        return PMedian(self._sites, self.value, bound, proven, self._nodes)

    def _offer(self, sites: Sites, value: float) -> bool:
        """Keep a set if it is the best one so far and is not refused."""
        if not value < self.value or sites in self._refused:
            return False
        if not self._accept(sites):
            self._refused.add(sites)
            return False
        self._sites, self.value = sites, value
        return True

    def relax(self) -> tuple[Floats, float]:
        """The row prices of the best bound, and the bound; offers the sets that it meets."""
        costs, k = self._costs, self._k
        self._start()
        prices = np.sort(np.partition(costs, min(1, costs.shape[1] - 1), axis=1)[:, :2], axis=1)[:, -1]
        least = costs.min(axis=1)
        prices = np.where(np.isfinite(prices), prices, np.where(np.isfinite(least), least, 0.0))
        best, bound, pace, stale = prices, -np.inf, 1.0, 0
        work, scale = np.empty_like(costs), _row_scale(costs)
        for _ in range(_ROUNDS):
            reduced = _reduced(costs, prices, work)
            chosen = np.argpartition(reduced, k - 1)[:k] if k < len(reduced) else np.arange(k)
            now = float(prices.sum() + reduced[chosen].sum())
            served = costs[:, chosen]
            value = float(served.min(axis=1).sum())
            if np.isfinite(value) and self._offer(_ordered(chosen), value):
                self._improve()
            stale = 0 if now > bound else stale + 1
            if now > bound:
                best, bound = prices, now
            if self.value - bound <= _slack(self.value) or self.value <= self._enough or bound > self._aim():
                break
            if stale >= _PATIENCE:
                pace, stale, prices = pace / 2, 0, best
                if pace < 1e-3:
                    break
                continue
            missing = 1.0 - (served < prices[:, None]).sum(axis=1)
            norm = float((missing**2 * scale).sum())
            if norm == 0:
                break
            target = self.value if np.isfinite(self.value) else max(abs(bound) * 1.1, 1.0)
            prices = prices + pace * max(target - now, 1e-12) / norm * missing * scale
        return best, bound

    def _aim(self) -> float:
        """The cost above which a set is of no use."""
        return self._enough if np.isfinite(self._enough) else np.inf

    def _start(self) -> None:
        """Offer the set that grows by the site that helps most."""
        costs = self._costs
        large = np.where(np.isfinite(costs), costs, _large(costs))
        least, chosen = np.full(len(costs), np.inf), list[int]()
        for _ in range(self._k):
            totals = np.minimum(least[:, None], large).sum(axis=0)
            totals[chosen] = np.inf
            chosen.append(int(np.argmin(totals)))
            least = np.minimum(least, large[:, chosen[-1]])
        value = float(costs[:, chosen].min(axis=1).sum())
        if np.isfinite(value) and self._offer(_ordered(chosen), value):
            self._improve()

    def _improve(self) -> None:
        """Exchange single sites of the best set for as long as that helps."""
        while True:
            values = exchanges(self._costs, self._sites, lambda least: least.sum(axis=0))
            at, to = np.unravel_index(int(np.argmin(values)), values.shape)
            if not values[at, to] < self.value - _slack(self.value):
                return
            changed = _ordered([*(one for one in self._sites if one != self._sites[at]), int(to)])
            if not self._offer(changed, float(values[at, to])):
                return

    def run(self, prices: Floats) -> bool:
        """Look at every set that the row prices do not exclude; False if the limit of nodes ended it."""
        reduced = _reduced(self._costs, prices, np.empty_like(self._costs))
        order = np.argsort(reduced, kind="stable")
        self._order, self._sorted = order, np.ascontiguousarray(self._costs[:, order])
        self._sums = np.concatenate(([0.0], np.cumsum(reduced[order])))
        return self._descend((), np.full(len(self._costs), np.inf), float(prices.sum()), 0)

    def _cutoff(self) -> float:
        return min(self.value - _slack(self.value), self._aim())

    def _descend(self, chosen: Sites, least: Floats, paid: float, begin: int) -> bool:
        """Try the sets that extend `chosen` by sites from `begin` on; `paid` is what prices and chosen sites give."""
        missing, m = self._k - len(chosen), len(self._order)
        if missing == 1:
            return self._leaves(chosen, least, paid, begin)
        for at in range(begin, m - missing + 1):
            if paid + self._sums[at + missing] - self._sums[at] >= self._cutoff():
                return True  # sites come in increasing reduced cost
            self._nodes += 1
            if self._nodes > self._limit or self.value <= self._enough:
                return False
            cost = float(self._sums[at + 1] - self._sums[at])
            if not self._descend((*chosen, at), np.minimum(least, self._sorted[:, at]), paid + cost, at + 1):
                return False
        return True

    def _leaves(self, chosen: Sites, least: Floats, paid: float, begin: int) -> bool:
        reduced = np.diff(self._sums[begin:])
        end = begin + int(np.searchsorted(paid + reduced, self._cutoff()))
        self._nodes += 1
        if end <= begin:
            return True
        values = np.minimum(least[:, None], self._sorted[:, begin:end]).sum(axis=0)
        for at in np.argsort(values, kind="stable"):
            if not values[at] < self._cutoff() and not values[at] <= self._enough:
                break
            if self._offer(_ordered(self._order[[*chosen, begin + int(at)]]), float(values[at])):
                break
        return not self.value <= self._enough


def _reduced(costs: Floats, prices: Floats, work: Floats) -> Floats:
    """What each site would save of the row prices, as numbers of at most zero."""
    np.subtract(costs, prices[:, None], out=work)
    np.minimum(work, 0.0, out=work)
    return np.asarray(work.sum(axis=0))


def _row_scale(costs: Floats) -> Floats:
    """A size for each row, so that a step moves the prices of large and small rows alike."""
    finite = np.isfinite(costs)
    sizes = np.where(finite, costs, 0.0).sum(axis=1) / np.maximum(1, finite.sum(axis=1))
    mean = float(sizes.mean())
    return np.asarray(np.maximum(sizes, 1e-6 * mean) / mean) if mean > 0 else np.ones(len(costs))


def _ordered(sites: "NDArray[np.intp] | list[int]") -> Sites:
    return tuple(sorted(int(one) for one in sites))


def _large(costs: Floats) -> float:
    """More than any set can cost."""
    finite = costs[np.isfinite(costs)]
    return float(finite.max()) * len(costs) * 10 + 1.0 if finite.size else 1.0


def _slack(value: float) -> float:
    return _TOLERANCE * abs(value) if np.isfinite(value) else 0.0
