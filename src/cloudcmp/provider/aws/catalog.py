"""Regions, instance types and images of an EC2 API, with hints for unknown names."""

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import UTC, date, datetime
from typing import Any

from cloudcmp.errors import IncompleteListing, ProviderFault, RefusalKind, Refused
from cloudcmp.model.offering import Offering
from cloudcmp.model.promise import Promise, Promised, positive, promise_of, speed_in_words
from cloudcmp.provider.aws.images import Image, default_image, find_image
from cloudcmp.provider.aws.sdk import Sdk
from cloudcmp.provider.common.suggestions import check_name, check_system, nearest


class OfferingCatalog:
    """Fetches each list once. `compatible`: the cloud is not AWS and may not describe its instance types."""

    def __init__(self, name: str, sdk: Sdk, *, compatible: bool) -> None:
        self._name, self._sdk, self._compatible = name, sdk, compatible
        self._regions: tuple[str, ...] = ()
        self._offerings: dict[str, tuple[Offering, ...]] = {}
        self._types: dict[tuple[str, str], dict[str, str]] = {}
        self._images: dict[tuple[str, str, str], Image] = {}

    def offerings(self, region: str | None = None) -> tuple[Offering, ...]:
        """The instance types of a region (default: the environment's), without prices; none if it is not enabled."""
        place = region or self._sdk.default_region()
        if place not in self._offerings:
            types = self._sdk.run_blocking(lambda: self._fetch_types(place), place)
            if types is None:
                return ()
            day = datetime.now(UTC).date()
            offerings = (offering_of(self._name, place, response, day) for response in types)
            self._offerings[place] = tuple(sorted(offerings, key=lambda one: one.name))
        return self._offerings[place]

    def _fetch_types(self, region: str) -> list[Any] | None:
        """Descriptions of the instance types; None if the region is not enabled or the cloud has none."""
        if region not in self._names(self._sdk.read_blocking("ec2", self._sdk.default_region(), "describe_regions")):
            return None
        try:
            return self._sdk.pages_blocking(region, "describe_instance_types", "InstanceTypes")
        except Refused as fault:
            if self._compatible and fault.is_refusal(RefusalKind.UNKNOWN_ACTION):
                return None
            raise

    async def regions(self) -> tuple[str, ...]:
        """The regions that are enabled for the account."""
        if not self._regions:
            self._regions = self._names(await self._sdk.read("ec2", self._sdk.default_region(), "describe_regions"))
        return self._regions

    def _names(self, response: dict[str, Any]) -> tuple[str, ...]:
        """The region names in a response; an empty list is incomplete, since the endpoint itself is in a region."""
        names = tuple(sorted(str(one["RegionName"]) for one in response.get("Regions") or ()))
        if not names:
            raise IncompleteListing.at(self._name, "describe_regions answered without regions", "ask again")
        return names

    async def with_suggestion(self, fault: Refused, region: str, offering: str) -> Refused:
        """The refusal; if the instance type is unknown, with the nearest name as hint."""
        if not fault.is_refusal(RefusalKind.UNKNOWN_OFFERING):
            return fault
        known = await self._sdk.run_in_thread(lambda: self.offerings(region), region)
        hint = nearest(offering, [one.name for one in known])
        return Refused.at(f"{self._name}/{region}", fault.faults[0].what, hint)

    async def check_region(self, region: str) -> None:
        """Raises Refused with the nearest name if a region is not enabled."""
        check_name(
            self._name,
            f"there is no region {region!r}, or it is not enabled",
            region,
            await self.regions(),
            "enabled are",
        )

    async def _describe_type(self, region: str, offering: str) -> dict[str, str]:
        """Attributes of a type, empty if the cloud describes none; raises Refused with the nearest name."""
        key = (region, offering)
        if key not in self._types:
            kind = "describe_instance_types"
            try:
                listed = await self._sdk.pages(region, kind, "InstanceTypes", InstanceTypes=[offering])
            except Refused as fault:
                if not self._compatible or not fault.is_refusal(RefusalKind.UNKNOWN_ACTION):
                    raise await self.with_suggestion(fault, region, offering) from None
                listed = []
            self._types[key] = dict(offering_of(self._name, region, listed[0]).attributes) if listed else {}
        return self._types[key]

    async def has_credits(self, region: str, offering: str) -> bool | None:
        """True if an instance type has CPU credits, None if unknown."""
        attributes = await self._describe_type(region, offering)
        return attributes.get("burstable") == "yes" if attributes else None

    async def prefetch(self, region: str, offering: str, options: dict[str, str]) -> None:
        """Fetches in advance what RunInstances needs; ignores failures, which the machine's own request reports."""
        with suppress(ProviderFault):
            await self.image_for(region, offering, options)

    async def image_for(self, region: str, offering: str, options: dict[str, str]) -> Image:
        """The study's image, else Ubuntu LTS; raises Refused if its billing differs from the study's prices."""
        system = options.get("os", "linux")
        image_name = options.get("image") or default_image(system)
        attributes = await self._describe_type(region, offering)
        key = (region, image_name, attributes.get("architecture", "x86_64"))
        if key not in self._images:
            self._images[key] = await find_image(self._sdk, *key)
        image = self._images[key]
        check_system(f"{self._name}/{region}", image_name, windows=image.windows, system=system)
        if image.billed:
            what = f"the image {image_name} is billed as {image.billed}, which no price here counts"
            raise Refused.at(f"{self._name}/{region}", what, f"take another image, such as {default_image(system)}")
        return image


