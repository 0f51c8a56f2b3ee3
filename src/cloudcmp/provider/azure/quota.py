"""How many vCPUs the subscription may still run in a region: in all, and of each family of sizes.

https://learn.microsoft.com/azure/virtual-machines/quotas
"""

from collections.abc import Sequence
from typing import Any

from cloudcmp.errors import ProviderFault
from cloudcmp.model.plan import Candidate
from cloudcmp.model.safety import Finding
from cloudcmp.provider.azure.catalog import OfferingCatalog
from cloudcmp.provider.azure.sdk import Sdk
from cloudcmp.provider.common.findings import quota_finding

_ALL, _SPOT = "cores", "lowPriorityCores"


async def quota(sdk: Sdk, catalog: OfferingCatalog, candidates: Sequence[Candidate]) -> list[Finding]:
    """Whether all candidates of a region may run at once; None where a quota cannot be read.

    What runs already is counted by Azure, deallocated machines too; what others start meanwhile is not known.
    """
    needs: dict[str, dict[str, float]] = {}
    for one in candidates:
        region, vcpus = one.offering.region, (one.offering.vcpus or 0.0) * one.count
        for name in await _names(catalog, one):
            of_region = needs.setdefault(region, {})
            of_region[name] = of_region.get(name, 0.0) + vcpus
    return [finding for region, need in sorted(needs.items()) for finding in await _of(sdk, region, need)]


async def _names(catalog: OfferingCatalog, one: Candidate) -> tuple[str, ...]:
    """The quotas that count a candidate: spot machines have one of their own, for all families."""
    if dict(one.options).get("market") == "spot":
        return (_SPOT,)
    family = str((await catalog.size(one.offering.region, one.offering.name)).get("family") or "")
    return (_ALL, family) if family else (_ALL,)


async def _of(sdk: Sdk, region: str, needs: dict[str, float]) -> list[Finding]:
    try:
        usages = await sdk.pages("compute", "usage", "list", region)
    except ProviderFault as fault:
        return [Finding("quota", None, f"{region}: vCPUs: it cannot be read ({fault})")]
    told = {str((one.get("name") or {}).get("value", "")).lower(): one for one in usages}
    return [_one(region, name, need, told.get(name.lower())) for name, need in sorted(needs.items())]


def _one(region: str, name: str, need: float, told: dict[str, Any] | None) -> Finding:
    where = f"{region}: {name} vCPUs"
    try:
        used, most = float(told["currentValue"]), float(told["limit"])  # type: ignore[index]
    except (KeyError, TypeError, ValueError):
        return Finding("quota", None, f"{where}: Azure does not tell it")
    return quota_finding(where, need, used, most, "Azure portal, Quotas")
