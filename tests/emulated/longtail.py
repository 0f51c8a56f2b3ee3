"""Small clouds for tests: servers of our own for the parts of REST interfaces that the driver calls.

`with digitalocean(...) as cloud:`, and likewise for each row of the table, gives `cloud.environ` for the product (in
this process or another), `cloud.journal` of every call and `cloud.alive()`, the truth. Each module says in `EMULATED`
what the tests must know of its cloud (tail.py). `python -m tests.emulated.digitalocean` runs one
in the foreground and prints what to export, with `--machines DIR` also SSH servers behind its machines. Everything
listens on loopback only. They are emulations, written after what the clouds document (longtail_contract.md): what was
tested against them was not tested on a real account.
"""

import argparse
import json
import secrets
import time
from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar
from urllib.parse import parse_qsl, urlsplit

from cloudcmp.provider.longtail import labels
from cloudcmp.provider.longtail.dialect import Cloud
from tests.emulated.boot import Boot
from tests.emulated.cloud import Call, Thing
from tests.emulated.faults import Behaviour
from tests.emulated.longtail_lives import Lives, Rented
from tests.emulated.longtail_told import made_by
from tests.emulated.standing import Standing, foreground
from tests.emulated.wire import Answer, Request

Json = dict[str, Any]


@dataclass(frozen=True)
class Faults(Behaviour):
    """How such a cloud behaves. Times in seconds; `page` is the most entries of a page; `machines` the most allowed.

    `scopes` are those that the token has, None for all.
    """

    terminate_s: float = 0.0
    page: int = 100
    machines: int = 25
    scopes: frozenset[str] | None = None


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


class LongTail(Standing[Faults]):
    """One emulated cloud with one account; what it is called and how it writes is for its own class to say."""

    row: ClassVar[Cloud]

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
        super().__init__(faults or Faults(), port)

    def _behave(self, faults: Faults) -> None:
        self.lives.pending_s, self.lives.read_lag_s = faults.pending_s, faults.read_lag_s
        self.lives.terminate_s = faults.terminate_s

    @property
    def name(self) -> str:
        """The provider's."""
        return self.row.name

    @property
    def token_variable(self) -> str:
        """Where the product looks for the token first."""
        return self.row.tokens[0]

    @property
    def url_variable(self) -> str:
        """Where the product looks for the interface's address."""
        return self.row.endpoint

    @property
    def environ(self) -> dict[str, str]:
        """What the product is to find in its environment."""
        return {self.token_variable: self.token, self.url_variable: self.url}

    def _end_machines(self) -> None:
        self.lives.close()

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
        return self._answered(call, lambda: self._honest(request, action, id, body, dict(parse_qsl(parts.query))))

    def _honest(self, request: Request, action: str, id: str, body: Json, query: Mapping[str, str]) -> Answer:
        try:
            self._permit(request, action)
            return _said(*self.carry_out(action, id, body, query))
        except No as no:
            return _said(no.status, self.refusal(no))

    def _permit(self, request: Request, action: str) -> None:
        if request.header("Authorization") != f"Bearer {self.token}":
            raise No(401, self.wrong_token)
        needed = self.scope(action)
        if self.faults.scopes is not None and needed is not None and needed not in self.faults.scopes:
            raise No(*self.no_scope)

    def _injected(self, call: Call, code: str) -> Answer:
        status, _, text = code.partition(" ")
        return _said(int(status), self.refusal(No(int(status), text or "it was injected")))

    def _broken(self, answer: Answer, call: Call) -> Answer:
        return replace(answer, status=500, body=b"<html>Internal Server Error</html>")

    def _truncated(self, body: bytes) -> bytes:
        return super()._truncated(body) or b"{"

    def _cut(self, body: bytes) -> bytes:
        return json.dumps(self.without_next(json.loads(body or b"{}"))).encode()

    def _empty(self, answer: Answer, call: Call) -> Answer:
        return replace(answer, status=200, body=b"{}")

    # -- what each cloud says in its own way

    wrong_token = "Unable to authenticate you."
    no_scope = (403, "You are not authorized to perform this operation.")

    @abstractmethod
    def action(self, method: str, path: str) -> tuple[str, str]:
        """The action of a call, as COLLECTION.VERB, and the id in its path."""

    @abstractmethod
    def scope(self, action: str) -> str | None:
        """The scope that an action needs."""

    @abstractmethod
    def carry_out(self, action: str, id: str, body: Json, query: Mapping[str, str]) -> tuple[int, Json]:
        """Do it; raises No."""

    @abstractmethod
    def refusal(self, no: No) -> Json:
        """The body of an error."""

    @abstractmethod
    def without_next(self, said: Json) -> Json:
        """A page that does not tell that the list goes on."""

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

    def alive(self) -> list[Thing]:
        """All that exists now: machines, firewalls, and tags where they stay."""
        with self._lock:
            self.lives.settle()
            there = [
                Thing("instance", one.region, one.id, self.lives.state(one), _tags(one.words, labels.MACHINE))
                for one in self.lives.there()
            ]
            there += [
                Thing("firewall", "", one.id, "there", _tags(one.words, labels.FIREWALL)) for one in self.walls.values()
            ]
            return there + [Thing("tag", "", word, "there") for word in self.words]

    def plant(self, kind: str, region: str, name: str, tags: Mapping[str, str]) -> str:
        """Make a machine or a firewall behind the product's back; it bears the tags as the product writes them."""
        mark = labels.FIREWALL if kind == "firewall" else labels.MACHINE
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
            return self.lives.begin(self.new_id(), name, region, self.row.smallest[1], words, began=-1e9).id

    words_stay = False
    word_most = 255

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


def _said(status: int, said: Json) -> Answer:
    return Answer(status, b"" if status == 204 else json.dumps(said).encode(), {"Content-Type": "application/json"})


def page_of(items: list[Any], query: Mapping[str, str], most: int) -> tuple[list[Any], int, int]:
    """The entries of a numbered page, its number and how many pages there are."""
    number = int(query.get("page", "1"))
    asked = int(query.get("per_page") or query.get("page_size") or most)
    size = min(most, asked)
    count = max(1, -(-len(items) // size))
    return items[(number - 1) * size : number * size], number, count


def run(make: type[LongTail]) -> None:
    """Run one in the foreground."""
    asked = argparse.ArgumentParser(description=f"{run.__doc__} {make.row.name}")
    foreground(asked, lambda args, boot: make(None, boot, port=args.port))


def lacking(body: Json, keys: Iterable[str]) -> str | None:
    """The first of some keys that a body does not have."""
    return next((key for key in keys if body.get(key) in {None, ""}), None)
