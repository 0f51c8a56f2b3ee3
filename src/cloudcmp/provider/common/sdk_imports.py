"""Libraries are loaded by one thread at a time.

Of two threads that import a package and a module within it for the first time, each can wait for the other; Python
ends that with a `_DeadlockError` in one of them (https://github.com/python/cpython/issues/83065). Until no version
that we run on does so, whatever may be imported by a thread is imported here.
"""

import importlib
import threading

IMPORT_LOCK = threading.RLock()
"""Held while anything is imported in a thread that may not be the only one."""


def import_modules(*modules: str) -> None:
    """Import modules while no other thread does; raises ImportError where one is not installed."""
    with IMPORT_LOCK:
        for name in modules:
            importlib.import_module(name)
