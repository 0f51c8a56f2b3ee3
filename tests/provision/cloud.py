"""A cloud that misbehaves by a seed: virtual time, the truth of what it holds and bills, and what a client is told.

What a client reads may be stale (each thing is seen by lists and by look-ups from moments of its own on), cut short,
empty or, once, a lie; a repetition after a lie is honest, as it is where answers come from several servers.
"""

import asyncio
import math
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Decimal

from tests.provision.weather import START, Clock, Killed, Personality

from cloudcmp.errors import (
    IncompleteListing,
    LostAnswer,
    NoCapacity,
    ProviderFault,
    QuotaReached,
    Refused,
    StorageFault,
    Throttled,
)
from cloudcmp.model.lease import (
    FIREWALL,
    INSTANCE,
    STATE_OF,
    CreateRequest,
    Handle,
    Lease,
    LeaseEvent,
    LeaseRow,
    Listing,
    TaggedResource,
)
from cloudcmp.model.offering import Offering
from cloudcmp.model.plan import Candidate
from cloudcmp.model.safety import Finding, Safeguard
from cloudcmp.store.ledger import fold

STUDY = "study-a"
FOREIGN = tuple(f"foreign-{number}" for number in range(7))
DEATH_S = 60.0  # a machine ends by itself at most so long after its time to live


@dataclass(slots=True)
class Thing:
    """A resource as it really is."""

    cloud_id: str
    kind: str
    name: str
    token: str
    tags: tuple[tuple[str, str], ...]
    ours: bool
    made_at: float
    listed_at: float
    seen_at: float
    ttl_s: float = math.inf
    price: Decimal = Decimal(0)
    ended_at: float = math.inf
    fades_s: float = 0.0
    stopped: bool = False

    def lives(self, now: float) -> bool:
        """Whether it is there at a time: a stopped one is; one that is still being made will be."""
        return now < self.ended_at

    def is_made(self, now: float) -> None:
        """Who is answered with its id asks for it once more: it is there by then, though not yet seen."""
        early_s = max(0.0, self.made_at - now)
        self.made_at -= early_s
        self.listed_at -= early_s
        self.seen_at -= early_s
        self.ended_at -= early_s

    def fades(self, now: float) -> bool:
        """Whether a client still reads that it is there."""
        return now < self.ended_at + self.fades_s


@dataclass(slots=True)
class Truth:
    """What really happened: all that was ever made, and every breach of what was promised."""

    things: dict[str, Thing] = field(default_factory=dict)
    breaches: list[str] = field(default_factory=list)
    calls: int = 0

    def ours(self, now: float) -> list[Thing]:
        return [thing for thing in self.things.values() if thing.ours and thing.lives(now)]


