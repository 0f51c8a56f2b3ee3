"""The stage on which a provider's promises are tried out: what is made there, and how long is looked for it."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from cloudcmp.errors import NOTHING_MADE
from cloudcmp.model.lease import INSTANCE, CreateRequest, Handle, Lease, LeaseEvent, TaggedResource
from cloudcmp.model.plan import Candidate, Launch
from cloudcmp.model.protocol import Provider, Remote
from cloudcmp.model.remote import Access
from cloudcmp.provision.arrival import Machine
from cloudcmp.provision.ledger import Part, Patience, patience_with
from cloudcmp.provision.site import ProvisionContext

LAUNCHES = 3
"""A plan that the contract is tried out with needs so many launches: the machine, the decoy, the unknown offering."""
MACHINES_MOST = 3
"""The machine, its double where a token is not heeded, and the decoy where there is nothing free to make it of."""
_LOOK_S = 120.0


class Broken(Exception):
    """A clause does not hold, and why."""


class Untold(Exception):
    """Whether a clause holds could not be told, and why."""


@dataclass(slots=True)
class Stage:
    """One try-out: its provider and candidate, and what the clauses have made so far.

    `allow` are the addresses (CIDR, commas between) that a firewall lets in, as in `CreateRequest`.
    """

    office: ProvisionContext
    provider: Provider
    candidate: Candidate
    launches: Sequence[Launch]
    ttl_s: float
    patience: Patience | None = None
    allow: str = ""
    beneath: dict[str, str] = field(default_factory=dict)
    request: CreateRequest | None = None
    lease: Lease | None = None
    decoy: Lease | None = None
    machine: Machine | None = None
    doubles: list[Lease] = field(default_factory=list)

    @property
    def study(self) -> str:
        """The study that everything is tagged with."""
        return self.office.ledger.study

    @property
    def waits(self) -> Patience:
        """How long is waited for lists to catch up, and for ends."""
        kept = self.patience or patience_with(self.provider)
        return replace(kept, grace_s=min(kept.grace_s, _LOOK_S))

    def made(self) -> tuple[CreateRequest, Handle]:
        """The machine that all clauses are about; raises Untold where none was made."""
        handle = self.lease.handle() if self.lease else None
        if self.request is None or handle is None:
            raise Untold("nothing was made")
        return self.request, handle


@dataclass(frozen=True, slots=True)
class Clause:
    """One promise: a short name, the promise in words, and how it is tried out."""

    name: str
    text: str
    attempt: Callable[[Stage], Awaitable[None]] = field(repr=False)


async def make(stage: Stage, launch: Launch, part: Part, **changes: Any) -> tuple[CreateRequest, Lease]:
    """One resource, its intent on the disk first; what is not refused for good may exist and stays in the ledger."""
    ledger = stage.office.ledger
    request = replace(ledger.request_for(stage.candidate, launch, stage.ttl_s, part), **changes)
    await ledger.accounts.settle(stage.provider)
    lease = ledger.intend(request, stage.provider, stage.candidate)
    try:
        cloud_id = await stage.provider.create(request)
    except NOTHING_MADE as fault:
        ledger.write(lease, LeaseEvent.REFUSED, detail=str(fault))
        raise
    except BaseException as error:
        ledger.write(lease, LeaseEvent.INDETERMINATE, detail=f"{type(error).__name__} during the request")
        raise
    ledger.ownership.record_made(stage.provider, Handle(lease.kind, lease.region, cloud_id))
    return request, ledger.write(lease, LeaseEvent.CREATED, cloud_id=cloud_id)


def part(stage: Stage, kind: str) -> Part:
    """A part that stands on what was made before it; a machine reached by SSH is given its keys."""
    if kind != INSTANCE:
        return Part(kind, options=(("allow", stage.allow),) if stage.allow else ())
    options = tuple(sorted(stage.beneath.items()))
    if not isinstance(stage.provider, Remote):
        return Part(kind, options=options)
    host, client = stage.office.keys.new(), stage.office.ways.client.public
    return Part(
        kind, options=options, access=Access(host, client, stage.office.keys.user_data(host, client, stage.ttl_s))
    )


async def listed(stage: Stage, handle: Handle, study: str, token: str | None) -> TaggedResource:
    """The resource as it is listed, once lists have caught up; raises Broken where they never do."""
    seen: list[TaggedResource] = []

    async def look() -> bool:
        found = await stage.provider.find(study, token, region=handle.region)
        seen.extend(one for one in found if one.cloud_id == handle.cloud_id)
        return bool(seen)

    if not await until(stage, look):
        raise Broken(f"it is not listed after {stage.waits.grace_s:g} s")
    return seen[0]


async def until(stage: Stage, look: Callable[[], Awaitable[bool]]) -> bool:
    """Look again and again until it is so, or the grace has passed."""
    time, waits = stage.office.ledger.time, stage.waits
    began = time.monotonic()
    while not await look():
        if time.monotonic() - began >= waits.grace_s:
            return False
        await time.sleep(waits.poll_s)
    return True
