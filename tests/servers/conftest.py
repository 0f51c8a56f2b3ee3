"""Servers for the tests of this folder: each is started once by a process, and ended with it."""

import contextlib
from collections.abc import Callable, Iterator

import pytest

from tests.servers.fetch import Absent
from tests.servers.serving import Served, serving


@pytest.fixture(scope="session")
def served() -> Iterator[Callable[[str], Served]]:
    """Gives a server by its name; a test of one that cannot be had is skipped with the reason."""
    running: dict[str, Served] = {}
    with contextlib.ExitStack() as stack:

        def give(name: str) -> Served:
            if name not in running:
                try:
                    running[name] = stack.enter_context(serving(name))
                except Absent as absent:
                    pytest.skip(str(absent))
            return running[name]

        yield give
