"""Makes, lists and removes network namespaces, the bridges between them, and the shapers on their ports.

Every namespace bears its tags: its name is made of digests of its lease's token or of its study, and the aliases of
its interfaces hold the tags as text. They are read back before anything is removed. All of it is outside the host's
own network: no interface of ours ever appears there.
"""

import hashlib
import ipaddress
import json
import os
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from fcntl import LOCK_EX, flock
from pathlib import Path
from typing import Any

from cloudcmp.errors import NoCapacity, ProviderFault, Refused
from cloudcmp.programs import search_path
from cloudcmp.provider.netns.types import MachineType

STUDY = "cloudcmp:study"
_NAMES = Path("/run/netns")
_MACHINE, _SWITCH = "cloudcmp-machine-", "cloudcmp-switch-"
_LOCK = Path("/run/cloudcmp-netns.lock")
_ALIAS_BYTES_MAX = 255  # IFALIASZ less its end
_ADDRESSES = ipaddress.ip_network("198.18.0.0/24")  # for benchmarks between networks: RFC 2544
_NEAR = 2  # machines on the first of two bridges
_READY = "cloudcmp: ready"
_OURS = "cloudcmp:"
"""The beginning of our tags' names, `~` in an alias, which is short."""
_COMMAND_S = 20.0
_BURST_S = 0.005  # the bucket of a shaper: a timer tick at its rate, and more than a segment of 64 KiB at 100 Mbit/s
_BURST_BYTES_MIN = 70_000
_QUEUE_MS = 50
_FOLDERS = ("/usr/sbin", "/sbin")


@dataclass(frozen=True, slots=True)
class Namespace:
    """A namespace of a machine: its lease's token and region, its address, and its tags; without them if unfinished."""

    name: str
    token: str
    region: str
    address: str
    tags: Mapping[str, str]


def namespace_of(token: str) -> str:
    """The name of the namespace of a lease."""
    return f"{_MACHINE}{_digest(token)}"


def switch_of(study: str, region: str) -> str:
    """The name of the namespace in which the machines of a study in a region meet."""
    return f"{_SWITCH}{_digest(f'{study} {region}')}"


def enter(name: str) -> list[str]:
    """The command that runs another one in a namespace, with the same process id."""
    return [_tool("ip"), "netns", "exec", name]


@contextmanager
def locked() -> Iterator[None]:
    """Holds the lock of all namespaces on this host: addresses and bridges are shared."""
    with _LOCK.open("a") as file:
        flock(file, LOCK_EX)
        yield


def make(token: str, number: int, region: str, rate: float | None, kind: MachineType, tags: Mapping[str, str]) -> None:
    """Makes the namespace of a lease, joined to its study's bridge; does nothing if there is one. Needs the lock.

    `number` is the machine's in its launch, `rate` that of the region's link in bytes/s. Raises Refused if the kernel
    does not have what it takes, NoCapacity without a free address.
    """
    name = namespace_of(token)
    found = read(name)
    if found is not None:
        return
    switch = switch_of(tags.get(STUDY, token), region)
    texts = [_alias(tags), _alias({"token": token, "region": region, "address": str(_ADDRESSES[-1])})]
    if (longest := max(len(text.encode()) for text in texts)) > _ALIAS_BYTES_MAX:
        raise Refused.at("netns", f"the tags of a machine take {longest} B of {_ALIAS_BYTES_MAX}", "rename the study")
    try:
        _make_switch(switch, rate)
        ports = _ip(switch, "-j", "link", "show")
        address = _free_address(ports)
        port, bridge = f"m{_digest(token)[:12]}", "near" if rate is None or number <= _NEAR else "far"
        run("ip", "netns", "add", name)
        run("ip", "-n", name, "link", "add", "eth0", "type", "veth", "peer", "name", port, "netns", switch)
        run("ip", "-n", switch, "link", "set", port, "alias", str(address), "master", bridge, "up")
        run("ip", "-n", name, "addr", "add", f"{address}/{_ADDRESSES.prefixlen}", "dev", "eth0")
        run("ip", "-n", name, "link", "set", "lo", "up")
        _shape(name, "eth0", switch, port, kind)
        run("ip", "-n", name, "link", "set", "eth0", "up")
        own = {"token": token, "region": region, "address": str(address)}
        run("ip", "-n", name, "link", "set", "lo", "alias", _alias(own))
        run("ip", "-n", name, "link", "set", "eth0", "alias", _alias(tags))  # last: one with tags is complete
    except BaseException:
        remove_unfinished()
        raise


