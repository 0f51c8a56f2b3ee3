"""Machine images: the newest of a well-known line, or the one that a study names."""

from dataclasses import dataclass
from typing import Any

from cloudcmp.errors import Refused
from cloudcmp.provider.aws.sdk import Sdk
from cloudcmp.provider.common.suggestions import nearest

DEFAULT_LINUX = "ubuntu-24.04"
DEFAULT_WINDOWS = "windows-2022"
_OTHERS = "a name is looked for among your own images: write another publisher's by its id"
_PLAIN_LINUX, _PLAIN_WINDOWS = ("RunInstances", "Linux/UNIX"), ("RunInstances:0002", "Windows")
_ARCHITECTURES = {"x86_64": ("x86_64", "amd64"), "aarch64": ("arm64", "arm64")}


@dataclass(frozen=True, slots=True)
class Line:
    """A publisher's image line: account and name pattern; `{arch}` and `{other}` are two names of the processor."""

    owner: str
    pattern: str


# Debian: https://wiki.debian.org/Cloud/AmazonEC2Image · Ubuntu: https://documentation.ubuntu.com/aws/
# Amazon's own: https://docs.aws.amazon.com/linux/al2023/ug/ec2.html and .../AWSEC2/latest/WindowsGuide/
LINES = {
    "debian-12": Line("136693071363", "debian-12-{other}-*"),
    "debian-13": Line("136693071363", "debian-13-{other}-*"),
    "ubuntu-22.04": Line("099720109477", "ubuntu/images/hvm-ssd*/ubuntu-jammy-22.04-{other}-server-*"),
    "ubuntu-24.04": Line("099720109477", "ubuntu/images/hvm-ssd*/ubuntu-noble-24.04-{other}-server-*"),
    "al2023": Line("amazon", "al2023-ami-2023.*-{arch}"),
    "windows-2019": Line("amazon", "Windows_Server-2019-English-Full-Base-*"),
    "windows-2022": Line("amazon", "Windows_Server-2022-English-Full-Base-*"),
}


@dataclass(frozen=True, slots=True)
class Image:
    """An image: id, name, processor, root device name, and whether it is Windows.

    `disks` are the device names of its volumes besides the root. `billed` is the billing product, if that is neither
    Linux nor Amazon's own Windows.
    """

    id: str
    name: str
    architecture: str
    root: str
    windows: bool
    disks: tuple[str, ...] = ()
    billed: str = ""


async def find_image(sdk: Sdk, region: str, image_name: str, architecture: str) -> Image:
    """The image with this id, the newest of this line, or the newest of the account's own images with this name.

    Anybody may publish an image under any name, so other publishers' images are found by id only. `architecture` is
    x86_64 or aarch64. Raises Refused with the nearest line if there is none.
    """
    architecture_name, other = _ARCHITECTURES.get(architecture, ("x86_64", "amd64"))
    if image_name.startswith(("ami-", "emi-")):
        images = await sdk.pages(region, "describe_images", "Images", ImageIds=[image_name])
    else:
        line = LINES.get(image_name)
        pattern = line.pattern.format(arch=architecture_name, other=other) if line else image_name
        named = {"name": [pattern], "architecture": [architecture_name], "state": ["available"]}
        filters = [{"Name": key, "Values": values} for key, values in named.items()]
        owners = [line.owner if line else "self"]
        images = await sdk.pages(region, "describe_images", "Images", Filters=filters, Owners=owners)
    if not images:
        hint = nearest(image_name, LINES, f"{_OTHERS}, or one of {', '.join(LINES)}")
        raise Refused.at(f"{sdk.name}/{region}", f"there is no image {image_name!r} for {architecture_name}", hint)
    return _image(max(images, key=lambda image: str(image.get("CreationDate", ""))))


def _image(response: dict[str, Any]) -> Image:
    architecture = "aarch64" if response.get("Architecture") == "arm64" else "x86_64"
    windows = str(response.get("Platform", "")).lower() == "windows"
    root = str(response.get("RootDeviceName") or "/dev/xvda")
    mapped = {str(one["DeviceName"]) for one in response.get("BlockDeviceMappings") or () if "Ebs" in one}
    disks = tuple(sorted(mapped - {root}))
    return Image(
        str(response["ImageId"]),
        str(response.get("Name", "")),
        architecture,
        root,
        windows,
        disks,
        _billed(response, windows=windows),
    )


def _billed(response: dict[str, Any], *, windows: bool) -> str:
    """The billing product of an image; empty for plain Linux or Windows, or if the cloud does not report it.

    https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/billing-info-fields.html
    """
    if response.get("ProductCodes"):
        return "its publisher's product, at a price of its own"
    operation, details = (str(response.get(key) or "") for key in ("UsageOperation", "PlatformDetails"))
    plain_operation, plain_details = _PLAIN_WINDOWS if windows else _PLAIN_LINUX
    if operation in {"", plain_operation} and details in {"", plain_details}:
        return ""
    return " ".join(filter(None, (details, f"({operation})" if operation else "")))


def default_image(system: str) -> str:
    """The image of a machine whose study names none."""
    return DEFAULT_WINDOWS if system == "windows" else DEFAULT_LINUX
