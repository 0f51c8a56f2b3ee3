"""Small clouds for tests: servers of our own for the parts of three REST interfaces that the driver calls.

`with droplets(...) as cloud:`, `with vultr(...)` and `with linode(...)` give `cloud.environ` for the product (in this
process or another), `cloud.journal` of every call and `cloud.alive()`, the truth. `python -m tests.emulated.droplets`
(or `vultr`, `linode`) runs one in the foreground and prints what to export, with `--machines DIR` also SSH servers
behind its machines. Everything listens on loopback only. They are emulations, written after what the clouds document
(longtail_contract.md): what was tested against them was not tested on a real account.
"""

import argparse
import json
import secrets
import sys
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from email.utils import formatdate
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from cloudcmp.provider.longtail import labels
from tests.emulated.boot import Boot, ssh_boot, why_not
from tests.emulated.cloud import Call, Thing
from tests.emulated.faults import Chooser, Fault
from tests.emulated.longtail_lives import Lives, Rented
from tests.emulated.longtail_told import made_by
from tests.emulated.wire import Answer, Request, Server

Json = dict[str, Any]


@dataclass(frozen=True)
class Faults:
    """How such a cloud behaves. Times in seconds; `page` is the most entries of a page; `machines` the most allowed.

    `scopes` are those that the token has, None for all; `shares` are (action, fault, share) by `seed`.
    """

    pending_s: float = 0.0
    read_lag_s: float = 0.0
    terminate_s: float = 0.0
    page: int = 100
    machines: int = 25
    scopes: frozenset[str] | None = None
    skew_s: float = 0.0
    seed: int = 0
    shares: tuple[tuple[str, str, float], ...] = ()
    at: tuple[Fault, ...] = ()


class No(Exception):
    """A request is refused: HTTP status and text."""

    def __init__(self, status: int, text: str, field: str = "") -> None:
        super().__init__(text)
        self.status, self.text, self.field = status, text, field


@dataclass(slots=True)
class Wall:
    """A firewall: its words are tags, or its description."""

    id: str
    name: str
    words: tuple[str, ...]
    began: float
    body: Json = field(default_factory=dict)
    rules: list[Json] = field(default_factory=list)


