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

_UNREACHABLE = "UNREACHABLE"


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
    filter_text = f'labels.{STUDY_LABEL}="{label(study)}"'
    if token is not None:
        filter_text = f'({filter_text}) OR (labels.{TOKEN_LABEL}="{label(token)}")'
    machines, permanent = await _machines(sdk, filter_text, region)
    resources = [*machines, *await _volumes(sdk, filter_text, region, permanent)]
    resources += [item for item in await firewalls.find() if region in (None, item.region)]
    ours = [item for item in resources if belongs(item, study, token)]
    return tuple({(item.kind, item.cloud_id): item for item in ours}.values())


async def machines_of(sdk: Sdk, region: str, token: str) -> list[TaggedResource]:
    """The machines of a region that were created with a token."""
    machines, _ = await _machines(sdk, f'labels.{TOKEN_LABEL}="{label(token)}"', region)
    return [item for item in machines if item.token == token]


async def leftovers(sdk: Sdk, firewalls: Firewalls) -> Listing:
    """All resources with the schema tag, and a line for each kind or zone that cannot be listed."""
    ours, permanent, unreached = f"labels.{SCHEMA_LABEL}:*", set[str](), list[str]()

    async def listed(service: str) -> list[Any]:
        scopes = await _scopes(sdk, service, ours, None)
        unreached.extend(f"{place}: {service}: it cannot be reached" for place in scopes.unreached)
        return scopes.items

    async def machines() -> list[TaggedResource]:
        items = await listed("instances")
        permanent.update(_permanent_disks(items))
        return [_machine(one) for one in items]

    async def disks() -> list[TaggedResource]:
        return [_volume(one) for one in await listed("disks") if _is_permanent(one, permanent)]

    listing = await list_leftovers([("instances", machines), ("disks", disks), ("firewall rules", firewalls.find)])
    return Listing(listing.found, (*unreached, *listing.unlisted))


async def _machines(sdk: Sdk, filter_text: str, region: str | None) -> tuple[list[TaggedResource], set[str]]:
    """The machines that match a filter, and their disks that would not end with them."""
    items = (await _complete(sdk, "instances", filter_text, region)).items
    return [_machine(one) for one in items], _permanent_disks(items)


async def _volumes(sdk: Sdk, filter_text: str, region: str | None, permanent: set[str]) -> list[TaggedResource]:
    """Disks that no machine deletes when it ends."""
    items = (await _complete(sdk, "disks", filter_text, region)).items
    return [_volume(one) for one in items if _is_permanent(one, permanent)]


async def _complete(sdk: Sdk, service: str, filter_text: str, region: str | None) -> Scopes:
    scopes = await _scopes(sdk, service, filter_text, region)
    if scopes.unreached:
        where = f"{sdk.name}/{', '.join(scopes.unreached)}"
        raise IncompleteListing.at(where, f"its {service} cannot be listed: it cannot be reached", "ask again")
    return scopes


async def _scopes(sdk: Sdk, service: str, filter_text: str, region: str | None) -> Scopes:
    """An aggregated list, limited to the region, also in its unreachable zones."""
    result = Scopes()
    pages = await sdk.pages(service, "aggregated_list", filter=filter_text)
    for page in pages:
        result.unreached += [zone for zone in map(_last_part, page.unreachables) if _is_in(zone, region)]
        for scope, content in page.items.items():
            zone = _last_part(scope)
            if not _is_in(zone, region):
                continue
            result.items += getattr(content, service)
            if content.warning and str(content.warning.code) == _UNREACHABLE:
                result.unreached.append(zone)
    result.unreached = sorted(set(result.unreached))
    return result


def _last_part(scope: str) -> str:
    """The last part of a scope or link: the zone or region of `zones/us-central1-a`."""
    return scope.rsplit("/", 1)[-1]


def _is_in(place: str, region: str | None) -> bool:
    return region is None or place == region or region_of(place) == region


def region_of(zone: str) -> str:
    """The region of a zone, by its name: https://cloud.google.com/compute/docs/regions-zones"""
    return zone.rpartition("-")[0]


def _permanent_disks(machines: Iterable[Any]) -> set[str]:
    return {_path(disk.source) for one in machines for disk in one.disks if disk.source and not disk.auto_delete}


def _is_permanent(disk: Any, permanent: set[str]) -> bool:
    """True if a disk is used by no machine, or outlives the machines that use it."""
    return str(disk.status) != "DELETING" and (not list(disk.users) or _path(disk.self_link) in permanent)


def _path(link: str) -> str:
    return "/".join(str(link).split("/")[-4:])


def _machine(one: Any) -> TaggedResource:
    text = next((str(item.value) for item in one.metadata.items if item.key == ITEM), "")
    tags, token = tags_and_token(text, dict(one.labels))
    zone, kind = _last_part(one.zone), _last_part(one.machine_type) or None
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
    zone, kind = _last_part(one.zone), _last_part(one.type_) or None
    return TaggedResource(
        f"{zone}/{one.name}", str(one.name), token, tags, str(one.status), VOLUME, region_of(zone), kind
    )