# https://docs.aws.amazon.com/ec2/latest/instancetypes/instance-type-names.html
_CATEGORIES = {
    **dict.fromkeys(("a", "m", "mac"), "general"),
    **dict.fromkeys(("c", "hpc"), "compute"),
    **dict.fromkeys(("r", "u", "x", "z"), "memory"),
    **dict.fromkeys(("d", "h", "i", "im", "is"), "storage"),
    **dict.fromkeys(("dl", "f", "g", "inf", "p", "trn", "vt"), "accelerated"),
    "t": "burstable",
}
_GBIT = 1e9 / 8
_ARCHITECTURES = {"arm64": "aarch64", "x86_64": "x86_64", "i386": "i386"}


def category_of(name: str) -> str | None:
    """The category of an instance type by its family letters, None for an unknown family."""
    letters = re.match(r"[a-z]+", name)
    return _CATEGORIES.get(letters.group()) if letters else None


def offering_of(provider: str, region: str, response: Mapping[str, Any], day: date | None = None) -> Offering:
    """An offering from a DescribeInstanceTypes entry of a day; converts MiB to GiB and Gbit/s to bytes per second."""
    memory_mib = response.get("MemoryInfo", {}).get("SizeInMiB")
    vcpus = response.get("VCpuInfo", {}).get("DefaultVCpus")
    return Offering(
        provider=provider,
        region=region,
        name=str(response["InstanceType"]),
        vcpus=float(vcpus) if vcpus else None,
        memory_gib=memory_mib / 1024 if memory_mib else None,
        category=category_of(str(response["InstanceType"])),
        attributes=tuple(sorted(_attributes(response))),
        promises=tuple(_promises(response, day)),
    )


_SOURCE = "DescribeInstanceTypes"


def _promises(response: Mapping[str, Any], day: date | None) -> Iterator[Promise]:
    """The rates of the card that a machine's one interface is on, and those of the way to its volumes.

    Peaks hold for at least 30 minutes a day:
    https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/ec2-instance-network-bandwidth.html,
    https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/ebs-optimized.html
    """
    network = response.get("NetworkInfo", {})
    cards = network.get("NetworkCards") or [{}]
    default = network.get("DefaultNetworkCardIndex", 0)
    card = next((one for one in cards if one.get("NetworkCardIndex") == default), cards[0])
    words = str(card.get("NetworkPerformance") or network.get("NetworkPerformance") or "")
    low, high = speed_in_words(words)
    known = [positive(card.get(f"{level}BandwidthInGbps")) for level in ("Baseline", "Peak")]
    baseline, peak = (None if one is None else one * _GBIT for one in known)
    yield from promise_of(Promised.NETWORK, baseline or low, peak or high, _SOURCE, day, words=words)
    ebs = response.get("EbsInfo", {}).get("EbsOptimizedInfo", {})
    for of, name, factor in (
        (Promised.VOLUME_THROUGHPUT, "ThroughputInMBps", 1e6),
        (Promised.VOLUME_IOPS, "Iops", 1.0),
    ):
        yield from promise_of(of, ebs.get(f"Baseline{name}"), ebs.get(f"Maximum{name}"), _SOURCE, day, factor=factor)


def _attributes(response: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    processor = response.get("ProcessorInfo", {})
    kinds = [_ARCHITECTURES[kind] for kind in processor.get("SupportedArchitectures", ()) if kind in _ARCHITECTURES]
    if kinds:
        yield "architecture", "x86_64" if "x86_64" in kinds else kinds[0]
    if processor.get("SustainedClockSpeedInGhz"):
        yield "clock_hz", f"{processor['SustainedClockSpeedInGhz'] * 1e9:.0f}"
    if processor.get("Manufacturer"):
        yield "cpu_maker", str(processor["Manufacturer"])
    if response.get("NetworkInfo", {}).get("NetworkPerformance"):
        yield "network_class", str(response["NetworkInfo"]["NetworkPerformance"])
    yield from _disks(response)
    if response.get("BurstablePerformanceSupported"):
        yield "burstable", "yes"
    if response.get("BareMetal"):
        yield "bare_metal", "yes"
    if response.get("CurrentGeneration") is False:
        yield "generation", "previous"


def _disks(response: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    disks = response.get("InstanceStorageInfo", {}).get("Disks", ())
    if disks:
        yield "disk_class", ", ".join(sorted({str(disk.get("Type", "unknown")) for disk in disks}))
        yield "disks", ", ".join(f"{disk.get('Count', 1)} x {disk.get('SizeInGB')} GB" for disk in disks)
