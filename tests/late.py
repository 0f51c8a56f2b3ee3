"""Libraries that take long to import, loaded at their first use.

Each process of a parallel run collects every test; what a module imports at its head is loaded in all of them.
"""

import importlib
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Late:
    """Stands for a module, which is imported when the first of its names is read."""

    module: str

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):  # pytest asks each name of a module for `__test__` and `_mock_name`
            raise AttributeError(name)
        return getattr(importlib.import_module(self.module), name)
