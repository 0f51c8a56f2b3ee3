"""How much of what a study needs the project may still use, as each region and the project tell it."""

from collections.abc import Sequence

from cloudcmp.errors import ProviderFault
from cloudcmp.model.plan import Candidate
from cloudcmp.model.safety import Finding
from cloudcmp.provider.common.findings import quota_finding
from cloudcmp.provider.gcp.sdk import Sdk

# https://cloud.google.com/compute/resource-usage: families with a quota of their own, all others share CPUS.
_OWN = {"a2", "a3", "c2", "c2d", "c3", "c3d", "c4", "c4a", "c4d", "g2", "h3", "m1", "m2", "m3", "n2", "n2a", "n2d"}
_OWN |= {"n4", "n4d", "t2a", "t2d", "z3"}
_RULES = 3
_Needs = dict[tuple[str, str], float]


async def quota(sdk: Sdk, candidates: Sequence[Candidate]) -> list[Finding]:
    """Whether all candidates may run at once; None where no such quota is told.

    What other people start meanwhile is not known.
    """
    needs: _Needs = {}
    for one in candidates:
        spot = dict(one.options).get("market") == "spot"
        region, cpus = one.offering.region, (one.offering.vcpus or 0.0) * one.count
        for metric, need in (
            (_metric(one.offering.name), cpus),
            ("IN_USE_ADDRESSES", one.count),
            ("INSTANCES", one.count),
        ):
            key = (region, "PREEMPTIBLE_CPUS" if spot and metric.endswith("CPUS") else metric)
            needs[key] = needs.get(key, 0.0) + need
    if not needs:
        return []
    try:
        listed = await _told(sdk)
    except ProviderFault as fault:
        return [Finding("quota", None, f"it cannot be read ({fault})")]
    needs["", "FIREWALLS"] = float(_RULES * len(candidates))
    needs["", "CPUS_ALL_REGIONS"] = sum(need for (_, metric), need in needs.items() if metric.endswith("CPUS"))
    return [_one(key, need, listed) for key, need in sorted(needs.items())]


async def _told(sdk: Sdk) -> dict[tuple[str, str], tuple[float, float]]:
    """Limit and usage of each metric, by region; those of the project without a region."""
    found: dict[tuple[str, str], tuple[float, float]] = {}
    for region in (one for page in await sdk.pages("regions") for one in page.items):
        found |= {(str(region.name), str(one.metric)): (one.limit, one.usage) for one in region.quotas}
    project = await sdk.read("projects", "get")
    return found | {("", str(one.metric)): (one.limit, one.usage) for one in project.quotas}


def _one(key: tuple[str, str], need: float, listed: dict[tuple[str, str], tuple[float, float]]) -> Finding:
    region, metric = key
    if metric == "PREEMPTIBLE_CPUS" and not listed.get(key, (0.0, 0.0))[0]:
        # Where none is granted for them, spot machines use the standard quota: .../compute/resource-usage#cpu_quota
        return Finding(
            "quota", None, f"{region}: {need:g} CPUS of spot machines needed; which quota counts is not told"
        )
    where = f"{region or 'all regions'}: {metric}"
    if key not in listed:
        return Finding("quota", None, f"{where}: {need:g} needed; no such quota is told")
    most, used = listed[key]
    return quota_finding(where, need, used, most, "IAM & Admin, Quotas")


def _metric(name: str) -> str:
    family = name.partition("-")[0]
    return f"{family.upper()}_CPUS" if family in _OWN else "CPUS"
