"""An emulated OpenStack for a test, that this process's environment points to."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from tests.emulated.nova import Faults, Nova, nova


@contextmanager
def pointed(faults: Faults | None = None, **more: Any) -> Iterator[Nova]:
    """One that is the only OpenStack there is while the context lasts."""
    with pytest.MonkeyPatch.context() as patch, nova(faults, **more) as cloud:
        for name, value in cloud.environ.items():
            patch.setenv(name, value)
        yield cloud
