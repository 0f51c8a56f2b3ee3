"""Looks for planted secrets in anything that a program left: in every form in which one could have been written."""

import base64
import gzip
import hashlib
import html
import io
import json
import re
import sqlite3
import urllib.parse
import zlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import numpy as np
import numpy.typing as npt

_LEAST = 12
_DEEP = 3
_BASE64 = re.compile(rb"[A-Za-z0-9+/_-]{24,}={0,2}")
_MOST_STREAMS = 400
_MOST_UNPACKED = 2**22
_MOST_PACKED = 2**22 + 2**16  # so much as gives that, whatever is in it


def forms(secret: bytes) -> set[bytes]:
    """How a secret may be written: raw, hex, base64 at each alignment, URL, JSON, Python's own, UTF-16."""
    found = {secret, secret.hex().encode(), secret.hex().upper().encode(), b"".join(b"%%%02X" % one for one in secret)}
    for lead in range(3):
        for encode in (base64.b64encode, base64.urlsafe_b64encode):
            # What the bytes around it have a part in is cut off.
            inner = encode(b"\0" * lead + secret).rstrip(b"=")
            found.add(inner[(0, 2, 3)[lead] : len(inner) - (0 if (lead + len(secret)) % 3 == 0 else 1)])
    try:
        text = secret.decode()
    except UnicodeDecodeError:
        text = ""
    if text:
        written = (json.dumps(text)[1:-1], json.dumps(text, ensure_ascii=False)[1:-1], repr(text)[1:-1],
                   urllib.parse.quote(text, safe=""), urllib.parse.quote(text), urllib.parse.quote_plus(text),
                   html.escape(text))  # fmt: skip
        found |= {one.encode() for one in written} | {json.dumps(json.dumps(text))[3:-3].encode()}
        found.add(text.encode("utf-16-le"))
    return {one for one in found if len(one) >= _LEAST}


class Searcher:
    """`secrets` are named lists of what must not be seen, each of at least 12 bytes."""

    def __init__(self, secrets: Mapping[str, Iterable[bytes]]) -> None:
        needles = {form: name for name, pieces in secrets.items() for piece in pieces for form in forms(piece)}
        assert set(needles.values()) == set(secrets)
        self._known: dict[bytes, set[str]] = {}
        # By their first eight bytes as a number, and which hashes of such numbers there are: thousands of needles are
        # looked for at every byte at once.
        self._by_head: dict[int, list[tuple[bytes, str]]] = {}
        for form, name in needles.items():
            self._by_head.setdefault(int.from_bytes(form[:8], "little"), []).append((form, name))
        self._hashes = np.zeros(1 << 16, dtype=bool)
        self._hashes[_hashed(np.array(list(self._by_head), dtype=np.uint64))] = True

    def hits(self, data: bytes, deep: int = _DEEP) -> set[str]:
        """The names of the secrets that the data hold, compressed or encoded ones too."""
        found = self._plain(data)
        if deep:
            for inner in _inside(data):
                found |= self.hits(inner, deep - 1)
        return found

    def _plain(self, data: bytes) -> set[str]:
        """The names of the secrets that stand in the data as they are."""
        found = set()
        for shift in range(min(8, len(data) - 7)):  # none where the data are shorter
            words = np.frombuffer(data, dtype="<u8", count=(len(data) - shift) // 8, offset=shift)
            for at in np.flatnonzero(self._hashes[_hashed(words)]).tolist():
                for needle, name in self._by_head.get(int(words[at]), ()):
                    if data.startswith(needle, shift + 8 * at):
                        found.add(name)
        return found

    def in_file(self, path: Path) -> set[str]:
        """The same of a file, whose rows are read as well where it is a table."""
        data = path.read_bytes()
        digest = hashlib.sha256(data).digest()
        if digest not in self._known:
            self._known[digest] = self._of_file(path, data)
        return self._known[digest]

    def _of_file(self, path: Path, data: bytes) -> set[str]:
        found = self.hits(data)
        if data.startswith(b"SQLite format 3\0"):
            found |= self.hits(_rows_of(path))
        if data.startswith(b"PAR1"):
            import pyarrow.parquet as pq

            table = pq.read_table(path)
            found |= self.hits(repr(table.to_pylist()).encode() + repr(table.schema).encode())
        return found

    def in_folder(self, folder: Path, but: Iterable[Path] = ()) -> dict[str, set[str]]:
        """What each file below a folder holds, names of files included; `but` are left out."""
        left_out = set(but)
        found: dict[str, set[str]] = {}
        for path in sorted(folder.rglob("*")):
            if path in left_out or any(one in left_out for one in path.parents):
                continue
            hits = self.hits(str(path).encode(), 0)
            hits |= self.in_file(path) if path.is_file() and not path.is_symlink() else set()
            if hits:
                found[str(path)] = hits
        return found


def _hashed(words: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """A number of 16 bits for each of 64, by Knuth's multiplication with the golden ratio."""
    hashed: npt.NDArray[np.uint64] = (words * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(48)
    return hashed


def _inside(data: bytes) -> Iterator[bytes]:
    """What is packed or encoded in the data."""
    for begins in (b"\x1f\x8b\x08", b"\x78\x01", b"\x78\x9c", b"\x78\xda"):
        at = -1
        for _ in range(_MOST_STREAMS):
            at = data.find(begins, at + 1)
            if at < 0:
                break
            unpacked = _unpacked(memoryview(data)[at : at + _MOST_PACKED], 31 if begins[0] == 0x1F else 15)
            if len(unpacked) > _LEAST:
                yield unpacked
    runs = [_decoded(run) for run in _BASE64.findall(data)]
    if runs:
        yield b"\n".join(runs)
    for plain in (
        urllib.parse.unquote_to_bytes(data),
        html.unescape(data.decode("latin-1")).encode("latin-1", "replace"),
    ):
        if plain != data:
            yield plain


def _unpacked(data: memoryview, bits: int) -> bytes:
    try:
        return zlib.decompressobj(bits).decompress(data, _MOST_UNPACKED)
    except zlib.error:
        return b""


def _decoded(run: bytes) -> bytes:
    plain = run.rstrip(b"=").translate(bytes.maketrans(b"-_", b"+/"))
    return base64.b64decode(plain[: len(plain) // 4 * 4])


def _rows_of(path: Path) -> bytes:
    """All values of a database: long ones are spread over pages in the file."""
    out = io.StringIO()
    database = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    try:
        for line in database.iterdump():
            out.write(line + "\n")
    finally:
        database.close()
    return out.getvalue().encode("utf-8", "surrogateescape")


def packed(secret: bytes) -> bytes:
    """A secret in a gzip file, for whoever plants one."""
    return gzip.compress(b"key = " + secret + b"\n", mtime=0)
