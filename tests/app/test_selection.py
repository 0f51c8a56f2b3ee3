"""A study with a rule measures only who is still in question, and names the planted best with fewer launches."""

from collections import Counter
from pathlib import Path

import pytest

from cloudcmp.app.compare import compare
from cloudcmp.model.plan import Plan
from cloudcmp.model.selection import DropReason, EndReason
from cloudcmp.store import StudyStore
from tests.cli.command import Said, cloudcmp

HEAD = """\
schema: 1
question: Which is fastest?
probes:
  - {{probe: fma, params: {{threads: one}}}}
launches: {launches}
runs: 1
seed: {seed}
{stop}
candidates:
"""
ONE = (
    "  - {{provider: simulated, region: a, offering: {name}, price: {price} USD/h, "
    "truth: {{cells: {{fma_flop_per_s: {{mean: {mean} Gflop/s, cov: 1 %, between: {between} %}}}}}}}}\n"
)


def written(
    folder: Path, means: dict[str, float], *, between: float = 3, launches: int = 30, seed: int = 1,
    stop: str = "stop: certify", prices: dict[str, float] | None = None,
) -> Path:  # fmt: skip
    path = folder / "study.yaml"
    text = HEAD.format(launches=launches, stop=stop, seed=seed)
    for name, mean in means.items():
        text += ONE.format(name=name, mean=mean, between=between, price=(prices or {}).get(name, 0.1))
    path.write_text(text, encoding="utf-8")
    return path


def ran(path: Path, *more: str) -> tuple[Said, Plan]:
    done = cloudcmp("run", path, "--out", path.parent / "out", *more)
    assert done.code == 0, done.err
    with StudyStore.open(path.parent / "out", write=False) as store:
        return done, store.plan


def launches_of(plan: Plan) -> Counter[str]:
    return Counter(plan.candidates[one.candidate].offering.name for one in plan.launches)


def test_the_planted_best_is_certified_with_fewer_launches_and_a_loser_is_dropped(tmp_path: Path) -> None:
    path = written(tmp_path, {"slow": 7, "best": 10, "next": 9.7}, seed=4)
    done, plan = ran(path)
    (standing,) = plan.ended.standings if plan.ended else ()
    assert (standing.reason, plan.candidates[standing.leader].offering.name) == (EndReason.BEST, "best")
    launches = launches_of(plan)
    assert launches["slow"] == 6
    assert launches["best"] == launches["next"] == plan.rounds < 30
    assert len(plan.launches) < 90 / 2
    assert plan.dropped[0].reason is DropReason.BEHIND
    assert "simulated/a/slow is not measured further: it is behind simulated/a/best (95 %)" in done.err
    assert "best is the best, or at most 2 % behind it (95 %)." in " ".join(done.out.split())
    view = compare([str(tmp_path / "out")])
    assert f"stopped after {plan.rounds} of 30 rounds, {len(plan.launches)} launches" in view.warnings
    assert any("slow was not measured after round 6: it is behind" in line for line in view.warnings)
    assert view.analysis.answer[1].endswith("simulated/a/best is the best, or at most 2 % behind it (95 %).")
    report = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert "best is the best, or at most 2 % behind it (95 %)." in report
    assert "was not measured after round 6" in report


def test_a_planted_tie_ends_as_a_tie(tmp_path: Path) -> None:
    done, plan = ran(written(tmp_path, {"a": 10, "b": 10, "slow": 7}, between=2, launches=60))
    (standing,) = plan.ended.standings if plan.ended else ()
    assert standing.reason is EndReason.TIE
    assert {standing.leader, *standing.equals} == {0, 1}
    assert plan.rounds < 60
    assert "are too close to call" in " ".join(done.out.split())


def test_what_its_rounds_cannot_decide_is_said_to_be_undecided(tmp_path: Path) -> None:
    done, plan = ran(written(tmp_path, {"a": 10, "b": 9.9}, between=20, launches=8))
    assert (plan.ended, plan.rounds, plan.dropped) == (None, 8, ())
    assert "the rule has not ended the study" in " ".join(done.out.split())
    again = cloudcmp("run", "--resume", tmp_path / "out", "--more", "4")
    assert again.code == 0, again.err
    with StudyStore.open(tmp_path / "out", write=False) as store:
        assert store.plan.rounds == 12
        assert store.plan.checks[-1] == 12


def test_rounds_that_are_added_after_the_end_measure_who_was_left(tmp_path: Path) -> None:
    _, plan = ran(written(tmp_path, {"slow": 7, "best": 10, "next": 9.7}, seed=4))
    assert cloudcmp("run", "--resume", tmp_path / "out", "--more", "3").code == 0
    with StudyStore.open(tmp_path / "out", write=False) as store:
        assert store.plan.rounds == plan.rounds + 3
        assert launches_of(store.plan)["slow"] == 6
        assert len(store.done()) == len(store.plan.trials)


def test_a_ranking_orders_all(tmp_path: Path) -> None:
    _, plan = ran(written(tmp_path, {"c": 7, "a": 10, "b": 9}, stop="stop: ranking"))
    (standing,) = plan.ended.standings if plan.ended else ()
    assert (standing.reason, standing.order) == (EndReason.RANKED, (1, 2, 0))


def test_a_budget_measures_as_long_as_it_pays(tmp_path: Path) -> None:
    """The same clouds take more launches if the choice decides over more money; work for money counts."""
    counts = {}
    for spend in ("100 USD/year", "100000 USD/year"):
        folder = tmp_path / spend[:6].strip()
        folder.mkdir()
        stop = f"stop: {{spend: {spend}}}"
        path = written(folder, {"a": 10, "b": 9.9, "dear": 10.5}, stop=stop, launches=25, prices={"dear": 0.2})
        done, plan = ran(path)
        counts[spend] = len(plan.launches)
        assert launches_of(plan)["dear"] <= launches_of(plan)["a"]
    assert counts["100 USD/year"] < counts["100000 USD/year"]
    assert "money" in done.out.lower()


@pytest.mark.parametrize(
    "point", ["finish.after_commit:20", "finish.after_commit:26", "replan.before_commit:1", "replan.after_commit:1",
              "replan.before_commit:2"]
)  # fmt: skip
def test_a_study_that_was_cut_off_continues_exactly_where_it_was(tmp_path: Path, point: str) -> None:
    """It ends with the plan of one that was never cut: the same launches, candidates left out, and end."""
    means = {"slow": 7, "best": 10, "next": 9.6, "third": 9}
    (tmp_path / "whole").mkdir()
    _, whole = ran(written(tmp_path / "whole", means))
    (tmp_path / "cut").mkdir()
    path = written(tmp_path / "cut", means)
    died = cloudcmp("run", path, "--out", tmp_path / "cut" / "out", CLOUDCMP_CRASH_AT=point)
    assert died.code == -9
    resumed = cloudcmp("run", "--resume", tmp_path / "cut" / "out")
    assert resumed.code == 0, resumed.err
    with StudyStore.open(tmp_path / "cut" / "out", write=False) as store:
        assert (store.plan.launches, store.plan.trials) == (whole.launches, whole.trials)
        assert (store.plan.dropped, store.plan.ended) == (whole.dropped, whole.ended)