class Cloud:
    """The provider that a client sees. `intended` says whether a token's intent is committed; `prices` by candidate."""

    name = "faulty"
    simulated = False
    billed = True

    def __init__(
        self, rng: random.Random, how: Personality, clock: Clock, prices: tuple[Decimal, ...],
        intended: Callable[[str], bool],
    ) -> None:  # fmt: skip
        self._rng = rng
        self.how = how
        self.clock = clock
        self._prices = prices
        self._intended = intended
        self.truth = Truth()
        self.billing = how.billing
        self.safeguards = (Safeguard("death", how.death, "by a timer of its own"),)
        self.settle_s = 300.0
        self.may_lack_tags = not how.tags
        self.parts: tuple[str, ...] = (FIREWALL, INSTANCE) if how.firewall else (INSTANCE,)
        self.kill = 0.0
        self.dead = False
        self.well = False
        self._asked: set[str] = set()
        self._honest = 0
        for thing in _foreign():
            self.truth.things[thing.cloud_id] = thing

    def heal(self) -> None:
        """From now on nothing fails and everything is seen as it is; what was slow is done."""
        self.well = True
        now = self.clock.now()
        for thing in self.truth.things.values():
            thing.listed_at, thing.seen_at, thing.fades_s = min(now, thing.listed_at), min(now, thing.seen_at), 0.0
            thing.stopped = False

    def bill(self, thing: Thing, until: float = math.inf) -> Decimal:
        """Money for a machine by the cloud's own count, however it was used."""
        used_s = max(0.0, min(thing.ended_at, until, self.clock.now()) - thing.made_at)
        return thing.price * Decimal(math.ceil(self.billing.paid_s(used_s))) / 3600

    # What the contract asks for and no history uses.

    def offerings(self, region: str | None = None) -> tuple[Offering, ...]:
        return ()

    def host(self, candidate: Candidate) -> str:
        return candidate.id

    async def check(self, candidates: object) -> tuple[Finding, ...]:
        return ()

    async def leftovers(self) -> Listing:
        return Listing(tuple(map(self._found, self.truth.ours(self.clock.now()))))

    # Calls.

    async def create(self, request: CreateRequest) -> str:
        self._begin()
        self._audit(request)
        where = f"{request.region}/{request.offering}"
        if self._hits(self.how.throttled):
            self._asked.discard(request.token)
            raise Throttled.at(where, "RequestLimitExceeded")
        for share, kind in (
            (self.how.capacity, NoCapacity),
            (self.how.quota, QuotaReached),
            (self.how.refused, Refused),
        ):
            if self._hits(share):
                raise kind.at(where, kind.__name__)
        if self._hits(self.how.cancelled):  # Ctrl-C, twice
            if self._rng.random() < 0.5:
                self._make(request)
            raise asyncio.CancelledError
        lost = self._hits(self.how.lost)
        arrives = not lost or self._rng.random() < 0.7
        self._maybe_die()
        thing = self._make(request, self._rng.uniform(0, self.how.late_s) if lost else 0.0) if arrives else None
        if lost and self.how.retries:  # the library asks again: nobody else hears of it
            again = thing if thing is not None and self.how.token else self._make(request)
            again.is_made(self.clock.now())
            lost, thing = self._rng.random() < 0.3, again
        self._maybe_die()
        self._end_call()
        if lost or thing is None:
            raise self._rng.choice((LostAnswer, LostAnswer, ProviderFault)).at(where, "the answer was lost")
        return thing.cloud_id

    async def find(
        self, study: str, token: str | None = None, *, region: str | None = None
    ) -> tuple[TaggedResource, ...]:
        self._begin()
        if self._hits(self.how.unlisted):
            raise IncompleteListing.at(self.name, "the second page did not come")
        now = self.clock.now()
        seen = [thing for thing in self.truth.things.values() if thing.listed_at <= now and thing.fades(now)]
        if self._lies(self.how.cut):
            seen = [thing for thing in seen if self._rng.random() < 0.3]
        found = tuple(
            self._found(thing) for thing in seen if not self.how.filters or self._matches(thing, study, token)
        )
        self._end_call()
        return found

    async def destroy(self, handle: Handle) -> None:
        self._begin()
        thing = self.truth.things.get(handle.cloud_id)
        if thing is not None and not thing.ours:
            self.truth.breaches.append(f"{handle.cloud_id} of somebody else was destroyed")
        if self._hits(self.how.throttled):
            raise Throttled.at(handle.cloud_id, "RequestLimitExceeded")
        now, fails = self.clock.now(), self._hits(self.how.fails)
        reached = (
            thing is not None and thing.seen_at <= now and thing.lives(now) and not (fails and self._rng.random() < 0.5)
        )
        if reached and thing is not None:
            self._destroy(thing)
        self._maybe_die()
        self._end_call()
        if fails:
            raise self._rng.choice((ProviderFault, LostAnswer)).at(handle.cloud_id, "503")

    async def gone(self, handle: Handle) -> str | None:
        self._begin()
        if self._hits(self.how.fails):
            raise ProviderFault.at(handle.cloud_id, "503")
        thing, now = self.truth.things.get(handle.cloud_id), self.clock.now()
        there = thing is not None and thing.seen_at <= now and thing.fades(now)
        evidence = None if there else f"{handle.cloud_id} does not exist"
        if there and self._lies(self.how.lies):
            evidence = f"{handle.cloud_id} terminated"
        self._end_call()
        return evidence

    # How it does what it does.

    def _begin(self) -> None:
        if self.dead:
            raise Killed
        self.truth.calls += 1
        self.clock.pass_(self._rng.choice((0.1, 0.5, 2.0)))
        self._maybe_die()

    def _end_call(self) -> None:
        """The answer is on its way: the controller's machine may sleep before it is read."""
        self.clock.maybe_suspend()

    def _maybe_die(self) -> None:
        if self.kill and self._rng.random() < self.kill:
            self.dead = True
            raise Killed

    def _hits(self, share: float) -> bool:
        return not self.well and share > 0 and self._rng.random() < share

    def _lies(self, share: float) -> bool:
        """Whether this reading is wrong: never one of the three after a wrong one."""
        self._honest -= 1
        if self._honest >= 0 or not self._hits(share):
            return False
        self._honest = 3
        return True

    def _audit(self, request: CreateRequest) -> None:
        if not self._intended(request.token):
            self.truth.breaches.append(f"{request.name} was asked for without a committed intent")
        if request.token in self._asked:
            self.truth.breaches.append(f"{request.name} was asked for twice")
        if request.ttl_s <= 0 or ("cloudcmp:study", STUDY) not in request.tags:
            self.truth.breaches.append(f"{request.name} was asked for without a time to live or a tag")
        self._asked.add(request.token)

    def _make(self, request: CreateRequest, late_s: float = 0.0) -> Thing:
        how, made_at = self.how, self.clock.now() + late_s
        listed_at, seen_at = (made_at + self._rng.uniform(0, how.lag_s) for _ in range(2))
        thing = Thing(
            f"i-{len(self.truth.things)}", request.kind, request.name, request.token, request.tags, True, made_at,
            listed_at, seen_at, request.ttl_s, fades_s=self._rng.uniform(0, how.lag_s),
        )  # fmt: skip
        if request.kind == INSTANCE:
            thing.price = self._prices[request.candidate]
            if how.death:
                thing.ended_at = made_at + request.ttl_s + self._rng.uniform(0, DEATH_S)
            if self._hits(how.taken):  # by the cloud, or by hand
                thing.ended_at = min(thing.ended_at, made_at + self._rng.uniform(0, request.ttl_s))
        self.truth.things[thing.cloud_id] = thing
        return thing

    def _destroy(self, thing: Thing) -> None:
        if self._hits(self.how.deaf):
            return
        if self._hits(self.how.stops):
            thing.stopped = True
            return
        if thing.kind == FIREWALL and any(one.kind == INSTANCE for one in self.truth.ours(self.clock.now())):
            raise ProviderFault.at(thing.cloud_id, "DependencyViolation")
        slow_s = 0.0 if self.well else self.how.slow_s
        thing.ended_at = min(thing.ended_at, self.clock.now() + slow_s)

    def _matches(self, thing: Thing, study: str, token: str | None) -> bool:
        if self.how.token and token is not None and thing.token == token:
            return True
        if self.how.tags:
            return ("cloudcmp:study", study) in thing.tags
        return self.how.names and thing.name.startswith(f"cloudcmp-{study}-")

    def _found(self, thing: Thing) -> TaggedResource:
        how = self.how
        return TaggedResource(
            thing.cloud_id, thing.name if how.names else thing.cloud_id,
            thing.token if how.token or how.tags else None,  # a cloud that heeds no token keeps it among the tags
            thing.tags if how.tags else (), "stopped" if thing.stopped else "running", thing.kind, "eu",
        )  # fmt: skip

    def findable(self, thing: Thing) -> bool:
        """Whether a healthy listing of the study shows it, to somebody who has no ledger."""
        return self.how.tags or (self.how.names and thing.ours)


