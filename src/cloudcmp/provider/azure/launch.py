"""Builds the one call that creates a machine, including tags, disks, network card, public address and their end.

Fields: https://learn.microsoft.com/rest/api/compute/virtual-machines/create-or-update
"""

import base64
import math
import secrets
from collections.abc import Mapping
from typing import Any

from cloudcmp.errors import Refused
from cloudcmp.model.lease import ZONE, CreateRequest
from cloudcmp.model.offering import Volume
from cloudcmp.provider.azure.images import Image
from cloudcmp.provider.azure.names import NETWORK_NAME, PLACEMENT_NAME, SUBNET_NAME, machine_of, tags_of

CLUSTER, SPREAD = "cluster", "spread"
_GIB = 2**30
_CUSTOM_DATA_MAX = 65535  # https://learn.microsoft.com/azure/virtual-machines/custom-data
_NETWORK_API = "2022-11-01"
_ROOT = "StandardSSD_LRS"  # every size supports it; `_UNCOUNTED` names its price
_NEVER_ROOT = {"PremiumV2_LRS", "UltraSSD_LRS"}
_DELETE = {"deleteOption": "Delete"}
_ADMIN = "cloudadmin"  # required by Azure; cloud-init creates only our own user


def machine_body(request: CreateRequest, group_id: str, image: Image, zones: tuple[str, ...]) -> dict[str, Any]:
    """The request body for a machine in a launch's group; raises Refused for unavailable options."""
    options = dict(request.options)
    _check_options(request, options)
    name, tags = machine_of(request), tags_of(request)
    properties: dict[str, Any] = {
        "hardwareProfile": {"vmSize": request.offering},
        "storageProfile": {"imageReference": image.reference, **_disks(request, name)},
        "osProfile": _os_profile(request, name, image),
        "networkProfile": _network(name, tags, group_id),
        **_market(request, options),
        **_placement(options, group_id),
    }
    if request.volume is not None and request.volume.type == "UltraSSD_LRS":
        properties["additionalCapabilities"] = {"ultraSSDEnabled": True}
    body: dict[str, Any] = {"location": request.region, "tags": tags, "properties": properties}
    zone = _zone(request, options, zones)
    return body | ({"zones": [zone]} if zone else {})


def _check_options(request: CreateRequest, options: Mapping[str, str]) -> None:
    """Raises Refused for options that Azure lacks, or that have another meaning there."""
    where, placement, spot = request.name, options.get("placement"), options.get("market") == "spot"
    if options.get("tenancy") == "dedicated":
        what = "Azure rents dedicated hosts separately, as a whole: cloudcmp creates none"
        raise Refused.at(where, what, "leave tenancy out")
    if options.get("credits"):
        raise Refused.at(where, "Azure has no setting for the credits of burstable sizes", "leave it out")
    if placement not in {None, "", CLUSTER, SPREAD}:
        raise Refused.at(where, f"Azure has no placement {placement!r}", f"write {CLUSTER} or {SPREAD}")
    if placement == SPREAD and spot:
        raise Refused.at(where, "spot machines cannot be spread: no availability set takes them", "leave one out")
    if placement == SPREAD and options.get(ZONE):
        raise Refused.at(where, "machines in an availability set have no zone", "leave one out")


def _zone(request: CreateRequest, options: Mapping[str, str], zones: tuple[str, ...]) -> str | None:
    """The study's zone, else one chosen by the token, so that the zone is known; None without zones."""
    zone = options.get(ZONE)
    if zone:
        if zone not in zones:
            hint = f"there are {', '.join(zones)}" if zones else "leave it out"
            raise Refused.at(request.name, f"{request.offering} is not sold in the zone {zone!r} here", hint)
        return zone
    if not zones or options.get("placement") == SPREAD:
        return None
    return zones[sum(request.token.encode()) % len(zones)]


def _disks(request: CreateRequest, name: str) -> dict[str, Any]:
    """The root disk and, if the study has one, a separate volume; both end with the machine."""
    volume = request.volume
    root: dict[str, Any] = {"createOption": "FromImage", "name": f"{name}-root", "caching": "ReadWrite", **_DELETE}
    root["managedDisk"] = {"storageAccountType": _ROOT}
    if volume is None:
        return {"osDisk": root}
    if volume.root:
        if volume.type in _NEVER_ROOT:
            what = f"{volume.type} cannot be the system disk"
            raise Refused.at(request.name, what, "write it without root: true, or take Premium_LRS")
        if volume.iops is not None:
            raise Refused.at(request.name, f"the rate of {volume.type} follows from its size", "leave iops out")
        root["managedDisk"] = {"storageAccountType": volume.type}
        return {"osDisk": root | _size_field(volume)}
    return {"osDisk": root, "dataDisks": [_data_disk(request, volume, name)]}


