"""Starts a guest: its folder, its qemu arguments, and a hard limit on its life."""

import ipaddress
import json
import os
import re
import subprocess
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from cloudcmp.errors import NoCapacity, NotOurs, ProviderFault, Refused, StorageFault
from cloudcmp.model.untrusted_text import one_line
from cloudcmp.owned_folder import OwnedPath, read_small, write_whole
from cloudcmp.provider.qemu.processes import Identity, RunningGuest, identity_of, list_running, query
from cloudcmp.provider.qemu.program import Accelerator, Program

CARD = "card.json"
SERIAL = "serial.log"
STARTED = "started"
OUT_MAC = "52:54:00:63:6d:70"  # each guest's first network is private to it
GRACE_S = 60.0  # a guest that has not powered off this long after its lease is killed
_LOG = "qemu.log"
_OURS = "cloudcmp:"
_RESPONSE_S = 15.0
_START = 'ulimit -c 0; "$@" >>qemu.log 2>&1 </dev/null & echo $!'
_PORT = re.compile(r"HOST_FORWARD\]\s+\d+\s+127\.0\.0\.1\s+(\d+)\s+10\.0\.2\.15\s+22")


@dataclass(frozen=True, slots=True)
class Size:
    """A guest's processors, and its memory in bytes."""

    vcpus: int
    memory_bytes: int


@dataclass(frozen=True, slots=True)
class Card:
    """The record of a guest, written before its start; `ends_at` is the Unix time of its lease's end.

    `link` is the multicast address (group:port, on loopback only) that connects the guests of one study, and
    `private_address` the guest's address there, in CIDR form. `boot` are the qemu arguments for kernel and disks.
    """

    identity: Identity
    created_at: float
    ends_at: float
    link: str
    private_address: str
    boot: tuple[str, ...]

    def write(self, folder: Path) -> None:
        """Writes the card into the folder atomically."""
        card = asdict(self)
        card["identity"] = {"id": self.identity.cloud_id, **card["identity"], "tags": dict(self.identity.tags)}
        with OwnedPath(folder.parent, (folder.name,)).folder() as inside:
            write_whole(inside, CARD, json.dumps(card, indent=1, sort_keys=True).encode())


