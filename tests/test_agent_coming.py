"""The order of a parallel run, and how it waits for the agent."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.agent_coming import await_agent, part


@given(st.lists(st.integers(), max_size=40), st.integers(1, 9))
def test_the_parts_are_the_whole_in_order_and_as_long_as_each_other(items: list[int], of: int) -> None:
    parts = [part(items, n, of) for n in range(of)]
    assert [item for one in parts for item in one] == items
    assert max(map(len, parts)) - min(map(len, parts)) <= 1


def test_an_agent_that_was_not_built_ends_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "built"
    monkeypatch.setenv("CLOUDCMP_TESTS_AWAIT", str(file))
    file.write_text("no\n")
    with pytest.raises(pytest.exit.Exception, match="could not be built"):
        await_agent()
    file.write_text("yes\n")
    await_agent()
    file.unlink()
    await_agent()
