"""Machine images: the newest of a well-known line, or the one that a study names."""

from dataclasses import dataclass
from typing import Any

from cloudcmp.errors import Refused
from cloudcmp.provider.common.responses import none_if_missing
from cloudcmp.provider.common.suggestions import nearest
from cloudcmp.provider.gcp.sdk import Sdk

DEFAULT_LINUX = "ubuntu-24.04"
DEFAULT_WINDOWS = "windows-2022"
_HINT = "a name is looked for among your own project's images: write another's as projects/PROJECT/global/images/NAME"
_ARCHITECTURES = {"ARM64": "aarch64", "X86_64": "x86_64"}
_NO_CLOUD_INIT = ("centos", "debian", "rhel", "rocky")


# Projects whose images have billed licences; that of Windows is part of os: windows (R).
# https://cloud.google.com/compute/disks-images-pricing
_LICENSED = ("rhel-cloud", "rhel-sap-cloud", "suse-cloud", "suse-sap-cloud", "ubuntu-os-pro-cloud", "windows-sql-cloud")


@dataclass(frozen=True, slots=True)
class Line:
    """A publisher's image families, one for each processor; `windows`: its machines have no SSH."""

    project: str
    families: tuple[tuple[str, str], ...]
    windows: bool = False


def _ubuntu(x86_64: str, aarch64: str) -> Line:
    return Line("ubuntu-os-cloud", (("x86_64", x86_64), ("aarch64", aarch64)))


def _windows(family: str) -> Line:
    return Line("windows-cloud", (("x86_64", family),), windows=True)


# Ubuntu's images contain cloud-init, which installs keys and login; Google's Debian images do not (R).
# https://documentation.ubuntu.com/gcp/ · https://cloud.google.com/compute/docs/images/os-details
LINES = {
    "ubuntu-22.04": _ubuntu("ubuntu-2204-lts", "ubuntu-2204-lts-arm64"),
    "ubuntu-24.04": _ubuntu("ubuntu-2404-lts-amd64", "ubuntu-2404-lts-arm64"),
    "windows-2019": _windows("windows-2019"),
    "windows-2022": _windows("windows-2022"),
    "windows-2025": _windows("windows-2025"),
}
BY_THE_SECOND = tuple(name for name, line in LINES.items() if not line.windows)
"""Images that add nothing to a machine's price."""


@dataclass(frozen=True, slots=True)
class Image:
    """An image: link, name, processor, and whether it is Windows. `licence` is billed extra, except that of Windows."""

    link: str
    name: str
    architecture: str
    windows: bool
    licence: str = ""


async def find_image(sdk: Sdk, image_name: str, architecture: str) -> Image:
    """The image of a line, an own family, a name or a link; raises Refused with the nearest line."""
    line = LINES.get(image_name)
    if line is not None:
        family = dict(line.families).get(architecture)
        if family is None:
            raise Refused.at(
                sdk.name, f"there is no {image_name} for {architecture}", "take another type, or another image"
            )
        return _image(await sdk.read("images", "get_from_family", project=line.project, family=family), architecture)
    if image_name.startswith(_NO_CLOUD_INIT):
        what = f"{image_name}: Google's own image of it has no cloud-init, so its machines would allow no login"
        raise Refused.at(sdk.name, what, f"take one of {', '.join(LINES)}, or an image of your own with cloud-init")
    response = await _find_by_name(sdk, image_name)
    if response is None:
        hint = nearest(image_name, LINES, f"{_HINT}, or one of {', '.join(LINES)}")
        raise Refused.at(sdk.name, f"there is no image {image_name!r}", hint)
    image = _image(response, architecture)
    if image.architecture != architecture:
        what = f"the image {image_name} is for {image.architecture}, the machine type is {architecture}"
        raise Refused.at(sdk.name, what, "take another type, or another image")
    return image


async def _find_by_name(sdk: Sdk, image_name: str) -> Any:
    """An image by its link (`projects/P/global/images/NAME` or `.../images/family/F`), or one of the own project."""
    parts = image_name.removeprefix("https://www.googleapis.com/compute/v1/").split("/")
    if len(parts) >= 5 and parts[0] == "projects" and parts[2:4] == ["global", "images"]:
        project, queries = {"project": parts[1]}, [parts[4:]]
    elif "/" not in image_name:
        project, queries = {}, [[image_name], ["family", image_name]]
    else:
        return None
    for query in queries:
        by_family = query[0] == "family"
        name = {"family": query[-1]} if by_family else {"image": query[-1]}
        image = await none_if_missing(sdk.read("images", "get_from_family" if by_family else "get", **project, **name))
        if image is not None:
            return image
    return None


def _image(response: Any, architecture: str) -> Image:
    windows = any(str(feature.type_) == "WINDOWS" for feature in response.guest_os_features)
    architecture = _ARCHITECTURES.get(str(response.architecture or ""), architecture)
    billed = (str(one) for one in response.licenses if any(f"/{project}/" in str(one) for project in _LICENSED))
    licence = next((one.rpartition("projects/")[2] for one in billed), "")
    return Image(str(response.self_link), str(response.name), architecture, windows, licence)


def default_image(system: str) -> str:
    """The image of a machine whose study names none."""
    return DEFAULT_WINDOWS if system == "windows" else DEFAULT_LINUX
