"""Two network namespaces and a link between them that delays and loses packets as planted.

The link is a relay of this process between two TUN devices, so that it takes no module of the kernel.
"""

import ctypes
import fcntl
import heapq
import os
import queue
import random
import select
import struct
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

T = TypeVar("T")
_NEWNET = 0x40000000
_TUNSETIFF, _TUN_NO_PI = 0x400454CA, 0x1001
ADDRESSES = ("10.99.0.1", "10.99.0.2")
"""Those of the two ends."""


def missing() -> str:
    """Why there can be no such link here; empty if there can be one."""
    if os.geteuid() != 0:
        return "network namespaces take root"
    return "" if Path("/dev/net/tun").exists() else "there is no /dev/net/tun"


class Namespace:
    """A thread in a network namespace of its own; threads and processes that it starts are in it too."""

    def __init__(self, at: int) -> None:
        self._tasks: queue.Queue[Callable[[], None] | None] = queue.Queue()
        self._thread = threading.Thread(target=self._work, daemon=True)
        self._thread.start()
        self.tun: int = self.run(lambda: self._open(at))

    def run(self, work: Callable[[], T]) -> T:
        """What a function returns that is called in the namespace."""
        done: queue.Queue[tuple[Any, BaseException | None]] = queue.Queue()

        def task() -> None:
            try:
                done.put((work(), None))
            except BaseException as error:
                done.put((None, error))

        self._tasks.put(task)
        value, error = done.get()
        if error is not None:
            raise error
        return value  # type: ignore[no-any-return]

    def close(self) -> None:
        """End the thread, and the namespace with it."""
        self._tasks.put(None)
        self._thread.join()
        os.close(self.tun)

    def _work(self) -> None:
        libc = ctypes.CDLL(None, use_errno=True)
        assert libc.unshare(_NEWNET) == 0, os.strerror(ctypes.get_errno())
        while (task := self._tasks.get()) is not None:
            task()

    @staticmethod
    def _open(at: int) -> int:
        tun = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
        fcntl.ioctl(tun, _TUNSETIFF, struct.pack("16sH22x", b"wan0", _TUN_NO_PI))
        for words in (
            ["addr", "add", ADDRESSES[at], "peer", ADDRESSES[1 - at], "dev", "wan0"],
            ["link", "set", "wan0", "up"],
            ["link", "set", "lo", "up"],
        ):
            subprocess.run(["ip", *words], check=True)
        return tun


class LossyLink:
    """A relay between two TUN devices: each packet is lost with a probability, or comes after `delay_s`."""

    def __init__(self, first: int, second: int, delay_s: float, loss: float, seed: int) -> None:
        self._ends = {first: second, second: first}
        self._delay_s, self._loss, self._draw = delay_s, loss, random.Random(seed)
        self._stop = threading.Event()
        self.passed = self.lost = 0
        self._thread = threading.Thread(target=self._relay, daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop."""
        self._stop.set()
        self._thread.join()

    def _relay(self) -> None:
        waiting: list[tuple[float, int, int, bytes]] = []
        while not self._stop.is_set():
            left = min(0.05, max(0.0, waiting[0][0] - time.monotonic())) if waiting else 0.05
            for end in select.select(list(self._ends), [], [], left)[0]:
                with suppress(BlockingIOError):
                    while True:
                        packet = os.read(end, 65536)
                        if packet[0] >> 4 != 4:
                            continue
                        if self._draw.random() < self._loss:
                            self.lost += 1
                            continue
                        self.passed += 1
                        heapq.heappush(
                            waiting, (time.monotonic() + self._delay_s, self.passed, self._ends[end], packet)
                        )
            while waiting and waiting[0][0] <= time.monotonic():
                _, _, end, packet = heapq.heappop(waiting)
                with suppress(OSError):
                    os.write(end, packet)


@contextmanager
def lossy_link(delay_s: float, loss: float, seed: int = 1) -> Iterator[tuple[Namespace, Namespace, LossyLink]]:
    """A server's and a client's namespace, and the link between them, with a delay (s) and a loss for each way."""
    server, client = Namespace(0), Namespace(1)
    link = LossyLink(server.tun, client.tun, delay_s, loss, seed)
    try:
        yield server, client, link
    finally:
        link.close()
        server.close()
        client.close()
