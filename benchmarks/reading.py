"""Reading a large study: a plan of 20,000 trials beside Python's own JSON, medians of 50,000 groups beside pandas.

usage: .venv/bin/python benchmarks/reading.py [ROUNDS] [--record]        (5 rounds unless given)
"""

import json
import sys
import time
from collections.abc import Callable

import numpy as np
import pandas as pd

from agent import rounds, side_by_side
from cloudcmp.model.codec import from_json, to_json
from cloudcmp.model.plan import PlannedTrial
from cloudcmp.stats.describe import group_medians

TRIALS, GROUPS, ROWS = 20_000, 50_000, 2_000_000


def plan_text() -> str:
    """The trials of a large plan, as a study keeps them."""
    params = (("duration_s", "1"), ("interval_s", "1"), ("precision", "f64"), ("threads", "one"))
    cells = ("fma_flop_per_s precision=f64;threads=one",)
    trials = tuple(PlannedTrial(i, i // 20, "fma", params, cells, i % 2, i * 1.5, 1.2, 20.0, i) for i in range(TRIALS))
    return to_json(trials, tuple[PlannedTrial, ...])


def seconds(work: Callable[[], object]) -> float:
    """Processor seconds of this process that some work takes."""
    began = time.process_time()
    work()
    return time.process_time() - began


def main() -> int:
    text = plan_text()
    rng = np.random.default_rng(3)
    ids = np.sort(rng.integers(0, GROUPS, ROWS))
    values = rng.lognormal(size=ROWS)
    frame = pd.DataFrame({"id": ids, "value": values})

    def medians() -> object:
        return frame.groupby("id", sort=False)["value"].median()

    print(f"{'processor seconds':<34} {'ours':>10} {'peer':>10}   ours/peer")
    side_by_side(
        "reading-plan",
        lambda: seconds(lambda: from_json(tuple[PlannedTrial, ...], text)),
        lambda: seconds(lambda: json.loads(text)),
        rounds(5),
    )
    side_by_side(
        "reading-medians",
        lambda: seconds(lambda: group_medians(values, ids)),
        lambda: seconds(medians),
        rounds(5),
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
