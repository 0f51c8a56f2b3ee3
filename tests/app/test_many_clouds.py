"""One study on all emulated clouds at once, and on a machine of one's own: rounds side by side, paired, in one report.

What stands for each provider is an emulation; see tests/emulated.
"""

import contextlib
import math
import re
import sqlite3
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
import scipy

from cloudcmp.app import plan as planning
from cloudcmp.model.plan import Launch, Plan
from cloudcmp.store import StudyStore
from tests.app.cloud_walk import OWNED, rented
from tests.app.clouds import Sky, clouds, unable
from tests.emulated.kinds import LARGE, kind
from tests.slices import WHOLE, long

# One study on several clouds each day: tests/app/test_clouds.py.
pytestmark = [pytest.mark.skipif(bool(unable()), reason=unable() or "studies can run"), long]
STUDY = """\
schema: 1
question: Which of all these clouds runs it best?
candidates:
%sprobes:
  - {probe: int, params: {threads: one, duration_s: 0.1}}
launches: %d
runs: 2
budget: 1 USD
seed: 7
"""
CANDIDATES = len(LARGE) + 1
ROUNDS = 6 if WHOLE else 2


@dataclass(frozen=True)
class Measured:
    """One study that was run to its end: its plan, what it printed, and what was there after it."""

    sky: Sky
    plan: Plan
    data: dict[str, Any]

    def leases(self) -> list[tuple[str, str, str, float]]:
        """Slot, event, provider and time of each row of the ledger, in order."""
        with contextlib.closing(sqlite3.connect(self.sky.folder / "out" / "study.db")) as database:
            return database.execute("SELECT slot, event, provider, at FROM lease ORDER BY id").fetchall()


def study() -> str:
    return STUDY % ("".join((*rented(*LARGE), OWNED)), ROUNDS)


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Measured]:
    with clouds(tmp_path_factory.mktemp("sky") / "sky", LARGE) as sky:
        (sky.folder / "study.yaml").write_text(study())
        ran = sky.shortly("run", "study.yaml", "--out", "out", "--json")
        assert ran.code == 0, ran.out
        with StudyStore.open(sky.folder / "out", write=False) as store:
            plan = store.plan
        yield Measured(sky, plan, ran.json["data"])


def rounds(plan: Plan) -> list[list[Launch]]:
    """The launches of each round, in the order in which they are run."""
    return [[one for one in plan.launches if one.round == number] for number in range(plan.rounds)]


def test_p01_nothing_is_left_anywhere_and_nothing_foreign_was_touched(measured: Measured) -> None:
    sky = measured.sky
    assert measured.data["left"] == []
    assert sky.left() + sky.harm() + sky.bodies() + sky.unwritten == []
    assert set(sky.clouds) == set(LARGE)
    for name, cloud in sky.clouds.items():
        assert len(kind(name).machines(cloud)) == ROUNDS, name


def test_every_round_has_each_candidate_once_in_an_order_of_its_own(measured: Measured) -> None:
    orders = [[launch.candidate for launch in one] for one in rounds(measured.plan)]
    assert all(sorted(order) == list(range(CANDIDATES)) for order in orders)
    assert len({tuple(order) for order in orders}) > 1
    assert orders == _orders(7)
    assert len({tuple(map(tuple, _orders(seed))) for seed in range(1, 9)}) == 8


def _orders(seed: int) -> list[list[int]]:
    plan = planning.plan_text(study().replace("seed: 7", f"seed: {seed}"), "study.yaml")
    return [[launch.candidate for launch in one] for one in rounds(plan)]


def test_launches_of_a_round_go_side_by_side_and_rounds_one_after_the_other(measured: Measured) -> None:
    begun: dict[int, dict[int, float]] = {}
    ended: dict[int, dict[int, float]] = {}
    launches = {one.index: one for one in measured.plan.launches}
    for slot, event, _, at in measured.leases():
        number = re.match(r"launch-(\d+)", slot)
        assert number
        one = launches[int(number[1])]
        if event == "INTENT":
            begun.setdefault(one.round, {}).setdefault(one.candidate, at)
        if event == "GONE":
            ended.setdefault(one.round, {})[one.candidate] = at
    assert sorted(begun) == list(range(ROUNDS))
    for number in range(ROUNDS):
        assert len(begun[number]) == len(ended[number]) == CANDIDATES
        assert max(begun[number].values()) < min(ended[number].values()), "one waited for another's end"
        if number:
            assert max(ended[number - 1].values()) <= min(begun[number].values()), "a round began within another"


def test_verdicts_are_paired_by_round(measured: Measured) -> None:
    figures = {one["candidate"]: one for one in measured.data["estimates"]}
    assert sorted(figures) == list(range(CANDIDATES))
    for one in figures.values():
        assert (one["n_ok"], one["n_started"], one["n"]) == (2 * ROUNDS, 2 * ROUNDS, ROUNDS), one["reason"]
        assert sorted(one["rounds"]) == list(range(ROUNDS))
    pairs = measured.data["comparisons"]
    assert len(pairs) == CANDIDATES * (CANDIDATES - 1) // 2
    for pair in pairs:
        values = [dict(zip(figures[n]["rounds"], figures[n]["values"], strict=True)) for n in (pair["a"], pair["b"])]
        logs = [[math.log(each[number]) for number in range(ROUNDS)] for each in values]
        assert pair["n"] == ROUNDS
        assert pair["p_paired"] == pytest.approx(scipy.stats.ttest_rel(*logs).pvalue, rel=1e-6)
        assert pair["verdict"]


def test_the_report_shows_every_cloud(measured: Measured) -> None:
    page = (measured.sky.folder / measured.data["report"]).read_text()
    shown = Counter(name for name in LARGE for _ in re.findall(rf"\b{name}\b", page))
    assert set(shown) == set(LARGE)
    assert [one.id for one in measured.plan.candidates if one.id not in page] == []
    assert "box" in page
