"""Ends the process at its trial's deadline, at the end of its lease, or when the controller is gone."""

import os
import select
import threading
import time

from cloudcmp.client.command import end_all
from cloudcmp.client.failures import Ended
from cloudcmp.client.output import Output
from cloudcmp.model.trial import Outcome

_LAST_WORDS_S = 3.0
_PIECE_BYTES = 512


def watch(out: Output, deadline_s: float, lease_s: float | None) -> None:
    """Starts the guard; both times are of `time.monotonic`. The calls under way are cut off with the process."""

    def guard() -> None:
        end = _wait(deadline_s, lease_s)
        threading.Thread(target=_leave, daemon=True).start()  # a reader that does not read must not keep us alive
        out.finish(end)
        end_all()
        os._exit(0)

    threading.Thread(target=guard, name="guard", daemon=True).start()


def _leave() -> None:
    time.sleep(_LAST_WORDS_S)
    end_all()
    os._exit(1)


def _wait(deadline_s: float, lease_s: float | None) -> Ended:
    while True:
        now = time.monotonic()
        if lease_s is not None and now >= lease_s:
            return Ended(Outcome.ABORTED, "the lease has ended", "give a longer lease, or do less in it")
        if now >= deadline_s:
            return Ended(Outcome.TIMEOUT, "the deadline has passed", "raise deadline_s or shorten duration_s")
        left_s = min(deadline_s, lease_s or deadline_s) - now
        if select.select([0], [], [], left_s)[0] and not os.read(0, _PIECE_BYTES):
            what = "stdin has ended: the controller is gone"
            return Ended(Outcome.ABORTED, what, "keep stdin open while the run is wanted")
