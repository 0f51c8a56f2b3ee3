"""An emulated cloud that this process's environment points to."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import Any, TypeVar

import pytest

from tests.emulated.standing import Standing

C = TypeVar("C", bound=Standing[Any])


def point(cloud: Standing[Any], patch: pytest.MonkeyPatch) -> None:
    """From now on this cloud is found, until the patch is undone."""
    for name, value in cloud.environ.items():
        patch.setenv(name, value)


@contextmanager
def pointed(opened: AbstractContextManager[C], patch: pytest.MonkeyPatch | None = None) -> Iterator[C]:
    """Open it: whoever looks into the environment for its provider finds this cloud, while the context lasts.

    A test that changes the same variables itself gives its own `patch`: the environment is then as before once that
    one is undone, whichever ends first.
    """
    with ExitStack() as stack:
        patch = patch or stack.enter_context(pytest.MonkeyPatch.context())
        cloud = stack.enter_context(opened)
        point(cloud, patch)
        yield cloud
