"""Packs Linux's initial file system: a cpio archive in the new ASCII format.

The kernel reads several archives in sequence, so a machine's own files are appended to an image that all machines
share. Source: Documentation/driver-api/early-userspace in the kernel.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

_MAGIC = b"070701"
_DIRECTORY, _FILE, _LINK, _DEVICE = 0o040000, 0o100000, 0o120000, 0o020000


@dataclass(frozen=True, slots=True)
class Entry:
    """An archive entry: its path without a leading slash, its type and permission bits, and its content.

    The content of a link is its target; `device` is the major and minor number of a character device.
    """

    path: str
    mode: int
    data: bytes = b""
    device: tuple[int, int] = (0, 0)
    owner: int = 0


def directory(path: str, mode: int = 0o755, owner: int = 0) -> Entry:
    """A folder."""
    return Entry(path, _DIRECTORY | mode, owner=owner)


def file(path: str, data: bytes, mode: int = 0o644, owner: int = 0) -> Entry:
    """A file."""
    return Entry(path, _FILE | mode, data, owner=owner)


def link(path: str, target: str) -> Entry:
    """A symbolic link."""
    return Entry(path, _LINK | 0o777, target.encode())


def console() -> Entry:
    """The device of the first process's console."""
    return Entry("dev/console", _DEVICE | 0o600, device=(5, 1))


def pack(entries: Iterable[Entry]) -> bytes:
    """The archive of all entries, parents first, with all times zero; raises ValueError for a duplicate path."""
    chosen: dict[str, Entry] = {}
    for entry in entries:
        if entry.path in chosen:
            raise ValueError(entry.path)
        chosen[entry.path] = entry
    for path in list(chosen):
        for parent in _parents(path):
            chosen.setdefault(parent, directory(parent))
    ordered = [chosen[path] for path in sorted(chosen, key=lambda path: path.split("/"))]
    pieces = [piece for number, entry in enumerate(ordered, 1) for piece in _member(number, entry)]
    pieces += _member(0, Entry("TRAILER!!!", 0))
    data = b"".join(pieces)
    # The next archive begins at a word boundary; tools expect whole blocks.
    return data + bytes(-len(data) % 512)


def _parents(path: str) -> Iterator[str]:
    words = path.split("/")[:-1]
    yield from ("/".join(words[: length + 1]) for length in range(len(words)))


def _member(number: int, entry: Entry) -> Iterator[bytes]:
    name = entry.path.encode() + b"\0"
    links = 2 if entry.mode & 0o170000 == _DIRECTORY else 1
    fields = (
        number, entry.mode, entry.owner, entry.owner, links, 0, len(entry.data), 0, 0, *entry.device, len(name), 0,
    )  # fmt: skip
    head = _MAGIC + b"".join(b"%08X" % field for field in fields) + name
    yield head + bytes(-len(head) % 4)
    yield entry.data + bytes(-len(entry.data) % 4)


def read_files(root: Path, paths: Mapping[str, str]) -> Iterator[Entry]:
    """Files of a folder as entries: maps paths in the archive to paths in the folder; follows links."""
    for path, source in paths.items():
        place = root / source
        yield file(path, place.read_bytes(), 0o755 if place.stat().st_mode & 0o111 else 0o644)
