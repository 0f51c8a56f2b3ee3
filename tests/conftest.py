"""For every test: signals as a terminal would give them, whoever started the tests."""

import contextlib
import gc
import os
import shutil
import signal
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from tests.keyboard import fill_stdin, heed
from tests.slices import examples

_TAKEN = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGALRM)

# No test fails for its time, and each run looks at the same examples: `--hypothesis-profile exploring` looks at others.
settings.register_profile("exploring", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("house", settings.get_profile("exploring"), derandomize=True, max_examples=examples(100, 3))
settings.load_profile("house")

_DATA = tempfile.mkdtemp(prefix="cloudcmp-data-")
_SHARED = contextlib.ExitStack()
_BYTECODE = Path(__file__).parent.parent / ".pytest_cache" / "bytecode"


def pytest_configure(config: pytest.Config) -> None:
    """Heed Ctrl-C from the beginning; price book, key and settings of whoever runs the tests are none of theirs."""
    fill_stdin()
    heed()
    os.environ["XDG_DATA_HOME"] = os.environ["XDG_STATE_HOME"] = _DATA
    # Not XDG_CONFIG_HOME: to OpenStack's library that is a sign of credentials.
    os.environ["CLOUDCMP_CONFIG"] = str(Path(_DATA) / "no-settings.toml")
    # Commands that tests start compile each module once, not each time: that was half of their time.
    sys.dont_write_bytecode, sys.pycache_prefix = False, str(_BYTECODE)
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    os.environ["PYTHONPYCACHEPREFIX"] = str(_BYTECODE)
    os.environ |= getattr(config, "workerinput", {}).get("shared", {})


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Have all workers of a parallel run share one process that forks commands."""
    from tests.app import warm

    if warm.SHARED not in os.environ:
        os.environ[warm.SHARED] = _SHARED.enter_context(warm.served())
    node.workerinput["shared"] = {warm.SHARED: os.environ[warm.SHARED]}


def pytest_collection_finish() -> None:
    """What thousands of collected tests are made of lives to the end: looking through it again took a tenth."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(10_000, 20, 20)


def pytest_unconfigure() -> None:
    """Leave no price book, no key and no process."""
    _SHARED.close()
    shutil.rmtree(_DATA, ignore_errors=True)


@pytest.fixture(autouse=True)
def own_signals() -> Iterator[None]:
    """What the command takes for itself where a test runs it in this process is given back."""
    before, hook = {number: signal.getsignal(number) for number in _TAKEN}, sys.unraisablehook
    yield
    sys.unraisablehook = hook
    for number, handler in before.items():
        if signal.getsignal(number) is not handler:
            signal.signal(number, handler)


@pytest.fixture(scope="session")
def agent() -> Path:
    """The measuring agent's binary; a test that needs it is skipped where it is not built."""
    from cloudcmp.agent import locate
    from cloudcmp.errors import AgentMissing

    try:
        return locate()
    except AgentMissing as missing:
        pytest.skip(f"the agent is not built: {missing}")
