"""One run of the provider contract: what its clauses have made, and how long they look for it."""

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


class ClauseBroken(Exception):
    """Why a clause does not hold."""


class Inconclusive(Exception):
    """Why it is unknown whether a clause holds."""


@dataclass(slots=True)
class ContractRun:
    """One run: its provider and candidate, and what the clauses have made so far.

    `allow` are the addresses (CIDR, commas between) that a firewall lets in, as in `CreateRequest`.
    """

    context: ProvisionContext
    provider: Provider
    candidate: Candidate
    launches: Sequence[Launch]
    ttl_s: float
    patience: Patience | None = None
    allow: str = ""
    dependencies: dict[str, str] = field(default_factory=dict)
    request: CreateRequest | None = None
    lease: Lease | None = None
    decoy: Lease | None = None
    machine: Machine | None = None
    doubles: list[Lease] = field(default_factory=list)

    @property
    def study(self) -> str:
        """The study that everything is tagged with."""
        return self.context.ledger.study

    @property
    def waits(self) -> Patience:
        """How long is waited for lists to catch up, and for ends."""
        kept = self.patience or patience_with(self.provider)
        return replace(kept, grace_s=min(kept.grace_s, _LOOK_S))

    def require_machine(self) -> tuple[CreateRequest, Handle]:
        """The machine that all clauses are about; raises Untold where none was made."""
        handle = self.lease.handle() if self.lease else None
        if self.request is None or handle is None:
            raise Inconclusive("nothing was made")
        return self.request, handle


@dataclass(frozen=True, slots=True)
class Clause:
    """One promise: a short name, the promise in words, and how it is tried out."""

    name: str
    text: str
    attempt: Callable[[ContractRun], Awaitable[None]] = field(repr=False)


async def make(run: ContractRun, launch: Launch, part: Part, **changes: Any) -> tuple[CreateRequest, Lease]:
    """One resource, its intent on the disk first; what is not refused for good may exist and stays in the ledger."""
    ledger = run.context.ledger
    request = replace(ledger.request_for(run.candidate, launch, run.ttl_s, part), **changes)
    await ledger.accounts.settle(run.provider)
    lease = ledger.intend(request, run.provider, run.candidate)
    try:
        cloud_id = await run.provider.create(request)
    except NOTHING_MADE as fault:
        ledger.write(lease, LeaseEvent.REFUSED, detail=str(fault))
        raise
    except BaseException as error:
        ledger.write(lease, LeaseEvent.INDETERMINATE, detail=f"{type(error).__name__} during the request")
        raise
    ledger.ownership.record_made(run.provider, Handle(lease.kind, lease.region, cloud_id))
    return request, ledger.write(lease, LeaseEvent.CREATED, cloud_id=cloud_id)


def part(run: ContractRun, kind: str) -> Part:
    """A part that stands on what was made before it; a machine reached by SSH is given its keys."""
    if kind != INSTANCE:
        return Part(kind, options=(("allow", run.allow),) if run.allow else ())
    options = tuple(sorted(run.dependencies.items()))
    if not isinstance(run.provider, Remote):
        return Part(kind, options=options)
    host, client = run.context.keys.new(), run.context.connector.client.public
    return Part(kind, options=options, access=Access(host, client, run.context.keys.user_data(host, client, run.ttl_s)))


async def listed(run: ContractRun, handle: Handle, study: str, token: str | None) -> TaggedResource:
    """The resource as it is listed, once lists have caught up; raises Broken where they never do."""
    seen: list[TaggedResource] = []

    async def look() -> bool:
        found = await run.provider.find(study, token, region=handle.region)
        seen.extend(one for one in found if one.cloud_id == handle.cloud_id)
        return bool(seen)

    if not await until(run, look):
        raise ClauseBroken(f"it is not listed after {run.waits.grace_s:g} s")
    return seen[0]


async def until(run: ContractRun, look: Callable[[], Awaitable[bool]]) -> bool:
    """Look again and again until it is so, or the grace has passed."""
    time, waits = run.context.ledger.time, run.waits
    began = time.monotonic()
    while not await look():
        if time.monotonic() - began >= waits.grace_s:
            return False
        await time.sleep(waits.poll_s)
    return True
