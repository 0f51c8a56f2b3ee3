"""Machine images: the newest of a well-known line among the cloud's own, or the one that a study names."""

import re
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from cloudcmp.errors import Refused
from cloudcmp.provider.common.suggestions import nearest
from cloudcmp.provider.openstack.faults import is_missing
from cloudcmp.provider.openstack.sdk import IMAGE, Sdk

DEFAULT = "ubuntu-24.04"
_GIB = 2**30
_X86 = {"", "x86_64", "amd64", "i686"}
_HINT = "a name is looked for among the cloud's public images and your project's own"

# Operators choose their own image names: properties are compared first, then the name.
# https://docs.openstack.org/glance/latest/admin/useful-image-properties.html
LINES = {
    f"{distro}-{version}": (
        distro,
        version,
        re.compile(rf"{distro}\W*(gnu/linux)?\W*({version}|{word})(?![\d.])", re.IGNORECASE),
    )
    for distro, version, word in (
        ("debian", "12", "bookworm"),
        ("debian", "13", "trixie"),
        ("ubuntu", "22.04", "jammy"),
        ("ubuntu", "24.04", "noble"),
    )
}


@dataclass(frozen=True, slots=True)
class Image:
    """An image: id, name, the disk that it needs (GiB), and whether it is Windows."""

    id: str
    name: str
    disk_gib: int
    windows: bool


async def find_image(sdk: Sdk, region: str, image_name: str) -> Image:
    """The image with this id, the newest of this line, or the newest with this name.

    By name it finds only images of the own project and public ones, which by default only the operator may publish.
    Raises Refused with the nearest name if there is none.
    """
    if _is_id(image_name):
        return await _by_id(sdk, region, image_name)
    project, _ = await sdk.run_in_thread(sdk.project, region)
    listed = await sdk.pages(region, IMAGE, "/images", "images", status="active", limit="100")
    ours = [one for one in listed if one.get("visibility") == "public" or one.get("owner") == project]
    matches = [one for one in ours if one.get("name") == image_name]
    if not matches and image_name in LINES:
        matches = [one for one in ours if one.get("visibility") == "public" and _is_of_line(one, image_name)]
    if not matches:
        hint = nearest(
            image_name, [*LINES, *(str(one.get("name")) for one in ours)], f"{_HINT}; another one is written by its id"
        )
        raise Refused.at(f"{sdk.name}/{region}", f"there is no image {image_name!r}", hint)
    return _image(max(matches, key=lambda one: str(one.get("created_at", ""))))


async def _by_id(sdk: Sdk, region: str, id: str) -> Image:
    try:
        return _image(await sdk.read(region, IMAGE, f"/images/{id}"))
    except Refused as fault:
        if not is_missing(fault):
            raise
        raise Refused.at(f"{sdk.name}/{region}", f"there is no image {id!r}", _HINT) from None


def _is_of_line(response: dict[str, Any], line: str) -> bool:
    """True if an image is of a line, for x86-64."""
    distro, version, pattern = LINES[line]
    if str(response.get("architecture") or "").lower() not in _X86 or response.get("status", "active") != "active":
        return False
    if response.get("os_distro") and response.get("os_version"):
        return (str(response["os_distro"]).lower(), str(response["os_version"])) == (distro, version)
    return pattern.match(str(response.get("name", ""))) is not None


def _image(response: dict[str, Any]) -> Image:
    size = int(response.get("virtual_size") or 0)
    least = max(int(response.get("min_disk") or 0), -(-size // _GIB))
    return Image(str(response["id"]), str(response.get("name") or ""), least, response.get("os_type") == "windows")


def _is_id(text: str) -> bool:
    try:
        return str(UUID(text)) == text.lower()
    except ValueError:
        return False
