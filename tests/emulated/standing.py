"""What all emulated clouds of the tests have in common: a loopback port, a journal of their calls, and faults.

A cloud says for itself how it is asked and how it answers; when a call meets a fault, what becomes of its answer, how
it leaves and comes back, and how it is run in the foreground is said here.
"""

import argparse
import ssl
import sys
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import replace
from email.utils import formatdate
from pathlib import Path
from typing import Any, Generic, Self, TypeVar

from tests.emulated.boot import Boot, ssh_boot, why_not
from tests.emulated.cloud import Call, Thing
from tests.emulated.faults import Behaviour, Chooser, Fault
from tests.emulated.wire import Answer, Request, Server

F = TypeVar("F", bound=Behaviour)


class Standing(ABC, Generic[F]):
    """One emulated cloud with one account. What lists show may lag behind; `alive` is the truth.

    Its own class makes what it is about before this one is called, which tells it of its `faults`. `journal` may be
    replaced by any list: each call is appended when it has come, before it is answered.
    """

    def __init__(self, faults: F, port: int = 0, tls: ssl.SSLContext | None = None) -> None:
        self.journal: list[Call] = []
        self._lock = threading.RLock()
        self._tls = tls
        self._server = Server(self._handle, port, tls)
        self.faults = faults

    # -- how it behaves

    @property
    def faults(self) -> F:
        """How this cloud behaves; setting it starts the counts of single faults again."""
        return self._faults

    @faults.setter
    def faults(self, faults: F) -> None:
        self._faults = faults
        self._behave(faults)
        self._chooser = Chooser(faults.seed, faults.shares, faults.at)

    @abstractmethod
    def _behave(self, faults: F) -> None:
        """Pass them on to all that goes by them."""

    def inject(self, action: str, what: str, first: int = 1, times: int = 1, seconds: float = 0.0) -> None:
        """A fault at the calls to come of an action, which is named as in `Call.action`; see faults.py.

        `error:` takes what this cloud's own errors are known by: a code, or an HTTP status and words.
        """
        self._chooser.inject(Fault(action, what, first, times, seconds))

    # -- where it is

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"{'https' if self._tls else 'http'}://127.0.0.1:{self._server.port}"

    @property
    @abstractmethod
    def environ(self) -> dict[str, str]:
        """What the product is to find in its environment to reach this cloud and no other."""

    def __enter__(self) -> Self:
        self._server.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self._end_machines()
        self._server.__exit__()

    @abstractmethod
    def _end_machines(self) -> None:
        """End all that runs behind it."""

    def leave(self) -> None:
        """Nothing listens any more: connections are refused, until it comes back. Its machines live on."""
        self._server.__exit__()

    def come_back(self) -> None:
        """Listen again, at the same place."""
        self._server = Server(self._handle, self._server.port, self._tls)
        self._server.__enter__()

    # -- what goes on

    @abstractmethod
    def _handle(self, request: Request) -> Answer:
        """A request as it came: read as a call, which `_answered` answers."""

    def _answered(self, call: Call, honest: Callable[[], Answer], *, kept: bool = True) -> Answer:
        """The answer to a call, as the faults have it; `honest` carries it out, and `kept` is in the journal."""
        with self._lock:
            if kept:
                self.journal.append(call)
            fault = self._chooser.next(call.action)
            if fault is not None and fault.what == "drop":
                call.outcome = "drop"
                return Answer(how="close")
            if fault is not None and fault.what.startswith("error:"):
                answer, fault = self._injected(call, fault.what.removeprefix("error:")), None
            else:
                answer = honest()
        call.outcome = self._outcome(answer)
        answer = self._dated(answer)
        return answer if fault is None else self._spoilt(answer, fault, call)

    def now(self) -> float:
        """The time that it believes it is (Unix s)."""
        return time.time() + self.faults.skew_s

    def _dated(self, answer: Answer) -> Answer:
        return replace(answer, headers={**answer.headers, "Date": formatdate(self.now(), usegmt=True)})

    def _outcome(self, answer: Answer) -> str:
        """What a journal says of an answer; a cloud whose errors have codes says the code."""
        return str(answer.status)

    @abstractmethod
    def _injected(self, call: Call, code: str) -> Answer:
        """The error that a fault `error:CODE` asks for."""

    def _spoilt(self, answer: Answer, fault: Fault, call: Call) -> Answer:
        """The call was carried out; this is what becomes of its answer."""
        call.outcome = f"{fault.what} after {call.outcome}"
        if fault.what == "late":
            return replace(answer, delay_s=fault.seconds)
        if fault.what == "5xx":
            return self._broken(answer, call)
        if fault.what == "truncated":
            return replace(answer, body=self._truncated(answer.body))
        if fault.what == "cut":
            return replace(answer, body=self._cut(answer.body))
        if fault.what == "empty":
            return self._empty(answer, call)
        return replace(answer, how={"lost": "close", "reset": "reset", "part": "part"}[fault.what])

    @abstractmethod
    def _broken(self, answer: Answer, call: Call) -> Answer:
        """The error that this cloud's own trouble makes of an answer."""

    def _truncated(self, body: bytes) -> bytes:
        return body[: len(body) * 2 // 3]

    @abstractmethod
    def _cut(self, body: bytes) -> bytes:
        """A page of a list whose word for the next one came cut short; whatever is none as it is."""

    def _empty(self, answer: Answer, call: Call) -> Answer:
        """An answer in which nothing is listed."""
        return replace(answer, body=b"{}")

    # -- the truth

    def calls(self, action: str) -> list[Call]:
        """The calls of one action, in order."""
        return [call for call in self.journal if call.action == action]

    @abstractmethod
    def alive(self) -> list[Thing]:
        """All that exists now, whatever bears it: machines, disks, addresses, firewalls, groups."""

    @abstractmethod
    def plant(self, kind: str, region: str, name: str, tags: Mapping[str, str]) -> str:
        """Make a resource (instance, firewall, volume) behind the product's back; returns its id."""

    @abstractmethod
    def made_by(self, call: Call) -> str | None:
        """The name or token that a call which makes something names, None for any other call."""

    @abstractmethod
    def changed_by(self, call: Call) -> tuple[str, ...]:
        """The ids that a call which changes or ends something names; empty for any other call."""


def foreground(
    asked: argparse.ArgumentParser, make: Callable[[argparse.Namespace, Boot | None], Standing[Any]]
) -> None:
    """Run one until Ctrl-C: its environment goes to stdout as exports, its calls and what is left to stderr.

    `asked` has what a cloud's own command line takes beside `--port` and `--machines`.
    """
    asked.add_argument("--port", type=int, default=0)
    asked.add_argument(
        "--machines", type=Path, help="a folder: an SSH server stands behind each machine, and works there"
    )
    args = asked.parse_args()
    if args.machines and why_not():
        asked.error(why_not())
    with make(args, ssh_boot(args.machines) if args.machines else None) as cloud:
        for name, value in cloud.environ.items():
            print(f"export {name}={value}")
        sys.stdout.flush()
        seen = 0
        try:
            while True:
                while seen < len(cloud.journal) and cloud.journal[seen].outcome:
                    call, seen = cloud.journal[seen], seen + 1
                    print(f"# {call.region} {call.name} {call.outcome}", file=sys.stderr, flush=True)
                time.sleep(0.2)
        except KeyboardInterrupt:
            for thing in cloud.alive():
                print(f"# left: {thing.kind} {thing.region} {thing.id} {thing.state}", file=sys.stderr)
