"""A study with `until` stops once its intervals are tight, at no cost of false verdicts."""

import hashlib
import sqlite3
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cloudcmp import study as studies
from cloudcmp.app.compare import compare
from cloudcmp.app.plan import plan_file
from cloudcmp.errors import UserMistake
from cloudcmp.model.study import Study
from cloudcmp.plan import shortened
from cloudcmp.plan.planner import checks_of
from cloudcmp.store import StudyStore
from tests.cli.command import cloudcmp
from tests.slices import long

STUDY = """\
schema: 1
question: Which is faster?
candidates:
  - provider: simulated
    region: nimbus
    offering: small
    truth: {{cells: {{fma_flop_per_s: {{mean: 10 Gflop/s, cov: 1 %, between: {between} %}}}}}}
  - provider: simulated
    region: nimbus
    offering: large
    truth: {{cells: {{fma_flop_per_s: {{mean: 11 Gflop/s, cov: 1 %, between: {between} %}}}}}}
probes:
  - {{probe: fma, params: {{threads: one}}}}
launches: {launches}
runs: 1
{more}
"""


def written(folder: Path, *, between: float = 1, launches: int = 24, more: str = "until: 5 %") -> Path:
    path = folder / "study.yaml"
    path.write_text(STUDY.format(between=between, launches=launches, more=more), encoding="utf-8")
    return path


def plan_study(more: str) -> Study:
    text = STUDY.format(between=1, launches=24, more=more)
    return studies.read_text(text, "study.yaml", providers=frozenset({"simulated"}))


def test_a_steady_study_stops_early_and_has_ended(tmp_path: Path) -> None:
    done = cloudcmp("run", written(tmp_path), "--out", tmp_path / "out")
    assert done.code == 0, done.err
    assert "stopped after 8 of 24 rounds: every interval is tight enough" in done.err
    assert "8 rounds" in done.out
    assert "PRELIMINARY" not in done.out
    view = compare([str(tmp_path / "out")])
    assert (view.plan.rounds, len(view.plan.trials), view.plan.quote.trials) == (8, 16, 16)
    assert not any("not run yet" in line for line in view.warnings)
    assert "stopped after 8 of 24 rounds: every interval is tight enough" in view.warnings
    again = cloudcmp("run", "--resume", tmp_path / "out")
    assert again.code == 0, again.err


def test_a_noisy_study_runs_all_its_rounds(tmp_path: Path) -> None:
    done = cloudcmp("run", written(tmp_path, between=30), "--out", tmp_path / "out")
    assert done.code == 0, done.err
    assert "stopped after" not in done.err
    assert compare([str(tmp_path / "out")]).plan.rounds == 24


def test_rounds_can_be_added_to_a_study_that_stopped(tmp_path: Path) -> None:
    assert cloudcmp("run", written(tmp_path), "--out", tmp_path / "out").code == 0
    more = cloudcmp("run", "--resume", tmp_path / "out", "--more", "10")
    assert more.code == 0, more.err
    assert compare([str(tmp_path / "out")]).plan.rounds == 18


@long
def test_the_error_is_shared_among_the_moments_at_which_it_may_stop(tmp_path: Path) -> None:
    """The verdict of a study that may stop at three moments is decided at a third of the level of one that may not."""
    views = {}
    for name, more in (("fixed", ""), ("early", "until: 0.001 %")):
        (tmp_path / name).mkdir()
        done = cloudcmp("run", written(tmp_path / name, more=more), "--out", tmp_path / name / "out")
        assert done.code == 0, done.err
        (views[name],) = compare([str(tmp_path / name / "out")]).analysis.comparisons
    assert views["early"].p_paired == views["fixed"].p_paired
    assert views["early"].p_adjusted == pytest.approx(3 * views["fixed"].p_adjusted)


