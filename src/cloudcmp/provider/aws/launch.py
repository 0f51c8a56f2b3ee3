"""Builds the one call that creates a machine, including tags, token, disks and automatic shutdown."""

import math
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from cloudcmp.errors import Refused
from cloudcmp.model.lease import FIREWALL, ZONE, CreateRequest
from cloudcmp.model.offering import Volume
from cloudcmp.provider.aws.images import Image
from cloudcmp.provider.common.inventory import TOKEN_TAG

STRATEGIES = ("cluster", "partition", "spread")
_TAGGED = ("instance", "volume", "network-interface")
_GIB = 2**30
_USER_DATA_MAX = 16384
_SEPARATE = {True: "xvdf", False: "/dev/sdf"}  # by Windows


def tags_of(request: CreateRequest) -> list[dict[str, str]]:
    """The request's tags in EC2's form, with its name and its token."""
    own = (("Name", request.name), (TOKEN_TAG, request.token))
    return [{"Key": key, "Value": value} for key, value in (*request.tags, *own)]


def placement_of(firewall: str) -> str:
    """The name of the placement group that belongs to a security group."""
    return f"cloudcmp-{firewall}"


def run_params(
    request: CreateRequest, image: Image, *, compatible: bool, has_credits: bool | None = None
) -> dict[str, Any]:
    """The parameters of RunInstances; raises Refused for unavailable options. `compatible`: the cloud is not AWS."""
    options = dict(request.options)
    spot = options.get("market") == "spot"
    tagged = (*_TAGGED, *(("spot-instances-request",) if spot else ()))
    params: dict[str, Any] = {
        "ImageId": image.id,
        "InstanceType": request.offering,
        "MinCount": 1,
        "MaxCount": 1,
        "ClientToken": request.token,
        "TagSpecifications": [{"ResourceType": kind, "Tags": tags_of(request)} for kind in tagged],
        "InstanceInitiatedShutdownBehavior": "terminate",
        "MetadataOptions": {"HttpEndpoint": "enabled", "HttpTokens": "required", "HttpPutResponseHopLimit": 1},
        "BlockDeviceMappings": _disks(request.volume, image, request.name),
        **_network(options.get(FIREWALL), compatible=compatible),
        **_credits(request, options.get("credits"), has_credits, compatible=compatible),
    }
    if image.windows:
        params["UserData"] = windows_shutdown(request.at, request.ttl_s)
    elif request.access is not None:
        params["UserData"] = _user_data(request)
    placement = _placement(options)
    if placement:
        params["Placement"] = placement
    if spot:
        once = {"SpotInstanceType": "one-time", "InstanceInterruptionBehavior": "terminate"}
        params["InstanceMarketOptions"] = {"MarketType": "spot", "SpotOptions": once | _max_price(request)}
    return params


def _max_price(request: CreateRequest) -> dict[str, str]:
    """The maximum spot price: the price in the budget. Raises Refused if it is not in USD."""
    price = request.price
    if price is None:
        return {}
    if price.currency != "USD":
        what = f"its price is in {price.currency}, and a maximum spot price must be in USD"
        raise Refused.at(request.name, what, "give its price in USD, or take market: on-demand")
    return {"MaxPrice": f"{price.amount_per_hour:f}"}


def _network(firewall: str | None, *, compatible: bool) -> dict[str, Any]:
    """A public address that ends with the machine (BILLING counts it), behind the launch's own security group."""
    groups = [firewall] if firewall else []
    if compatible:
        return {"SecurityGroupIds": groups} if groups else {}
    card: dict[str, Any] = {"DeviceIndex": 0, "AssociatePublicIpAddress": True, "DeleteOnTermination": True}
    return {"NetworkInterfaces": [card | ({"Groups": groups} if groups else {})]}


def _credits(request: CreateRequest, mode: str | None, has_credits: bool | None, *, compatible: bool) -> dict[str, Any]:
    """The CPU credit mode; `standard` if the plan has none, because then no price counts what `unlimited` bills."""
    if mode and has_credits is False:
        raise Refused.at(request.name, f"{request.offering} has no CPU credits", "leave credits out")
    chosen = mode or ("standard" if has_credits and not compatible else None)
    return {"CreditSpecification": {"CpuCredits": chosen}} if chosen else {}


