"""Untrusted JSON files of measurements: one document, or one a line, perhaps packed with gzip."""

import gzip
import json
import zlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, Any, cast

from cloudcmp.errors import UserMistake

MOST_BYTES = 512 * 2**20
"""The largest document that is read as a whole."""
LONGEST_LINE = 16 * 2**20
_GZIP = b"\x1f\x8b"
_NEXT = "name a file of JSON in UTF-8"


def is_json(path: Path) -> bool:
    """True if a file begins as JSON does, perhaps packed; raises UserMistake if there is no such file."""
    return _head(path)[:1] in (b"{", b"[")


def document(path: Path) -> Any:
    """A file's whole JSON document; raises ValueError if it is none, UserMistake if it is too large."""
    with _opened(path) as file:
        data = _read(path, file, MOST_BYTES + 1)
    if len(data) > MOST_BYTES:
        raise UserMistake.at(str(path), f"more than {MOST_BYTES >> 20} MiB in one document", "write one result a line")
    return json.loads(data.decode("utf-8-sig"), parse_constant=_refuse)


def results(path: Path) -> Iterator[tuple[str, Any]]:
    """Yield the results of a file with their places: an array, one a line, or lists of them by probe.

    Raises UserMistake for a file that is no JSON.
    """
    if _head(path)[:1] == b"{":
        yield from _lines(path)
        return
    try:
        whole = document(path)
    except (ValueError, RecursionError) as error:
        raise bad_json(path, error) from None
    yield from ((f"{path}:result {number}", one) for number, one in enumerate(whole, 1))


def bad_json(where: Path | str, error: Exception) -> UserMistake:
    """The fault of a text that is no JSON."""
    if isinstance(error, UnicodeDecodeError):
        what = "is not UTF-8 text"
    elif isinstance(error, json.JSONDecodeError):
        what = (
            f"no JSON (line {error.lineno}: {error.msg.lower()})"
            if error.lineno > 1
            else f"no JSON ({error.msg.lower()})"
        )
    elif isinstance(error, RecursionError):
        what = "no JSON of measurements (nested too deeply)"
    else:
        what = f"no JSON ({error})"
    return UserMistake.at(str(where), what, _NEXT)


def _lines(path: Path) -> Iterator[tuple[str, Any]]:
    """Objects, one a line; a single object may fill the file, and hold lists of results by probe."""
    with _opened(path) as file:
        number = 0
        while True:
            line = _readline(path, file, number + 1)
            if not line:
                return
            number += 1
            if not line.strip():
                continue
            place = f"{path}:{number}"
            try:
                one = json.loads(line.decode("utf-8-sig"), parse_constant=_refuse)
            except (ValueError, RecursionError) as error:
                if number > 1:
                    raise bad_json(place, error) from None
                yield from _single(path)
                return
            yield from _of_object(place, one)


def _single(path: Path) -> Iterator[tuple[str, Any]]:
    """The results of a file that is one object over several lines."""
    try:
        yield from _of_object(str(path), document(path))
    except (ValueError, RecursionError) as error:
        raise bad_json(path, error) from None


def _of_object(place: str, one: Any) -> Iterator[tuple[str, Any]]:
    """A result, or the results of an object with a list of them for each probe."""
    if isinstance(one, dict) and one and all(key.isdigit() and isinstance(some, list) for key, some in one.items()):
        for key, some in one.items():
            yield from ((f"{place}:{key}:result {number}", each) for number, each in enumerate(some, 1))
        return
    yield place, one


def _refuse(constant: str) -> Any:
    raise ValueError(f"{constant} is no number")


def _head(path: Path) -> bytes:
    with _opened(path) as file:
        return _read(path, file, 4096).removeprefix(b"\xef\xbb\xbf").lstrip()


@contextmanager
def _opened(path: Path) -> Iterator[IO[bytes]]:
    if not path.is_file():
        raise UserMistake.at(str(path), "is a folder" if path.is_dir() else "no such file", "name a file of times")
    with ExitStack() as stack:
        try:
            file = stack.enter_context(path.open("rb"))
            packed = file.read(2) == _GZIP
            file.seek(0)
        except OSError as error:
            raise UserMistake.at(str(path), (error.strerror or str(error)).lower(), "check its rights") from None
        yield cast("IO[bytes]", stack.enter_context(gzip.GzipFile(fileobj=file))) if packed else file


def _read(path: Path, file: IO[bytes], most: int) -> bytes:
    try:
        return file.read(most)
    except (EOFError, zlib.error, gzip.BadGzipFile):
        raise UserMistake.at(str(path), "the gzip file ends or breaks", "fetch it again") from None


def _readline(path: Path, file: IO[bytes], number: int) -> bytes:
    try:
        line = file.readline(LONGEST_LINE + 1)
    except (EOFError, zlib.error, gzip.BadGzipFile):
        raise UserMistake.at(f"{path}:{number}", "the gzip file ends or breaks here", "fetch it again") from None
    if len(line) > LONGEST_LINE:
        raise UserMistake.at(f"{path}:{number}", f"a line of more than {LONGEST_LINE >> 20} MiB", _NEXT)
    return line