@pytest.mark.parametrize(
    ("launches", "more", "why"),
    [
        (6, "until: 5 %", "until stops before all launches, and a verdict needs 6 of them; write the most"),
        (24, "until: 0 %", "until must lie between 0 and 100 %; write e.g. until: 5 %"),
        (24, "until: soon", "until"),
        (
            24,
            "until: 5 %\nsessions: [{name: day, days: all, hours: 00:00-24:00, timezone: UTC}]",
            "until stops after any round, and each session needs all of its own",
        ),
    ],
)
def test_what_until_cannot_do_is_one_line(tmp_path: Path, launches: int, more: str, why: str) -> None:
    done = cloudcmp("plan", written(tmp_path, launches=launches, more=more))
    assert done.code == 2
    assert why in done.err


def test_the_plan_says_when_it_may_stop(tmp_path: Path) -> None:
    assert "after 8 or 16 rounds if every interval is within 5 %" in cloudcmp("plan", written(tmp_path)).out


@given(st.integers(1, 500))
def test_the_moments_are_enough_for_a_verdict_and_before_the_end(rounds: int) -> None:
    read = plan_study("until: 5 %")
    checks = checks_of(read, rounds)
    assert len(checks) <= 2
    assert list(checks) == sorted(set(checks))
    assert all(6 <= one < rounds for one in checks)
    assert checks_of(replace(read, until=None), rounds) == ()


@pytest.mark.parametrize("rounds", [1, 7, 23])
def test_a_shortened_plan_is_the_beginning_of_the_whole(tmp_path: Path, rounds: int) -> None:
    plan, _ = plan_file(written(tmp_path), on=None, short=False, seed=None)
    part = shortened(plan, rounds)
    assert {one.round for one in part.launches} == set(range(rounds))
    assert part.trials == plan.trials[: len(part.trials)]
    assert part.launches == plan.launches[: len(part.launches)]
    assert all(one.launches == rounds for one in part.usage)


def test_a_study_is_not_shortened_below_what_has_begun(tmp_path: Path) -> None:
    plan, text = plan_file(written(tmp_path), on=None, short=False, seed=None)
    with StudyStore.create(tmp_path / "out", plan, study_text=text, provenance={}, created_at=0.0) as store:
        store.begin_attempt(len(plan.trials) - 1, 0, 1.0)
        with pytest.raises(ValueError, match="a trial was begun that the other plan does not have"):
            store.replan(shortened(plan, 8))
        with pytest.raises(ValueError, match="a trial was begun that the other plan does not have"):
            store.replan(replace(plan, launches=plan.launches[::-1]))
    with StudyStore.open(tmp_path / "out", write=False) as store:
        assert store.plan == plan


def test_an_old_plan_that_names_the_only_rule_is_read(tmp_path: Path) -> None:
    """Plans of before had `stop: fixed`; the reader leaves it out."""
    plan, text = plan_file(written(tmp_path, more=""), on=None, short=False, seed=None)
    StudyStore.create(tmp_path / "out", plan, study_text=text, provenance={}, created_at=0.0).close()
    with sqlite3.connect(tmp_path / "out" / "study.db") as database:
        (body,) = database.execute("SELECT body FROM plan").fetchone()
        trials = [one for (one,) in database.execute("SELECT body FROM trial ORDER BY trial")]
        old = body.replace('"short":', '"stop":"fixed","short":', 1)
        digest = hashlib.sha256(old.encode())
        for one in trials:
            digest.update(b"\n" + one.encode())
        database.execute("UPDATE plan SET body = ?, sha256 = ?", (old, digest.hexdigest()))
    with StudyStore.open(tmp_path / "out", write=False) as store:
        assert store.plan == plan


def test_a_missing_until_means_never(tmp_path: Path) -> None:
    plan, _ = plan_file(written(tmp_path, more=""), on=None, short=False, seed=None)
    assert (plan.until, plan.checks) == (None, ())
    with pytest.raises(UserMistake, match="until and stop both say when to stop"):
        plan_file(written(tmp_path, more="stop: certify\nuntil: 5 %"), on=None, short=False, seed=None)
