"""Lists existing Compute Engine resources completely, or raises."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from cloudcmp.errors import IncompleteListing
from cloudcmp.model.lease import INSTANCE, VOLUME, Listing, TaggedResource
from cloudcmp.provider.common.inventory import belongs, list_leftovers
from cloudcmp.provider.gcp.firewalls import Firewalls
from cloudcmp.provider.gcp.sdk import Sdk
from cloudcmp.provider.gcp.tags import ITEM, SCHEMA_LABEL, STUDY_LABEL, TOKEN_LABEL, label, tags_and_token

_UNREACHED = "UNREACHABLE"


@dataclass(slots=True)
class Scopes:
    """An aggregated list: the items, and the zones that could not be reached.

    https://cloud.google.com/compute/docs/reference/rest/v1/instances/aggregatedList
    """

    items: list[Any] = field(default_factory=list)
    unreached: list[str] = field(default_factory=list)


async def find(
    sdk: Sdk, firewalls: Firewalls, study: str, token: str | None, region: str | None
) -> tuple[TaggedResource, ...]:
    """Resources with the study's tag or the token, in one region or all, each once; raises IncompleteListing."""
    wanted = f'labels.{STUDY_LABEL}="{label(study)}"'
    if token is not None:
        wanted = f'({wanted}) OR (labels.{TOKEN_LABEL}="{label(token)}")'
    machines, staying = await _machines(sdk, wanted, region)
    found = [*machines, *await _volumes(sdk, wanted, region, staying)]
    found += [item for item in await firewalls.find() if region in (None, item.region)]
    mine = [item for item in found if belongs(item, study, token)]
    return tuple({(item.kind, item.cloud_id): item for item in mine}.values())


async def machines_of(sdk: Sdk, region: str, token: str) -> list[TaggedResource]:
    """The machines of a region that were created with a token."""
    machines, _ = await _machines(sdk, f'labels.{TOKEN_LABEL}="{label(token)}"', region)
    return [item for item in machines if item.token == token]


async def leftovers(sdk: Sdk, firewalls: Firewalls) -> Listing:
    """All resources with the schema tag, and a line for each kind or zone that cannot be listed."""
    ours, staying, unreached = f"labels.{SCHEMA_LABEL}:*", set[str](), list[str]()

    async def listed(service: str) -> list[Any]:
        scopes = await _scopes(sdk, service, ours, None)
        unreached.extend(f"{place}: {service}: it cannot be reached" for place in scopes.unreached)
        return scopes.items

    async def machines() -> list[TaggedResource]:
        items = await listed("instances")
        staying.update(_staying(items))
        return [_machine(one) for one in items]

    async def disks() -> list[TaggedResource]:
        return [_volume(one) for one in await listed("disks") if _stays(one, staying)]

    found = await list_leftovers([("instances", machines), ("disks", disks), ("firewall rules", firewalls.find)])
    return Listing(found.found, (*unreached, *found.unlisted))


async def _machines(sdk: Sdk, wanted: str, region: str | None) -> tuple[list[TaggedResource], set[str]]:
    """The machines that match a filter, and their disks that would not end with them."""
    items = (await _whole(sdk, "instances", wanted, region)).items
    return [_machine(one) for one in items], _staying(items)


async def _volumes(sdk: Sdk, wanted: str, region: str | None, staying: set[str]) -> list[TaggedResource]:
    """Disks that no machine deletes when it ends."""
    items = (await _whole(sdk, "disks", wanted, region)).items
    return [_volume(one) for one in items if _stays(one, staying)]


async def _whole(sdk: Sdk, service: str, wanted: str, region: str | None) -> Scopes:
    scopes = await _scopes(sdk, service, wanted, region)
    if scopes.unreached:
        where = f"{sdk.name}/{', '.join(scopes.unreached)}"
        raise IncompleteListing.at(where, f"its {service} cannot be listed: it cannot be reached", "ask again")
    return scopes


async def _scopes(sdk: Sdk, service: str, wanted: str, region: str | None) -> Scopes:
    """An aggregated list, limited to the region, also in its unreachable zones."""
    found = Scopes()
    pages = await sdk.pages(service, "aggregated_list", filter=wanted)
    for page in pages:
        found.unreached += [place for place in map(_place, page.unreachables) if _within(place, region)]
        for scope, held in page.items.items():
            place = _place(scope)
            if not _within(place, region):
                continue
            found.items += getattr(held, service)
            if held.warning and str(held.warning.code) == _UNREACHED:
                found.unreached.append(place)
    found.unreached = sorted(set(found.unreached))
    return found


def _place(scope: str) -> str:
    """The last part of a scope or link: the zone or region of `zones/us-central1-a`."""
    return scope.rsplit("/", 1)[-1]


def _within(place: str, region: str | None) -> bool:
    return region is None or place == region or region_of(place) == region


def region_of(zone: str) -> str:
    """The region of a zone, by its name: https://cloud.google.com/compute/docs/regions-zones"""
    return zone.rpartition("-")[0]


def _staying(machines: Iterable[Any]) -> set[str]:
    return {_path(disk.source) for one in machines for disk in one.disks if disk.source and not disk.auto_delete}


def _stays(disk: Any, staying: set[str]) -> bool:
    """True if a disk is used by no machine, or outlives the machines that use it."""
    return str(disk.status) != "DELETING" and (not list(disk.users) or _path(disk.self_link) in staying)


def _path(link: str) -> str:
    return "/".join(str(link).split("/")[-4:])


def _machine(one: Any) -> TaggedResource:
    text = next((str(item.value) for item in one.metadata.items if item.key == ITEM), "")
    tags, token = tags_and_token(text, dict(one.labels))
    zone, kind = _place(one.zone), _place(one.machine_type) or None
    return TaggedResource(
        f"{zone}/{one.name}",
        str(one.name),
        token,
        tags,
        str(one.status),
        INSTANCE,
        region_of(zone),
        kind,
    )


def _volume(one: Any) -> TaggedResource:
    tags, token = tags_and_token(str(one.description), dict(one.labels))
    zone, kind = _place(one.zone), _place(one.type_) or None
    return TaggedResource(
        f"{zone}/{one.name}", str(one.name), token, tags, str(one.status), VOLUME, region_of(zone), kind
    )