def read(name: str) -> Namespace | None:
    """A namespace by its name, None if there is none."""
    if not (_NAMES / name).exists():
        return None
    texts: dict[str, dict[str, str]] = {}
    with suppress(Refused):  # a name of which nothing is mounted: its maker died
        texts = {one["ifname"]: _texts(one.get("ifalias", "")) for one in _ip(name, "-j", "link", "show")}
    own, tags = texts.get("lo", {}), texts.get("eth0", {})
    return Namespace(name, own.get("token", ""), own.get("region", ""), own.get("address", ""), tags)


def machines() -> list[Namespace]:
    """All namespaces of machines on this host, of every study."""
    names = sorted(path.name for path in _NAMES.glob(f"{_MACHINE}*")) if _NAMES.is_dir() else []
    return [one for one in map(read, names) if one is not None]


def remove(name: str) -> None:
    """Kills what runs in a namespace of ours and removes it. Raises ProviderFault if a process will not end."""
    if not name.startswith((_MACHINE, _SWITCH)) or not (_NAMES / name).exists():
        return
    _end_processes(name)
    with suppress(Refused):  # its port goes now, and not when the kernel gets round to it
        run("ip", "-n", name, "link", "delete", "eth0")
    run("ip", "netns", "delete", name)


def remove_unfinished() -> None:
    """Removes namespaces whose maker died before they had tags, and switches without machines. Needs the lock."""
    for one in machines():
        if not one.tags:
            remove(one.name)
    for path in _NAMES.glob(f"{_SWITCH}*") if _NAMES.is_dir() else ():
        try:
            ports = [link for link in _ip(path.name, "-j", "link", "show") if str(link["ifname"]).startswith("m")]
        except Refused:
            ports = []
        if not ports:
            run("ip", "netns", "delete", path.name)


def try_namespace() -> None:
    """Tries a network namespace that ends with the command; raises Refused if there is none, or no tool for it."""
    ip = _tool("ip")
    try:
        run("unshare", "--net", ip, "link", "show")
    except Refused as fault:
        words = fault.faults[0].what
        next_ = "allow it, as a container may forbid it, or choose another provider, such as qemu"
        raise Refused.at("netns", f"no network namespace can be made here: {words}", next_) from fault


def try_shaper(shaper: str, bytes_per_s: float) -> None:
    """Tries a shaper in a namespace that ends with the command; raises Refused if this kernel does not have it."""
    if not shaper:
        return
    lines, tc = "\n".join(map(" ".join, shaper_commands("lo", shaper, bytes_per_s))), _tool("tc")
    try:
        run("unshare", "--net", tc, "-batch", "-", text=lines)
    except Refused as fault:
        words = fault.faults[0].what
        raise Refused.at("tc", f"this kernel has no {shaper}: {words}", "leave this offering out") from fault