def _data_disk(request: CreateRequest, volume: Volume, name: str) -> dict[str, Any]:
    if volume.size_bytes is None:
        what = "a separate volume needs a size"
        raise Refused.at(request.name, what, "write volume: {type: Premium_LRS, size: 32 GiB}")
    disk = {
        "lun": 0,
        "name": f"{name}-data",
        "createOption": "Empty",
        "caching": "None",
        "managedDisk": {"storageAccountType": volume.type},
        **_size_field(volume),
        **_DELETE,
    }
    if volume.iops is None:
        return disk
    # The machine's call can set the rate of an Ultra disk; that of a Premium SSD v2 only the disk's own call. The rate
    # of other disks follows from their size.
    if volume.type != "UltraSSD_LRS":
        what = f"the rate of {volume.type} cannot be set in its machine's creating call"
        raise Refused.at(request.name, what, "leave iops out, or take UltraSSD_LRS")
    return disk | {"diskIOPSReadWrite": volume.iops}


def _size_field(volume: Volume) -> dict[str, int]:
    return {} if volume.size_bytes is None else {"diskSizeGB": math.ceil(volume.size_bytes / _GIB)}


def _os_profile(request: CreateRequest, name: str, image: Image) -> dict[str, Any]:
    """The login settings. Azure requires a key and a password; both are thrown away, so nobody can use them."""
    common = {"adminUsername": _ADMIN, "allowExtensionOperations": False}
    if image.windows:
        computer_name = f"c{request.token.replace('-', '')[:14]}"  # at most 15 letters
        password = f"{secrets.token_urlsafe(24)}aA1!"
        return {**common, "computerName": computer_name, "adminPassword": password}
    keys = [{"path": f"/home/{_ADMIN}/.ssh/authorized_keys", "keyData": throwaway_key()}]
    return {
        **common,
        "computerName": name,
        "customData": base64.b64encode(_custom_data(request)).decode(),
        "linuxConfiguration": {"disablePasswordAuthentication": True, "ssh": {"publicKeys": keys}},
    }


def _custom_data(request: CreateRequest) -> bytes:
    data = (request.access.user_data if request.access else "").encode()
    if len(data) > _CUSTOM_DATA_MAX:
        raise Refused.at(request.name, f"its user data is longer than {_CUSTOM_DATA_MAX} bytes", "shorten it")
    return data


def throwaway_key() -> str:
    """A public key whose private half is kept nowhere; Azure accepts RSA and ed25519.

    https://learn.microsoft.com/azure/virtual-machines/linux/mac-create-ssh-keys
    """
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

    public = Ed25519PrivateKey.generate().public_key()
    return public.public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH).decode()


def _network(name: str, tags: dict[str, str], group_id: str) -> dict[str, Any]:
    """A card and a public address, which end with the machine, in the launch's own network."""
    subnet = f"{group_id}/providers/Microsoft.Network/virtualNetworks/{NETWORK_NAME}/subnets/{SUBNET_NAME}"
    address = {
        "name": f"{name}-address",
        "tags": tags,
        "sku": {"name": "Standard"},
        "properties": {"publicIPAllocationMethod": "Static", **_DELETE},
    }
    ip_configuration = {"subnet": {"id": subnet}, "primary": True, "publicIPAddressConfiguration": address}
    card = {
        "name": f"{name}-card",
        "tags": tags,
        "properties": {
            "primary": True,
            **_DELETE,
            "ipConfigurations": [{"name": "inside", "properties": ip_configuration}],
        },
    }
    return {"networkApiVersion": _NETWORK_API, "networkInterfaceConfigurations": [card]}


def _market(request: CreateRequest, options: Mapping[str, str]) -> dict[str, Any]:
    """The spot settings: a preempted machine is deleted; the maximum price is the budget's, else -1 (on-demand).

    Raises Refused if the price is not in USD: https://learn.microsoft.com/azure/virtual-machines/spot-vms.
    """
    if options.get("market") != "spot":
        return {}
    price = request.price
    if price is not None and price.currency != "USD":
        what = f"its price is in {price.currency}, and a maximum spot price must be in USD"
        raise Refused.at(request.name, what, "give its price in USD, or take market: on-demand")
    most = -1.0 if price is None else float(price.amount_per_hour)
    return {"priority": "Spot", "evictionPolicy": "Delete", "billingProfile": {"maxPrice": most}}


def _placement(options: Mapping[str, str], group_id: str) -> dict[str, Any]:
    base = f"{group_id}/providers/Microsoft.Compute"
    if options.get("placement") == CLUSTER:
        return {"proximityPlacementGroup": {"id": f"{base}/proximityPlacementGroups/{PLACEMENT_NAME}"}}
    if options.get("placement") == SPREAD:
        return {"availabilitySet": {"id": f"{base}/availabilitySets/{PLACEMENT_NAME}"}}
    return {}
