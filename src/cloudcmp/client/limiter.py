"""The caps of a trial: requests and payload bytes, which no operation may exceed."""

import threading
import time

from cloudcmp.client.failures import Ended
from cloudcmp.model.trial import Outcome


class Limiter:
    """Grants operations until a cap is reached; for several threads. None is no cap.

    `operations` bounds requests, `payload` bytes in both directions. `used_bytes` is the payload that was moved.
    """

    def __init__(self, operations: int | None, payload: int | None) -> None:
        self._left = [operations, payload]
        self._most = operations, payload
        self._lock = threading.Lock()
        self._began = time.monotonic()
        self.used_bytes = 0
        self.reached = ""
        self._after_s = 0.0

    def take(self, requests: int, payload: int) -> bool:
        """True if an operation may begin; once it may not, none may any more."""
        with self._lock:
            for name, at, asked in (("operations", 0, requests), ("bytes", 1, payload)):
                left = self._left[at]
                if not self.reached and left is not None and asked > left:
                    self.reached, self._after_s = name, time.monotonic() - self._began
            if self.reached:
                return False
            operations, rest = self._left
            self._left = [
                None if operations is None else operations - requests,
                None if rest is None else rest - payload,
            ]
            return True

    def used(self, payload: int) -> None:
        """Counts payload that was moved."""
        with self._lock:
            self.used_bytes += payload

    def check(self) -> None:
        """Raises the end of the trial if a cap was reached."""
        operations, payload = self._most
        after = f"was reached after {self._after_s:.3f} s"
        if self.reached == "operations":
            what = f"the cap of {operations} operations {after}"
            raise Ended(Outcome.ABORTED, what, "raise caps.operations, or ask for less")
        if self.reached:
            what = f"the byte cap of {payload} {after}"
            raise Ended(Outcome.ABORTED, what, "raise caps.bytes, or ask for less time")
