"""Machine images: the newest of a well-known line, or the one that a study names."""

import re
from dataclasses import dataclass
from typing import Any

from cloudcmp.errors import Refused
from cloudcmp.provider.azure.faults import is_missing
from cloudcmp.provider.azure.sdk import Sdk
from cloudcmp.provider.common.suggestions import nearest

DEFAULT_LINUX = "ubuntu-24.04"
DEFAULT_WINDOWS = "windows-2022"
_URN = re.compile(r"([\w.-]+):([\w.-]+):([\w.-]+)(?::([\w.-]+))?")
_HINT = "write PUBLISHER:OFFER:SKU, PUBLISHER:OFFER:SKU:VERSION, or the id of an image of your own"


@dataclass(frozen=True, slots=True)
class Line:
    """A publisher's image line: its offer, and the SKU for each kind of machine, None if there is none.

    `first` and `second` are generations of virtual machines on x86-64; `arm` is for Arm64, always of the second.
    """

    publisher: str
    offer: str
    second: str
    first: str | None = None
    arm: str | None = None


# Ubuntu: https://documentation.ubuntu.com/azure/azure-how-to/instances/find-ubuntu-images/
# Debian: https://wiki.debian.org/Cloud/MicrosoftAzure · Windows: R
LINES = {
    "debian-12": Line("Debian", "debian-12", "12-gen2", "12", "12-arm64"),
    "debian-13": Line("Debian", "debian-13", "13-gen2", "13", "13-arm64"),
    "ubuntu-22.04": Line("Canonical", "0001-com-ubuntu-server-jammy", "22_04-lts-gen2", "22_04-lts", "22_04-lts-arm64"),
    "ubuntu-24.04": Line("Canonical", "ubuntu-24_04-lts", "server", "server-gen1", "server-arm64"),
    "windows-2019": Line("MicrosoftWindowsServer", "WindowsServer", "2019-datacenter-gensecond", "2019-datacenter"),
    "windows-2022": Line("MicrosoftWindowsServer", "WindowsServer", "2022-datacenter-g2", "2022-datacenter"),
}


@dataclass(frozen=True, slots=True)
class Image:
    """An image: its name, its `imageReference` in requests, and whether it is Windows."""

    name: str
    reference: dict[str, str]
    windows: bool


async def find_image(sdk: Sdk, region: str, image_name: str, facts: dict[str, str], *, windows: bool) -> Image:
    """The newest image of a line, a publisher's image by name, or the user's own by id, which is not checked.

    `facts` are the capabilities of its size. Raises Refused with the nearest line if there is none, or if the image has
    a price or terms of its publisher.
    """
    if image_name.startswith("/subscriptions/"):
        return Image(image_name.rpartition("/")[2], {"id": image_name}, windows)
    line = LINES.get(image_name)
    urn = _URN.fullmatch(image_name)
    if line is not None:
        publisher, offer, sku, version = line.publisher, line.offer, _sku(line, image_name, facts, region), None
    elif urn is not None:
        publisher, offer, sku, version = urn.groups()
    else:
        hint = nearest(image_name, LINES, f"{_HINT}, or one of {', '.join(LINES)}")
        raise Refused.at(f"azure/{region}", f"there is no image {image_name!r}", hint)
    if version in {None, "latest"}:
        version = await _newest(sdk, region, publisher, offer, sku)
    description = await _describe(sdk, region, publisher, offer, sku, version)
    _check_usable(description, region, image_name, facts)
    reference = {"publisher": publisher, "offer": offer, "sku": sku, "version": version}
    system = (description.get("properties") or {}).get("osDiskImage") or {}
    return Image(":".join(reference.values()), reference, str(system.get("operatingSystem", "")).lower() == "windows")


def _sku(line: Line, image_name: str, facts: dict[str, str], region: str) -> str:
    arm = facts.get("CpuArchitectureType") == "Arm64"
    first_generation = "V2" not in facts.get("HyperVGenerations", "V2").split(",")
    sku = line.arm if arm else line.first if first_generation else line.second
    if sku is None:
        what = f"there is no image {image_name!r} for {'Arm64' if arm else 'machines of the first generation'}"
        raise Refused.at(f"azure/{region}", what, f"take another of {', '.join(LINES)}")
    return sku


async def _newest(sdk: Sdk, region: str, *names: str) -> str:
    """The newest version: lists one entry in descending order."""
    try:
        reply = await sdk.read("compute", "virtual_machine_images", "list", region, *names, top=1, orderby="name desc")
    except Refused as fault:
        if not is_missing(fault):
            raise
        raise _no_image(region, names) from None
    versions = reply.body.get("value") or []
    if not versions:
        raise _no_image(region, names)
    return str(versions[0]["name"])


async def _describe(sdk: Sdk, region: str, *names: str) -> dict[str, Any]:
    try:
        return (await sdk.read("compute", "virtual_machine_images", "get", region, *names)).body
    except Refused as fault:
        if not is_missing(fault):
            raise
        raise _no_image(region, names) from None


def _no_image(region: str, names: tuple[str, ...]) -> Refused:
    return Refused.at(f"azure/{region}", f"there is no image {':'.join(names)!r} in this region", _HINT)


def _check_usable(description: dict[str, Any], region: str, image_name: str, facts: dict[str, str]) -> None:
    properties = description.get("properties") or {}
    if properties.get("plan"):
        what = f"{image_name}: it is sold under its publisher's own terms and price, which are counted nowhere"
        raise Refused.at(f"azure/{region}", what, f"take another image, such as {DEFAULT_LINUX}")
    image_arch, size_arch = properties.get("architecture"), facts.get("CpuArchitectureType")
    if image_arch and size_arch and image_arch != size_arch:
        what = f"{image_name} is for {image_arch}, and the size is {size_arch}"
        raise Refused.at(f"azure/{region}", what, "take another image")


def default_image(system: str) -> str:
    """The image of a machine whose study names none."""
    return DEFAULT_WINDOWS if system == "windows" else DEFAULT_LINUX
