"""What EC2 sells: instance types with what is advertised of them. No price is known here: EC2's own API has none."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from cloudcmp.model.offering import Offering

# https://docs.aws.amazon.com/ec2/latest/instancetypes/instance-type-names.html
_CATEGORIES = {
    "a": "general",
    "c": "compute",
    "d": "storage",
    "dl": "accelerated",
    "f": "accelerated",
    "g": "accelerated",
    "h": "storage",
    "hpc": "compute",
    "i": "storage",
    "im": "storage",
    "inf": "accelerated",
    "is": "storage",
    "m": "general",
    "mac": "general",
    "p": "accelerated",
    "r": "memory",
    "t": "burstable",
    "trn": "accelerated",
    "u": "memory",
    "vt": "accelerated",
    "x": "memory",
    "z": "memory",
}
_GBIT = 1e9 / 8
_ARCHITECTURES = {"arm64": "aarch64", "x86_64": "x86_64", "i386": "i386"}


def category_of(name: str) -> str | None:
    """The category that an instance type's family letters stand for, None for families that are not known here."""
    letters = re.match(r"[a-z]+", name)
    return _CATEGORIES.get(letters.group()) if letters else None


def offering_of(provider: str, region: str, response: Mapping[str, Any]) -> Offering:
    """An instance type as DescribeInstanceTypes tells it; MiB become GiB, Gbit/s bytes a second."""
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
    )


def _attributes(response: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    processor, network = response.get("ProcessorInfo", {}), response.get("NetworkInfo", {})
    kinds = [_ARCHITECTURES[kind] for kind in processor.get("SupportedArchitectures", ()) if kind in _ARCHITECTURES]
    if kinds:
        yield "architecture", "x86_64" if "x86_64" in kinds else kinds[0]
    if processor.get("SustainedClockSpeedInGhz"):
        yield "clock_hz", f"{processor['SustainedClockSpeedInGhz'] * 1e9:.0f}"
    if processor.get("Manufacturer"):
        yield "cpu_maker", str(processor["Manufacturer"])
    if network.get("NetworkPerformance"):
        yield "network_class", str(network["NetworkPerformance"])
    cards = network.get("NetworkCards") or [{}]
    if cards[0].get("BaselineBandwidthInGbps"):
        yield "network_bytes_per_s", f"{cards[0]['BaselineBandwidthInGbps'] * _GBIT:.0f}"
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
    baseline = response.get("EbsInfo", {}).get("EbsOptimizedInfo", {})
    if baseline.get("BaselineThroughputInMBps"):
        yield "volume_bytes_per_s", f"{baseline['BaselineThroughputInMBps'] * 1e6:.0f}"
    if baseline.get("BaselineIops"):
        yield "volume_iops", str(baseline["BaselineIops"])
