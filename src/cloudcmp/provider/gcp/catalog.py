"""Regions, zones, machine types and images of Compute Engine."""

import asyncio
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Any

from cloudcmp.errors import IncompleteListing, ProviderFault, Refused
from cloudcmp.model.lease import ZONE
from cloudcmp.model.offering import Offering, custom_type
from cloudcmp.provider.common.responses import none_if_missing
from cloudcmp.provider.common.suggestions import check_name, check_system, nearest
from cloudcmp.provider.gcp.images import Image, default_image, find_image
from cloudcmp.provider.gcp.sdk import Sdk


class OfferingCatalog:
    """Fetches each list once."""

    def __init__(self, sdk: Sdk) -> None:
        self._sdk = sdk
        self._zones: dict[str, tuple[str, ...]] = {}
        self._offerings: dict[str, tuple[Offering, ...]] = {}
        self._types: dict[tuple[str, str], Any] = {}
        self._images: dict[tuple[str, str], Image] = {}

    def offerings(self, region: str | None = None) -> tuple[Offering, ...]:
        """The machine types of a region (default: the environment's) except custom ones; none if it is unknown."""
        place = region or self._sdk.default_region()
        if place not in self._offerings:
            offerings = self._sdk.run_blocking(lambda: self._fetch_offerings(place))
            if offerings is None:
                return ()
            self._offerings[place] = offerings
        return self._offerings[place]

    def _fetch_offerings(self, region: str) -> tuple[Offering, ...] | None:
        zones = self._fetch_regions().get(region)
        if zones is None:
            return None
        types: dict[str, Any] = {}
        zones_of: dict[str, list[str]] = {}
        for zone in zones:
            for page in self._sdk.pages_blocking("machine_types", zone=zone):
                for one in page.items:
                    types[one.name] = one
                    zones_of.setdefault(one.name, []).append(zone)
        offerings = (offering_of(self._sdk.name, region, one, zones_of[name]) for name, one in types.items())
        return tuple(sorted(offerings, key=lambda one: one.name))

    def _fetch_regions(self) -> dict[str, tuple[str, ...]]:
        if not self._zones:
            listed = [one for page in self._sdk.pages_blocking("regions") for one in page.items]
            if not listed:
                raise IncompleteListing.at(self._sdk.name, "regions.list answered without regions", "ask again")
            self._zones = {one.name: tuple(sorted(link.rsplit("/", 1)[-1] for link in one.zones)) for one in listed}
        return self._zones

    async def regions(self) -> dict[str, tuple[str, ...]]:
        """The regions, each with its zones."""
        return self._zones or await self._sdk.run_in_thread(self._fetch_regions)

    async def check_region(self, region: str) -> None:
        """Raises Refused with the nearest name for an unknown region."""
        check_name(self._sdk.name, f"there is no region {region!r}", region, await self.regions())

    async def zones_for(self, region: str, offering: str, options: dict[str, str], seed: int = 0) -> tuple[str, ...]:
        """The zones to try for a machine, in this order; raises Refused if there are none.

        The study's zone, else all zones with the type, starting at the plan's seed: launches spread over a region, and
        a repeated request takes the same order.
        """
        await self.check_region(region)
        zones = (await self.regions())[region]
        study_zone = options.get(ZONE)
        if study_zone is not None:
            if study_zone not in zones:
                hint = nearest(study_zone, zones, f"{region} has {', '.join(zones)}")
                raise Refused.at(self._sdk.name, f"there is no zone {study_zone!r} in {region}", hint)
            zones = (study_zone,)
        self._check_custom_type(offering)
        types = await asyncio.gather(*(self._describe_type(zone, offering) for zone in zones))
        usable = [zone for zone, one in zip(zones, types, strict=True) if one is not None]
        if not usable:
            raise await self._unknown_type(region, offering, study_zone)
        first = seed % len(usable)
        return tuple(usable[first:] + usable[:first])

    def _check_custom_type(self, offering: str) -> None:
        try:
            custom_type(self._sdk.name, offering)
        except ValueError as error:
            raise Refused.at(self._sdk.name, str(error), "write e.g. n2-custom-4-8192") from None

    async def _unknown_type(self, region: str, offering: str, zone: str | None) -> Refused:
        known = await self._sdk.run_in_thread(lambda: self.offerings(region))
        hint = nearest(offering, [one.name for one in known if one.name != offering], "cloudcmp list offerings gcp")
        return Refused.at(self._sdk.name, f"there is no machine type {offering!r} in {zone or region}", hint)

    async def _describe_type(self, zone: str, offering: str) -> Any:
        """A zone's description of a machine type, None if it has none of that name."""
        key = (zone, offering)
        if key not in self._types:
            call = self._sdk.read("machine_types", "get", zone=zone, machine_type=offering)
            self._types[key] = await none_if_missing(call)
        return self._types[key]

    async def prefetch(self, region: str, offering: str, options: dict[str, str]) -> None:
        """Fetches in advance what an insert needs. A failure is ignored here: the machine's own request reports it."""
        with suppress(ProviderFault):
            zones = await self.zones_for(region, offering, options)
            await self.image_for(zones[0], offering, options)

    async def image_for(self, zone: str, offering: str, options: dict[str, str]) -> Image:
        """The study's image, else the newest Ubuntu; raises Refused if its billing differs from the study's prices."""
        system = options.get("os", "linux")
        image_name = options.get("image") or default_image(system)
        response = await self._describe_type(zone, offering)
        key = (image_name, "x86_64" if response is None else architecture_of(response))
        if key not in self._images:
            self._images[key] = await find_image(self._sdk, *key)
        image = self._images[key]
        check_system(self._sdk.name, image_name, windows=image.windows, system=system)
        if image.licence:
            what = f"the image {image_name} has a licence that no price here counts: {image.licence}"
            raise Refused.at(self._sdk.name, what, f"take another image, such as {default_image(system)}")
        return image


