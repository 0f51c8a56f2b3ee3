"""The agent's own table of probes beside the rows here: every name, unit, parameter, default and choice."""

import json
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from cloudcmp.catalog import METRICS, PROBES

KINDS = {
    "choice": {"choice"},
    "seconds": {"seconds"},
    "threads": {"threads"},
    "whole": {"count", "bytes", "rate"},
    "whole_or_word": {"count", "bytes", "rate"},
    "label": {"text"},
    "text": {"text"},
}
"""The agent reads numbers and words; the rows here also say what is counted."""
WRITTEN_BY_THE_STUDY = "command"
"""Its lines are parameters of the agent's and no parameters of a study: tests/study/test_commands.py holds them."""


@cache
def told(agent: Path) -> dict[str, Any]:
    """What the agent says of its probes, by name."""
    out = subprocess.run([agent, "--probes"], capture_output=True, check=True, timeout=20).stdout
    return {probe["name"]: probe for probe in json.loads(out)["probes"]}


def _names() -> list[str]:
    """The rows of probes that an agent runs under their own name."""
    return [name for name, probe in PROBES.items() if not probe.by_controller and not probe.by]


def test_each_has_the_same_probes(agent: Path) -> None:
    here, there = set(_names()) - {WRITTEN_BY_THE_STUDY}, set(told(agent)) - {WRITTEN_BY_THE_STUDY}
    assert there - here == set(), "add the row to src/cloudcmp/catalog/tables/<family>.py, or build the agent anew"
    assert here - there == set(), "add the probe to PROBES of agent/src/probe/mod.rs, or build the agent anew"


@pytest.mark.parametrize("name", sorted(set(_names()) - {WRITTEN_BY_THE_STUDY}))
def test_a_row_says_what_the_agent_says(name: str, agent: Path) -> None:
    row, probe = PROBES[name], told(agent)[name]
    where = f"{name}: make its row in src/cloudcmp/catalog/tables and agent/src/probe say the same"
    assert set(probe["roles"]) == set(row.roles), where
    theirs = {one["name"]: one for one in probe["params"]}
    assert set(theirs) == {param.name for param in row.params}, where
    for param in row.params:
        one = theirs[param.name]
        assert one["default"] == param.default, f"{param.name} of {where}"
        # A text may be anything: what words a row names for it is for its reader.
        assert one["kind"] == "text" or one["choices"] == list(param.words), f"{param.name} of {where}"
        assert param.kind.value in KINDS[one["kind"]], f"{param.name} of {where}"
    metrics = {one["name"]: one for one in probe["metrics"]}
    assert set(metrics) == set(row.metrics), where
    for metric, one in metrics.items():
        # A histogram is sent without a percentile, which is chosen when it is read.
        assert set(one["params"]) == set(METRICS[metric].params) - {"percentile"}, f"{metric} of {where}"
        assert one["unit"] == METRICS[metric].unit, f"{metric} of {where}"
