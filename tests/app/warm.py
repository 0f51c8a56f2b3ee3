"""The command in processes forked from one that has imported everything: an import takes longer than a study's crash.

`with Warm() as warm: job = warm.start(["run", ...], environ, folder)` runs `cloudcmp run ...` in a process and session
of its own. `warmth()` is the one that all workers of a parallel run share: each import is paid once.

`waits` shortens, in that process only, how long it waits for clouds: what is proven then is what is done and in which
order, not how long is waited for it (tests/provider/test_aws_study.py waits in full).

Its reports have sketches for figures, which tests/report draws: what draws takes longer to start than the rest of a
small study.

`warm.run` waits for the command. `python -m tests.app.warm` is the process that forks; it has one thread, as
forking asks for, begins to import when the first asks, and ends with its standard input.
"""

import atexit
import contextlib
import hashlib
import importlib
import inspect
import json
import os
import selectors
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from cloudcmp.provider.longtail import CLOUDS
from tests.guard_side import import_all

IMPORTS = "asyncssh duckdb pyarrow.parquet rich.console rich.progress rich.table scipy.special"
"""What the product imports late; all of the product itself is imported too."""
CLIENTS = {
    "AWS_": "botocore.session",
    "AZURE_STORAGE_": "azure.storage.blob azure.storage.queue azure.data.tables",
    "AZURE_SUBSCRIPTION_": "azure.identity azure.mgmt.compute azure.mgmt.network azure.mgmt.resource.resources",
    "GOOGLE_": "google.auth google.cloud.compute_v1",
    "BIGTABLE_": "google.cloud.bigtable_admin_v2.services.bigtable_table_admin",
    "FIRESTORE_": "google.cloud.firestore",
    "PUBSUB_": "google.cloud.pubsub_v1",
    "STORAGE_": "google.api_core.exceptions requests",
    "OS_": "openstack.config keystoneauth1.session",
    **{token: "libcloud.http libcloud.common.base" for cloud in CLOUDS.values() for token in cloud.tokens},
}
"""What is imported besides, before the first command whose environment has a name that begins so."""
ROOT = Path(__file__).parents[2]
SHARED = "CLOUDCMP_TESTS_WARM"
"""Names, in the environment of a worker of a parallel run, the address of the process that forks for all of them."""
SHORT = {"grace_s": 1.0, "settle_s": 1.0, "poll_s": 0.1, "interval_s": 0.05, "drain_s": 50.0, "give_up_s": 120.0}
"""Seconds: ten times the emulated clouds' lag, where the product waits ten times a real one's. With `nohup` (not 0) a
closed terminal is ignored."""


@dataclass
class Job:
    """One command; `out` is the file of all that it prints. The `number` is its own, a `pid` is used again."""

    warm: "Warm"
    pid: int
    out: Path
    number: int

    def code(self) -> int | None:
        """How it ended: the exit code, minus the signal's number, None while it runs."""
        code = self.warm.ask({"look": self.number})["code"]
        return None if code is None else int(code)

    def wait(self, within_s: float = 300.0) -> int:
        """The same, once it has ended; raises TimeoutError, and kills it, where it does not in time."""
        began = time.monotonic()
        while (code := self.code()) is None:
            waited_s = time.monotonic() - began
            if waited_s > within_s:
                self.kill()
                raise TimeoutError(f"not ended after {within_s:g} s: {self.said()}")
            time.sleep(min(max(waited_s / 20, 0.005), 0.1))  # to ask takes processor time
        return code

    def kill(self, number: int = signal.SIGKILL) -> None:
        """A signal to all of its group; to one that has ended it does nothing."""
        if self.code() is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.pid, number)

    def said(self) -> str:
        """What it has printed so far."""
        return self.out.read_text(errors="replace")


