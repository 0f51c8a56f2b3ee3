"""Finds the guests that run on this host by their qemu arguments, however they were started."""

import contextlib
import itertools
import json
import os
import signal
import socket
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from cloudcmp.errors import ProviderFault

_MARK = "name=opt/cloudcmp,string="
_DELETED = " (deleted)"
_STARTERS = (b"timeout", b"sh")  # qemu's starter and its time limit have the same arguments in their argv
_QUIT_S = 2.0
_END_S = 10.0


@dataclass(frozen=True, slots=True)
class Identity:
    """The identity of a guest in its qemu's argv, without secrets."""

    cloud_id: str
    name: str
    token: str
    offering: str
    tags: tuple[tuple[str, str], ...]

    def arguments(self) -> list[str]:
        """The identity as qemu arguments, with doubled commas."""
        card = {"id": self.cloud_id, "name": self.name, "token": self.token, "offering": self.offering,
                "tags": dict(self.tags)}  # fmt: skip
        text = json.dumps(card, sort_keys=True, separators=(",", ":"))
        return ["-fw_cfg", _MARK + text.replace(",", ",,")]

    @classmethod
    def of(cls, argv: list[str]) -> "Identity | None":
        """The identity in an argv; None for a foreign process and for unreadable arguments."""
        for before, word in itertools.pairwise(argv):
            if before == "-fw_cfg" and word.startswith(_MARK):
                try:
                    return identity_of(json.loads(word.removeprefix(_MARK).replace(",,", ",")))
                except (ValueError, KeyError, TypeError, AttributeError):
                    return None
        return None


def identity_of(card: dict[str, object]) -> Identity:
    """The identity on a card; raises KeyError, TypeError or ValueError if it holds none."""
    tags = card["tags"]
    if not isinstance(tags, dict):
        raise TypeError("tags")
    pairs = tuple(sorted((str(key), str(value)) for key, value in tags.items()))
    return Identity(str(card["id"]), str(card["name"]), str(card["token"]), str(card["offering"]), pairs)


@dataclass(frozen=True, slots=True)
class RunningGuest:
    """A live qemu of ours and its working folder, which may be gone by now."""

    pid: int
    identity: Identity
    folder: Path


def list_running() -> Iterator[RunningGuest]:
    """Every live guest of this user; we could not end another user's."""
    for name in os.listdir("/proc"):  # noqa: PTH208 - a thousand Path objects for as many strings
        if name.isdigit() and (guest := _read_process(int(name))) is not None:
            yield guest


def _read_process(pid: int) -> RunningGuest | None:
    process = Path("/proc") / str(pid)
    try:
        raw = (process / "cmdline").read_bytes()
        if _MARK.encode() not in raw or process.stat().st_uid != os.geteuid():
            return None
        argv = raw.split(b"\0")
        if argv[0].rpartition(b"/")[2] in _STARTERS:
            return None
        identity = Identity.of([os.fsdecode(word) for word in argv])
        folder = os.fsdecode((process / "cwd").readlink()).removesuffix(_DELETED)
        state = (process / "stat").read_text(errors="replace").rpartition(")")[2].split()[0]
    except OSError:
        return None
    return None if identity is None or state in {"Z", "X"} else RunningGuest(pid, identity, Path(folder))


def end_guest(guest: RunningGuest) -> None:
    """Ends qemu by its quit command, else by a signal, and waits; raises ProviderFault if it does not end."""
    try:
        descriptor = os.pidfd_open(guest.pid)
    except OSError:
        return
    try:
        if _read_process(guest.pid) != guest:
            return
        with contextlib.suppress(ProviderFault):
            query(guest.folder, "quit", wait_s=_QUIT_S)
            if _wait_until_gone(guest, _QUIT_S):
                return
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(descriptor, signal.SIGKILL)
        if not _wait_until_gone(guest, _END_S):
            raise ProviderFault.at(
                guest.identity.cloud_id, f"qemu (process {guest.pid}) will not end", "see what it waits for"
            )
    finally:
        os.close(descriptor)


def _wait_until_gone(guest: RunningGuest, wait_s: float) -> bool:
    deadline = time.monotonic() + wait_s
    while _read_process(guest.pid) == guest:
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True


def query(folder: Path, command: str, arguments: Mapping[str, object] | None = None, *, wait_s: float = 5.0) -> object:
    """Sends a QMP command to a guest's qemu and returns the result; raises ProviderFault without a timely response."""
    deadline = time.monotonic() + wait_s
    try:
        inside = os.open(folder, os.O_PATH | os.O_DIRECTORY)
        try:
            with socket.socket(socket.AF_UNIX) as connection:
                connection.settimeout(wait_s)
                # Through the descriptor, because a socket's path has at most 107 bytes.
                connection.connect(f"/proc/self/fd/{inside}/qmp")
                responses = _responses(connection, deadline)
                next(responses)
                for name, more in (("qmp_capabilities", None), (command, arguments)):
                    connection.sendall(json.dumps({"execute": name, "arguments": dict(more or {})}).encode() + b"\n")
                    response = next(responses)
                return response
        finally:
            os.close(inside)
    except (OSError, ValueError, StopIteration) as error:
        raise ProviderFault.at(str(folder), f"qemu does not answer: {error}", "see qemu.log there") from error


def _responses(line: socket.socket, deadline: float) -> Iterator[object]:
    """The greeting and the responses, without the events between them."""
    buffer = b""
    while True:
        text, newline, rest = buffer.partition(b"\n")
        if newline:
            buffer = rest
            message = json.loads(text)
            if "error" in message:
                raise ValueError(message["error"].get("desc", "an error"))
            if "event" not in message:
                yield message.get("return")
            continue
        line.settimeout(max(0.001, deadline - time.monotonic()))
        piece = line.recv(65536)
        if not piece:
            return
        buffer += piece
