"""How many launches it takes to name the best of six simulated clouds, and how often that is wrong.

The rules of `stop:` beside fixed numbers of launches, in markets of several kinds (tests/stats/markets.py), whose best
cloud is known, so every mistake is counted. A launch is one value; nothing of it was measured. The second table adds up
money: what the launches cost and what a wrong choice loses, as a share of the money that the choice decides over.

usage: .venv/bin/python benchmarks/selection.py [MARKETS [SEED]]    (1000 of each kind and seed 1 unless given)

`certify` is tried on all MARKETS, everything else on 1000 at most; docs/reference/selection.md shows those of 10000.
"""

import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))  # the tests' markets

import numpy as np
import numpy.typing as npt
from tests.stats.fixed_designs import holm_certified, one_after_the_other
from tests.stats.markets import CLOUDS, KINDS, Markets, drifting, hard, least_favourable, near_ties, ordinary, own_drift

from cloudcmp.stats.play import play
from cloudcmp.stats.selection import Budget, Certify, Ranking, Rule

MOST, FEWER = 400, 1000
CERTIFY = "certify, tolerance 2 %"
RULES: dict[str, Rule] = {
    CERTIFY: Certify(float(np.log1p(0.02))),
    "certify, tolerance 1 %": Certify(float(np.log1p(0.01))),
    "Kim and Nelson, the best alone, 3 %": Ranking(float(np.log1p(0.03)), best_alone=True),
    "ranking, tolerance 3 %": Ranking(float(np.log1p(0.03))),
}
FIXED = (6, 20, 50, 200)
SHARES = (1e-3, 1e-4, 1e-5)
"""The cost of a launch, as shares of the money that the choice decides over."""
WITH_MONEY: dict[str, Callable[[int, int], Markets]] = {
    "hard (S1)": hard, "ordinary (S2)": ordinary, "least favourable (LF)": least_favourable, "near ties": near_ties,
}  # fmt: skip


@dataclass(frozen=True)
class Line:
    """One line of the table: launches over all clouds, shares of markets, and the mean regret of the named cloud."""

    kind: str
    design: str
    launches: npt.NDArray[np.float64]
    ended: npt.NDArray[np.bool_]
    wrong: npt.NDArray[np.bool_]
    behind: npt.NDArray[np.float64]

    def text(self) -> str:
        """The line as a row of Markdown."""
        named, wrong = int(self.ended.sum()), int((self.wrong & self.ended).sum())
        share = f"{wrong}/{named} ({100 * wrong / named:.1f} %)" if named else "none ended"
        return (
            f"| {self.kind} | {self.design} | {np.median(self.launches):.0f} ({np.quantile(self.launches, 0.9):.0f}) "
            f"| {self.launches.mean():.0f} | {100 * self.ended.mean():.1f} % | {share} "
            f"| {100 * (self.behind <= 1e-12).mean():.1f} % | {100 * self.behind.mean():.2f} % |"
        )


def ruled(kind: str, design: str, rule: Rule, markets: Markets) -> Line:
    """A rule on all markets.

    Wrong is a named cloud that is further behind the best than the tolerance, and for the order of all any pair in the
    wrong order that differs by more.
    """
    played = play(rule, markets.draw, markets.shape, MOST)
    behind = markets.behind(played.lead)
    tolerance = rule.tolerance if isinstance(rule, Certify | Ranking) else 0.0
    wrong = np.log1p(behind) > tolerance + 1e-9
    if isinstance(rule, Ranking) and not rule.best_alone:
        apart = markets.truth[:, :, None] - markets.truth[:, None, :] > tolerance + 1e-9
        wrong = (played.settled & apart).any(axis=(1, 2))
    return Line(kind, design, played.launches.astype(np.float64), played.ended != 0, wrong, behind)


def fixed(kind: str, launches: int, markets: Markets, *, in_rounds: bool) -> Line:
    """So many launches of each cloud; it ends where Holm's tests (paired, or Welch's) put all others behind one."""
    if in_rounds:
        costs = np.stack([markets.draw(number) for number in range(launches)], axis=1)
    else:
        costs = one_after_the_other(markets, launches)
    lead, certified = holm_certified(costs, paired=in_rounds)
    design = f"{launches} of each{', in rounds' if in_rounds else ', one cloud after the other'}"
    behind = markets.behind(lead)
    return Line(kind, design, np.full(behind.shape, float(launches * CLOUDS)), certified, behind > 1e-12, behind)


def lines(count: int, seed: int) -> Iterator[Line]:
    """All lines of the first table."""
    fewer = min(count, FEWER)
    for kind, make in {**KINDS, "own AR(1) drift (S1): not promised": own_drift}.items():
        whole = make in (hard, ordinary)
        for design, rule in RULES.items():
            if whole or design == CERTIFY or (isinstance(rule, Ranking) and rule.best_alone):
                yield ruled(kind, design, rule, make(count if design == CERTIFY else fewer, seed))
        for launches in FIXED if whole else (20,):
            yield fixed(kind, launches, make(fewer, seed), in_rounds=True)
        if make is drifting:
            yield fixed(kind, 20, make(fewer, seed), in_rounds=False)


def money(count: int, seed: int) -> Iterator[str]:
    """The rows of the second table: the mean loss of a rule, and that of the best fixed design, known afterwards."""
    for kind, make in WITH_MONEY.items():
        for share in SHARES:
            rule = Budget(1.0, np.full(CLOUDS, share), MOST)
            made = make(count, seed)
            played = play(rule, made.draw, made.shape, MOST)
            regret, used = float(made.behind(played.lead).mean()), float(played.launches.mean())
            losses = {n: _mean_regret(make(count, seed), n) + share * n * CLOUDS for n in (6, 10, 20, 50, 100)}
            best = min(losses, key=lambda n: losses[n])
            yield (
                f"| {kind} | {100 * share:g} % | {used:.0f} | {100 * regret:.3f} % "
                f"| {100 * (regret + share * used):.3f} % "
                f"| {100 * losses[best]:.3f} % ({best} of each) |"
            )


def _mean_regret(markets: Markets, launches: int) -> float:
    """The mean regret of the cloud with the least mean of so many launches."""
    total = sum((markets.draw(number) for number in range(launches)), np.zeros(markets.shape))
    return float(markets.behind(total.argmin(axis=1)).mean())


def main() -> None:
    """Print both tables."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else 1
    start = time.monotonic()
    say("| market | design | median launches (90 %) | mean | ended | wrong of those | named the best | mean regret |")
    say("|---|---|---|---|---|---|---|---|")
    for line in lines(count, seed):
        say(line.text())
    say("\n| market | a launch costs | launches of budget | mean regret | its loss | least loss of a fixed number |")
    say("|---|---|---|---|---|---|")
    for row in money(min(count, FEWER), seed):
        say(row)
    say(f"\n{count} markets of each kind, seed {seed}; {time.monotonic() - start:.0f} s")


def say(text: str) -> None:
    """Print a line at once."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