class Warm:
    """A process that has imported everything, and forks: one of another process, where `address` is its socket's."""

    def __init__(self, address: str = "") -> None:
        self._address = address

    def __enter__(self) -> "Warm":
        self._count = 0
        self._asking = threading.Lock()
        self._jobs: list[Job] = []
        self._own = contextlib.ExitStack()
        address = self._address or self._own.enter_context(served())
        self._line = socket.socket(socket.AF_UNIX)
        self._line.connect(address)
        self._words = self._line.makefile("rw", encoding="utf-8")
        return self

    def __exit__(self, *_: object) -> None:
        for job in self._jobs:
            if job.code() is None:
                job.kill()
        self._words.close()
        self._line.close()
        self._own.close()

    def ask(self, said: Mapping[str, Any]) -> dict[str, Any]:
        """One question and its answer."""
        try:
            with self._asking:
                self._words.write(json.dumps(said) + "\n")
                self._words.flush()
                answer: dict[str, Any] = json.loads(self._words.readline())
        except (OSError, ValueError) as error:
            raise RuntimeError("the process that forks has ended") from error
        return answer

    def run(
        self, words: Sequence[str | Path], environ: Mapping[str, str], cwd: Path, within_s: float, prepare: str = "",
        waits: Mapping[str, float] | None = None,
    ) -> tuple[int, str, str]:  # fmt: skip
        """How a command ended, and what it printed on its two streams."""
        with tempfile.TemporaryDirectory(prefix="cloudcmp-said-") as place:
            out, err = Path(place) / "out", Path(place) / "err"
            code = self.start(words, environ, cwd, waits, out=out, err=err, prepare=prepare).wait(within_s)
            return code, out.read_text(encoding="utf-8"), err.read_text(encoding="utf-8")

    def start(
        self, words: Sequence[str | Path], environ: Mapping[str, str], cwd: Path,
        waits: Mapping[str, float] | None = None, terminal: str | None = None, out: Path | None = None,
        err: Path | None = None, prepare: str = "",
    ) -> Job:  # fmt: skip
        """Begin a command; `terminal` names one that becomes its own, else it prints to `Job.out` (and to `err`).

        `prepare` names a module of the tests whose function of that name is called in the process before.
        """
        self._count += 1
        out = out or cwd / f"said-{os.getpid()}-{self._count}"
        said = {"words": [str(one) for one in words], "environ": dict(environ), "cwd": str(cwd), "out": str(out)}
        said |= {"err": str(err or ""), "prepare": prepare}
        found = self.ask({**said, "waits": dict(waits or (SHORT if prepare else {})), "terminal": terminal})
        job = Job(self, int(found["pid"]), out, int(found["number"]))
        self._jobs.append(job)
        return job


@contextlib.contextmanager
def served() -> Iterator[str]:
    """The address of a process that forks, which ends with this block; it begins to import at the first question."""
    with tempfile.TemporaryDirectory(prefix="cloudcmp-warm-") as place, socket.socket(socket.AF_UNIX) as listening:
        address = f"{place}/line"
        listening.bind(address)
        listening.listen(64)
        words = [sys.executable, "-m", "tests.app.warm", str(listening.fileno())]
        process = subprocess.Popen(words, cwd=ROOT, stdin=subprocess.PIPE, pass_fds=(listening.fileno(),))
        listening.close()
        try:
            yield address
        finally:
            assert process.stdin
            process.stdin.close()
            process.wait(30)


def warmth() -> Warm:
    """This process's own, which ends with it; a process that was forked from one that has it gets another."""
    return _warmth(os.getpid())


@cache
def _warmth(_pid: int) -> Warm:
    one = Warm(os.environ.get(SHARED, "")).__enter__()
    atexit.register(one.__exit__)
    return one


@dataclass
class _Line:
    """One that asks: its connection, and its commands by number; -9 and the like of those that have ended."""

    connection: socket.socket
    words: Any
    pids: list[int]
    ended: dict[int, int]

    def look(self, number: int) -> int | None:
        """How a command ended; None while it runs."""
        if number not in self.ended:
            done, status = os.waitpid(self.pids[number], os.WNOHANG)
            if done:
                self.ended[number] = os.waitstatus_to_exitcode(status)
        return self.ended.get(number)

    def close(self) -> None:
        """Hear no more of it."""
        self.words.close()
        self.connection.close()


def _serve(listening: socket.socket) -> None:
    lines = selectors.DefaultSelector()
    lines.register(listening, selectors.EVENT_READ)
    lines.register(0, selectors.EVENT_READ)
    loaded: set[str] = set()
    while True:
        for key, _ in lines.select():
            if key.fileobj == 0:
                os._exit(0)  # what is frozen would be called leaked
            if key.fileobj is listening:
                connection, _ = listening.accept()
                line = _Line(connection, connection.makefile("rw", encoding="utf-8"), [], {})
                lines.register(connection, selectors.EVENT_READ, line)
            elif asked := key.data.words.readline():
                answer = _answer(json.loads(asked), key.data, lines, loaded)
                key.data.words.write(json.dumps(answer) + "\n")
                key.data.words.flush()
            else:  # a worker that ended has killed its commands, one that was killed has not
                lines.unregister(key.fileobj)
                for number in range(len(key.data.pids)):
                    if key.data.look(number) is None:
                        os.killpg(key.data.pids[number], signal.SIGKILL)
                        os.waitpid(key.data.pids[number], 0)
                key.data.close()


def _answer(asked: dict[str, Any], line: _Line, lines: selectors.BaseSelector, loaded: set[str]) -> dict[str, Any]:
    if "look" in asked:
        return {"code": line.look(asked["look"])}
    if not loaded:
        import_all(IMPORTS.split())
        from cloudcmp.report.html import template

        template("report.html.j2")
    _load(asked["environ"], loaded)
    line.pids.append(_fork(asked, [key.fileobj for key in lines.get_map().values()]))
    return {"pid": line.pids[-1], "number": len(line.pids) - 1}


