"""Questions to providers before anything is made: whoever interrupts them does not wait for the answers."""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


def ask(question: Coroutine[Any, Any, T]) -> T:
    """The answer to a question that makes nothing.

    Raises KeyboardInterrupt at once: calls that still wait in threads make nothing, and the process must then be ended
    without waiting for them, as the `cloudcmp` command does.
    """
    runner, interrupted = asyncio.Runner(), False
    try:
        return runner.run(question)
    except KeyboardInterrupt:
        interrupted = True
        raise
    finally:
        if not interrupted:  # closing waits for all threads
            runner.close()
