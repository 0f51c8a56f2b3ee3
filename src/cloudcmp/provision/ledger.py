"""The leases of one study: read once from the journal, and written through to it."""

import random
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Protocol

from cloudcmp.model.lease import (
    DATA_SET,
    INSTANCE,
    STATE_OF,
    CreateRequest,
    Lease,
    LeaseEvent,
    LeaseNote,
    LeaseRow,
    LeaseState,
)
from cloudcmp.model.plan import Candidate, Launch, unit_cost
from cloudcmp.model.protocol import Provider, SelfTerminating
from cloudcmp.model.remote import Access
from cloudcmp.provider.time import Time
from cloudcmp.provision.accounts import Accounts
from cloudcmp.provision.ownership import ATTEMPT, SCHEMA, SLOT, STUDY, Ownership, token_of
from cloudcmp.provision.pace import Pace

TAG_SCHEMA = "1"
_NAME_MAX = 63


class Journal(Protocol):
    """A store whose rows are durable when `append_lease` returns."""

    def append_lease(self, row: LeaseRow) -> None:
        """Writes one row, or raises."""

    def leases(self) -> tuple[Lease, ...]:
        """Returns the current state of each lease."""


@dataclass(frozen=True, slots=True)
class Patience:
    """How long and how often to look for what may exist, and how long to wait until it is seen gone. In seconds.

    A resource is gone after `sightings` answers in a row, because one answer may come from a stale server. If no poll
    ever showed it, it must also be `settle_s` old, because new resources may not be visible yet.
    """

    grace_s: float = 600.0
    poll_s: float = 5.0
    give_up_s: float = 1200.0
    listings: int = 3
    sightings: int = 2
    settle_s: float = 300.0


def patience_with(provider: Provider) -> Patience:
    """Returns the patience for a provider: clouds list late, this machine's own folders do not."""
    if provider.billed or provider.simulated:
        return Patience(settle_s=provider.settle_s)
    return Patience(grace_s=0.0, poll_s=0.1, give_up_s=30.0, sightings=1, settle_s=0.0)


@dataclass(frozen=True, slots=True)
class Part:
    """One resource of a launch: its kind, its number within the kind, and the resources that it uses."""

    kind: str = INSTANCE
    number: int = 1
    options: tuple[tuple[str, str], ...] = ()
    access: Access | None = field(default=None, repr=False)