def _load(environ: Mapping[str, str], loaded: set[str]) -> None:
    """Import the official clients that a command will use, once; what they read for a first client too."""
    loaded.add("")
    for begins in CLIENTS.keys() - loaded:
        if any(name.startswith(begins) for name in environ):
            loaded.add(begins)
            for name in CLIENTS[begins].split():
                __import__(name)
            if begins == "AWS_":
                from cloudcmp.provider.aws.sdk import new_session

                keys = {"aws_access_key_id": "-", "aws_secret_access_key": "-"}
                new_session().create_client("ec2", region_name="us-east-1", **keys)


def _fork(asked: dict[str, Any], inherited: Sequence[Any]) -> int:
    ready, begun = os.pipe()
    pid = os.fork()
    if pid:
        os.close(begun)
        os.read(ready, 1)  # whoever signals its group at once must find one
        os.close(ready)
        return pid
    code = 70
    try:
        os.setsid()
        os.close(ready)
        for one in inherited:  # else they would seem to be open for as long as the command runs
            if one:
                os.close(one.fileno())
        code = _run(asked, begun)
    finally:
        with contextlib.suppress(OSError, ValueError):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(code)


def _run(asked: dict[str, Any], begun: int) -> int:
    """The command, as its own process would run it; `begun` is closed once it has its session and its terminal."""
    os.environ.clear()
    os.environ.update(asked["environ"])
    os.chdir(asked["cwd"])
    tempfile.tempdir = None  # it is where this environment says
    nowhere = os.open(asked["terminal"] or os.devnull, os.O_RDWR)
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
    out = nowhere if asked["terminal"] else os.open(asked["out"], flags, 0o600)
    err = os.open(asked["err"], flags, 0o600) if asked["err"] else out
    for number, to in ((0, nowhere), (1, out), (2, err)):
        os.dup2(to, number)
    for number in {nowhere, out, err}:
        os.close(number)
    os.close(begun)
    from cloudcmp.report.charts import base

    waits = asked["waits"]
    signal.signal(signal.SIGHUP, signal.SIG_IGN if waits.pop("nohup", 0.0) else signal.SIG_DFL)
    if waits:
        shorten(**waits)
    base.svg_of = _sketch
    if asked["prepare"]:
        importlib.import_module(asked["prepare"]).prepare()
    from cloudcmp.cli import entry

    sys.argv = ["cloudcmp", *asked["words"]]
    sys.modules["__main__"].__package__ = None  # it goes by its own name, not by that of the module that forks
    try:
        entry.main()
    except SystemExit as done:
        return int(done.code or 0)
    return 0


def _sketch(spec: Any) -> str:
    """Stands for a figure: equal ones are equal, others differ."""
    digest = hashlib.sha256(json.dumps(spec, sort_keys=True).encode()).hexdigest()
    return f'<svg xmlns="http://www.w3.org/2000/svg"><title>{digest}</title></svg>'


def shorten(
    *, grace_s: float, settle_s: float, poll_s: float, interval_s: float, drain_s: float, give_up_s: float
) -> None:
    """Have this process wait for clouds only so long; nothing else of it is changed."""
    from cloudcmp.app import sweep
    from cloudcmp.execute import connections as office
    from cloudcmp.execute import interruption as stopping
    from cloudcmp.provider import make, names
    from cloudcmp.provision import destruction, lifecycle, pace
    from cloudcmp.provision.ledger import Patience, patience_with

    def patience(provider: Any) -> Patience:
        if not provider.billed:
            return patience_with(provider)
        return Patience(grace_s, poll_s, give_up_s, settle_s=provider.settle_s)

    lifecycle.patience_with = sweep.patience_with = patience
    destruction._AGAIN_S = sweep._AGAIN_S = poll_s
    office._POLL_BILLED_S = poll_s
    for name in names():
        if (provider := make(name)).billed:
            _quicken(type(provider), settle_s=settle_s, pause_s=poll_s)
    pace.Pace.__init__.__defaults__ = (pace.Tempo(interval_s=interval_s),)
    stopping.StopSignals.__init__.__defaults__ = (drain_s,)


def _quicken(driver: type, **waits: float) -> None:
    """Shorten what a driver waits by itself, under the names that drivers give these waits; some have no pause."""
    defaults = inspect.unwrap(driver.__init__).__kwdefaults__ or {}  # type: ignore[misc]
    named = {name: seconds for name, seconds in waits.items() if name in defaults}
    assert "settle_s" in named, f"{driver.__name__} waits otherwise: {', '.join(defaults)}"
    defaults |= named


if __name__ == "__main__":
    _serve(socket.socket(fileno=int(sys.argv[1])))
