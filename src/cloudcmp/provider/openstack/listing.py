"""Lists existing OpenStack resources completely, or raises."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any

from cloudcmp.errors import IncompleteListing
from cloudcmp.model.lease import ADDRESS, FIREWALL, INSTANCE, VOLUME, Listing, TaggedResource
from cloudcmp.provider.common.inventory import belongs, list_leftovers
from cloudcmp.provider.openstack.firewalls import PLACEMENT, Firewalls
from cloudcmp.provider.openstack.floating_addresses import FloatingAddresses
from cloudcmp.provider.openstack.launch import SERVER, TOKEN
from cloudcmp.provider.openstack.sdk import BLOCKS, COMPUTE, Sdk

_AT_ONCE = 4
_DELETED = {"DELETED"}
_PAGE = "1000"


@dataclass(frozen=True, slots=True)
class Lists:
    """The lists of one cloud. Nova cannot filter servers by metadata for ordinary users, so all are read."""

    sdk: Sdk
    firewalls: Firewalls
    floatings: FloatingAddresses

    async def find(self, region: str, study: str, token: str | None) -> tuple[TaggedResource, ...]:
        """Resources in a region with the study's tag or the token, each once; raises IncompleteListing."""
        results = await asyncio.gather(*(kind(region) for kind in self._kinds))
        resources = [item for items in results for item in items]
        return tuple(item for item in resources if belongs(item, study, token))

    async def leftovers(self, regions: Callable[[], Awaitable[Iterable[str]]]) -> Listing:
        """All resources with the schema tag in all regions, and a line for each failed list."""
        lists = [
            (f"{region}: {word}", partial(kind, region))
            for region in await regions()
            for kind, word in self._kinds.items()
        ]
        return await list_leftovers(lists, _AT_ONCE)

    @property
    def _kinds(self) -> "dict[Kind, str]":
        return {
            self.servers: "servers",
            self._volumes: "volumes",
            self._addresses: "floating addresses",
            self._placements: "server groups",
            self._groups: "security groups",
        }

    async def servers(self, region: str) -> list[TaggedResource]:
        """All servers of the project; raises IncompleteListing if one lacks its metadata.

        Servers of a cell that is down do: https://docs.openstack.org/api-guide/compute/down_cells.html
        """
        listed = await self.sdk.pages(region, COMPUTE, "/servers/detail", "servers", limit=_PAGE)
        incomplete = [one for one in listed if not isinstance(one.get("metadata"), dict)]
        if incomplete:
            what = f"{len(incomplete)} servers are listed without metadata: a part of this Nova does not answer"
            raise IncompleteListing.at(f"{self.sdk.name}/{region}", what, "ask again")
        return [item for item in (_server(region, response) for response in listed) if item.state not in _DELETED]

    async def _volumes(self, region: str) -> list[TaggedResource]:
        """Volumes with our tags that no machine deletes when it ends."""
        if not await self.sdk.has(region, BLOCKS):
            return []
        resources = [_volume(region, one) for one in await volumes(self.sdk, region) if not one.get("attachments")]
        return [item for item in resources if item.state not in {"deleting", "deleted"}]

    async def _addresses(self, region: str) -> list[TaggedResource]:
        return [
            TaggedResource(one.id, one.address, one.mark.token, one.mark.tags, one.state, ADDRESS, region)
            for one in await self.floatings.all(region)
        ]

    async def _placements(self, region: str) -> list[TaggedResource]:
        return [
            TaggedResource(PLACEMENT + id, policy, mark.token, mark.tags, "there", FIREWALL, region)
            for id, policy, mark in await self.firewalls.placements(region)
        ]

    async def _groups(self, region: str) -> list[TaggedResource]:
        return [
            TaggedResource(id, name, mark.token, mark.tags, "there", FIREWALL, region)
            for id, name, mark in await self.firewalls.groups(region)
        ]


Kind = Callable[[str], Awaitable[list[TaggedResource]]]


async def volumes(sdk: Sdk, region: str) -> list[dict[str, Any]]:
    """All volumes of the project."""
    return await sdk.pages(region, BLOCKS, "/volumes/detail", "volumes", limit=_PAGE)


def offering_of(response: dict[str, Any]) -> str | None:
    """The name of a server's flavor, None if Nova reports only its id."""
    flavor = response.get("flavor") or {}
    return str(flavor["original_name"]) if flavor.get("original_name") else None


def _server(region: str, response: dict[str, Any]) -> TaggedResource:
    tags = {str(key): str(value) for key, value in response["metadata"].items()}
    token = tags.pop(TOKEN, None)
    name, state = str(response.get("name") or ""), str(response.get("status") or "unknown")
    return TaggedResource(
        str(response["id"]), name, token, tuple(sorted(tags.items())), state, INSTANCE, region, offering_of(response)
    )  # fmt: skip


def _volume(region: str, response: dict[str, Any]) -> TaggedResource:
    metadata = {str(key): str(value) for key, value in (response.get("metadata") or {}).items()}
    token = metadata.pop(TOKEN, None)
    metadata.pop(SERVER, None)
    name, state = str(response.get("name") or ""), str(response.get("status") or "unknown")
    tags = tuple(sorted(metadata.items()))
    return TaggedResource(str(response["id"]), name, token, tags, state, VOLUME, region, response.get("volume_type"))