class Ledger:
    """The leases of a study, with their time, pace of changes, and accounts.

    `study` is the study's unique name in tags; `owner` is a hash that distinguishes users of one account, never a name.
    """

    def __init__(
        self,
        journal: Journal,
        study: str,
        time: Time,
        *,
        owner: str = "unknown",
        pace: Pace | None = None,
        accounts: Accounts | None = None,
    ) -> None:
        self._journal = journal
        self.study = study
        self.time = time
        self._owner = owner
        self.pace = pace or Pace(time, random.random)
        self.accounts = accounts or Accounts()
        self.ownership = Ownership(study, TAG_SCHEMA, time)
        self._leases: dict[tuple[str, int], Lease] = {}
        self._open: dict[tuple[str, int], Lease] = {}
        self._last_attempts: dict[str, int] = {}
        for lease in journal.leases():
            self._remember(lease)

    def open_leases(self) -> tuple[Lease, ...]:
        """Returns the leases that are not known to be gone."""
        return tuple(self._open.values())

    def open_at(self, slot: str) -> tuple[Lease, ...]:
        """Returns the open leases of one slot: at most one, unless a controller crashed."""
        return tuple(lease for lease in self.open_leases() if lease.slot == slot)

    def open_of(self, launch: Launch) -> tuple[Lease, ...]:
        """Returns the open leases of a launch in the order of ending: machines first."""
        own = f"launch-{launch.index}"
        leases = [lease for lease in self.open_leases() if lease.slot.split(".")[0] == own]
        return in_order_of_ending(leases)

    def leases(self) -> tuple[Lease, ...]:
        """Returns all leases, including past ones."""
        return tuple(self._leases.values())

    def find(self, slot: str, attempt: int) -> Lease | None:
        """Returns the lease of a slot's attempt."""
        return self._leases.get((slot, attempt))

    def request_for(self, candidate: Candidate, launch: Launch, ttl_s: float, part: Part = Part()) -> CreateRequest:
        """Returns the request for a part of a launch: a new attempt at its slot, with a new token."""
        slot = slot_of(launch, part)
        attempt = 1 + self._last_attempts.get(slot, 0)
        # The planned time keeps a simulated machine's history reproducible.
        at = self.time.at(launch.start_s)
        return CreateRequest(
            slot=slot,
            attempt=attempt,
            kind=part.kind,
            name=_name(f"cloudcmp-{self.study}-{slot}-{attempt}"),
            token=token_of(self.study, slot, attempt),
            region=_region_of(candidate, part),
            offering=candidate.offering.name,
            ttl_s=ttl_s,
            tags=tuple(sorted(self._tags(slot, attempt, at + ttl_s))),
            candidate=candidate.index,
            round=launch.round,
            seed=launch.seed,
            at=at,
            options=tuple(sorted({**dict(candidate.options), **dict(part.options)}.items())),
            volume=candidate.volume if part.kind == INSTANCE else None,
            access=part.access,
            price=candidate.offering.price if part.kind == INSTANCE else None,
        )

    def intend(self, request: CreateRequest, provider: Provider, candidate: Candidate) -> Lease:
        """Writes the intent to create; if this raises, nothing may be created."""
        # Only machines have a price, including what their create call makes.
        price = candidate.offering.price if request.kind == INSTANCE else None
        row = LeaseRow(
            slot=request.slot,
            attempt=request.attempt,
            event=LeaseEvent.INTENT,
            provider=provider.name,
            region=request.region,
            kind=request.kind,
            name=request.name,
            token=request.token,
            at=request.at,
            price_per_hour=None if price is None else unit_cost(candidate),
            currency=None if price is None else price.currency,
            ttl_s=request.ttl_s,
            notes=frozenset(_notes(provider, request)),
        )
        lease = Lease(
            row.slot,
            row.attempt,
            LeaseState.INTENDED,
            row.provider,
            row.region,
            row.kind,
            row.name,
            row.token,
            None,
            None,
            row.price_per_hour,
            row.currency,
            request.at + request.ttl_s,
        )
        self._journal.append_lease(row)
        self._remember(lease)
        return lease

    def write(
        self, lease: Lease, event: LeaseEvent, *notes: LeaseNote, cloud_id: str | None = None, detail: str = ""
    ) -> Lease:
        """Writes an event of a lease and returns its new state; the ledger has it even if the journal raises."""
        at = self.time.now()
        created_at = at if event is LeaseEvent.CREATED and lease.created_at is None else lease.created_at
        after = replace(lease, state=STATE_OF[event], cloud_id=cloud_id or lease.cloud_id, created_at=created_at)
        self._remember(after)
        self._journal.append_lease(
            LeaseRow(
                after.slot, after.attempt, event, after.provider, after.region, after.kind, after.name, after.token, at,
                cloud_id=after.cloud_id, detail=detail, notes=frozenset(notes),
            )
        )  # fmt: skip
        return after

    def _remember(self, lease: Lease) -> None:
        """Stores the current state of a lease, at a cost independent of their number."""
        key = (lease.slot, lease.attempt)
        self._leases[key] = lease
        self._last_attempts[lease.slot] = max(lease.attempt, self._last_attempts.get(lease.slot, 0))
        if lease.state is LeaseState.GONE:
            self._open.pop(key, None)
        else:
            self._open[key] = lease

    def _tags(self, slot: str, attempt: int, expires_at: float) -> Iterator[tuple[str, str]]:
        yield SCHEMA, TAG_SCHEMA
        yield STUDY, self.study
        yield SLOT, slot
        yield ATTEMPT, str(attempt)
        yield "cloudcmp:owner", self._owner
        yield "cloudcmp:expires", datetime.fromtimestamp(expires_at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _notes(provider: Provider, request: CreateRequest) -> Iterator[LeaseNote]:
    """Yields what the budget must know of a requested machine, apart from its price."""
    if _ends_by_itself(provider, request):
        yield LeaseNote.ENDS_BY_ITSELF
    if request.kind == INSTANCE and provider.billing.hourly(dict(request.options)):
        yield LeaseNote.BY_THE_HOUR


def _ends_by_itself(provider: Provider, request: CreateRequest) -> bool:
    """True if a requested machine is known to end by itself, which may depend on its image."""
    promised = request.kind == INSTANCE and any(one.name == "death" and one.holds for one in provider.safeguards)
    return promised and (not isinstance(provider, SelfTerminating) or provider.ends(request))


def _region_of(candidate: Candidate, part: Part) -> str:
    """The region of a part: a data set lies at its service's endpoint, or in its region."""
    if part.kind != DATA_SET or candidate.service is None:
        return candidate.offering.region
    return candidate.service.endpoint or candidate.service.region


def slot_of(launch: Launch, part: Part = Part()) -> str:
    """Returns the slot of a part of a launch; the first machine has the launch's own."""
    kind = "" if part.kind == INSTANCE else f".{part.kind}"
    number = "" if part.number == 1 else f".{part.number}"
    return f"launch-{launch.index}{kind}{number}"


def launch_of(slot: str) -> tuple[int, bool]:
    """Returns the launch of a slot, -1 if none, and whether the slot is that of its first machine."""
    match = re.fullmatch(r"launch-(\d+)(\.\d+)?", slot)
    return (int(match[1]), match[2] is None) if match else (-1, False)


def in_order_of_ending(leases: Iterable[Lease]) -> tuple[Lease, ...]:
    """Sorts leases, machines first: the resources that they use can only go after them."""
    return tuple(sorted(leases, key=lambda lease: lease.kind != INSTANCE))


def _name(text: str) -> str:
    """Returns a name that every cloud accepts: lower case letters, digits, dashes, at most 63, with its end intact."""
    plain = re.sub(r"[^a-z0-9-]+", "-", text.lower())
    return plain if len(plain) <= _NAME_MAX else f"{plain[:20].rstrip('-')}-{plain[-(_NAME_MAX - 21) :].lstrip('-')}"
