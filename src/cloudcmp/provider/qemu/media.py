"""Guest disks for a user's image: an overlay over the image, and the seed for cloud-init."""

import struct
from collections.abc import Mapping
from pathlib import Path

from cloudcmp.errors import Refused

_CLUSTER = 65536
_QCOW2 = b"QFI\xfb"
_SECTOR = 2048
_FIRST = 16  # the sectors before are reserved for the system
_ROOT = _FIRST + 4  # after two descriptors and two tables of folders


def image_format(image: Path) -> tuple[str, int]:
    """The format of a disk image, `qcow2` or `raw`, and its disk's size in bytes; raises Refused if unusable."""
    try:
        with image.open("rb") as file:
            head = file.read(72)
            size_bytes = file.seek(0, 2)
    except OSError as error:
        raise Refused.at(str(image), error.strerror or str(error), "name a qcow2 or raw image, or `small`") from error
    if not head.startswith(_QCOW2):
        if size_bytes == 0 or size_bytes % 512:
            raise Refused.at(str(image), f"{size_bytes} bytes are no disk image", "name a qcow2 or raw image")
        return "raw", size_bytes
    if len(head) < 72 or struct.unpack_from(">Q", head, 8)[0]:
        raise Refused.at(str(image), "the image is truncated, or has a backing file", "flatten it: qemu-img convert")
    return "qcow2", struct.unpack_from(">Q", head, 24)[0]


def overlay(place: Path, image: Path, size_bytes: int | None = None) -> None:
    """Creates an empty qcow2 disk over an unchanged image; at least as large as the image.

    Source: the qcow2 specification in qemu's documentation (docs/interop/qcow2.txt), version 3.
    """
    form, least_bytes = image_format(image)
    size_bytes = max(least_bytes, size_bytes or 0)
    backing = str(image.resolve()).encode()
    entries = -(-size_bytes // (_CLUSTER * (_CLUSTER // 8)))
    table_clusters = max(1, -(-entries * 8 // _CLUSTER))
    # Clusters: the header, the table of reference counts, its one block, then the (empty) first-level table.
    used = 3 + table_clusters
    name_at = 104 + 8 + -(-len(form) // 8) * 8 + 8
    header = _QCOW2 + struct.pack(
        ">IQIIQIIQQIIQQQQII", 3, name_at, len(backing), 16, size_bytes, 0, entries, 3 * _CLUSTER, _CLUSTER, 1, 0, 0,
        0, 0, 0, 4, 104,
    )  # fmt: skip
    extension = struct.pack(">II", 0xE2792ACA, len(form)) + form.encode().ljust(-(-len(form) // 8) * 8, b"\0")
    head = header + extension + bytes(8) + backing
    if len(head) > _CLUSTER or len(backing) > 1023:
        raise Refused.at(str(image), "its path is too long for an overlay", "move the image")
    with place.open("wb") as file:
        file.write(head)
        file.seek(_CLUSTER)
        file.write(struct.pack(">Q", 2 * _CLUSTER))
        file.seek(2 * _CLUSTER)
        file.write(struct.pack(">H", 1) * used)
        file.truncate(used * _CLUSTER)


def nocloud(texts: Mapping[str, str]) -> bytes:
    """A read-only disk labelled `cidata` with a few small files, the data source NoCloud of cloud-init.

    Source: ECMA-119 (ISO 9660); Linux shows the names in lower case and without their version.
    """
    records = [_record(b"\0", _ROOT, _SECTOR, folder=True), _record(b"\1", _ROOT, _SECTOR, folder=True)]
    at, contents = _ROOT + 1, b""
    for name in sorted(texts):
        data = texts[name].encode()
        records.append(_record(f"{name.upper()}.;1".encode(), at, len(data)))
        contents += _whole(data)
        at += -(-len(data) // _SECTOR)
    tables = [struct.pack(order + "BBIHH", 1, 0, _ROOT, 1, 0) for order in "<>"]
    heads = (_volume(at, len(tables[0])), b"\xffCD001\1", *tables, b"".join(records))
    return bytes(_FIRST * _SECTOR) + b"".join(_whole(head) for head in heads) + contents


def _volume(sectors: int, table_bytes: int) -> bytes:
    """The primary volume descriptor: label, size, and the positions of the tables and of the one folder."""
    table = _FIRST + 2
    unknown = b"0" * 16 + b"\0"
    return b"".join(
        (
            b"\1CD001\1\0", b" " * 32, b"cidata".ljust(32), bytes(8), _both("I", sectors), bytes(32),
            _both("H", 1), _both("H", 1), _both("H", _SECTOR), _both("I", table_bytes),
            struct.pack("<II", table, 0), struct.pack(">II", table + 1, 0),
            _record(b"\0", _ROOT, _SECTOR, folder=True), b" " * (4 * 128 + 3 * 37), unknown * 4, b"\1",
        )
    )  # fmt: skip


def _record(name: bytes, at: int, size_bytes: int, *, folder: bool = False) -> bytes:
    """A directory record."""
    fields = _both("I", at) + _both("I", size_bytes) + bytes(7) + bytes([2 if folder else 0, 0, 0]) + _both("H", 1)
    record = fields + bytes([len(name)]) + name
    record += bytes((len(record) + 2) % 2)
    return bytes([len(record) + 2, 0]) + record


def _both(kind: str, value: int) -> bytes:
    """A number in both byte orders, as most fields of the format."""
    return struct.pack("<" + kind, value) + struct.pack(">" + kind, value)


def _whole(data: bytes) -> bytes:
    return data + bytes(-len(data) % _SECTOR)
