"""Builds the one call that creates a machine, including labels, disks, access and automatic deletion."""

import json
import math
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from cloudcmp.errors import Refused
from cloudcmp.model.lease import FIREWALL, CreateRequest
from cloudcmp.model.offering import Volume
from cloudcmp.provider.gcp.images import Image
from cloudcmp.provider.gcp.tags import ITEM, labels_of, to_text

NETWORK = "default"
LOCAL_SSD = "local-ssd"
SHORTEST_S, LONGEST_S = 30.0, 120 * 86400.0
"""The limits of a run duration: https://cloud.google.com/compute/docs/instances/limit-vm-runtime"""
_GIB = 2**30
_LOCAL_GIB = 375
_NAME_MAX = 63
_SKEW_S = 60.0
_DELAY_S = 900
_USER_DATA_MAX = 256 * 1024  # https://cloud.google.com/compute/docs/metadata/setting-custom-metadata#limitations
# The cloud deletes only a running machine: one that powered itself off stays stopped, with its disks billed
# (https://cloud.google.com/compute/docs/instances/limit-vm-runtime). So the guest's timer fires later than the cloud's.
# The setting keeps the guest agent from replacing our host keys at the first boot.
_BOOT = """mkdir -p /etc/default
printf '[InstanceSetup]\\nset_host_keys = false\\n' >/etc/default/instance_configs.cfg
left=$(({late} - $(date +%s)))
[ "$left" -ge 1 ] || left=1
systemd-run --quiet --no-block --collect --unit=cloudcmp-ttl --on-active="$left" \\
	--timer-property=DefaultDependencies=no --property=DefaultDependencies=no \\
	sh -c 'systemctl --no-block poweroff; sleep 30; poweroff -f'
"""


def machine_of(request: CreateRequest, zone: str, image: Image, ahead_s: float | None = None) -> dict[str, Any]:
    """The body of `instances.insert`; raises Refused. `ahead_s` is the lead of the cloud's clock, if known."""
    options = dict(request.options)
    _check_options(request, options)
    end = end_of(request, ahead_s)
    return {
        "name": request.name,
        "machine_type": f"zones/{zone}/machineTypes/{request.offering}",
        "labels": labels_of(request),
        "metadata": {"items": _metadata(request, image, end)},
        "disks": _disks(request, zone, image),
        "network_interfaces": [
            {
                "network": f"global/networks/{NETWORK}",
                "access_configs": [{"name": "External NAT", "type_": "ONE_TO_ONE_NAT"}],
            }
        ],
        "tags": {"items": [options[FIREWALL]] if options.get(FIREWALL) else []},
        "service_accounts": [],
        "deletion_protection": False,
        "scheduling": _scheduling(options.get("market") == "spot", end),
    }


def end_of(request: CreateRequest, ahead_s: float | None = None) -> float:
    """The time at which the cloud deletes the machine (Unix s, by the cloud's clock).

    A time, not a duration: a duration would begin again at each start. A repeated request has the same time, unless
    this machine's clock is wrong enough to fail the preflight.
    """
    if request.ttl_s > LONGEST_S:
        what = f"a time to live of {request.ttl_s:g} s is longer than Compute Engine's limit of {LONGEST_S:g} s"
        raise Refused.at(request.name, what, "plan shorter launches")
    off_s = ahead_s if ahead_s is not None and abs(ahead_s) > _SKEW_S else 0.0
    return math.ceil(request.at + max(request.ttl_s, SHORTEST_S + 30.0)) + off_s


def _check_options(request: CreateRequest, options: Mapping[str, str]) -> None:
    unsupported = {
        "placement": "placement policies are not supported",
        "credits": "its shared-core types have no CPU credit setting",
        "accept_untracked": "it keeps labels and request ids: nothing is untracked",
    }
    for option, why in unsupported.items():
        if option in options:
            raise Refused.at(request.name, f"{option}: {why}", f"leave {option} out")
    if options.get("tenancy") == "dedicated":
        what = "tenancy: dedicated takes a sole-tenant node, which is reserved and billed apart from its machines"
        raise Refused.at(request.name, what, "leave tenancy out")


