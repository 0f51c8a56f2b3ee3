"""Which candidates to measure next, or why to stop: the rules of sequential selection, on paired rounds.

A rule reads the costs that each round gave (logarithms, or other values of which less is better) and answers with the
candidates of the next round. Every function takes any number of markets at once: arrays have the shape (..., k) for k
candidates, and (..., k, k) for pairs, where entry [b, a] is about cost a minus cost b: positive if b is better.

A pair is compared over the rounds that have both, so what a round does to all of its launches cancels. That is why a
round measures the leader and everyone who is still in question at once: one launch of the leader serves them all. The
rules choose who is in a round by the rounds before it, which leaves the later differences as they would be.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt
from scipy import special

from cloudcmp.model.selection import FIRST_STAGE, EndReason
from cloudcmp.stats.check import Floats, Integers
from cloudcmp.stats.evidence import log_evidence

Flags: TypeAlias = npt.NDArray[np.bool_]
Codes: TypeAlias = npt.NDArray[np.int8]
ENDS: tuple[EndReason | None, ...] = (None, *EndReason)
"""The meaning of the codes in `State.ended`; 0 is a market that goes on."""
_Array = TypeVar("_Array", Floats, Flags)
_BEST, _TIE, _RANKED, _REGRET = (ENDS.index(one) for one in EndReason)


@dataclass(frozen=True, slots=True, eq=False)
class State:
    """What a rule knows after some rounds.

    `n`, `mean` and `squares` (around the mean) are of the differences of each pair; `first` is their variance when the
    first stage of `Ranking` ended, NaN before. `settled` flags what a rule has concluded of pairs, `active` who is
    measured next, `lead` is the best by the estimates and `ended` a code of `ENDS`.
    """

    rounds: int
    n: Floats
    mean: Floats
    squares: Floats
    first: Floats
    settled: Flags
    active: Flags
    lead: Integers
    ended: Codes

    @classmethod
    def new(cls, candidates: int, markets: tuple[int, ...] = ()) -> "State":
        """The state before the first round, in which all are measured."""
        pairs = (*markets, candidates, candidates)
        return cls(
            0, np.zeros(pairs), np.zeros(pairs), np.zeros(pairs), np.full(pairs, np.nan), np.zeros(pairs, np.bool_),
            np.ones((*markets, candidates), np.bool_), np.zeros(markets, np.int64), np.zeros(markets, np.int8),
        )  # fmt: skip

    def among(self, markets: Flags) -> "State":
        """The state of some of several markets."""
        return State(self.rounds, *(getattr(self, name)[markets] for name in _ARRAYS))

    def with_round(self, costs: Floats) -> "State":
        """Adds the costs of a round, shape (..., k); NaN for who was not measured or gave no value."""
        apart = costs[..., None, :] - costs[..., :, None]
        there = ~np.isnan(apart)
        n = self.n + there
        step = np.where(there, apart - self.mean, 0.0)
        mean = self.mean + step / np.maximum(n, 1.0)
        squares = self.squares + np.where(there, step * (apart - mean), 0.0)
        return replace(self, rounds=self.rounds + 1, n=n, mean=mean, squares=squares)

    def of_lead(self) -> tuple[Floats, Floats, Floats]:
        """The number, the mean and the squares of the differences of all candidates from the leader, shape (..., k)."""
        return _row(self.n, self.lead), _row(self.mean, self.lead), _row(self.squares, self.lead)


def _row(pairs: _Array, lead: Integers) -> _Array:
    """The leader's row of an array of pairs."""
    return np.take_along_axis(pairs, lead[..., None, None], axis=-2)[..., 0, :]


_ARRAYS = ("n", "mean", "squares", "first", "settled", "active", "lead", "ended")


class Rule(Protocol):
    """A rule: what it concludes from the differences so far."""

    def judge(self, state: State) -> State:
        """The state with what is settled, who is measured next, who leads, and whether it ends."""


def next_state(rule: Rule, state: State, costs: Floats) -> State:
    """The state after one more round with these costs, shape (..., k), NaN where there is none.

    Costs of who was not to be measured, and of markets that have ended, are ignored.
    """
    measured = state.active & (state.ended == 0)[..., None]
    found = rule.judge(state.with_round(np.where(measured, costs, np.nan)))
    over = (state.ended != 0)[..., None]
    return replace(
        found,
        active=np.where(over, state.active, found.active),
        lead=np.where(over[..., 0], state.lead, found.lead),
        ended=np.where(over[..., 0], state.ended, found.ended),
    )


def _with_lead(state: State) -> State:
    """The state with the active candidate whose mean is best against the other active ones as leader."""
    both = state.active[..., :, None] & state.active[..., None, :]
    ahead = np.where(both, state.mean, 0.0).sum(axis=-1)
    return replace(state, lead=np.where(state.active, ahead, -np.inf).argmax(axis=-1))


