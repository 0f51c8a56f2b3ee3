"""Lists existing resources of a long-tail cloud completely, or raises. No cloud here filters by record."""

from collections.abc import Awaitable, Callable, Sequence
from functools import partial

from cloudcmp.model.lease import FIREWALL, INSTANCE, Listing, TaggedResource
from cloudcmp.provider.common.inventory import belongs, list_leftovers
from cloudcmp.provider.longtail import labels
from cloudcmp.provider.longtail.dialect import Api, ListedResource

TAG = "tag"
"""The kind of a tag that no resource has any more, where tags outlive their users."""


async def find(api: Api, study: str, token: str | None, region: str | None) -> tuple[TaggedResource, ...]:
    """Resources with the study's tag or the token, in a region or in all; raises IncompleteListing."""
    resources = [item for kind in LISTS for item in await kind(api)]
    mine = [
        item
        for item in resources
        if belongs(item, study, token) and (not region or not item.region or item.region == region)
    ]
    return tuple(mine)


async def leftovers(api: Api) -> Listing:
    """All resources with the schema tag, and a line for each kind that cannot be listed."""
    return await list_leftovers([(f"{api.cloud.name}: {word}", partial(kind, api)) for kind, word in LISTS.items()])


async def machines(api: Api) -> list[ListedResource]:
    """All machines of the account."""
    dialect = api.cloud.dialect
    return [dialect.machine(one) for one in await api.all(*dialect.machines)]


async def firewalls(api: Api) -> list[ListedResource]:
    """All firewalls of the account."""
    dialect = api.cloud.dialect
    return [dialect.firewall(one) for one in await api.all(*dialect.firewalls)]


async def idle_tags(api: Api) -> list[ListedResource]:
    """Our tags that no resource has, by the cloud's own count; none if tags do not outlive their users."""
    path = api.cloud.dialect.tags
    listed = await api.all(*path) if path else []
    names = [str(one["name"]) for one in listed if one.get("resources", {}).get("count", 1) == 0]
    return [ListedResource(name, name, (name,)) for name in names]


async def _instances(api: Api) -> list[TaggedResource]:
    return [to_resource(item, INSTANCE, labels.MACHINE) for item in await machines(api)]


async def _firewalls(api: Api) -> list[TaggedResource]:
    return [to_resource(item, FIREWALL, labels.FIREWALL) for item in await firewalls(api)]


async def _tags(api: Api) -> list[TaggedResource]:
    """Idle tags to which no firewall applies; a record in pieces only if all its pieces are idle."""
    idle = await idle_tags(api)
    in_use = {tag for item in await firewalls(api) for tag in item.tags} if idle else set[str]()
    free = [item for item in idle if item.id not in in_use]
    names = [item.id for item in free]
    resources: list[TaggedResource] = []
    for prefix in (labels.MACHINE, labels.FIREWALL):
        for item in free:
            if not labels.has_prefix(item.id, prefix):
                continue
            record = labels.read([item.id, *_siblings(item.id, names)], prefix)
            if record is not None:
                resources.append(
                    TaggedResource(
                        item.id, record.name or item.id, record.token, record.tags, "idle", TAG, record.region or ""
                    )
                )
    return list({item.cloud_id: item for item in resources}.values())


def _siblings(tag: str, tags: Sequence[str]) -> list[str]:
    """The other pieces of a record that was cut."""
    head = tag.rpartition(":")[0].rpartition("-")[0]
    return [other for other in tags if head and other != tag and other.startswith(f"{head}-")]


def to_resource(item: ListedResource, kind: str, prefix: str) -> TaggedResource:
    """A resource in the ledger's form; without a complete record it has no tags."""
    record = labels.read(item.tags, prefix) or labels.Record(())
    name = record.name or item.name
    region = item.region or record.region or ""
    return TaggedResource(item.id, name, record.token, record.tags, item.status, kind, region, item.offering)


List = Callable[[Api], Awaitable[list[TaggedResource]]]
LISTS: dict[List, str] = {_instances: "machines", _firewalls: "firewalls", _tags: "tags"}