def _scheduling(spot: bool, end: float) -> dict[str, Any]:
    """The termination settings; a measured machine is never restarted automatically."""
    scheduling: dict[str, Any] = {
        "automatic_restart": False,
        "instance_termination_action": "DELETE",
        "termination_time": datetime.fromtimestamp(end, UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
    }
    if spot:
        scheduling |= {"provisioning_model": "SPOT", "on_host_maintenance": "TERMINATE"}
    return scheduling


def _metadata(request: CreateRequest, image: Image, end: float) -> list[dict[str, str]]:
    """The exact tags, the login settings, and the user data."""
    items = {ITEM: to_text(request), "block-project-ssh-keys": "TRUE", "enable-oslogin": "FALSE"}
    if request.access is not None and not image.windows:
        items["user-data"] = user_data(request.access.user_data, end, request.name)
    return [{"key": key, "value": value} for key, value in sorted(items.items())]


def user_data(text: str, end: float, where: str) -> str:
    """The cloud-config with the guest timer of `_BOOT`, for deletion at `end` (Unix s); raises Refused if too long."""
    head, _, rest = text.partition("\n")
    config = json.loads(rest)
    config["bootcmd"] = [["sh", "-c", _BOOT.format(late=math.ceil(end) + _DELAY_S)]]
    result = f"{head}\n{json.dumps(config, indent=0)}\n"
    if len(result.encode()) > _USER_DATA_MAX:
        raise Refused.at(where, f"its user data is longer than {_USER_DATA_MAX} bytes", "shorten the user data")
    return result


def _disks(request: CreateRequest, zone: str, image: Image) -> list[dict[str, Any]]:
    """The root disk and, if the study has one, a separate volume; all end with the machine."""
    volume = request.volume
    root = volume if volume is not None and volume.root else None
    boot = {"source_image": image.link, **_disk_params(request, zone, root)}
    disks: list[dict[str, Any]] = [{"boot": True, "auto_delete": True, "initialize_params": boot}]
    if volume is None or volume.root:
        return disks
    if volume.type == LOCAL_SSD:
        return [*disks, _local_ssd(request, zone, volume)]
    if volume.size_bytes is None:
        raise Refused.at(request.name, "a separate volume needs a size", "write volume: {type: pd-ssd, size: 20 GiB}")
    more = {"disk_name": derived_name(request.name, "data"), **_disk_params(request, zone, volume)}
    return [*disks, {"auto_delete": True, "device_name": "cloudcmp-volume", "initialize_params": more}]


def _disk_params(request: CreateRequest, zone: str, volume: Volume | None) -> dict[str, Any]:
    params: dict[str, Any] = {"labels": labels_of(request), "description": to_text(request)}
    if volume is None:
        return params
    if volume.type == LOCAL_SSD:
        raise Refused.at(request.name, "a local SSD cannot be the root disk", "leave root out")
    params["disk_type"] = f"zones/{zone}/diskTypes/{volume.type}"
    if volume.size_bytes is not None:
        params["disk_size_gb"] = math.ceil(volume.size_bytes / _GIB)
    if volume.iops is not None:
        # https://cloud.google.com/compute/docs/disks/hyperdisks and .../disks/extreme-persistent-disk
        if not volume.type.startswith("hyperdisk-") and volume.type != "pd-extreme":
            what = f"{volume.type} takes no IOPS: its rate follows from its size"
            raise Refused.at(request.name, what, "leave iops out, or take hyperdisk-balanced or pd-extreme")
        params["provisioned_iops"] = volume.iops
    return params


def _local_ssd(request: CreateRequest, zone: str, volume: Volume) -> dict[str, Any]:
    """A local SSD, which has no labels: it is a part of its machine and never outlives it."""
    if volume.size_bytes not in {None, _LOCAL_GIB * _GIB} or volume.iops is not None:
        what = f"a local SSD has {_LOCAL_GIB} GiB and no IOPS to choose"
        raise Refused.at(request.name, what, f"write volume: {{type: local-ssd, size: {_LOCAL_GIB} GiB}}")
    kind = f"zones/{zone}/diskTypes/{LOCAL_SSD}"
    return {
        "type_": "SCRATCH",
        "interface": "NVME",
        "auto_delete": True,
        "initialize_params": {"disk_type": kind},
    }


def derived_name(name: str, suffix: str) -> str:
    """A derived name of at most 63 letters; it keeps the end of `name`, which distinguishes attempts."""
    if len(name) + 1 + len(suffix) <= _NAME_MAX:
        return f"{name}-{suffix}"
    return f"c{name[len(name) + len(suffix) + 2 - _NAME_MAX :]}-{suffix}"
