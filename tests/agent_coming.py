"""What half of the tests do while the agent is being compiled: they are those of rooms that start no agent."""

import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar

import pytest

_Item = TypeVar("_Item")
_ROOMS = frozenset(
    ("analysis", "answer", "compare", "cost", "model", "plan", "provision", "published", "report", "stats", "store",
     "studies", "study", "tools")
)  # fmt: skip
_HERE = Path(__file__).parent
_AWAIT = "CLOUDCMP_TESTS_AWAIT"
"""Names, in the environment, the file that says whether the agent is installed; without it the agent is there."""
_WITHIN_S = 1200.0


def needs_no_agent(item: pytest.Item) -> bool:
    """True for a test of a room that starts no agent."""
    return item.path.relative_to(_HERE).parts[0] in _ROOMS


def await_agent() -> None:
    """Wait until the agent is installed; end the run where it does not come."""
    awaited = os.environ.get(_AWAIT)
    if not awaited:
        return
    began, file = time.monotonic(), Path(awaited)
    while not (said := file.read_text("utf-8").strip() if file.exists() else ""):
        if time.monotonic() - began > _WITHIN_S:
            pytest.exit(f"the agent was not installed within {_WITHIN_S:g} s", returncode=3)
        time.sleep(0.2)
    if said != "yes":
        pytest.exit("the agent could not be built", returncode=3)
    del os.environ[_AWAIT]


def part(items: Sequence[_Item], n: int, of: int) -> Sequence[_Item]:
    """The `n`-th of so many equal parts of a list."""
    return items[len(items) * n // of : len(items) * (n + 1) // of]
