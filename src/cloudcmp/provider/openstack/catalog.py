"""Regions, flavors, images and networks of an OpenStack, with hints for unknown names."""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Any

from cloudcmp.errors import ProviderFault, Refused
from cloudcmp.model.offering import Offering
from cloudcmp.model.promise import Promise, Promised, positive, promise_of
from cloudcmp.provider.common.suggestions import check_name, nearest
from cloudcmp.provider.openstack.images import DEFAULT, Image, find_image
from cloudcmp.provider.openstack.networks import Network, choose_network
from cloudcmp.provider.openstack.sdk import BLOCKS, COMPUTE, Sdk


@dataclass(frozen=True, slots=True)
class Flavor:
    """A flavor: id, name, and the size of its disk (GiB), 0 for none."""

    id: str
    name: str
    disk_gib: int


class OfferingCatalog:
    """Fetches each list once."""

    def __init__(self, name: str, sdk: Sdk) -> None:
        self._name, self._sdk = name, sdk
        self._regions: tuple[str, ...] = ()
        self._flavors: dict[str, list[Any]] = {}
        self._images: dict[tuple[str, str], Image] = {}
        self._networks: dict[tuple[str, str, str], Network] = {}

    def offerings(self, region: str | None = None) -> tuple[Offering, ...]:
        """The flavors of a region (default: the settings'), without prices; none for an unknown region."""

        def fetch() -> tuple[str, list[Any]]:
            place = region or self._sdk.default_region()
            return place, self._fetch_flavors(place) if place in self._sdk.regions() else []

        place, listed = self._sdk.run_blocking(fetch, region or "")
        day = datetime.now(UTC).date()
        by_name = {one.name: one for one in (offering_of(self._name, place, response, day) for response in listed)}
        return tuple(sorted(by_name.values(), key=lambda one: one.name))

    def _fetch_flavors(self, region: str) -> list[Any]:
        if region not in self._flavors:
            self._flavors[region] = self._sdk.pages_blocking(region, COMPUTE, "/flavors/detail", "flavors")
        return self._flavors[region]

    async def regions(self) -> tuple[str, ...]:
        """The regions in which the service catalogue has Nova."""
        if not self._regions:
            self._regions = await self._sdk.run_in_thread(self._sdk.regions, "")
        return self._regions

    async def check_region(self, region: str) -> None:
        """Raises Refused with the nearest name for an unknown region."""
        check_name(self._name, f"there is no region {region!r}", region, await self.regions())

    async def flavor(self, region: str, name: str) -> Flavor:
        """The flavor of a name; raises Refused with the nearest name for an unknown one."""
        entries = await self._sdk.run_in_thread(lambda: self._fetch_flavors(region), region)
        entry = next((one for one in entries if one.get("name") == name), None)
        if entry is None:
            hint = nearest(name, [str(one.get("name")) for one in entries])
            raise Refused.at(f"{self._name}/{region}", f"there is no flavor {name!r}", hint)
        return Flavor(str(entry["id"]), name, int(entry.get("disk") or 0))

    async def image(self, region: str, options: Mapping[str, str]) -> Image:
        """The image of a machine: the study's, or the newest Ubuntu LTS."""
        image_name = options.get("image") or DEFAULT
        if (region, image_name) not in self._images:
            self._images[region, image_name] = await find_image(self._sdk, region, image_name)
        return self._images[region, image_name]

    async def network(self, region: str, options: Mapping[str, str]) -> Network:
        """The network of a machine, and whether it needs a floating address."""
        key = (region, options.get("network", ""), options.get("address", ""))
        if key not in self._networks:
            self._networks[key] = await choose_network(self._sdk, region, options)
        return self._networks[key]

    async def prefetch(self, region: str, offering: str, options: Mapping[str, str]) -> None:
        """Fetches in advance what a server needs. A failure is ignored here: the machine's own request reports it."""
        with suppress(ProviderFault):
            await self.flavor(region, offering)
            await self.image(region, options)
            await self.network(region, options)
            await self._sdk.has(region, BLOCKS)


def offering_of(provider: str, region: str, response: Mapping[str, Any], day: date | None = None) -> Offering:
    """An offering from a flavor of a day, without category: https://docs.openstack.org/api-ref/compute/#flavors"""
    memory_mib, vcpus = response.get("ram"), response.get("vcpus")
    return Offering(
        provider=provider,
        region=region,
        name=str(response["name"]),
        vcpus=float(vcpus) if vcpus else None,
        memory_gib=memory_mib / 1024 if memory_mib else None,
        attributes=tuple(sorted(_attributes(response))),
        promises=tuple(_promises(response.get("extra_specs") or {}, day)),
    )


_SOURCE = "quotas of the flavor"
_KILOBYTE = 1000.0  # libvirt hands rates in kilobytes to tc, whose kilo is 1000


def _promises(specs: Mapping[str, Any], day: date | None) -> Iterator[Promise]:
    """The limits that a flavor sets: https://docs.openstack.org/nova/latest/admin/resource-limits.html

    Of the network the narrower direction counts, because both ends of a transfer are of the flavor. Limits of disks
    hold for those of the flavor, not for volumes.
    """
    ways = [[positive(specs.get(f"quota:vif_{way}_{level}")) for way in ("inbound", "outbound")]
            for level in ("average", "peak")]  # fmt: skip
    average, peak = (min((one for one in some if one is not None), default=None) for some in ways)
    yield from promise_of(Promised.NETWORK, average, peak, _SOURCE, day, factor=_KILOBYTE)
    for of, unit in ((Promised.DISK_THROUGHPUT, "bytes"), (Promised.DISK_IOPS, "iops")):
        for op, way in (("", "total"), ("read", "read"), ("write", "write")):
            quota = f"quota:disk_{way}_{unit}_sec"
            yield from promise_of(of, specs.get(quota), specs.get(f"{quota}_max"), _SOURCE, day, op=op)


def _attributes(response: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    disks = [response.get("disk") or 0, response.get("OS-FLV-EXT-DATA:ephemeral") or 0]
    kinds = [f"{size} GB{kind}" for size, kind in zip(disks, ("", " ephemeral"), strict=True) if size]
    yield "disks", ", ".join(kinds) or "none: it needs a volume as its root"
    specs = response.get("extra_specs") or {}
    if specs.get("hw:cpu_policy") == "dedicated":
        yield "cpu_policy", "dedicated"
    if specs.get("quota:cpu_quota"):
        yield "cpu_quota", str(specs["quota:cpu_quota"])
