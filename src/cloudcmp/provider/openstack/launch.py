"""Builds the one call that creates a machine, including tags, disks and network. Nova takes no token.

https://docs.openstack.org/api-ref/compute/#create-server
"""

import base64
import math
from collections.abc import Mapping
from typing import Any

from cloudcmp.errors import Refused
from cloudcmp.model.lease import FIREWALL, ZONE, CreateRequest
from cloudcmp.model.offering import Volume
from cloudcmp.provider.openstack.catalog import Flavor
from cloudcmp.provider.openstack.images import Image
from cloudcmp.provider.openstack.networks import Network
from cloudcmp.provider.openstack.sdk import ServiceEndpoint

TOKEN = "cloudcmp:token"  # noqa: S105 - the name of a key
SERVER = "cloudcmp:server"
"""Metadata keys besides the tags: the request's token, and, on a volume, the server that it was created for."""
_GIB = 2**30
_USER_DATA_MAX = 65535
_WITH_VOLUME_TYPE = (2, 67)  # the server's call accepts a volume type from this microversion
_UNSUPPORTED = {
    "market": ("on-demand", "OpenStack has no spot market"),
    "tenancy": ("shared", "dedicated hosts are separate flavors, if a cloud has any"),
    "credits": (None, "flavors have no CPU credits"),
    "os": ("linux", "machines with Windows are not supported on OpenStack"),
}
POLICIES = {"spread": "anti-affinity", "cluster": "affinity"}
"""Nova's placement policies: each machine of a launch on another host, or all on one."""


def check_options(options: Mapping[str, str], where: str) -> None:
    """Raises Refused for options that OpenStack lacks."""
    for key, (usual, what) in _UNSUPPORTED.items():
        if options.get(key) not in {None, usual}:
            raise Refused.at(where, what, f"leave {key} out")
    if options.get("placement") not in {None, *POLICIES}:
        raise Refused.at(where, "server groups know no partitions", "write placement: spread or placement: cluster")


def check_disk(flavor: Flavor, volume: Volume | None, image: Image, where: str) -> None:
    """Raises Refused if the system has no suitable disk; most clouds refuse it too, with a less clear message."""
    if volume is not None and volume.iops is not None:
        raise Refused.at(where, "the speed of a volume depends on its type", "leave iops out")
    if volume is not None and not volume.root and volume.size_bytes is None:
        raise Refused.at(where, "a separate volume needs a size", "write volume: {type: ssd, size: 20 GiB}")
    if volume is not None and volume.root:
        if not _root_gib(volume, flavor, image):
            raise Refused.at(where, "the size of its root volume is unknown", "write its size")
    elif not flavor.disk_gib:
        what = f"{flavor.name} comes without a disk"
        raise Refused.at(where, what, "write volume: {type: ssd, size: 20 GiB, root: true}")
    elif flavor.disk_gib < image.disk_gib:
        what = f"{image.name or image.id} needs {image.disk_gib} GiB, the disk of {flavor.name} has {flavor.disk_gib}"
        raise Refused.at(where, what, "write a root volume, or take another flavor")


def server_body(
    request: CreateRequest,
    flavor: Flavor,
    image: Image,
    network: Network,
    endpoint: ServiceEndpoint,
    group: str | None = None,
) -> dict[str, Any]:
    """The request body; raises Refused for unavailable options. `group` is the launch's server group, if any."""
    options = dict(request.options)
    check_options(options, request.name)
    if image.windows:
        raise Refused.at(request.name, _UNSUPPORTED["os"][1], "take another image")
    check_disk(flavor, request.volume, image, request.name)
    server: dict[str, Any] = {
        "name": request.name,
        "flavorRef": flavor.id,
        "min_count": 1,
        "max_count": 1,
        "metadata": metadata_of(request),
        "networks": [{"uuid": network.id}],
        "config_drive": True,  # some networks lack a metadata service, which the first boot needs
        **_disks(request, flavor, image, endpoint),
    }
    if options.get(FIREWALL):
        server["security_groups"] = [{"name": options[FIREWALL]}]
    if options.get(ZONE):
        server["availability_zone"] = options[ZONE]
    if request.access is not None:
        server["user_data"] = _user_data(request)
    return {"server": server} | ({"os:scheduler_hints": {"group": group}} if group else {})


def metadata_of(request: CreateRequest) -> dict[str, str]:
    """The request's exact tags and its token; raises Refused if one is too long for Nova."""
    metadata = {**dict(request.tags), TOKEN: request.token}
    long_key = next((key for key, value in metadata.items() if max(len(key), len(value)) > 255), None)
    if long_key:
        raise Refused.at(request.name, f"{long_key} is longer than 255 characters", "give the study a shorter name")
    return metadata


def _disks(request: CreateRequest, flavor: Flavor, image: Image, endpoint: ServiceEndpoint) -> dict[str, Any]:
    """The system on the flavor's disk or on a volume, and a separate volume; every volume ends with the machine."""
    volume = request.volume
    if volume is None:
        return {"imageRef": image.id}
    common = {"destination_type": "volume", "delete_on_termination": True, **_volume_type(request, volume, endpoint)}
    if volume.root:
        size = {"volume_size": _root_gib(volume, flavor, image)}
        root = {"boot_index": 0, "source_type": "image", "uuid": image.id, **common, **size}
        return {"block_device_mapping_v2": [root]}
    local = {"boot_index": 0, "source_type": "image", "uuid": image.id, "destination_type": "local"}
    size = {"volume_size": math.ceil((volume.size_bytes or 0) / _GIB)}
    extra = {"boot_index": -1, "source_type": "blank", **common, **size}
    return {"imageRef": image.id, "block_device_mapping_v2": [local | {"delete_on_termination": True}, extra]}


def _volume_type(request: CreateRequest, volume: Volume, endpoint: ServiceEndpoint) -> dict[str, str]:
    version = tuple(int(part) for part in (endpoint.microversion or "2.1").split("."))
    if version < _WITH_VOLUME_TYPE:
        what = f"this Nova ({endpoint.newest or '2.1'}) takes no volume type in a server's own call (2.67 does)"
        raise Refused.at(request.name, what, "leave volume out")
    return {"volume_type": volume.type}


def _root_gib(volume: Volume, flavor: Flavor, image: Image) -> int:
    """The size of the root disk: the study's or the flavor's, at least what the image needs."""
    size_gib = math.ceil(volume.size_bytes / _GIB) if volume.size_bytes else flavor.disk_gib
    return max(size_gib, image.disk_gib)


def _user_data(request: CreateRequest) -> str:
    text = request.access.user_data if request.access else ""
    encoded = base64.b64encode(text.encode()).decode()
    if len(encoded) > _USER_DATA_MAX:
        raise Refused.at(request.name, f"its user data is longer than {_USER_DATA_MAX} bytes", "shorten the user data")
    return encoded