class LongTail:
    """One emulated cloud with one account; what it is called and how it writes is for its own class to say."""

    name = ""
    token_variable = ""
    url_variable = ""

    def __init__(
        self,
        faults: Faults | None = None,
        boot: Boot | None = None,
        *,
        clock: Callable[[], float] = time.monotonic,
        port: int = 0,
    ) -> None:
        self.token = f"secret-{secrets.token_hex(24)}"
        self.lives = Lives(boot, clock)
        self.walls: dict[str, Wall] = {}
        self.words: dict[str, float] = {}  # tags that are things of their own, and since when
        self.journal: list[Call] = []
        self._lock = threading.RLock()
        self._server = Server(self._handle, port)
        self.faults = faults or Faults()

    @property
    def faults(self) -> Faults:
        """How this cloud behaves; setting it starts the counts of single faults again."""
        return self._faults

    @faults.setter
    def faults(self, faults: Faults) -> None:
        self._faults = faults
        self.lives.pending_s, self.lives.read_lag_s = faults.pending_s, faults.read_lag_s
        self.lives.terminate_s = faults.terminate_s
        self._chooser = Chooser(faults.seed, faults.shares, faults.at)

    def inject(self, action: str, what: str, first: int = 1, times: int = 1, seconds: float = 0.0) -> None:
        """A fault at the calls of an action to come; `error:STATUS TEXT` answers that."""
        self._chooser.inject(Fault(action, what, first, times, seconds))

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self._server.port}"

    @property
    def environ(self) -> dict[str, str]:
        """What the product is to find in its environment."""
        return {self.token_variable: self.token, self.url_variable: self.url}

    def __enter__(self) -> Any:
        self._server.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self.lives.close()
        self._server.__exit__()

    def leave(self) -> None:
        """Nothing listens any more: connections are refused, until it comes back. Its machines live on."""
        self._server.__exit__()

    def come_back(self) -> None:
        """Listen again, at the same place."""
        self._server = Server(self._handle, self._server.port)
        self._server.__enter__()

    # -- what goes on

    def _handle(self, request: Request) -> Answer:
        parts = urlsplit(request.path)
        try:
            body = json.loads(request.body) if request.body else {}
        except ValueError:
            return Answer(400, b"{}")
        action, id = self.action(request.method, parts.path)
        params = {**dict(parse_qsl(parts.query)), "id": id, "body": json.dumps(body, sort_keys=True) if body else ""}
        call = Call(self.lives.clock(), self.name, "", action, {key: value for key, value in params.items() if value})
        with self._lock:
            self.journal.append(call)
            fault = self._chooser.next(action)
            if fault is not None and fault.what == "drop":
                call.outcome = "drop"
                return Answer(how="close")
            try:
                if fault is not None and fault.what.startswith("error:"):
                    status, _, text = fault.what.removeprefix("error:").partition(" ")
                    raise No(int(status), text or "it was injected")
                self._permit(request, action)
                status, said = self.carry_out(action, id, body, dict(parse_qsl(parts.query)))
            except No as no:
                status, said = no.status, self.refusal(no)
        call.outcome = str(status)
        text = b"" if status == 204 else json.dumps(said).encode()
        headers = {
            "Content-Type": "application/json",
            "Date": formatdate(time.time() + self.faults.skew_s, usegmt=True),
        }
        answer = Answer(status, text, headers)
        return answer if fault is None or fault.what.startswith("error:") else self._spoilt(answer, said, fault, call)

    def _permit(self, request: Request, action: str) -> None:
        if request.header("Authorization") != f"Bearer {self.token}":
            raise No(401, self.wrong_token)
        needed = self.scope(action)
        if self.faults.scopes is not None and needed is not None and needed not in self.faults.scopes:
            raise No(*self.no_scope)

    def _spoilt(self, answer: Answer, said: Json, fault: Fault, call: Call) -> Answer:
        """The call was carried out; this is what becomes of its answer."""
        call.outcome = f"{fault.what} after {call.outcome}"
        if fault.what == "late":
            return replace(answer, delay_s=fault.seconds)
        if fault.what == "5xx":
            return replace(answer, status=500, body=b"<html>Internal Server Error</html>")
        if fault.what == "truncated":
            return replace(answer, body=answer.body[: len(answer.body) * 2 // 3] or b"{")
        if fault.what == "cut":
            return replace(answer, body=json.dumps(self.without_next(said)).encode())
        if fault.what == "empty":
            return replace(answer, status=200, body=b"{}")
        return replace(answer, how={"lost": "close", "reset": "reset", "part": "part"}[fault.what])

    # -- what each cloud says in its own way

    wrong_token = "Unable to authenticate you."
    no_scope = (403, "You are not authorized to perform this operation.")

    def action(self, method: str, path: str) -> tuple[str, str]:
        """The action of a call, as COLLECTION.VERB, and the id in its path."""
        raise NotImplementedError

    def scope(self, action: str) -> str | None:
        """The scope that an action needs."""
        raise NotImplementedError

    def carry_out(self, action: str, id: str, body: Json, query: Mapping[str, str]) -> tuple[int, Json]:
        """Do it; raises No."""
        raise NotImplementedError

    def refusal(self, no: No) -> Json:
        """The body of an error."""
        raise NotImplementedError

    def without_next(self, said: Json) -> Json:
        """A page that does not tell that the list goes on."""
        raise NotImplementedError

    # -- what all have in common

    def machine(self, id: str) -> Rented:
        """A machine that reads see; raises No."""
        found = self.lives.all.get(id)
        if found is None or not self.lives.visible(found):
            raise No(404, "The resource you were accessing could not be found.")
        return found

    def machines(self) -> list[Rented]:
        """The machines that lists show."""
        self.lives.settle()
        return [one for one in self.lives.all.values() if self.lives.visible(one)]

    def end(self, id: str) -> None:
        """Delete a machine; one that ends already, or never was, is not found."""
        found = self.machine(id)
        if found.ends_at is not None:
            raise No(404, "The resource you were accessing could not be found.")
        self.lives.end(found)

    def room(self) -> None:
        """Raises No where the account has as many machines as it may have."""
        self.lives.settle()
        if len(self.lives.there()) >= self.faults.machines:
            raise No(self.full[0], self.full[1])

    full = (422, "creating this/these droplet(s) will exceed your droplet limit")

    def wall(self, id: str) -> Wall:
        """A firewall; raises No."""
        if id not in self.walls:
            raise No(404, "The resource you were accessing could not be found.")
        return self.walls[id]

    def seen_walls(self) -> list[Wall]:
        """The firewalls that lists show."""
        return [one for one in self.walls.values() if self.lives.clock() >= one.began + self.faults.read_lag_s]

    # -- the truth

    def calls(self, action: str) -> list[Call]:
        """The calls of one action, in order."""
        return [call for call in self.journal if call.action == action]

    def alive(self) -> list[Thing]:
        """All that exists now: machines, firewalls, and tags where they stay."""
        with self._lock:
            self.lives.settle()
            there = [
                Thing("instance", one.region, one.id, self.lives.state(one), _tags(one.words, labels.MACHINE))
                for one in self.lives.there()
            ]
            there += [
                Thing("firewall", "", one.id, "there", _tags(one.words, labels.WALL)) for one in self.walls.values()
            ]
            return there + [Thing("tag", "", word, "there") for word in self.words]

    def plant(self, kind: str, region: str, name: str, tags: Mapping[str, str]) -> str:
        """Make a machine or a firewall behind the product's back; it bears the tags as the product writes them."""
        mark = labels.WALL if kind == "firewall" else labels.MACHINE
        words = labels.write(labels.Record(tuple(sorted(tags.items()))), self.word_most, mark) if tags else ()
        with self._lock:
            for word in words if self.words_stay else ():
                self.words.setdefault(word, 0.0)
            if kind == "firewall":
                id = self.new_id()
                self.walls[id] = Wall(id, name, words, -1e9)
                return id
            if kind != "instance":
                raise ValueError(f"nothing here is a {kind}")
            return self.lives.begin(self.new_id(), name, region, self.cheapest, words, began=-1e9).id

    words_stay = False
    word_most = 255
    cheapest = ""

    def new_id(self) -> str:
        """An id as this cloud makes them."""
        return str(secrets.randbelow(10**8) + 10**8)

    def made_by(self, call: Call) -> str | None:
        """The token or name that a call which makes something names, None for any other call."""
        return made_by(call)

    def changed_by(self, call: Call) -> tuple[str, ...]:
        """The id that a call which changes or ends something names; empty for any other call."""
        changes = call.action.endswith((".delete", ".act", ".change", ".rule"))
        return (call.params["id"],) if changes and "id" in call.params else ()


def _tags(words: tuple[str, ...], mark: str) -> tuple[tuple[str, str], ...]:
    """The tags in a record, or the words where they are none of ours."""
    record = labels.read(words, mark)
    return record.tags if record else tuple(("tag", word) for word in words)


def page_of(items: list[Any], query: Mapping[str, str], most: int) -> tuple[list[Any], int, int]:
    """The entries of a numbered page, its number and how many pages there are."""
    number = int(query.get("page", "1"))
    asked = int(query.get("per_page") or query.get("page_size") or most)
    size = min(most, asked)
    count = max(1, -(-len(items) // size))
    return items[(number - 1) * size : number * size], number, count


def run(make: Callable[..., LongTail]) -> None:
    """Run one in the foreground."""
    asked = argparse.ArgumentParser(description=f"{run.__doc__} {make.name}")  # type: ignore[attr-defined]
    asked.add_argument("--port", type=int, default=0)
    asked.add_argument(
        "--machines", type=Path, help="a folder: an SSH server stands behind each machine, and works there"
    )
    args = asked.parse_args()
    if args.machines and why_not():
        asked.error(why_not())
    with make(None, ssh_boot(args.machines) if args.machines else None, port=args.port) as cloud:
        for name, value in cloud.environ.items():
            print(f"export {name}={value}")
        sys.stdout.flush()
        _show(cloud)


def _show(cloud: LongTail) -> None:
    seen = 0
    try:
        while True:
            while seen < len(cloud.journal) and cloud.journal[seen].outcome:
                call, seen = cloud.journal[seen], seen + 1
                print(f"# {call.name} {call.outcome}", file=sys.stderr, flush=True)
            time.sleep(0.2)
    except KeyboardInterrupt:
        for thing in cloud.alive():
            print(f"# left: {thing.kind} {thing.region} {thing.id} {thing.state}", file=sys.stderr)


def lacking(body: Json, keys: Iterable[str]) -> str | None:
    """The first of some keys that a body does not have."""
    return next((key for key in keys if body.get(key) in {None, ""}), None)