def _placement(options: Mapping[str, str]) -> dict[str, str]:
    placement: dict[str, str] = {}
    if options.get("tenancy") == "dedicated":  # shared is the default, for which EC2 has no word
        placement["Tenancy"] = "dedicated"
    if options.get(ZONE):
        placement["AvailabilityZone"] = options[ZONE]
    group = options.get("placement")
    if group in STRATEGIES and options.get(FIREWALL):
        placement["GroupName"] = placement_of(options[FIREWALL])
    elif group:
        placement["GroupName"] = group
    return placement


def _disks(volume: Volume | None, image: Image, where: str) -> list[dict[str, Any]]:
    """All disks, each set to end with the machine: root, the study's separate volume, and those of the image."""
    root: dict[str, Any] = {"DeleteOnTermination": True}
    if volume is not None and volume.root:
        root |= _ebs(volume)
    disks = [{"DeviceName": image.root, "Ebs": root}]
    if volume is not None and not volume.root:
        if volume.size_bytes is None:
            raise Refused.at(where, "a separate volume needs a size", "write volume: {type: gp3, size: 20 GiB}")
        disks.append({"DeviceName": _SEPARATE[image.windows], "Ebs": {"DeleteOnTermination": True} | _ebs(volume)})
    named = {disk["DeviceName"] for disk in disks}
    return disks + [
        {"DeviceName": name, "Ebs": {"DeleteOnTermination": True}} for name in image.disks if name not in named
    ]


def _ebs(volume: Volume) -> dict[str, Any]:
    params: dict[str, Any] = {"VolumeType": volume.type}
    if volume.size_bytes is not None:
        params["VolumeSize"] = math.ceil(volume.size_bytes / _GIB)
    if volume.iops is not None:
        params["Iops"] = volume.iops
    return params


def _user_data(request: CreateRequest) -> str:
    text = request.access.user_data if request.access else ""
    if len(text.encode()) > _USER_DATA_MAX:
        raise Refused.at(request.name, f"its user data is longer than {_USER_DATA_MAX} bytes", "shorten the user data")
    return text


# EC2Launch (2016 and later) and EC2Config run the text in `powershell`; `persist` repeats it at every boot, so a
# removed task returns. The task's time is absolute: a restart does not postpone it, and a missed task runs late. A fast
# clock makes it early; a slow one makes it late by at most its lag after restarts.
# https://docs.aws.amazon.com/AWSEC2/latest/WindowsGuide/ec2-windows-user-data.html
_SCRIPT = """<powershell>
$now = (Get-Date).ToUniversalTime()
$end = [DateTime]::SpecifyKind([DateTime]'{end}', [DateTimeKind]::Utc)
if ($end -gt $now.AddSeconds({ttl_s})) {{ $end = $now.AddSeconds({ttl_s}) }}
if ($end -lt $now.AddSeconds(5)) {{ $end = $now.AddSeconds(5) }}
$left = [int][Math]::Ceiling(($end - $now).TotalSeconds)
try {{
  $off = New-ScheduledTaskAction -Execute 'shutdown.exe' -Argument '/s /f /t 0' -ErrorAction Stop
  $once = New-ScheduledTaskTrigger -Once -At $end.ToLocalTime() -ErrorAction Stop
  $late = New-ScheduledTaskSettingsSet -StartWhenAvailable -ErrorAction Stop
  $task = @{{ TaskName = 'cloudcmp-ttl'; User = 'SYSTEM'; RunLevel = 'Highest'; Force = $true }}
  Register-ScheduledTask @task -Action $off -Trigger $once -Settings $late -ErrorAction Stop
}} catch {{
  shutdown.exe /s /f /t $left
}}
</powershell>
<persist>true</persist>
"""


def windows_shutdown(requested_at: float, ttl_s: float) -> str:
    """User data, without study data, that shuts Windows down `ttl_s` after `requested_at` (Unix s), across restarts."""
    seconds = math.ceil(ttl_s)
    end = datetime.fromtimestamp(math.ceil(requested_at) + seconds, UTC)
    return _SCRIPT.format(end=end.strftime("%Y-%m-%dT%H:%M:%S"), ttl_s=seconds)
