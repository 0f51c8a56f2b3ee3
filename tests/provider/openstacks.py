"""An emulated OpenStack for a test, that this process's environment points to."""

from contextlib import AbstractContextManager
from typing import Any

import pytest
from tests.emulated import pointed as environment
from tests.emulated.nova import Faults, Nova, nova


def pointed(
    faults: Faults | None = None, patch: pytest.MonkeyPatch | None = None, **more: Any
) -> AbstractContextManager[Nova]:
    """One that is the only OpenStack there is while the context lasts; `patch` as `tests.emulated.pointed` takes it."""
    return environment.pointed(nova(faults, **more), patch)