# Families: https://cloud.google.com/compute/docs/machine-resource
_CATEGORIES = {"a": "accelerated", "c2": "compute", "g": "accelerated", "h": "compute", "m": "memory"}
_CATEGORIES |= {"ct": "accelerated", "tpu": "accelerated", "x": "memory", "z": "storage"}
_CATEGORIES |= dict.fromkeys(("c", "e", "f", "n", "t"), "general")
_SHAPES = {"highcpu": "compute", "highmem": "memory", "hypermem": "memory", "megamem": "memory", "ultramem": "memory"}
_ARCHITECTURES = {"ARM64": "aarch64", "X86_64": "x86_64"}
_ARM = ("a4x", "c4a", "n4a", "t2a")


def category_of(name: str, *, shared: bool = False) -> str | None:
    """The category of a machine type: by the shape in its name, else by its family's letters."""
    if shared:
        return "burstable"
    family, *words = name.split("-")
    by_shape = next((_SHAPES[word] for word in words if word in _SHAPES), None)
    letters = re.match(r"[a-z]+", family)
    if letters is None:
        return None
    by_family = _CATEGORIES.get(family[:2]) or _CATEGORIES.get(letters.group())
    return by_shape if by_shape and by_family == "general" else by_family


def offering_of(provider: str, region: str, response: Any, zones: Iterable[str] = ()) -> Offering:
    """An offering from a machine type; converts MiB to GiB."""
    name = str(response.name)
    return Offering(
        provider=provider,
        region=region,
        name=name,
        vcpus=float(response.guest_cpus) if response.guest_cpus else None,
        memory_gib=response.memory_mb / 1024 if response.memory_mb else None,
        category=category_of(name, shared=bool(response.is_shared_cpu)),
        attributes=tuple(sorted(_attributes(response, zones))),
    )


def architecture_of(response: Any) -> str:
    """The processor of a machine type: as reported, else by its family."""
    architecture = _ARCHITECTURES.get(str(response.architecture or ""))
    return architecture or ("aarch64" if str(response.name).split("-")[0] in _ARM else "x86_64")


def _attributes(response: Any, zones: Iterable[str]) -> Iterator[tuple[str, str]]:
    yield "architecture", architecture_of(response)
    if response.is_shared_cpu:
        yield "burstable", "yes"
    if str(response.name).endswith("-metal"):
        yield "bare_metal", "yes"
    disks = response.bundled_local_ssds
    if disks and disks.partition_count:
        yield "disks", f"{disks.partition_count} local SSD"
        yield "disk_class", "ssd"
    if response.deprecated and response.deprecated.state:
        yield "generation", "previous"
    names = ", ".join(sorted(zones))
    if names:
        yield "zones", names
