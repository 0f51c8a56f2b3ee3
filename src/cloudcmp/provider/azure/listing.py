"""Lists existing Azure resources, of all regions at once, completely, or raises."""

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

from cloudcmp.errors import IncompleteListing
from cloudcmp.model.lease import FIREWALL, INSTANCE, VOLUME, Listing, TaggedResource
from cloudcmp.provider.azure.names import NAME_TAG, canonical
from cloudcmp.provider.azure.sdk import Sdk
from cloudcmp.provider.common.inventory import TOKEN_TAG, belongs, list_leftovers

_OWN_TAGS = {TOKEN_TAG, NAME_TAG}


async def find(sdk: Sdk, study: str, token: str | None, region: str | None) -> tuple[TaggedResource, ...]:
    """Resources with the study's tag or the token, in a region or in all; raises IncompleteListing."""
    resources = [item for kind in _LISTS for item in await kind(sdk)]
    return tuple(item for item in resources if belongs(item, study, token) and region in {None, item.region})


async def leftovers(sdk: Sdk) -> Listing:
    """All resources with the schema tag, and a line for each kind that cannot be listed."""
    return await list_leftovers([(word, partial(kind, sdk)) for kind, word in _LISTS.items()])


async def _machines(sdk: Sdk) -> list[TaggedResource]:
    listed = await sdk.pages("compute", "virtual_machines", "list_all")
    return [_resource(response, INSTANCE, offering=_size(response)) for response in listed]


async def _disks(sdk: Sdk) -> list[TaggedResource]:
    """Disks attached to no machine: an attached disk ends with its machine."""
    listed = await sdk.pages("compute", "disks", "list")
    return [_resource(response, VOLUME) for response in listed if not response.get("managedBy")]


async def _groups(sdk: Sdk) -> list[TaggedResource]:
    listed = await sdk.pages("resource", "resource_groups", "list")
    return [_resource(response, FIREWALL) for response in listed]


List = Callable[[Sdk], Awaitable[list[TaggedResource]]]
_LISTS: dict[List, str] = {_machines: "machines", _disks: "disks", _groups: "resource groups"}


def _resource(response: dict[str, Any], kind: str, offering: str | None = None) -> TaggedResource:
    tags = {str(key): str(value) for key, value in (response.get("tags") or {}).items()}
    try:
        id, name, region = canonical(str(response["id"])), str(response["name"]), str(response["location"])
    except KeyError as error:
        raise IncompleteListing.at("azure", f"a list names a resource without its {error}", "ask again") from None
    state = str((response.get("properties") or {}).get("provisioningState", "unknown"))
    study_tags = tuple(sorted((key, value) for key, value in tags.items() if key not in _OWN_TAGS))
    return TaggedResource(
        id, tags.get(NAME_TAG, name), tags.get(TOKEN_TAG), study_tags, state, kind, region.lower(), offering
    )


def _size(response: dict[str, Any]) -> str | None:
    size = ((response.get("properties") or {}).get("hardwareProfile") or {}).get("vmSize")
    return str(size) if size else None
