"""One run of the provider contract: what its clauses have made, and how long they poll."""

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
"""The launches of a plan for the contract: the machine, the decoy, the unknown offering."""
MACHINES_MOST = 3
"""The machine, its double if tokens are ignored, and the decoy if nothing free can be one."""
_LOOK_S = 120.0


class ClauseBroken(Exception):
    """A clause does not hold; the text is the reason."""


class Inconclusive(Exception):
    """It is undecided whether a clause holds; the text is the reason."""


@dataclass(slots=True)
class ContractRun:
    """One run: its provider and candidate, and what the clauses have made so far.

    `allow` are the addresses (CIDR, separated by commas) that a firewall admits, as in `CreateRequest`.
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
        """The study in the tags."""
        return self.context.ledger.study

    @property
    def waits(self) -> Patience:
        """How long to wait for lists to catch up, and for ends."""
        kept = self.patience or patience_with(self.provider)
        return replace(kept, grace_s=min(kept.grace_s, _LOOK_S))

    def require_machine(self) -> tuple[CreateRequest, Handle]:
        """Returns the machine that the clauses test; raises Inconclusive if none was made."""
        handle = self.lease.handle() if self.lease else None
        if self.request is None or handle is None:
            raise Inconclusive("nothing was made")
        return self.request, handle


@dataclass(frozen=True, slots=True)
class Clause:
    """One promise: a short name, its text, and its test."""

    name: str
    text: str
    attempt: Callable[[ContractRun], Awaitable[None]] = field(repr=False)


async def make(run: ContractRun, launch: Launch, part: Part, **changes: Any) -> tuple[CreateRequest, Lease]:
    """Creates one resource after writing its intent; unless it is refused for good, it stays in the ledger."""
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
    """Returns a part that uses what was made before it; a machine with SSH gets its keys."""
    if kind != INSTANCE:
        return Part(kind, options=(("allow", run.allow),) if run.allow else ())
    options = tuple(sorted(run.dependencies.items()))
    if not isinstance(run.provider, Remote):
        return Part(kind, options=options)
    host, client = run.context.keys.new(), run.context.connector.client.public
    return Part(kind, options=options, access=Access(host, client, run.context.keys.user_data(host, client, run.ttl_s)))


async def listed(run: ContractRun, handle: Handle, study: str, token: str | None) -> TaggedResource:
    """Returns the resource as listed, once lists have caught up; raises ClauseBroken if they never do."""
    seen: list[TaggedResource] = []

    async def look() -> bool:
        resources = await run.provider.find(study, token, region=handle.region)
        seen.extend(one for one in resources if one.cloud_id == handle.cloud_id)
        return bool(seen)

    if not await until(run, look):
        raise ClauseBroken(f"it is not listed after {run.waits.grace_s:g} s")
    return seen[0]


async def until(run: ContractRun, look: Callable[[], Awaitable[bool]]) -> bool:
    """Polls until a condition is true; False after the grace period."""
    time, waits = run.context.ledger.time, run.waits
    began = time.monotonic()
    while not await look():
        if time.monotonic() - began >= waits.grace_s:
            return False
        await time.sleep(waits.poll_s)
    return True
