"""Two network namespaces with a path between them that holds each packet back for a planted time.

The kernel here has no netem. A relay of ours joins two TUN devices, one in each namespace: it reads packets of one and
writes them to the other once half of the planted round trip has passed. Run as a program it is that relay.
"""

import contextlib
import ctypes
import fcntl
import heapq
import json
import os
import select
import signal
import struct
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

_TUNSETIFF, _IFF_TUN, _IFF_NO_PI = 0x400454CA, 0x0001, 0x1000
_NEWNET = 0x40000000
_SPIN_S = 2e-4
_PACKET = 2048
_QUEUE = 4000


@dataclass(frozen=True)
class PlantedPath:
    """A path from the near namespace: its planted round trip (s), and the address at its far end."""

    rtt_s: float
    address: str


@dataclass(frozen=True)
class Paths:
    """A near namespace, and one far namespace behind each path."""

    near: int
    far: tuple[int, ...]
    paths: tuple[PlantedPath, ...]

    def command(self, pid: int, *words: str) -> list[str]:
        """A command that runs in the namespace of a process, before all others where this user may say so."""
        return ["nsenter", "-t", str(pid), "-n", *_first(), *words]


@cache
def _first() -> tuple[str, ...]:
    """The command that runs another one in real time, so that other tests on this machine do not delay it."""
    words = ("chrt", "-f", "1")
    with contextlib.suppress(OSError):
        if not subprocess.run([*words, "true"], capture_output=True, check=False).returncode:
            return words
    return ()


@contextlib.contextmanager
def planted_paths(*rtts_s: float) -> Iterator[Paths]:
    """Namespaces with these round trips between them, until the context is left; needs root."""
    with contextlib.ExitStack() as stack:
        near = stack.enter_context(_namespace())
        far = tuple(stack.enter_context(_namespace()) for _ in rtts_s)
        paths = tuple(PlantedPath(rtt, f"10.77.{number}.2") for number, rtt in enumerate(rtts_s))
        for number, (pid, rtt) in enumerate(zip(far, rtts_s, strict=True)):
            stack.enter_context(_relay(near, pid, number, rtt))
        yield Paths(near, far, paths)


@contextlib.contextmanager
def _namespace() -> Iterator[int]:
    """The process that holds a new network namespace with its loopback up.

    Its TCP is Reno: others, such as BBR, spread a window over the round trip, which slow start by the book does not.
    """
    reno = "echo reno > /proc/sys/net/ipv4/tcp_congestion_control"
    line = f"ip link set lo up && {reno} && echo up && exec sleep 300"
    with subprocess.Popen(["unshare", "-n", "sh", "-c", line], stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == b"up\n"
            yield process.pid
        finally:
            process.kill()


@contextlib.contextmanager
def _relay(near: int, far: int, number: int, rtt_s: float) -> Iterator[None]:
    words = [*_first(), sys.executable, str(Path(__file__)), json.dumps([near, far, number, rtt_s])]
    with subprocess.Popen(words, stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == b"up\n"
            yield
        finally:
            process.send_signal(signal.SIGKILL)


def _tun(pid: int, device: str, own: str, other: str) -> int:
    """A TUN device in the namespace of a process, with the addresses of its ends; this thread is there from now on."""
    libc = ctypes.CDLL(None, use_errno=True)
    space = os.open(f"/proc/{pid}/ns/net", os.O_RDONLY)
    if libc.setns(space, _NEWNET):
        raise OSError(ctypes.get_errno(), "setns")
    os.close(space)
    tun = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(tun, _TUNSETIFF, struct.pack("16sH", device.encode(), _IFF_TUN | _IFF_NO_PI))
    for words in (
        ["addr", "add", own, "peer", other, "dev", device],
        ["link", "set", device, "up", "mtu", "1500", "txqueuelen", str(_QUEUE)],
    ):
        subprocess.run(["ip", *words], check=True)
    return tun


def _run(ends: Sequence[int], delay_s: float) -> None:
    """Passes packets on, each once its time has come; never returns."""
    waiting: list[tuple[float, int, int, bytes]] = []
    other, count = {ends[0]: ends[1], ends[1]: ends[0]}, 0
    while True:
        left = waiting[0][0] - time.monotonic() if waiting else 10.0
        readable, _, _ = select.select(ends, (), (), max(0.0, left - _SPIN_S))
        for end in readable:
            with contextlib.suppress(BlockingIOError):
                while True:
                    packet = os.read(end, _PACKET)
                    count += 1
                    heapq.heappush(waiting, (time.monotonic() + delay_s, count, other[end], packet))
        while waiting and waiting[0][0] <= time.monotonic():
            _, _, end, packet = heapq.heappop(waiting)
            with contextlib.suppress(OSError):
                os.write(end, packet)


def _main() -> None:
    near, far, number, rtt_s = json.loads(sys.argv[1])
    own, other = f"10.77.{number}.1", f"10.77.{number}.2"
    ends = [_tun(near, f"path{number}", own, other), _tun(far, "path", other, own)]
    print("up", flush=True)
    _run(ends, rtt_s / 2)


if __name__ == "__main__":
    _main()
