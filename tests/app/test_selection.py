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


def test_documents_say_what_the_rule_did(tmp_path: Path) -> None:
    path = written(tmp_path, {"slow": 7, "best": 10, "next": 9.7}, seed=4)
    assert "USD (nine in ten at most" in " ".join(cloudcmp("plan", path).out.split())
    planned = cloudcmp("plan", path, "--json").json["data"]
    assert planned["stop"] == {"rule": "certify", "tolerance": 0.02, "spend": None}
    assert [one["ahead"] for one in planned["quote"]["to_decide"]] == [0.1, 0.05, 0.02]
    _, plan = ran(path)
    found = cloudcmp("compare", tmp_path / "out", "--json").json["data"]
    assert found["stop"] == planned["stop"]
    assert found["dropped"] == [{"candidate": 0, "round": 6, "reason": "BEHIND", "against": 1, "back": None}]
    assert (found["ended"]["rounds"], found["ended"]["planned"]) == (plan.rounds, 30)
    (standing,) = found["ended"]["standings"]
    assert (standing["reason"], standing["leader"], standing["order"]) == ("BEST", 1, [1, 2, 0])
    page = (Path(__file__).parents[2] / "docs" / "reference" / "json.md").read_text(encoding="utf-8")
    keys = {*found["dropped"][0], *found["ended"], *standing, *planned["quote"]["to_decide"][0], *found["stop"]}
    assert [key for key in keys if f"`{key}`" not in page] == []


@pytest.mark.parametrize(
    ("stop", "why"),
    [
        ("stop: sometimes", "8:7: rule: this is not known; write rule: certify, ranking, budget or fixed"),
        ("stop: {rule: budget}", "stop: {rule: budget, spend: 20000 USD/year}"),
        ("stop: {spend: 20000 USD}", "needs a currency and a period; write e.g. 20000 USD/year"),
        ("stop: {spend: 20000 EUR/year}", "USD, but others are in EUR"),
        ("stop: {rule: certify, spend: 2 USD/year}", "8:30: spend says nothing with certify; leave out spend"),
        ("stop: {tolerance: 0 %}", "8:19: with a tolerance of 0 equal candidates would never end"),
        ("stop: certify\nuntil: 5 %", "9:1: until and stop both say when to stop"),
        ("stop: {tolerence: 3 %}", "8:8: unknown key 'tolerence'; nearest: tolerance"),
    ],
)
def test_a_fault_of_the_rule_is_one_line_with_its_place(tmp_path: Path, stop: str, why: str) -> None:
    done = cloudcmp("plan", written(tmp_path, {"a": 10, "b": 9}, stop=stop))
    assert done.code == 2
    assert why in done.err


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ("launches: 6\nstop: certify", "stop stops before all launches"),
        ("launches: 10\nstop: ranking", "ranking learns the spreads from 10 launches"),
        ("stop: certify\nsessions: [{name: day, days: all, hours: 00:00-24:00, timezone: UTC}]", "each session needs"),
        ("stop: {spend: 100 USD/year}", "stop: a price is unknown"),
    ],
)
def test_a_rule_that_cannot_work_is_refused(tmp_path: Path, more: str, why: str) -> None:
    launches = "" if "launches" in more else "launches: 12\n"
    (tmp_path / "study.yaml").write_text(
        "schema: 1\nquestion: Which?\ncandidates:\n  - {provider: simulated, region: a, offering: x}\n"
        f"  - {{provider: simulated, region: a, offering: y}}\nprobes: [{{probe: fma}}]\n{launches}{more}\n"
    )
    done = cloudcmp("plan", tmp_path / "study.yaml")
    assert done.code == 2
    assert why in done.err
    assert len(done.err.strip().splitlines()) == 1


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
        path = written(folder, {"a": 10, "b": 9.9, "dear": 10.5}, stop=stop, launches=14, prices={"dear": 0.2})
        done, plan = ran(path)
        counts[spend] = len(plan.launches)
        assert launches_of(plan)["dear"] <= launches_of(plan)["a"]
    assert counts["100 USD/year"] < counts["100000 USD/year"]
    assert "money" in done.out.lower()


MEANS = {"slow": 7, "best": 10, "next": 9.6, "third": 9.2}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Plan:
    """The plan of a study that was never cut off, as it ended."""
    return ran(written(tmp_path_factory.mktemp("whole"), MEANS, between=5, seed=4))[1]


@pytest.mark.parametrize("point", ["finish.after_commit:26", "replan.before_commit:1", "replan.after_commit:1"])
def test_a_study_that_was_cut_off_continues_exactly_where_it_was(tmp_path: Path, point: str, whole: Plan) -> None:
    """It ends with the plan of one that was never cut: the same launches, candidates left out, and end."""
    assert whole.dropped
    assert len(whole.launches) > 26
    (tmp_path / "cut").mkdir()
    path = written(tmp_path / "cut", MEANS, between=5, seed=4)
    died = cloudcmp("run", path, "--out", tmp_path / "cut" / "out", CLOUDCMP_CRASH_AT=point)
    assert died.code == -9
    resumed = cloudcmp("run", "--resume", tmp_path / "cut" / "out")
    assert resumed.code == 0, resumed.err
    with StudyStore.open(tmp_path / "cut" / "out", write=False) as store:
        assert (store.plan.launches, store.plan.trials) == (whole.launches, whole.trials)
        assert (store.plan.dropped, store.plan.ended) == (whole.dropped, whole.ended)
