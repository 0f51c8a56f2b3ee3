"""Counters of TCP of this network namespace, from /proc/net/snmp and /proc/net/netstat."""

from pathlib import Path

from cloudcmp.model.passive import Counters

_PLACES = {
    "accepted": ("Tcp", "PassiveOpens"),
    "listen_drops": ("TcpExt", "ListenDrops"),
    "listen_overflows": ("TcpExt", "ListenOverflows"),
    "handshake_retransmits": ("TcpExt", "TCPSynRetrans"),
}


def read_counters(folder: Path = Path("/proc/thread-self/net")) -> Counters:
    """The counters now; those that the kernel does not have are None."""
    texts = [_text(folder / name) for name in ("snmp", "netstat")]
    found = parse_counters("\n".join(texts))
    return Counters(**{name: found.get(place) for name, place in _PLACES.items()})


def parse_counters(text: str) -> dict[tuple[str, str], int]:
    """The counters of lines in pairs: `Group: Name Name` and `Group: 1 2`; lines that are no such pair are left out."""
    found: dict[tuple[str, str], int] = {}
    names: dict[str, list[str]] = {}
    for line in text.splitlines():
        group, colon, rest = line.partition(":")
        words = rest.split()
        if not colon:
            continue
        if all(word.lstrip("-").isdecimal() for word in words) and group in names:
            found |= {(group, name): int(word) for name, word in zip(names.pop(group), words, strict=False)}
        else:
            names[group] = words
    return found


def difference(before: Counters, after: Counters) -> Counters:
    """What was counted between two readings."""
    return Counters(
        **{
            name: None if getattr(before, name) is None or getattr(after, name) is None
            else max(0, getattr(after, name) - getattr(before, name))
            for name in _PLACES
        }
    )  # fmt: skip


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii")
    except OSError:
        return ""