def _foreign() -> list[Thing]:
    """Machines of others that look much like ours in one account; the last bears our tags and another token."""
    ours = {"cloudcmp:schema": "1", "cloudcmp:study": STUDY, "cloudcmp:slot": "launch-0", "cloudcmp:attempt": "1"}
    tags: tuple[dict[str, str], ...] = (
        {**ours, "cloudcmp:study": "another-study"},
        {**ours, "cloudcmp:study": f"{STUDY}-2"},
        {**ours, "cloudcmp:study": STUDY.upper()},
        {key: text for key, text in ours.items() if key != "cloudcmp:study"},
        {"Name": f"cloudcmp-{STUDY}"},
        {},
        ours,
    )
    return [
        Thing(f"foreign-{n}", INSTANCE, f"cloudcmp-{STUDY}x-launch-0-{n}", f"theirs-{n}", tuple(sorted(one.items())),
              False, START, START, START)
        for n, one in enumerate(tags)
    ]  # fmt: skip


class Disk:
    """A journal that outlives controllers. It may be full, and a controller may die before or after each commit."""

    def __init__(self, rng: random.Random, full: float) -> None:
        self._rng = rng
        self.full = full
        self.rows: list[LeaseRow] = []
        self.cloud: Cloud | None = None
        self.tokens: set[str] = set()

    def append_lease(self, row: LeaseRow) -> None:
        cloud = self.cloud
        assert cloud is not None
        if cloud.dead:
            raise Killed
        cloud._maybe_die()
        if self.full and self._rng.random() < self.full:
            raise StorageFault.at("study.db", "no space left on the disk")
        self.rows.append(row)
        self.tokens.add(row.token)
        if STATE_OF[row.event] is STATE_OF[LeaseEvent.GONE]:
            self._audit(row, cloud)
        cloud._maybe_die()

    def leases(self) -> tuple[Lease, ...]:
        return fold(self.rows)

    @staticmethod
    def _audit(row: LeaseRow, cloud: Cloud) -> None:
        """A row that says gone, of something that is there: what the ledger must never hold."""
        for thing in cloud.truth.ours(cloud.clock.now()):
            if thing.cloud_id == row.cloud_id or (thing.token == row.token and not cloud.how.doubles):
                cloud.truth.breaches.append(
                    f"{row.event} was written of {thing.cloud_id}, which is there ({row.detail})"
                )
