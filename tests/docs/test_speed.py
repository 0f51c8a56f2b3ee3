"""Every probe is set beside a peer or says why not, and a goal that is missed says why."""

import sys

import pytest
from tests.docs.pages import DOCS, ROOT

from cloudcmp.catalog import PROBES

sys.path.insert(0, str(DOCS))
from speed import speed_rows, within, without_peer

ROWS = speed_rows()
NO_PEER = "give its row in src/cloudcmp/catalog/tables/<family>.py the reason as `no_peer`"


def test_every_probe_has_a_peer_or_a_reason() -> None:
    beside, without = {row.probe for row in ROWS}, set(without_peer())
    missing = set(PROBES) - beside - without
    assert missing == set(), f"{NO_PEER}, or benchmarks/goals.toml a figure with its script"
    assert beside & without == set(), f"{NO_PEER}, or a figure in benchmarks/goals.toml, not both"
    assert (beside | without) - set(PROBES) == {""}  # the controller's own figures have no probe


def test_a_goal_that_is_missed_says_why() -> None:
    assert [row.name for row in ROWS if row.verdict.endswith("missed") and not row.why] == []


@pytest.mark.parametrize("name", sorted({row.script for row in ROWS}))
def test_each_figure_is_written_by_its_script(name: str) -> None:
    text = (ROOT / "benchmarks" / name).read_text(encoding="utf-8")
    assert "--record" in text
    for row in ROWS:
        assert row.script != name or row.name.split("-")[0] in text


@pytest.mark.parametrize(
    ("goal", "inside", "outside"), [(">= 0.95", 0.95, 0.949), ("<= 0.8", 0.8, 0.801), ("0.97 to 1.03", 1.03, 1.031)]
)
def test_goals_are_bounds(goal: str, inside: float, outside: float) -> None:
    assert within(goal, inside)
    assert not within(goal, outside)


@pytest.mark.parametrize("goal", ["0.95", "about 1", ">= 0.9 to 1", ""])
def test_other_words_are_no_goal(goal: str) -> None:
    with pytest.raises(ValueError, match="not a goal"):
        within(goal, 1.0)
