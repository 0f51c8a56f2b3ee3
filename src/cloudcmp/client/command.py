"""A provider's own command: one process for each operation, timed from its start to its end."""

import os
import subprocess
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from time import perf_counter_ns

from cloudcmp.client.failures import failed
from cloudcmp.client.operation import Answers
from cloudcmp.model.untrusted_text import one_line
from cloudcmp.programs import find_program
from cloudcmp.provider.local.processes import VARIABLE

BODY = "{body}"
"""A word of a command: the path of a file with the body to upload, or of the one to which a body is downloaded."""
_PIECE_BYTES = 1 << 20
_ERROR_BYTES_MAX = 64 * 1024
_VERSION_S = 60.0
_NOWHERE = os.devnull  # as a home, it has no files of the user's, and none can be made in it
_KEPT = ("PATH", VARIABLE)


class CommandFailed(Exception):
    """A process that ended with another code than 0: the code, negative for a signal, and its error output."""

    def __init__(self, code: int, text: str) -> None:
        super().__init__(text)
        self.code, self.text = code, text


class _Processes:
    """The processes under way; after `end_all` none is started. For several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: set[subprocess.Popen[bytes]] = set()
        self._over = False

    def start(
        self, command: Sequence[str], environ: Mapping[str, str], out: int, errors: int, files: Sequence[int]
    ) -> "subprocess.Popen[bytes]":
        """Starts a process, which inherits the files."""
        with self._lock:
            if self._over:
                raise CommandFailed(-9, "the trial is over")
            one = subprocess.Popen(
                command, env=environ, stdin=subprocess.DEVNULL, stdout=out, stderr=errors, pass_fds=files
            )
            self._running.add(one)
        return one

    def forget(self, one: "subprocess.Popen[bytes]") -> None:
        """Takes a process out that has ended."""
        with self._lock:
            self._running.discard(one)

    def end_all(self) -> None:
        """Kills the processes under way."""
        with self._lock:
            self._over = True
            for one in self._running:
                with suppress(OSError):
                    one.kill()


_PROCESSES = _Processes()
end_all = _PROCESSES.end_all
"""Kills the processes of all commands under way; no other is started after that."""


class Command:
    """A program with the settings of one trial, for several threads.

    `settings` is the text of its settings file, secrets included. It is kept in memory: the program gets its path, as
    the variable `variable`. `environ` has more variables, none of them secret.
    """

    def __init__(self, program: str, install: str, variable: str, settings: str, environ: Mapping[str, str]) -> None:
        path = find_program(program)
        if path is None:
            raise failed(f"{program} is not installed", install)
        self.answers = Answers()
        self._path, self._install = path, install
        self._settings = _file_of(settings.encode())
        kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
        self._environ = {**kept, "LC_ALL": "C", "HOME": _NOWHERE, **environ, variable: _path_of(self._settings)}

    def version(self) -> str:
        """What the program says of its version, in one line; raises Ended if it cannot be run."""
        try:
            done = subprocess.run(
                [self._path, "--version"], env=self._environ, stdin=subprocess.DEVNULL, capture_output=True,
                pass_fds=[self._settings], timeout=_VERSION_S, check=False,
            )  # fmt: skip
        except (OSError, subprocess.TimeoutExpired) as error:
            raise failed(f"{self._path} cannot be run: {error}", self._install) from error
        words = one_line((done.stdout or done.stderr).decode("utf-8", "replace").strip(), 200)
        if done.returncode or not words:
            raise failed(f"{self._path} cannot be run: {words or 'it says no version'}", self._install)
        return words

    def run(self, words: Sequence[str], body: bytes | None = None) -> bytes:
        """Runs the program, and returns what it wrote; raises CommandFailed.

        `BODY` in a word is the path of a file with `body`. Without one it is that of a pipe, which is read instead of
        the output.
        """
        with ExitStack() as stack:
            errors = stack.enter_context(_temporary(b""))
            source, sink = os.pipe()
            stack.callback(os.close, source)
            with ExitStack() as ours:
                ours.callback(os.close, sink)
                files, out = [self._settings], sink
                if body is not None:
                    files.append(stack.enter_context(_temporary(body)))
                elif any(BODY in word for word in words):
                    files.append(sink)
                    out = subprocess.DEVNULL
                command = [self._path, *(word.replace(BODY, _path_of(files[-1])) for word in words)]
                self.answers.began_ns = perf_counter_ns()
                process = _PROCESSES.start(command, self._environ, out, errors, files)
            try:
                written = self._read(source)
                code = process.wait()
            finally:
                self.answers.last_ns = perf_counter_ns()
                _PROCESSES.forget(process)
            if code:
                raise CommandFailed(code, os.pread(errors, _ERROR_BYTES_MAX, 0).decode("utf-8", "replace").strip())
        return written

    def _read(self, source: int) -> bytes:
        """The whole of a pipe; notes when its first byte was there."""
        pieces: list[bytes] = []
        while piece := os.read(source, _PIECE_BYTES):
            if not pieces:
                self.answers.arrived()
            pieces.append(piece)
        return b"".join(pieces)


def _file_of(content: bytes) -> int:
    """A file without a name, in memory, which processes can read that inherit it."""
    file = os.memfd_create("cloudcmp", os.MFD_CLOEXEC)
    with open(file, "wb", closefd=False) as writer:
        writer.write(content)
    return file


@contextmanager
def _temporary(content: bytes) -> Iterator[int]:
    file = _file_of(content)
    try:
        yield file
    finally:
        os.close(file)


def _path_of(file: int) -> str:
    return f"/proc/self/fd/{file}"
