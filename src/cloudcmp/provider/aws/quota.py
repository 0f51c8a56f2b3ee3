"""How many vCPUs the account may still run, where Service Quotas tells it."""

import re
from collections.abc import Sequence

from cloudcmp.errors import ProviderFault
from cloudcmp.model.plan import Candidate
from cloudcmp.model.safety import Finding
from cloudcmp.provider.aws.sdk import Sdk
from cloudcmp.provider.common.findings import quota_finding

# https://docs.aws.amazon.com/ec2/latest/instancetypes/ec2-instance-quotas.html: the limits count vCPUs.
_STANDARD = "ACDHIMRTZ"
_CODES = {"on-demand": {"standard": "L-1216C47A", "x": "L-7295265B"}, "spot": {"standard": "L-34B43A08"}}


async def quota(sdk: Sdk, candidates: Sequence[Candidate], *, compatible: bool) -> list[Finding]:
    """Whether all candidates of a region may run at once; None where no quota can be read.

    What already runs is counted by its cores; what other people start meanwhile is not known.
    """
    if compatible:
        return [Finding("quota", None, "this cloud tells no quota")] if candidates else []
    needs: dict[tuple[str, str, str], float] = {}
    for one in candidates:
        market = dict(one.options).get("market", "on-demand")
        key = (one.offering.region, market, _class(one.offering.name))
        needs[key] = needs.get(key, 0.0) + (one.offering.vcpus or 0.0) * one.count
    return [await _one(sdk, *key, need) for key, need in sorted(needs.items())]


async def _one(sdk: Sdk, region: str, market: str, of_class: str, need: float) -> Finding:
    where = f"{region}: {of_class} {market} vCPUs"
    code = _CODES.get(market, {}).get(of_class)
    if code is None:
        return Finding("quota", None, f"{where}: which quota counts is not known here")
    try:
        answer = await sdk.read("service-quotas", region, "get_service_quota", ServiceCode="ec2", QuotaCode=code)
        most = float(answer["Quota"]["Value"])
        used = await _running(sdk, region, market, of_class)
    except (ProviderFault, KeyError, ValueError) as fault:
        return Finding("quota", None, f"{where}: it cannot be read ({fault})")
    return quota_finding(where, need, used, most, "Service Quotas", word="running")


async def _running(sdk: Sdk, region: str, market: str, of_class: str) -> float:
    states = [{"Name": "instance-state-name", "Values": ["pending", "running"]}]
    pages = await sdk.pages(region, "describe_instances", "Reservations", Filters=states)
    total = 0.0
    for one in (instance for page in pages for instance in page.get("Instances", ())):
        theirs = "spot" if one.get("InstanceLifecycle") == "spot" else "on-demand"
        if theirs == market and _class(str(one.get("InstanceType", ""))) == of_class:
            cores = one.get("CpuOptions", {})
            total += cores.get("CoreCount", 1) * cores.get("ThreadsPerCore", 1)
    return total


def _class(name: str) -> str:
    letters = re.match(r"[a-z]+", name)
    family = letters.group() if letters else ""
    return "standard" if len(family) <= 2 and family[:1].upper() in _STANDARD and family not in {"dl"} else family
