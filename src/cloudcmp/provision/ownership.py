"""Proves which resources a study may destroy: those of this process, and those with the study's tags and token.

A ledger is a file, which may be damaged, forged or foreign. So its rows are not enough to destroy anything: the cloud
must list the resource. The create call sets tags and token.
"""

import asyncio
import hashlib
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from cloudcmp.model.lease import INCOMPLETE, Handle, Lease, TaggedResource
from cloudcmp.model.leftover import study_digest, tag
from cloudcmp.model.protocol import Provider, Untagged
from cloudcmp.provider.time import Time

SCHEMA, STUDY, SLOT, ATTEMPT = "cloudcmp:schema", "cloudcmp:study", "cloudcmp:slot", "cloudcmp:attempt"
_OURS = "cloudcmp:"
_FRESH_S = 30.0
KEPT = "it is kept: see the provider's console, and end it there if it is yours"
"""The advice for a resource that is not proved to be ours."""
Key = tuple[str, str]


class Sighting(Enum):
    """What a complete list shows of a resource: the lease's own, a foreign one, or nothing."""

    OURS = "ours"
    FOREIGN = "foreign"
    UNSEEN = "unseen"


@dataclass(frozen=True, slots=True)
class Proof:
    """Whether a resource is proved to be a lease's own, and the reason why it is kept if not."""

    sighting: Sighting
    why: str = ""


PROVED = Proof(Sighting.OURS)


@dataclass(frozen=True, slots=True)
class _List:
    """All resources of a study in a region, and the time of the list (monotonic s)."""

    at: float
    resources: Mapping[Key, TaggedResource]


class Ownership:
    """Decides which resources are a study's own. `schema` is the known version of the tags."""

    def __init__(self, study: str, schema: str, time: Time) -> None:
        self._study = study
        self._schema = schema
        self._time = time
        self._made: set[tuple[str, Handle]] = set()
        self._lists: dict[Key, asyncio.Task[_List]] = {}

    def record_made(self, provider: Provider, handle: Handle) -> None:
        """Records the result of a create call in this process."""
        self._made.add((provider.name, handle))

    def is_made_here(self, provider: Provider, handle: Handle) -> bool:
        """True if this process made a resource: it need not be read back."""
        return (provider.name, handle) in self._made

    async def prove(self, provider: Provider, lease: Lease, handle: Handle) -> Proof:
        """Reads a resource back; concurrent calls for a region share one list.

        Raises the kinds of ProviderFault if the list is incomplete: then nothing is proved.
        """
        if self.is_made_here(provider, handle):
            return PROVED
        key = (handle.kind, handle.cloud_id)
        resource = (await self._listed(provider, handle.region, key)).get(key)
        if resource is None:  # without tags its token may still identify it
            some = await provider.find(self._study, lease.token, region=handle.region)
            resource = next((one for one in some if (one.kind, one.cloud_id) == key), None)
        if resource is None:
            what = f"it is not listed with the tags of this study ({STUDY}={self._study}) and the token of its lease"
            return Proof(Sighting.UNSEEN, f"{what}; {KEPT}")
        why = self.doubt(provider, resource, lease)
        return Proof(Sighting.FOREIGN, f"{why}; {KEPT}") if why else PROVED

    def doubt(self, provider: Provider, resource: TaggedResource, lease: Lease) -> str:
        """Returns why a listed resource may not be the one made for a lease; empty if it is."""
        if resource.token != lease.token:
            return "it bears no token" if resource.token is None else "it bears another token than its lease"
        if is_untagged(provider, resource):
            # A token is a digest of study, slot and attempt: only that request can have it.
            own = lease.token == token_of(self._study, lease.slot, lease.attempt)
            return "" if own else "it bears no tags, and its token is not this study's"
        schema, study = tag(resource, SCHEMA), tag(resource, STUDY)
        # Without a schema, study and token are enough, as for the decoys of the contract.
        twice = schema is None and any(name == SCHEMA for name, _ in resource.tags)
        if study is None or twice:
            return f"it has no readable tag {SCHEMA if twice else STUDY}"
        if schema not in (None, self._schema):
            return f"its tags are of schema {schema!r}, which this version does not know"
        if study != self._study:
            return f"it is another study's ({STUDY}={study})"
        own = (tag(resource, SLOT), tag(resource, ATTEMPT)) == (lease.slot, str(lease.attempt))
        is_stray = lease.attempt == 0
        return "" if own or is_stray else f"it is of another slot ({SLOT}={tag(resource, SLOT)})"

    async def _listed(self, provider: Provider, region: str, key: Key) -> Mapping[Key, TaggedResource]:
        """Returns a recent list that shows the resource, else a new one, shared by concurrent calls."""
        where = (provider.name, region)
        task = self._lists.get(where)
        if task is not None and task.done():
            known = None if task.cancelled() or task.exception() else task.result()
            if known and self._time.monotonic() - known.at <= _FRESH_S and key in known.resources:
                return known.resources
            task = None
        if task is None:
            task = self._lists[where] = asyncio.create_task(self._read(provider, region))
        return (await asyncio.shield(task)).resources

    async def _read(self, provider: Provider, region: str) -> _List:
        resources = await provider.find(self._study, region=region)
        return _List(self._time.monotonic(), {(one.kind, one.cloud_id): one for one in resources})


def is_untagged(provider: Provider, resource: TaggedResource) -> bool:
    """True if a resource has none of our tags for a known reason.

    Some clouds store no tags, and unfinished resources on the user's own machine have none yet.
    """
    lacks = isinstance(provider, Untagged) and provider.may_lack_tags
    lacks |= resource.state == INCOMPLETE and not provider.billed
    return lacks and not any(key.startswith(_OURS) for key, _ in resource.tags)


def token_of(study: str, slot: str, attempt: int) -> str:
    """Returns the idempotency token of (study, slot, attempt): a UUID, because some clouds accept nothing else.

    It ends with the study's digest: a name that holds it tells a sweep whose a resource without tags is.
    """
    digest = hashlib.sha256(f"{study}\n{slot}\n{attempt}".encode()).hexdigest()
    return str(uuid.UUID(hex=digest[:20] + study_digest(study), version=4))
