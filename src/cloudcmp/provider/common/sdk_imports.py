"""Imports libraries in one thread at a time.

Two threads that first import a package and one of its modules can deadlock; Python then raises `_DeadlockError` in one
of them (https://github.com/python/cpython/issues/83065). Needed until every supported version is fixed.
"""

import importlib
import threading

IMPORT_LOCK = threading.RLock()
"""Held during imports in a thread that may not be the only one."""


def import_modules(*modules: str) -> None:
    """Imports modules while no other thread does; raises ImportError if one is not installed."""
    with IMPORT_LOCK:
        for name in modules:
            importlib.import_module(name)