def _is_lead(state: State) -> Flags:
    return np.asarray(np.arange(state.active.shape[-1]) == state.lead[..., None], dtype=np.bool_)


@dataclass(frozen=True, slots=True)
class Certify:
    """Names a candidate that is the best, or at most `tolerance` behind it, with probability 1 - `alpha`.

    A candidate is settled against the leader once the evidence that it is at most `tolerance` better exceeds
    (k - 1) / `alpha`. If the named one were more than `tolerance` behind the best, the evidence of that one pair of it
    with the best would have been wrong; there are k - 1 such pairs. So the promise holds at whatever round the rule
    stops. `tolerance` is in the unit of the costs, above 0: equal candidates would never end.

    Source: the top-two rule of Russo, "Simple Bayesian algorithms for best-arm identification", Operations Research 68,
    2020, with the evidence of `log_evidence` instead of a likelihood ratio, and all challengers in each round.
    """

    tolerance: float
    alpha: float = 0.05
    fewest: int = 6

    def judge(self, state: State) -> State:
        """See `Rule`."""
        state = _with_lead(state)
        lead = _is_lead(state)
        settled = state.settled | (lead[..., None] & self._exceeds(state, self.tolerance)[..., None, :])
        open_ = ~_row(settled, state.lead) & ~lead
        tie = self.equals(state).any(axis=-1)
        ended = np.where(open_.any(axis=-1), 0, np.where(tie, _TIE, _BEST)).astype(np.int8)
        return replace(state, settled=settled, active=open_ | lead, ended=ended)

    def _exceeds(self, state: State, margin: float) -> Flags:
        """True for each candidate that is at most `margin` better than the leader, at the level of the rule."""
        n, mean, squares = state.of_lead()
        limit = np.log((n.shape[-1] - 1) / self.alpha)
        return np.asarray((log_evidence(n, mean + margin, squares) >= limit) & (n >= self.fewest), dtype=np.bool_)

    def behind(self, state: State) -> Flags:
        """True for each candidate that is worse than the leader, at the level of the rule."""
        return self._exceeds(state, 0.0)

    def equals(self, state: State) -> Flags:
        """True for each candidate that may be better than the leader, and is within the tolerance by the estimate."""
        _, mean, _ = state.of_lead()
        return np.asarray((mean <= self.tolerance) & ~self.behind(state) & ~_is_lead(state), dtype=np.bool_)


