"""The walks of ARCHITECTURE.md lead through code that exists."""

import re

import pytest
from tests.docs.pages import ROOT

PAGE = ROOT / "ARCHITECTURE.md"
STEPS = re.findall(r"^\| .+ \| `([^`]+)` \| `(\w+)` \|$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)


def test_both_walks_are_told_step_by_step() -> None:
    rows = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("| ")]
    assert len(rows) == len(STEPS) + 2  # the heads of the two tables
    assert len(STEPS) > 25


@pytest.mark.parametrize(("file", "name"), STEPS)
def test_a_step_is_where_it_is_said_to_be(file: str, name: str) -> None:
    code = (ROOT / file).read_text(encoding="utf-8")
    assert re.search(rf"^\s*(async )?(def|class|pub fn|fn|pub const) {name}\b", code, re.MULTILINE), f"{name} in {file}"
