"""What Azure sells: virtual machine sizes with what is advertised of them. No price is known here.

Fields: https://learn.microsoft.com/rest/api/compute/resource-skus/list
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from cloudcmp.model.offering import Offering

# https://learn.microsoft.com/azure/virtual-machines/sizes/overview and .../vm-naming-conventions
_CATEGORIES = {
    "A": "general",
    "B": "burstable",
    "D": "general",
    "DC": "general",
    "E": "memory",
    "EB": "memory",
    "EC": "memory",
    "F": "compute",
    "FX": "compute",
    "G": "memory",
    "GS": "memory",
    "H": "compute",
    "HB": "compute",
    "HC": "compute",
    "HX": "compute",
    "L": "storage",
    "M": "memory",
    "N": "accelerated",
}
_ARCHITECTURES = {"x64": "x86_64", "Arm64": "aarch64"}
_MIB = 2**20


def category_of(size: str) -> str | None:
    """The category that a size's family letters stand for, None for families that are not known here."""
    letters = re.match(r"(?:Standard|Basic)_([A-Z]+)", size)
    if letters is None:
        return None
    family = letters.group(1)
    return _CATEGORIES.get(family) or _CATEGORIES.get(family[:1])


def facts_of(response: Mapping[str, Any]) -> dict[str, str]:
    """What is said of a size, by the names of its capabilities."""
    return {str(one.get("name")): str(one.get("value")) for one in response.get("capabilities") or ()}


def is_sold(response: Mapping[str, Any], region: str) -> bool:
    """Whether an entry of the list is a size of virtual machines that this subscription may have in a region."""
    here = [str(one).lower() for one in response.get("locations") or ()]
    if response.get("resourceType") != "virtualMachines" or region not in here:
        return False
    return not any(one.get("type") == "Location" for one in response.get("restrictions") or ())


def zones_of(response: Mapping[str, Any], region: str) -> tuple[str, ...]:
    """The zones of a region in which a size is to be had, sorted; none where the region has no zones."""
    offered = {
        str(zone)
        for one in response.get("locationInfo") or ()
        if str(one.get("location", "")).lower() == region
        for zone in one.get("zones") or ()
    }
    for one in response.get("restrictions") or ():
        if one.get("type") == "Zone":
            offered -= {str(zone) for zone in (one.get("restrictionInfo") or {}).get("zones") or ()}
    return tuple(sorted(offered))


def offering_of(region: str, response: Mapping[str, Any]) -> Offering:
    """A size as the list of resource SKUs tells it; GB of memory are GiB there, MB of local disks MiB."""
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
    )


def _attributes(facts: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    if facts.get("CpuArchitectureType") in _ARCHITECTURES:
        yield "architecture", _ARCHITECTURES[facts["CpuArchitectureType"]]
    if (_number(facts.get("GPUs")) or 0) > 0:
        yield "gpus", facts["GPUs"]
    if (_number(facts.get("MaxResourceVolumeMB")) or 0) > 0:
        yield "local_disk_bytes", f"{int(float(facts['MaxResourceVolumeMB'])) * _MIB}"
    if _number(facts.get("UncachedDiskBytesPerSecond")):
        yield "volume_bytes_per_s", facts["UncachedDiskBytesPerSecond"]
    if _number(facts.get("UncachedDiskIOPS")):
        yield "volume_iops", facts["UncachedDiskIOPS"]
    if facts.get("LowPriorityCapable") == "False":
        yield "spot", "no"


def _number(text: str | None) -> float | None:
    try:
        value = float(text or "")
    except ValueError:
        return None
    return value if 0 < value < float("inf") else None
