"""What the emulated Azure sells: regions, sizes, images and quotas, a small part of what there is."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tests.emulated.arm_state import VM, State

REGIONS = ("eastus", "westeurope", "northcentralus")
_ZONES = {"eastus": ("1", "2", "3"), "westeurope": ("1", "2", "3")}


@dataclass(frozen=True, slots=True)
class Size:
    """A size of virtual machines."""

    name: str
    family: str
    vcpus: int
    memory_gib: float
    architecture: str = "x64"
    generations: str = "V1,V2"
    spot: bool = True
    ultra: bool = False
    sold: bool = True


SIZES = (
    Size("Standard_B1s", "standardBSFamily", 1, 1, spot=False),
    Size("Standard_B2s", "standardBSFamily", 2, 4, spot=False),
    Size("Standard_D2s_v5", "standardDSv5Family", 2, 8, ultra=True),
    Size("Standard_D4s_v5", "standardDSv5Family", 4, 16, ultra=True),
    Size("Standard_D2ps_v5", "standardDPSv5Family", 2, 8, "Arm64", "V2"),
    Size("Standard_F2s_v2", "standardFSv2Family", 2, 4),
    Size("Standard_A1_v2", "standardAv2Family", 1, 2, generations="V1"),
    Size("Standard_M8ms", "standardMSFamily", 8, 218.75, sold=False),
)
_IMAGES = {
    ("Canonical", "ubuntu-24_04-lts", "server"): ("x64", "Linux"),
    ("Canonical", "ubuntu-24_04-lts", "server-gen1"): ("x64", "Linux"),
    ("Canonical", "ubuntu-24_04-lts", "server-arm64"): ("Arm64", "Linux"),
    ("Canonical", "0001-com-ubuntu-server-jammy", "22_04-lts-gen2"): ("x64", "Linux"),
    ("Debian", "debian-13", "13-gen2"): ("x64", "Linux"),
    ("MicrosoftWindowsServer", "WindowsServer", "2022-datacenter-g2"): ("x64", "Windows"),
    ("paid", "appliance", "by-the-hour"): ("x64", "Linux"),
}
VERSIONS = ("24.04.202601010", "24.04.202611010", "24.04.202603010")


def size_of(name: str) -> Size | None:
    """A size by its name in any case."""
    return next((one for one in SIZES if one.name.lower() == name.lower()), None)


def zones_of(region: str) -> tuple[str, ...]:
    """The zones of a region."""
    return _ZONES.get(region, ())


def locations() -> list[dict[str, Any]]:
    """The list of regions; one of them is no place where machines stand."""
    listed: list[dict[str, Any]] = [
        {"name": name, "displayName": name, "metadata": {"regionType": "Physical"}} for name in REGIONS
    ]
    return [*listed, {"name": "europe", "displayName": "Europe", "metadata": {"regionType": "Logical"}}]


def skus(region: str) -> Iterator[dict[str, Any]]:
    """The list of resource SKUs of a region: sizes, and a disk that is no size."""
    yield {"resourceType": "disks", "name": "Premium_LRS", "locations": [region], "capabilities": []}
    for one in SIZES:
        facts = {
            "vCPUs": one.vcpus,
            "MemoryGB": one.memory_gib,
            "CpuArchitectureType": one.architecture,
            "HyperVGenerations": one.generations,
            "MaxResourceVolumeMB": 0,
            "UncachedDiskIOPS": 3200,
            "LowPriorityCapable": one.spot,
        }
        zones = list(zones_of(region))
        why = {"type": "Location", "values": [region], "reasonCode": "NotAvailableForSubscription"}
        third = {"type": "Zone", "values": [region], "restrictionInfo": {"locations": [region], "zones": ["3"]}}
        limits = [] if one.sold else [why]
        yield {
            "resourceType": "virtualMachines",
            "name": one.name,
            "family": one.family,
            "locations": [region],
            "locationInfo": [{"location": region, "zones": zones}],
            "capabilities": [{"name": name, "value": str(value)} for name, value in facts.items()],
            "restrictions": [*limits, third] if one.name == "Standard_F2s_v2" and zones else limits,
        }


def usages(state: State, region: str) -> list[dict[str, Any]]:
    """What counts against the quotas of a region."""
    needs: dict[str, int] = {"cores": 0, "lowPriorityCores": 0, **{one.family: 0 for one in SIZES}}
    for size, spot in in_use(state, region):
        for name in ("lowPriorityCores",) if spot else ("cores", size.family):
            needs[name] += size.vcpus
    most = state.faults.quota_vcpus
    return [
        {"name": {"value": name, "localizedValue": name}, "currentValue": used, "limit": most, "unit": "Count"}
        for name, used in needs.items()
    ]


def in_use(state: State, region: str) -> Iterator[tuple[Size, bool]]:
    """The sizes of a region's machines, and whether each is of the spot market."""
    for one in state.all.values():
        if one.kind == VM and one.location == region:
            properties = one.body["properties"]
            size = size_of(properties["hardwareProfile"]["vmSize"])
            if size is not None:
                yield size, properties.get("priority") == "Spot"


def image(publisher: str, offer: str, sku: str) -> tuple[str, str] | None:
    """The architecture and the system of an image's line."""
    return _IMAGES.get((publisher, offer, sku))


def versions(words: list[str], query: dict[str, str]) -> list[dict[str, Any]] | dict[str, Any] | None:
    """The versions of an image or one of them; None for what there is not."""
    region, _, publisher, _, _, _, offer, _, sku, *rest = words
    told = image(publisher, offer, sku)
    if told is None:
        return None if len(rest) > 1 else []
    if len(rest) > 1:
        if rest[1] not in VERSIONS:
            return None
        properties: dict[str, Any] = {"architecture": told[0], "osDiskImage": {"operatingSystem": told[1]}}
        if publisher == "paid":
            properties["plan"] = {"publisher": publisher, "product": offer, "name": sku}
        return {"name": rest[1], "location": region, "properties": properties}
    order = sorted(VERSIONS, reverse=query.get("$orderby", "").endswith("desc"))
    return [{"name": one, "location": region} for one in order[: int(query.get("$top", "1000"))]]
