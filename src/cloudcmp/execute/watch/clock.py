"""The clocks of this computer, for a watcher."""

import threading
import time

from cloudcmp.provider.local.card import boot_id


class SystemClock:
    """Wall clock and steady clock of this computer; a sleep ends early once `wake` is set.

    The steady clock is CLOCK_BOOTTIME, which goes on while the computer sleeps, where the system has it.
    """

    def __init__(self, wake: threading.Event) -> None:
        self.boot = boot_id()
        self._wake = wake

    def now(self) -> tuple[float, float]:
        """Seconds since 1970, and steady seconds."""
        return time.time(), steady_s()

    def sleep_until(self, steady: float) -> None:
        """Wait until a time of the steady clock, or until `wake` is set.

        A sleep of the computer may prolong the wait by a second: what waits counts only the time awake.
        """
        while (left := steady - steady_s()) > 0 and not self._wake.wait(min(left, 1.0)):
            pass


def steady_s() -> float:
    """Seconds of the steady clock."""
    kind = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
    return time.clock_gettime(kind)
