"""What the emulated Compute Engine sells, in small: regions and zones, machine types, images."""

import re
from typing import Any

from tests.emulated.gce_json import HOST

REGIONS = {
    "us-central1": ("us-central1-a", "us-central1-b", "us-central1-c"),
    "europe-west4": ("europe-west4-a", "europe-west4-b"),
}
# name: vCPUs, memory (MiB), processor, shared core
TYPES = {
    "e2-micro": (2, 1024, "X86_64", True),
    "e2-standard-2": (2, 8192, "X86_64", False),
    "n1-standard-1": (1, 3840, "X86_64", False),
    "n2-highmem-2": (2, 16384, "X86_64", False),
    "n2-standard-2": (2, 8192, "X86_64", False),
    "n2-standard-4": (4, 16384, "X86_64", False),
    "c2-standard-4": (4, 16384, "X86_64", False),
    "c4a-standard-2": (2, 8192, "ARM64", False),
}
ONLY = {"c2-standard-4": "us-central1-b"}
"""A type that one zone of all has."""
_CUSTOM = re.compile(r"(?:(e2|n1|n2|n2d|n4)-)?custom-(\d+)-(\d+)(-ext)?")
IMAGES = {
    ("ubuntu-os-cloud", "ubuntu-2404-lts-amd64"): ("ubuntu-2404-noble-amd64-v20261110", "X86_64", False),
    ("ubuntu-os-cloud", "ubuntu-2404-lts-arm64"): ("ubuntu-2404-noble-arm64-v20261110", "ARM64", False),
    ("ubuntu-os-cloud", "ubuntu-2204-lts"): ("ubuntu-2204-jammy-v20261109", "X86_64", False),
    ("ubuntu-os-cloud", "ubuntu-2204-lts-arm64"): ("ubuntu-2204-jammy-arm64-v20261109", "ARM64", False),
    ("windows-cloud", "windows-2022"): ("windows-server-2022-dc-v20261112", "X86_64", True),
}
DISK_TYPES = {"pd-standard", "pd-balanced", "pd-ssd", "pd-extreme", "hyperdisk-balanced", "local-ssd"}


def machine_type(project: str, zone: str, name: str) -> dict[str, Any] | None:
    """A machine type of a zone, also a custom one; None where the zone has none of the name."""
    custom = _CUSTOM.fullmatch(name)
    if custom:
        vcpus, memory_mib, processor, shared = int(custom[2]), int(custom[3]), "X86_64", False
    elif name in TYPES and ONLY.get(name, zone) == zone:
        vcpus, memory_mib, processor, shared = TYPES[name]
    else:
        return None
    return {
        "kind": "compute#machineType",
        "id": str(abs(hash(name)) % 10**6),
        "name": name,
        "guestCpus": vcpus,
        "memoryMb": memory_mib,
        "isSharedCpu": shared,
        "architecture": processor,
        "zone": zone,
        "selfLink": f"{HOST}/projects/{project}/zones/{zone}/machineTypes/{name}",
    }


def image(project: str, name: str, processor: str, family: str, *, windows: bool = False) -> dict[str, Any]:
    """An image of a project."""
    publisher = "windows-server-2022-dc" if windows else "ubuntu-2404-lts"
    return {
        "kind": "compute#image",
        "id": str(abs(hash(name)) % 10**6),
        "name": name,
        "family": family,
        "architecture": processor,
        "diskSizeGb": "50" if windows else "10",
        "status": "READY",
        "guestOsFeatures": [{"type": "WINDOWS" if windows else "UEFI_COMPATIBLE"}],
        "licenses": [f"{HOST}/projects/{project}/global/licenses/{publisher}"],
        "selfLink": f"{HOST}/projects/{project}/global/images/{name}",
    }


def images() -> dict[tuple[str, str], dict[str, Any]]:
    """The public images, by project and name."""
    made = {}
    for (project, family), (name, processor, windows) in IMAGES.items():
        made[project, name] = image(project, name, processor, family, windows=windows)
    return made
