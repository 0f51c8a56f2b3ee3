"""How many launches it takes to name the best of six simulated clouds, and how often that is wrong.

The rules of `stop:` beside fixed numbers of launches, in markets of different kinds (tests/stats/markets.py): the best
is known, so every mistake is counted. A launch is one value; nothing of it was measured.

usage: .venv/bin/python benchmarks/selection.py [MARKETS [SEED]]        (1000 markets of each kind and seed 1 if not given;
                                                                         the table in docs/reference/selection.md: 10000)
"""

import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))  # the tests' markets

import numpy as np
from tests.stats.fixed_designs import holm_certified, one_after_the_other
from tests.stats.markets import CLOUDS, KINDS, Markets, hard, ordinary, own_drift

from cloudcmp.stats.play import play
from cloudcmp.stats.selection import Budget, Certify, Ranking, Rule

MOST = 400
_COST = 1e-4
"""The cost of a launch, as a share of the money that the choice decides over."""
RULES: dict[str, Rule] = {
    "certify, tolerance 2 %": Certify(float(np.log1p(0.02))),
    "certify, tolerance 1 %": Certify(float(np.log1p(0.01))),
    "Kim-Nelson, the best alone, 3 %": Ranking(float(np.log1p(0.03)), best_alone=True),
    "ranking, tolerance 3 %": Ranking(float(np.log1p(0.03))),
    "budget, a launch costs 1/10000": Budget(1.0, np.full(CLOUDS, _COST), MOST),
    "budget, a launch costs 1/100000": Budget(1.0, np.full(CLOUDS, _COST / 10), MOST),
}
FIXED = (6, 20, 50, 200)


@dataclass(frozen=True)
class Line:
    """One line of the table: launches over all clouds, shares of markets, and the mean regret of the named cloud."""

    kind: str
    design: str
    median: float
    ninth: float
    mean: float
    ended: float
    wrong: int
    certified: int
    best: float
    regret: float

    def text(self) -> str:
        """The line as a row of Markdown."""
        wrong = f"{self.wrong}/{self.certified} ({100 * self.wrong / max(1, self.certified):.1f} %)"
        return (
            f"| {self.kind} | {self.design} | {self.median:.0f} ({self.ninth:.0f}) | {self.mean:.0f} "
            f"| {100 * self.ended:.1f} % | {wrong} | {100 * self.best:.1f} % | {100 * self.regret:.2f} % |"
        )


def ruled(kind: str, design: str, rule: Rule, markets: Markets) -> Line:
    """A rule on all markets; wrong is a named cloud that is more than 2 % behind the best, or than the rule's own tolerance."""
    played = play(rule, markets.draw, markets.shape, MOST)
    ended, behind = played.ended != 0, markets.behind(played.lead)
    limit = np.expm1(rule.tolerance) if isinstance(rule, Certify | Ranking) else 0.02
    return Line(
        kind, design, float(np.median(played.launches)), float(np.quantile(played.launches, 0.9)),
        float(played.launches.mean()), float(ended.mean()), int((ended & (behind > limit * (1 + 1e-9))).sum()),
        int(ended.sum()), float((behind <= 1e-12).mean()), float(behind.mean()),
    )  # fmt: skip


def fixed(kind: str, launches: int, markets: Markets) -> Line:
    """So many launches of each cloud, in rounds; certified if Holm's paired t tests put all others behind one."""
    costs = np.stack([markets.draw(number) for number in range(launches)], axis=1)
    return _fixed(kind, f"{launches} of each, in rounds", *holm_certified(costs, paired=True), markets, launches)


def in_blocks(kind: str, launches: int, markets: Markets) -> Line:
    """So many launches of each cloud, one cloud after the other; certified by Holm's Welch tests."""
    costs = one_after_the_other(markets, launches)
    return _fixed(kind, f"{launches} of each, one cloud after the other", *holm_certified(costs, paired=False), markets,
                  launches)  # fmt: skip


def _fixed(
    kind: str, design: str, lead: np.ndarray, certified: np.ndarray, markets: Markets, launches: int
) -> Line:
    behind, total = markets.behind(lead), float(launches * CLOUDS)
    return Line(kind, design, total, total, total, float(certified.mean()), int((certified & (behind > 0.0)).sum()),
                int(certified.sum()), float((behind <= 1e-12).mean()), float(behind.mean()))  # fmt: skip


def lines(count: int, seed: int) -> Iterator[Line]:
    """All lines of the table."""
    for kind, make in {**KINDS, "own AR(1) drift (S1)": own_drift}.items():
        markets = make(count, seed)
        whole = make in (hard, ordinary)
        for design, rule in RULES.items():
            if whole or design.startswith(("certify, tolerance 2", "Kim", "budget, a launch costs 1/10000")):
                yield ruled(kind, design, rule, make(count, seed))
        for launches in FIXED if whole else (20,):
            few = make(min(count, 1000), seed)
            yield fixed(kind, launches, few)
        if not whole:
            yield in_blocks(kind, 20, make(min(count, 1000), seed))
        del markets


def main() -> None:
    """Print the table."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else 1
    began: Callable[[], float] = time.monotonic
    start = began()
    say(f"{count} markets of each kind (1000 at most for fixed designs), seed {seed}; six clouds, CoV of a launch 2 to 20 %")
    say("")
    say("| market | design | median launches (90 %) | mean | ended | wrong of those | named the best | mean regret |")
    say("|---|---|---|---|---|---|---|---|")
    for line in lines(count, seed):
        say(line.text())
    say("")
    say(f"{began() - start:.0f} s", sys.stderr)


def say(text: str, stream: object = None) -> None:
    """Print a line at once."""
    print(text, file=stream or sys.stdout, flush=True)  # type: ignore[call-overload]


if __name__ == "__main__":
    main()