@dataclass(frozen=True, slots=True)
class Ranking:
    """Orders every pair that differs by `tolerance` or more, with probability 1 - `alpha`; closer ones count as tied.

    The procedure of Kim and Nelson for each pair: a first stage of `first` rounds gives the variance of the difference,
    and the pair ends when the sum of its differences leaves a triangle that closes after a known number of rounds. All
    pairs share the error. With `best_alone` it is their own procedure, which selects the best: whoever is beaten by one
    is out, and k - 1 comparisons share the error. Proved for normal differences in independent rounds.

    Source: Kim and Nelson, "A fully sequential procedure for indifference-zone selection in simulation", ACM
    Transactions on Modeling and Computer Simulation 11, 2001, with c = 1.
    """

    tolerance: float
    alpha: float = 0.05
    first: int = FIRST_STAGE
    best_alone: bool = False

    def judge(self, state: State) -> State:
        """See `Rule`."""
        k = state.active.shape[-1]
        now = (state.n == self.first) & np.isnan(state.first)
        first = np.where(now, state.squares / (self.first - 1), state.first)
        limit = kim_nelson_limit(state.n, first, self.tolerance, self.share(k), self.first)
        total = state.n * state.mean
        undecided = ~state.settled & ~np.swapaxes(state.settled, -1, -2) & (state.n >= self.first)
        undecided &= state.active[..., :, None] & state.active[..., None, :] & ~np.eye(k, dtype=np.bool_)
        settled = state.settled | (undecided & ((total > limit) | ((limit == 0.0) & (total == 0.0))))
        by_mean = state.mean.sum(axis=-1)  # decides between equal numbers of pairs won
        ahead = settled.sum(axis=-1) - settled.sum(axis=-2) + 0.5 * by_mean / (1.0 + np.abs(by_mean))
        if self.best_alone:
            active = ~settled.any(axis=-2)
            ahead = np.where(active, ahead, -np.inf)
            goes_on, end = active.sum(axis=-1) > 1, _BEST
        else:
            active = ~(settled | np.swapaxes(settled, -1, -2) | np.eye(k, dtype=np.bool_)).all(axis=-1)
            goes_on, end = active.any(axis=-1), _RANKED
        lead = ahead.argmax(axis=-1)
        ended = np.where(goes_on, 0, end).astype(np.int8)
        return replace(state, first=first, settled=settled, active=active, lead=lead, ended=ended)

    def share(self, candidates: int) -> float:
        """The error of one comparison."""
        return self.alpha / (candidates - 1 if self.best_alone else candidates * (candidates - 1) // 2)


def kim_nelson_limit(rounds: Floats, variance: Floats, tolerance: float, alpha: float, first: int) -> Floats:
    """The limit of the sum of `rounds` differences: a candidate whose sum is above it stays, the other is eliminated.

    `variance` is that of the `first` differences, `alpha` the error of this comparison. NaN variances give NaN.
    """
    eta = 0.5 * ((2.0 * alpha) ** (-2.0 / (first - 1)) - 1.0)
    room = 2.0 * eta * (first - 1) * variance / tolerance**2 - rounds
    return np.asarray(np.maximum(0.0, tolerance / 2.0 * room), dtype=np.float64)


@dataclass(frozen=True, slots=True, eq=False)
class Budget:
    """Measures as long as some number of further rounds costs less than the loss that they are expected to avoid.

    `spend` is the money that the choice decides over, `costs` that of one launch of each candidate, shape (k,); costs
    of candidates are logarithms, so a difference is a share of the spend. `horizon` is the most rounds. For each
    candidate and each number of further rounds, the avoided loss is the expected gain of changing to it once they are
    measured; those whose gain pays for their launches are measured, as long as it also pays for the leader's. Pairs are
    judged one by one, with no prior: it bounds no error rate. Rounds so far count from `fewest` on.

    Source: Chick and Inoue, "New two-stage and sequential procedures for selecting the best simulated system",
    Operations Research 49, 2001 (expected opportunity cost); Frazier and Powell, "Paradoxes in learning and the
    marginal value of information", Decision Analysis 7, 2010 (several rounds ahead).
    """

    spend: float
    costs: Floats
    horizon: int
    fewest: int = 6
    ahead: Sequence[int] = field(default=(1, 2, 4, 8, 16, 32, 64, 128, 256, 512))

    def judge(self, state: State) -> State:
        """See `Rule`."""
        state = _with_lead(state)
        lead, left = _is_lead(state), self.horizon - state.rounds
        if left < 1:
            return state
        if state.rounds < self.fewest:
            return state
        steps = np.array([one for one in (*self.ahead, left) if one <= left], dtype=np.float64)
        n, mean, variance = (one[..., None] for one in _of_lead(state))
        with np.errstate(divide="ignore", invalid="ignore"):
            error = np.sqrt(variance * steps / (n * (n + steps)))
        gain = self.spend * expected_gain(mean, error, n - 1.0) - steps * self.costs[:, None]
        gain = np.where(lead[..., None] | np.isnan(gain), -np.inf, gain)
        enough = np.asarray(n[..., 0] >= self.fewest, dtype=np.bool_)
        unknown = ~enough & ~lead
        paid = np.maximum(gain, 0.0).sum(axis=-2) - steps * np.take(self.costs, state.lead)[..., None]
        best = paid.argmax(axis=-1)
        worth = np.take_along_axis(gain, best[..., None, None], axis=-1)[..., 0] > 0.0
        over = (paid.max(axis=-1) <= 0.0) & ~unknown.any(axis=-1)
        active = np.where(over[..., None], lead, worth | unknown | lead)
        return replace(state, active=active, ended=np.where(over, _REGRET, 0).astype(np.int8))

    def regret(self, state: State) -> Floats:
        """The expected loss of taking the leader, as a share of the spend, shape (...)."""
        n, mean, variance = _of_lead(state)
        with np.errstate(divide="ignore", invalid="ignore"):
            lost = expected_gain(mean, np.sqrt(variance / n), n - 1.0)
        return np.asarray(np.where(_is_lead(state), 0.0, lost).sum(axis=-1), dtype=np.float64)


def _of_lead(state: State) -> tuple[Floats, Floats, Floats]:
    """The number, mean and variance of the differences from the leader; unknown variances are NaN."""
    n, mean, squares = state.of_lead()
    with np.errstate(divide="ignore", invalid="ignore"):
        return n, mean, np.where(n > 1.0, squares / (n - 1.0), np.nan)


def expected_gain(behind: Floats, error: Floats, df: Floats) -> Floats:
    """The mean of what a candidate gains on the leader where it is ahead; `behind` is its mean distance.

    Its true distance has a t distribution around `behind`, with scale `error` and `df` degrees of freedom; NaN if < 2.
    Source: DeGroot, "Optimal Statistical Decisions", 1970, section 11.9 (the loss integral of t).
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        t = behind / error
        log_density = (
            special.gammaln((df + 1.0) / 2.0) - special.gammaln(df / 2.0)
            - 0.5 * np.log(df * np.pi) - (df + 1.0) / 2.0 * np.log1p(t**2 / df)
        )  # fmt: skip
        unit = (df + t**2) / (df - 1.0) * np.exp(log_density) - t * special.stdtr(df, -t)
        found = np.where(error == 0.0, np.maximum(0.0, -behind), error * np.maximum(unit, 0.0))
    return np.where(df >= 2.0, found, np.nan)
