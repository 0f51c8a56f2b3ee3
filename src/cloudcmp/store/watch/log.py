"""The file of evidence as a watcher writes it: lines are appended and acknowledged once they are on the disk."""

import fcntl
import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, Self

from cloudcmp.errors import StudyBusy, UserMistake
from cloudcmp.model.watch import WatchTerms
from cloudcmp.store.crash import crash_point
from cloudcmp.store.faults import corrupt, from_os, storage
from cloudcmp.store.files import sync_folder, write_durably
from cloudcmp.store.watch import heads, lines
from cloudcmp.store.watch.lines import Line, LineFault
from cloudcmp.store.watch.program import PROGRAM, VERIFIER
from cloudcmp.store.watch.read import FILE, Contents, add_line, is_evidence

_LOCK = "watch.lock"
_KEPT_BYTES = 4096


class EvidenceLog:
    """The evidence in a folder, opened by the one watcher that adds to it.

    `lines` counts the acknowledged lines, of which `signed` are covered by a head, and `found` were there when it was
    opened; `first` is the first of them, `latest` the last of each kind. `stepped_s` is the sum of all recorded steps
    of the clock.
    """

    def __init__(self, folder: Path, signer: heads.Signer, lock: int) -> None:
        self._folder, self._signer, self._lock = folder, signer, lock
        self._path = folder / FILE
        self._file: BinaryIO = self._path.open("r+b", buffering=0)
        self._whole = hashlib.sha256()
        self._prev, self._size = lines.NO_LINE, 0
        self.lines = self.signed = self.found = 0
        self._head: heads.Head | None = None
        self.first: Line | None = None
        self.latest: dict[str, Line] = {}
        self.stepped_s = 0.0

    @classmethod
    def open(cls, folder: Path, terms: WatchTerms, signer: heads.Signer, at: float) -> Self:
        """Opens the evidence in a folder, or begins it at a time (s since 1970).

        A damaged last line that no head covers was never acknowledged, or was damaged since: it is cut off, and kept in
        a line of its own. Raises UserMistake for a folder of other terms, of another signer or with other content,
        StudyBusy if another process watches into it, CorruptStore for any other damage and for lines that are not those
        of the last head, and StorageFault.
        """
        with storage(folder):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        lock = _take_lock(folder)
        try:
            is_new = not is_evidence(folder)
            if is_new:
                _begin(folder, terms, signer, at)
            with storage(folder):
                log = cls(folder, signer, lock)
        except BaseException:
            os.close(lock)
            raise
        try:
            bad = log._read()
            log._check(terms)
            log.found = 0 if is_new else log.lines
            log._mend(bad, at)
        except BaseException:
            log.close()
            raise
        return log

    def append(self, kind: str, at: float, **fields: object) -> int:
        """Appends a line and returns its number once it is on the disk; `at` is in seconds since 1970.

        Raises StorageFault; nothing is then acknowledged, and the file ends as before.
        """
        raw = lines.encode(self.lines + 1, self._prev, kind, at, fields)
        with self._whole_again():
            crash_point("evidence.before_write")
            written = 0
            while written < len(raw):
                written += self._file.write(raw[written:]) or 0
            crash_point("evidence.before_fsync")
            if not self._is_synced():
                self._write_elsewhere(raw)
        self._accept(raw, lines.decode(raw, self.lines + 1, self._prev))
        crash_point("evidence.after_fsync")
        return self.lines

    def sign(self, at: float) -> str:
        """Signs all lines so far, unless they are signed; returns their digest. Raises StorageFault."""
        digest = self._whole.copy().hexdigest()
        if self.signed < self.lines:
            heads.write_head(self._folder, self.lines, digest, at, self._signer)
            self.signed = self.lines
        return digest

    def close(self) -> None:
        """Lets others watch into the folder; may be called again."""
        if not self._file.closed:
            self._file.close()
            os.close(self._lock)

    def _accept(self, raw: bytes, line: Line) -> None:
        self._whole.update(raw)
        self._prev, self._size = lines.digest(raw), self._size + len(raw)
        self.first = self.first or line
        self.latest[line.kind], self.lines = line, line.number
        if line.kind == "clock":
            self.stepped_s += line.number_of("step_s") or 0.0

    @contextmanager
    def _whole_again(self) -> Iterator[None]:
        """Cuts an unfinished line off again after a fault, if possible; else the next watcher does."""
        try:
            yield
        except OSError as error:
            with suppress(OSError):
                self._file.truncate(self._size)
                self._file.seek(self._size)
            raise from_os(error, self._path) from error

    def _is_synced(self) -> bool:
        try:
            os.fsync(self._file.fileno())
        except OSError:
            return False
        return True

    def _write_elsewhere(self, raw: bytes) -> None:
        """Writes the whole file anew: after a failed fsync the old one may lack what it seems to hold."""

        def copy(file: BinaryIO) -> None:
            with self._path.open("rb") as old:
                left = self._size
                while left and (piece := old.read(min(left, 1 << 20))):
                    file.write(piece)
                    left -= len(piece)
            file.write(raw)

        write_durably(self._path, copy)
        self._file.close()
        self._file = self._path.open("r+b", buffering=0)
        self._file.seek(0, os.SEEK_END)

    def _read(self) -> bytes:
        """Reads all good lines; returns a damaged last one that no head covers, and raises CorruptStore for others."""
        heads.discard_unsigned(self._folder)
        with storage(self._path):
            self._head = heads.last_head(self._folder)
            self.signed = 0 if self._head is None else self._head.lines
            bad = self._read_lines()
            if self.lines < self.signed:
                raise corrupt(self._path, f"has {self.lines} lines, and {self.signed} were signed")
        return bad

    def _mend(self, bad: bytes, at: float) -> None:
        """Cuts off a damaged last line, makes the rest durable, and keeps what was cut off in a line of its own."""
        with storage(self._path):
            self._file.truncate(self._size)
            self._file.seek(self._size)
            os.fsync(self._file.fileno())
        if bad:
            kept = bad[:_KEPT_BYTES].decode("latin-1")
            self.append("mend", at, bytes=len(bad), sha256=hashlib.sha256(bad).hexdigest(), cut=kept)

    def _read_lines(self) -> bytes:
        """Reads good lines up to the end or a damaged last one, which it returns."""
        contents = Contents()
        with self._path.open("rb") as file:
            for raw in lines.raw_lines(file):
                try:
                    line = lines.decode(raw, self.lines + 1, self._prev)
                    add_line(contents, line)
                except LineFault as fault:
                    if self.lines < self.signed or file.read(1):
                        raise corrupt(self._path, f"line {self.lines + 1} {fault}") from fault
                    return raw
                self._accept(raw, line)
                if self._head is not None and self.lines == self._head.lines:
                    self._check_head(self._head)
        return b""

    def _check_head(self, head: heads.Head) -> None:
        """Raises CorruptStore if the lines so far are not those of a head: this watcher would sign them anew."""
        if head.sha256 != self._whole.copy().hexdigest():
            raise corrupt(self._path, f"the first {head.lines} lines are not those that were signed")

    def _check(self, terms: WatchTerms) -> None:
        """Raises UserMistake unless the evidence is of these terms and this signer."""
        first = self.first
        if first is None:
            raise corrupt(self._path, "has no first line")
        wanted = _begin_fields(terms, self._signer)
        for key, option in _OPTIONS.items():
            if first.fields.get(key) != wanted[key]:
                had = str(first.fields.get(key))[:200]
                raise UserMistake.at(
                    str(self._folder), f"holds a watch with another {option} ({had})", "give the same, or another --out"
                )
        if self._head is not None and not heads.is_own(self._head, self._signer):
            raise corrupt(self._folder / heads.FOLDER / f"{self._head.lines:09d}", "was not signed with your key")


