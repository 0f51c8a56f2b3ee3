"""Looks at a port of this computer for a time: its connections, its queue and the counters of the kernel."""

import math
import time
from collections.abc import Callable

from cloudcmp.errors import OutsideFault
from cloudcmp.execute.passive.counters import difference, read_counters
from cloudcmp.execute.passive.sock_diag import Ended, listen_queue, open_connections
from cloudcmp.model.passive import ConnectionInfo, ServerWatch
from cloudcmp.model.watch import WatchClock

_COARSE = 6
"""CLOCK_MONOTONIC_COARSE of Linux, which goes on at each tick; Python has no name for it."""
MOST = 1_000_000
"""The number of connections after which a watch ends, so that they fit into memory."""


def watch_server(
    port: int, every_s: float, for_s: float, clock: WatchClock, is_stopping: Callable[[], bool] = lambda: False,
    progress: Callable[[int, float], None] = lambda _n, _left: None,
) -> ServerWatch:  # fmt: skip
    """Look at a port every so many seconds until the time is over, it is stopped, or `MOST` connections were seen.

    With the right to hear of connections as they end, each is seen once: as it ended, or as it was when the watch did;
    without it, each that is open at a look is seen, with its accounts at the last look. `progress` receives the
    connections so far and the seconds left. Raises OutsideFault where the kernel does not tell of its sockets.
    """
    ended = _ended()
    try:
        return _watch(port, every_s, for_s, clock, is_stopping, progress, ended)
    except OSError as error:
        raise OutsideFault.at(
            f"port {port}", f"the kernel tells nothing of its sockets ({error.strerror})", "this takes Linux"
        ) from error
    finally:
        if ended is not None:
            ended.close()


def tick_s() -> float:
    """The length of a tick of the kernel in seconds, to the next millisecond, as it shows them."""
    return math.ceil(round(time.clock_getres(_COARSE) * 1e3, 6)) / 1e3


def _ended() -> Ended | None:
    try:
        return Ended()
    except OSError:
        return None


def _watch(
    port: int, every_s: float, for_s: float, clock: WatchClock, is_stopping: Callable[[], bool],
    progress: Callable[[int, float], None], ended: Ended | None,
) -> ServerWatch:  # fmt: skip
    begun, before = clock.now()[1], read_counters()
    finished: list[ConnectionInfo] = []
    still_open: dict[bytes, ConnectionInfo] = {}
    queue: list[tuple[int, int]] = []
    due = begun
    while True:
        waiting = listen_queue(port)
        queue += [] if waiting is None else [waiting]
        if ended is None:
            still_open |= dict(open_connections(port))
        else:
            finished += [one for one in ended.connections() if one.port == port]
        seen = len(finished) + len(still_open)
        due += every_s
        progress(seen, begun + for_s - clock.now()[1])
        if is_stopping() or due > begun + for_s or seen >= MOST:
            break
        clock.sleep_until(due)
    if ended is not None:
        # Asked after the last report, so that none is both.
        still_open = dict(open_connections(port))
    counters = difference(before, read_counters())
    return ServerWatch(
        port, clock.now()[1] - begun, (*finished, *still_open.values()), counters, tuple(queue), ended is not None,
        ended is not None and ended.lost, tick_s(),
    )  # fmt: skip