def run(tool: str, *arguments: str, text: str = "") -> str:
    """Runs one of the system's network tools with a text as its input; raises Refused with its own words."""
    try:
        done = subprocess.run(
            [_tool(tool), *arguments], capture_output=True, text=True, timeout=_COMMAND_S, check=False,
            input=text, env={"PATH": search_path(), "LC_ALL": "C"},
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Refused.at(f"{tool} {' '.join(arguments)}", str(error), "see if it works by hand") from error
    if done.returncode:
        words = " ".join(done.stderr.split())[:200] or f"exit {done.returncode}"
        raise Refused.at(f"{tool} {' '.join(arguments)}", words, "see if it works by hand, as root")
    return done.stdout


def shaper_commands(device: str, shaper: str, bytes_per_s: float) -> list[list[str]]:
    """The commands of `tc` that hold what a device sends (htb) or receives (police) to a rate.

    HTB delays what is too fast, in a queue of 50 ms; a policer drops it. Both let 5 ms of the rate through at once.
    """
    rate, burst = f"{bytes_per_s * 8:.0f}bit", f"{max(_BURST_BYTES_MIN, bytes_per_s * _BURST_S):.0f}b"
    if shaper == "htb":
        limit = f"{max(_BURST_BYTES_MIN, bytes_per_s * _QUEUE_MS / 1e3):.0f}"
        of_class = ["rate", rate, "ceil", rate, "burst", burst, "cburst", burst, "quantum", "60000"]
        return [
            ["qdisc", "add", "dev", device, "root", "handle", "1:", "htb", "default", "10"],
            ["class", "add", "dev", device, "parent", "1:", "classid", "1:10", "htb", *of_class],
            ["qdisc", "add", "dev", device, "parent", "1:10", "bfifo", "limit", limit],
        ]
    police = ["police", "rate", rate, "burst", burst, "conform-exceed", "drop"]
    return [
        ["qdisc", "add", "dev", device, "ingress"],
        ["filter", "add", "dev", device, "parent", "ffff:", "protocol", "all", "matchall", "action", *police],
    ]


def _make_switch(switch: str, rate: float | None) -> None:
    """Makes the bridge of a study, or two that a link of a rate joins; finishes what was begun."""
    if (_NAMES / switch).exists():
        if any(link.get("ifalias") == _READY for link in _ip(switch, "-j", "link", "show")):
            return
        run("ip", "netns", "delete", switch)  # it has no machine: its maker died before
    run("ip", "netns", "add", switch)
    for bridge in ("near",) if rate is None else ("near", "far"):
        run("ip", "-n", switch, "link", "add", bridge, "type", "bridge")
        run("ip", "-n", switch, "link", "set", bridge, "up")
    if rate is not None:
        run("ip", "-n", switch, "link", "add", "up-near", "type", "veth", "peer", "name", "up-far")
        for side in ("near", "far"):
            run("ip", "-n", switch, "link", "set", f"up-{side}", "master", side, "up")
            for command in shaper_commands(f"up-{side}", "htb", rate):
                run("tc", "-n", switch, *command)
    run("ip", "-n", switch, "link", "set", "near", "alias", _READY)  # last


def _shape(name: str, device: str, switch: str, port: str, kind: MachineType) -> None:
    """Shapes both directions of a machine, on the side where each is to be held back."""
    if not kind.shaper:
        return
    for where, end in ((name, device), (switch, port)):
        for command in shaper_commands(end, kind.shaper, kind.bytes_per_s):
            run("tc", "-n", where, *command)


def _free_address(ports: Sequence[Mapping[str, Any]]) -> ipaddress.IPv4Address:
    used = {str(link.get("ifalias", "")) for link in ports}
    found = next((one for one in _ADDRESSES.hosts() if str(one) not in used), None)
    if found is None or not isinstance(found, ipaddress.IPv4Address):
        raise NoCapacity.at("netns", "no address is left for this study", "destroy some of its machines")
    return found


def _alias(texts: Mapping[str, str]) -> str:
    return json.dumps(dict(texts), separators=(",", ":")).replace(f'"{_OURS}', '"~')


def _texts(alias: str) -> dict[str, str]:
    """The texts in the alias of an interface; empty if it holds none of ours."""
    alias = alias.replace('"~', f'"{_OURS}')
    try:
        tags = json.loads(alias)
    except (ValueError, RecursionError):
        return {}
    right = isinstance(tags, dict) and all(isinstance(one, str) for one in (*tags, *tags.values()))
    return tags if right else {}


def _end_processes(name: str, wait_s: float = 5.0) -> None:
    """Kills the processes whose network is a namespace, each through a descriptor of it."""
    target = (_NAMES / name).stat()
    until = time.monotonic() + wait_s
    while True:
        alive = [pid for pid in map(int, filter(str.isdigit, os.listdir("/proc"))) if _end(pid, target)]  # noqa: PTH208
        if not alive:
            return
        if time.monotonic() > until:
            raise ProviderFault.at(name, f"process {alive[0]} in it will not end", f"see: ip netns pids {name}")
        time.sleep(0.005)


def _end(pid: int, target: os.stat_result) -> bool:
    """Kills one process if its network is the target; True while it may still exist."""
    if pid == os.getpid():
        return False
    try:
        descriptor = os.pidfd_open(pid)
    except OSError:
        return False
    try:
        if not os.path.samestat(Path(f"/proc/{pid}/ns/net").stat(), target):
            return False
        signal.pidfd_send_signal(descriptor, signal.SIGKILL)
    except OSError:
        return False
    finally:
        os.close(descriptor)
    return True


def _ip(name: str, *arguments: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(run("ip", "-n", name, *arguments) or "[]")
    return found


def _tool(name: str) -> str:
    """The path of a tool of the system, which may be in a folder for administrators only."""
    for folder in (*search_path().split(os.pathsep), *_FOLDERS):
        if (Path(folder) / name).exists():
            return str(Path(folder) / name)
    raise Refused.at(name, "it is not installed", "install iproute2 (Debian: apt-get install iproute2)")


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]
