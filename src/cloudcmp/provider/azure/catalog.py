"""Regions, sizes and images of Azure, with hints for unknown names."""

import re
from collections.abc import Iterator, Mapping
from datetime import UTC, date, datetime
from typing import Any

from cloudcmp.errors import IncompleteListing, Refused
from cloudcmp.model.offering import Offering
from cloudcmp.model.promise import Promise, Promised, promise_of
from cloudcmp.provider.azure.images import Image, default_image, find_image
from cloudcmp.provider.azure.sdk import Reply, Sdk
from cloudcmp.provider.common.suggestions import check_name, check_system, nearest


class OfferingCatalog:
    """Fetches each list once."""

    def __init__(self, sdk: Sdk) -> None:
        self._sdk = sdk
        self._regions: tuple[str, ...] = ()
        self._skus: dict[str, tuple[dict[str, Any], ...]] = {}
        self._images: dict[tuple[str, str, str, str], Image] = {}

    def offerings(self, region: str | None = None) -> tuple[Offering, ...]:
        """The sizes that the subscription may use in a region, without prices; none for an unknown region."""
        place = region or self._sdk.default_region()
        skus = self._sdk.run_blocking(lambda: self._fetch_skus(place))
        day = datetime.now(UTC).date()
        return tuple(sorted((offering_of(place, response, day) for response in skus), key=lambda one: one.name))

    def _fetch_skus(self, region: str) -> tuple[dict[str, Any], ...]:
        if region in self._skus:
            return self._skus[region]
        if region not in (self._regions or self._region_names(self._sdk.locations_blocking())):
            return ()
        entries = self._sdk.pages_blocking("compute", "resource_skus", "list", filter=f"location eq '{region}'")
        by_name = {str(response["name"]): response for response in entries if is_sold(response, region)}
        self._skus[region] = tuple(by_name.values())
        return self._skus[region]

    async def regions(self) -> tuple[str, ...]:
        """The regions that the subscription may use."""
        if not self._regions:
            self._regions = self._region_names(await self._sdk.subscribed("locations"))
        return self._regions

    @staticmethod
    def _region_names(reply: Reply) -> tuple[str, ...]:
        """The region names in a response; an empty list is incomplete, since the endpoint itself is in a region."""
        physical = [
            str(one["name"])
            for one in reply.body.get("value") or ()
            if (one.get("metadata") or {}).get("regionType", "Physical") == "Physical"
        ]
        if not physical:
            raise IncompleteListing.at("azure", "locations answered without regions", "ask again")
        return tuple(sorted(physical))

    async def check_region(self, region: str) -> None:
        """Raises Refused with the nearest name for an unknown region."""
        check_name("azure", f"there is no region {region!r} for this subscription", region, await self.regions())

    async def size(self, region: str, offering: str) -> dict[str, Any]:
        """The description of a size; raises Refused with the nearest name if it is not sold here."""
        skus = await self._sdk.run_in_thread(lambda: self._fetch_skus(region))
        response = next((one for one in skus if str(one["name"]).lower() == offering.lower()), None)
        if response is None:
            hint = nearest(offering, [str(one["name"]) for one in skus], "cloudcmp list offerings azure")
            what = f"there is no size {offering!r}, or this subscription may not have it here"
            raise Refused.at(f"azure/{region}", what, hint)
        return response

    async def facts(self, region: str, offering: str) -> dict[str, str]:
        """The capabilities of a size."""
        return facts_of(await self.size(region, offering))

    async def zones(self, region: str, offering: str) -> tuple[str, ...]:
        """The zones that sell a size."""
        return zones_of(await self.size(region, offering), region)

    async def image_for(self, region: str, offering: str, options: dict[str, str]) -> Image:
        """The image that a machine boots, looked up once for each kind of machine."""
        facts, system = await self.facts(region, offering), options.get("os", "linux")
        image_name = options.get("image") or default_image(system)
        machine_kind = f"{facts.get('CpuArchitectureType')} {facts.get('HyperVGenerations')}"
        key = (region, image_name, machine_kind, system)
        if key not in self._images:
            self._images[key] = await find_image(self._sdk, region, image_name, facts, windows=system == "windows")
        image = self._images[key]
        check_system(f"azure/{region}", image_name, windows=image.windows, system=system)
        return image