def read_card(folder: Path) -> Card | None:
    """The card of a folder; None if there is none or it cannot be read."""
    try:
        with OwnedPath(folder.parent, (folder.name,)).folder() as inside:
            card = json.loads(read_small(inside, CARD))
        card["identity"] = identity_of(card["identity"])
        return Card(**{**card, "boot": tuple(card["boot"])})
    except (NotOurs, FileNotFoundError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None


def start(folder: Path, card: Card, size: Size, program: Program, accel: Accelerator) -> int:
    """Starts a guest and waits until its qemu responds; returns the port on 127.0.0.1 of its SSH server.

    qemu has its own session and outlives us, but at most by a minute the lease. Raises NoCapacity if the host lacks
    memory, Refused with qemu's own words for anything else.
    """
    limit_s = max(1.0, card.ends_at - time.time() + GRACE_S)
    command = ["timeout", "-s", "KILL", f"{limit_s:.0f}", *program.arguments, *_arguments(card, size, accel)]
    environ = {"PATH": os.defpath, "LC_ALL": "C", **program.environ}
    for stale in ("qmp", _LOG):
        (folder / stale).unlink(missing_ok=True)
    (folder / STARTED).touch()
    try:
        subprocess.run(
            ["sh", "-c", _START, "sh", *command], cwd=folder, env=environ, stdin=subprocess.DEVNULL,
            capture_output=True, start_new_session=True, timeout=_RESPONSE_S, check=True,
        )  # fmt: skip
    except (OSError, subprocess.SubprocessError) as error:
        raise Refused.at(
            str(folder), f"qemu could not be started: {error}", "see whether sh and timeout run"
        ) from error
    return _wait_for_response(folder, card.identity)


def _wait_for_response(folder: Path, identity: Identity) -> int:
    """Waits for qemu's first response; raises its fault."""
    deadline = time.monotonic() + _RESPONSE_S
    while True:
        try:
            return ssh_port(folder)
        except ProviderFault:
            alive = find_guest(identity.cloud_id, folder) is not None
            if time.monotonic() > deadline:
                raise
        # qemu exists a moment after its shell, and its log says why it does not.
        if not alive and (words := _log(folder)):
            raise _fault(words)
        time.sleep(0.02)


def _fault(words: str) -> Refused | NoCapacity:
    """Why qemu ended at once."""
    if "allocate memory" in words or "set up guest memory" in words:
        return NoCapacity.at("qemu", words, "choose a smaller offering, or free some memory")
    return Refused.at("qemu", words, "choose another offering or image")


def _log(folder: Path) -> str:
    """The last line of qemu's log, shortened."""
    try:
        lines = (folder / _LOG).read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return ""
    return next((line.strip()[:300] for line in reversed(lines) if line.strip()), "")


def ssh_port(folder: Path) -> int:
    """The port on 127.0.0.1 of the guest's SSH server; qemu itself chose a free one."""
    response = query(folder, "human-monitor-command", {"command-line": "info usernet"})
    match = _PORT.search(str(response))
    if match is None:
        raise ProviderFault.at(str(folder), "no port leads to the guest", "see qemu.log there")
    return int(match[1])


def find_guest(cloud_id: str, folder: Path) -> RunningGuest | None:
    """The live guest of an id that works in this folder."""
    return next((one for one in list_running() if one.identity.cloud_id == cloud_id and one.folder == folder), None)


def _arguments(card: Card, size: Size, accel: Accelerator) -> list[str]:
    """The arguments of qemu; paths are relative to the guest's folder, its working directory."""
    return [
        "-name", card.identity.name.replace(",", ",,"), *card.identity.arguments(), "-M", "pc", *accel.arguments,
        "-smp", str(size.vcpus), "-m", f"{size.memory_bytes // 2**20}", "-nodefaults", "-no-user-config",
        "-display", "none", "-qmp", "unix:qmp,server=on,wait=off",
        "-chardev", f"file,id=serial,path={SERIAL},append=on", "-serial", "chardev:serial",
        # Without `restrict` the guest could reach what listens on this host's loopback.
        "-netdev", "user,id=out,ipv6=off,restrict=on,hostfwd=tcp:127.0.0.1:0-:22",
        "-device", f"virtio-net-pci,netdev=out,mac={OUT_MAC},romfile=",
        "-netdev", f"socket,id=peers,mcast={card.link},localaddr=127.0.0.1",
        "-device", f"virtio-net-pci,netdev=peers,mac={mac_of(card.private_address)},romfile=",
        *card.boot,
    ]  # fmt: skip


def mac_of(private_address: str) -> str:
    """The hardware address of a guest's second network card, derived from its address there."""
    return ":".join(f"{byte:02x}" for byte in b"\x52\x54" + ipaddress.ip_interface(private_address).ip.packed)


def last_line(folder: Path, most: int = 200) -> str:
    """The last line on the guest's console, or a panic before it; without control characters, untrusted."""
    try:
        with (folder / SERIAL).open("rb") as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - 8192))
            text = file.read().decode("utf-8", errors="replace")
    except OSError:
        return ""
    lines = [one_line(line, most) for line in text.splitlines()]
    texts = [line for line in lines if line] or [""]
    panic = next((number for number, line in enumerate(reversed(texts)) if "Kernel panic" in line), None)
    # Lines after a panic are less informative, unless the guest has rebooted.
    after = texts[-(panic or 0) :] if panic else []
    return texts[-1] if panic is None or any(line.startswith(_OURS) for line in after) else texts[-1 - panic]


def free_memory_bytes(root: Path = Path("/")) -> int | None:
    """The memory available to a new guest without swapping, None if unknown."""
    try:
        text = (root / "proc/meminfo").read_text()
    except OSError as error:
        raise StorageFault.at("/proc/meminfo", error.strerror or str(error), "mount /proc") from error
    match = re.search(r"^MemAvailable:\s+(\d+) kB", text, re.MULTILINE)
    return int(match[1]) * 1024 if match else None
