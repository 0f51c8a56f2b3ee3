"""Estimates what the clients of a server on this computer felt, from what its kernel accounts for."""

import sys
import threading
from collections.abc import Callable

from cloudcmp.analysis.felt import felt_times
from cloudcmp.app.option_values import parsed
from cloudcmp.errors import UserMistake
from cloudcmp.execute.passive.server_watch import watch_server
from cloudcmp.execute.watch.clock import SystemClock
from cloudcmp.model.passive import FeltTimes
from cloudcmp.store.signals import held_signals
from cloudcmp.units import parse_seconds

LEAST_S, MOST_S = 0.01, 86400.0


def watch_passive(
    port: int | None, every: str, for_: str, show: Callable[[FeltTimes, bool], None],
    progress: Callable[[int, float], None] = lambda _n, _left: None,
) -> None:  # fmt: skip
    """Look at a port of this computer, then `show` the estimate.

    A signal ends it early; `show` is told so, and the signal is delivered once it returns.

    `progress` receives the connections so far and the seconds left. Raises UserMistake for what is asked, and
    OutsideFault where the kernel does not tell of its sockets.
    """
    if port is None or not 1 <= port <= 65535:
        raise UserMistake.at(
            "--port", "a passive watch needs the port of the server, 1 to 65535", "write e.g. --port 443"
        )
    if sys.platform != "linux":
        raise UserMistake.at("--passive", "reads what Linux accounts for, and this is another system", "run it there")
    every_s, for_s = parsed("--every", every, parse_seconds), parsed("--for", for_, parse_seconds)
    if not LEAST_S <= every_s <= for_s <= MOST_S:
        raise UserMistake.at(
            "--for", "a passive watch looks from every 10 ms on, for at most a day", "write e.g. 10 min"
        )
    stop = threading.Event()
    with held_signals(stop.set) as received:
        seen = watch_server(port, every_s, for_s, SystemClock(stop), stop.is_set, progress)
        show(felt_times(seen), bool(received))