# Fields: https://learn.microsoft.com/rest/api/compute/resource-skus/list
# https://learn.microsoft.com/azure/virtual-machines/sizes/overview and .../vm-naming-conventions
_CATEGORIES = {
    **dict.fromkeys(("A", "D", "DC"), "general"),
    **dict.fromkeys(("F", "FX", "H", "HB", "HC", "HX"), "compute"),
    **dict.fromkeys(("E", "EB", "EC", "G", "GS", "M"), "memory"),
    "B": "burstable",
    "L": "storage",
    "N": "accelerated",
}
_ARCHITECTURES = {"x64": "x86_64", "Arm64": "aarch64"}
_MIB = 2**20


def category_of(size: str) -> str | None:
    """The category of a size by its family letters, None for an unknown family."""
    letters = re.match(r"(?:Standard|Basic)_([A-Z]+)", size)
    if letters is None:
        return None
    family = letters.group(1)
    return _CATEGORIES.get(family) or _CATEGORIES.get(family[:1])


def facts_of(response: Mapping[str, Any]) -> dict[str, str]:
    """The capabilities of a size, by name."""
    return {str(one.get("name")): str(one.get("value")) for one in response.get("capabilities") or ()}


def is_sold(response: Mapping[str, Any], region: str) -> bool:
    """True for a virtual machine size that this subscription may use in a region."""
    here = [str(one).lower() for one in response.get("locations") or ()]
    if response.get("resourceType") != "virtualMachines" or region not in here:
        return False
    return not any(one.get("type") == "Location" for one in response.get("restrictions") or ())


def zones_of(response: Mapping[str, Any], region: str) -> tuple[str, ...]:
    """The zones of a region that sell a size, sorted; none if the region has no zones."""
    zones = {
        str(zone)
        for one in response.get("locationInfo") or ()
        if str(one.get("location", "")).lower() == region
        for zone in one.get("zones") or ()
    }
    for one in response.get("restrictions") or ():
        if one.get("type") == "Zone":
            zones -= {str(zone) for zone in (one.get("restrictionInfo") or {}).get("zones") or ()}
    return tuple(sorted(zones))


def offering_of(region: str, response: Mapping[str, Any], day: date | None = None) -> Offering:
    """An offering from a resource SKU of a day, whose memory in GB means GiB and whose local disks in MB mean MiB."""
    facts = facts_of(response)
    name = str(response["name"])
    vcpus = _number(facts.get("vCPUsAvailable") or facts.get("vCPUs"))
    return Offering(
        provider="azure",
        region=region,
        name=name,
        vcpus=vcpus,
        memory_gib=_number(facts.get("MemoryGB")),
        category=category_of(name),
        attributes=tuple(sorted(_attributes(facts))),
        promises=tuple(_promises(facts, day)),
    )


_SOURCE = "resource SKUs"


def _promises(facts: Mapping[str, str], day: date | None) -> Iterator[Promise]:
    """The rates of all volumes together, past the host's cache; the API has no bursts and no network (R)."""
    for of, name in (
        (Promised.VOLUME_THROUGHPUT, "UncachedDiskBytesPerSecond"),
        (Promised.VOLUME_IOPS, "UncachedDiskIOPS"),
    ):
        yield from promise_of(of, facts.get(name), None, _SOURCE, day, words="past the host's cache")


def _attributes(facts: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    if facts.get("CpuArchitectureType") in _ARCHITECTURES:
        yield "architecture", _ARCHITECTURES[facts["CpuArchitectureType"]]
    if (_number(facts.get("GPUs")) or 0) > 0:
        yield "gpus", facts["GPUs"]
    if (_number(facts.get("MaxResourceVolumeMB")) or 0) > 0:
        yield "local_disk_bytes", f"{int(float(facts['MaxResourceVolumeMB'])) * _MIB}"
    if facts.get("LowPriorityCapable") == "False":
        yield "spot", "no"


def _number(text: str | None) -> float | None:
    try:
        value = float(text or "")
    except ValueError:
        return None
    return value if 0 < value < float("inf") else None