_OPTIONS = {"target": "target", "every_s": "--every", "timeout_s": "--timeout", "status": "--expect",
            "text": "--expect", "key": "key of its user"}  # fmt: skip


def _begin_fields(terms: WatchTerms, signer: heads.Signer) -> dict[str, object]:
    return {
        "v": 1, "target": terms.target, "every_s": terms.every_s, "timeout_s": terms.timeout_s,
        "status": terms.status, "text": terms.text, "key": signer.public,
    }  # fmt: skip


def _begin(folder: Path, terms: WatchTerms, signer: heads.Signer, at: float) -> None:
    """Writes a folder of evidence, its first line at the end; raises UserMistake if others use the folder."""
    with storage(folder):
        names = {one.name for one in folder.iterdir()} - {_LOCK, heads.FOLDER, heads.SIGNERS, VERIFIER}
        if strange := sorted(one for one in names if not one.endswith(".part")):
            what = f"holds other files ({strange[0]}) and no evidence"
            raise UserMistake.at(str(folder), what, "name a new folder with --out")
        (folder / heads.FOLDER).mkdir(exist_ok=True)
    heads.write_signers(folder, signer)
    write_durably(folder / VERIFIER, PROGRAM.encode())
    write_durably(folder / FILE, lines.encode(1, lines.NO_LINE, "begin", at, _begin_fields(terms, signer)))
    with storage(folder):
        sync_folder(folder.parent)


def terms_of(folder: Path) -> WatchTerms:
    """The terms of the evidence in a folder, from its first line; raises UserMistake if there are none."""
    with storage(folder):
        raw = b""
        if is_evidence(folder):
            with (folder / FILE).open("rb") as file:
                raw = file.readline(lines.LONGEST_BYTES)
    try:
        found = lines.decode(raw, 1, lines.NO_LINE)
        every, timeout, status = (found.number_of(key) for key in ("every_s", "timeout_s", "status"))
        code = None if status is None else int(status)
        return WatchTerms(found.text_of("target"), every or 0.0, timeout or 0.0, code, found.text_of("text"))
    except LineFault:
        raise UserMistake.at(str(folder), "holds no watch that can go on", "name the --out of a watch") from None


def _take_lock(folder: Path) -> int:
    """The descriptor of the folder's lock; raises StudyBusy if another process holds it, and StorageFault."""
    with storage(folder):
        lock = os.open(folder / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(lock)
            raise StudyBusy.at(
                str(folder), "another process watches into this folder", "stop it, or name another --out"
            ) from None
    return lock
