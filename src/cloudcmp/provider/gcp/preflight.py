"""Checks that run before anything is created, and create nothing."""

import time
from collections.abc import Callable, Sequence

from cloudcmp.errors import NoCredentials, ProviderFault, RefusalKind, Refused
from cloudcmp.model.lease import ZONE
from cloudcmp.model.plan import Candidate
from cloudcmp.model.safety import Finding
from cloudcmp.provider.common.findings import account_finding, clock_finding, quota_finding, refusal_finding
from cloudcmp.provider.gcp.catalog import OfferingCatalog
from cloudcmp.provider.gcp.faults import POLICY
from cloudcmp.provider.gcp.launch import NETWORK
from cloudcmp.provider.gcp.policy import permissions
from cloudcmp.provider.gcp.sdk import Sdk

_PER_REQUEST = 100  # permissions per request


class Preflight:
    """The checks before a study. `now` is this machine's Unix time (s)."""

    def __init__(self, sdk: Sdk, catalog: OfferingCatalog, now: Callable[[], float] = time.time) -> None:
        self._sdk, self._catalog, self._now = sdk, catalog, now

    async def run(self, candidates: Sequence[Candidate]) -> tuple[Finding, ...]:
        """All findings; only the first if the credentials are refused."""
        try:
            project = await self._sdk.read("projects", "get")
            at = await self._sdk.date()
        except NoCredentials as fault:
            return (refusal_finding("credentials", fault),)
        label = self._sdk.with_endpoint(str(project.name))
        findings = [Finding("credentials", True, f"they are accepted for the project {label}")]
        findings += [self._account(str(project.name), candidates), clock_finding(at, self._now())]
        accepted = []
        for candidate in candidates:
            results = await self._check_names(candidate)
            findings += results
            accepted += [candidate] if all(one.ok for one in results) else []
        findings += [await self._network(), await self._rights()]
        return (*findings, *await quota(self._sdk, accepted))

    @staticmethod
    def _account(project: str, candidates: Sequence[Candidate]) -> Finding:
        mismatch_hint = "set GOOGLE_CLOUD_PROJECT, or use the other project's credentials"
        return account_finding(project, f"project {project}", candidates, mismatch_hint=mismatch_hint)

    async def _check_names(self, candidate: Candidate) -> list[Finding]:
        """Checks region, zone and machine type, then the image."""
        offering, options = candidate.offering, dict(candidate.options)
        try:
            zones = await self._catalog.zones_for(offering.region, offering.name, options)
            if candidate.far_zone:
                far = options | {ZONE: candidate.far_zone}
                zones = (*zones, *await self._catalog.zones_for(offering.region, offering.name, far))
        except Refused as fault:
            return [refusal_finding("capability", fault, candidate.id)]
        names = Finding("capability", True, f"{candidate.id}: to be had in {', '.join(sorted(zones))}")
        try:
            image = await self._catalog.image_for(zones[0], offering.name, options)
        except Refused as fault:
            return [names, refusal_finding("image", fault, candidate.id)]
        return [names, Finding("image", True, f"{candidate.id}: {image.name}")]

    async def _network(self) -> Finding:
        try:
            await self._sdk.read("networks", "get", network=NETWORK)
        except Refused as fault:
            if not fault.is_refusal(RefusalKind.MISSING):
                return Finding(
                    "capability", None, f"the network {NETWORK}: {fault.faults[0].what}", fault.faults[0].next
                )
            what = f"the project has no network {NETWORK!r}, in which machines are made"
            return Finding("capability", False, what, "make one with subnets in the study's regions (auto mode)")
        return Finding("capability", True, f"the project has a network {NETWORK!r}")

    async def _rights(self) -> Finding:
        """The granted permissions of the role in the project; conditions of the grant are not visible here."""
        needed = permissions()
        try:
            granted: set[str] = set()
            for first in range(0, len(needed), _PER_REQUEST):
                granted |= await self._sdk.granted_permissions(needed[first : first + _PER_REQUEST])
        except ProviderFault as fault:
            what = f"the granted permissions cannot be read ({fault.faults[0].what})"
            return Finding("rights", None, what, "enable the Cloud Resource Manager API of the project to see them")
        missing = [one for one in needed if one not in granted]
        if missing:
            return Finding("rights", False, f"not allowed: {', '.join(missing)}", POLICY)
        return Finding("rights", True, f"all {len(needed)} permissions that are used are granted in the project")


# https://cloud.google.com/compute/resource-usage: families with a quota of their own, all others share CPUS.
_OWN = {"a2", "a3", "c2", "c2d", "c3", "c3d", "c4", "c4a", "c4d", "g2", "h3", "m1", "m2", "m3", "n2", "n2a", "n2d"}
_OWN |= {"n4", "n4d", "t2a", "t2d", "z3"}
_RULES_PER_LAUNCH = 3
_Needs = dict[tuple[str, str], float]


async def quota(sdk: Sdk, candidates: Sequence[Candidate]) -> list[Finding]:
    """Whether all candidates may run at once, by Google's usage figures; None if there is no such quota."""
    needs: _Needs = {}
    for one in candidates:
        spot = dict(one.options).get("market") == "spot"
        region, cpus = one.offering.region, (one.offering.vcpus or 0.0) * one.count
        for metric, need in (
            (_cpu_metric(one.offering.name), cpus),
            ("IN_USE_ADDRESSES", one.count),
            ("INSTANCES", one.count),
        ):
            key = (region, "PREEMPTIBLE_CPUS" if spot and metric.endswith("CPUS") else metric)
            needs[key] = needs.get(key, 0.0) + need
    if not needs:
        return []
    try:
        quotas = await _quotas(sdk)
    except ProviderFault as fault:
        return [Finding("quota", None, f"it cannot be read ({fault})")]
    needs["", "FIREWALLS"] = float(_RULES_PER_LAUNCH * len(candidates))
    needs["", "CPUS_ALL_REGIONS"] = sum(need for (_, metric), need in needs.items() if metric.endswith("CPUS"))
    return [_quota_finding(key, need, quotas) for key, need in sorted(needs.items())]


async def _quotas(sdk: Sdk) -> dict[tuple[str, str], tuple[float, float]]:
    """Limit and usage of each metric, by region; those of the project have an empty region."""
    quotas: dict[tuple[str, str], tuple[float, float]] = {}
    for region in (one for page in await sdk.pages("regions") for one in page.items):
        quotas |= {(str(region.name), str(one.metric)): (one.limit, one.usage) for one in region.quotas}
    project = await sdk.read("projects", "get")
    return quotas | {("", str(one.metric)): (one.limit, one.usage) for one in project.quotas}


def _quota_finding(key: tuple[str, str], need: float, quotas: dict[tuple[str, str], tuple[float, float]]) -> Finding:
    region, metric = key
    if metric == "PREEMPTIBLE_CPUS" and not quotas.get(key, (0.0, 0.0))[0]:
        # Without such a quota, spot machines use the standard one: .../compute/resource-usage#cpu_quota
        return Finding(
            "quota", None, f"{region}: {need:g} CPUS of spot machines needed; which quota applies is unknown"
        )
    where = f"{region or 'all regions'}: {metric}"
    if key not in quotas:
        return Finding("quota", None, f"{where}: {need:g} needed; no such quota is reported")
    most, used = quotas[key]
    return quota_finding(where, need, used, most, "IAM & Admin, Quotas")


def _cpu_metric(name: str) -> str:
    family = name.partition("-")[0]
    return f"{family.upper()}_CPUS" if family in _OWN else "CPUS"
