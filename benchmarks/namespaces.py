"""Two ends of a network on this machine: namespaces joined by a pair of virtual devices, or both ends on loopback.

Each namespace lives as long as a process that reads a pipe of ours, and everything run in it is killed with us: nothing
is left, whatever ends this process.
"""

import contextlib
import os
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass

DEVICE = "veth0"
_ADDRESSES = ("198.18.255.1", "198.18.255.2")  # for benchmarks between networks: RFC 2544
_HOLD = ["sh", "-c", "echo ready; exec cat"]
_DIES_WITH_US = ("setpriv", "--pdeathsig", "KILL")


class NoNamespaces(Exception):
    """Why this process may not make network namespaces, in one line."""


@dataclass(frozen=True)
class Ends:
    """The addresses of the sending and the receiving end, and the words that run a command at each."""

    sender: str
    receiver: str
    sending: tuple[str, ...] = _DIES_WITH_US
    receiving: tuple[str, ...] = _DIES_WITH_US
    label: str = ""
    """Follows the names of figures that are not of the pair of virtual devices."""


LOOPBACK = Ends("127.0.0.1", "127.0.0.1", label="-loopback")


@contextlib.contextmanager
def joined() -> Iterator[Ends]:
    """Two joined namespaces; raises NoNamespaces."""
    as_root = os.geteuid() == 0
    more = [] if as_root else ["--map-root-user"]
    with contextlib.ExitStack() as stack:
        first = stack.enter_context(_held(["unshare", *more, "--net", *_HOLD]))
        enter_first = _enter(first, as_root=as_root)
        second = stack.enter_context(_held([*enter_first, "unshare", "--net", *_HOLD]))
        enter_second = _enter(second, as_root=as_root)
        pair = ["ip", "link", "add", DEVICE, "type", "veth", "peer", "name", DEVICE, "netns", str(second)]
        _do([*enter_first, *pair])
        for enter, address in ((enter_first, _ADDRESSES[0]), (enter_second, _ADDRESSES[1])):
            _do([*enter, "ip", "address", "add", f"{address}/30", "dev", DEVICE])
            _do([*enter, "ip", "link", "set", "lo", "up"])
            _do([*enter, "ip", "link", "set", DEVICE, "up"])
        sending, receiving = ((*enter, *_DIES_WITH_US) for enter in (enter_first, enter_second))
        yield Ends(*_ADDRESSES, sending, receiving)


@contextlib.contextmanager
def _held(words: list[str]) -> Iterator[int]:
    """The process that holds a namespace, by its id; it ends when its pipe does."""
    try:
        holder = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    except OSError as error:
        raise NoNamespaces(str(error)) from error
    with holder:
        assert holder.stdout is not None
        assert holder.stderr is not None
        if not holder.stdout.readline():
            raise NoNamespaces(" ".join(holder.stderr.read().decode().split()))
        yield holder.pid


def _enter(holder: int, *, as_root: bool) -> tuple[str, ...]:
    users = () if as_root else ("--user", "--preserve-credentials")
    return ("nsenter", "--target", str(holder), *users, "--net", "--")


def _do(words: list[str]) -> None:
    try:
        done = subprocess.run(words, capture_output=True, text=True, check=False)
    except OSError as error:
        raise NoNamespaces(str(error)) from error
    if done.returncode:
        raise NoNamespaces(f"{' '.join(words[-9:])}: {' '.join(done.stderr.split())}")
