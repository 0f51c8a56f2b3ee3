"""Checks that run before anything is created, and create nothing."""

import time
from collections.abc import Callable, Sequence
from typing import Any

from cloudcmp.errors import NoCredentials, ProviderFault, Refused
from cloudcmp.model.plan import Candidate
from cloudcmp.model.safety import Finding
from cloudcmp.provider.azure.catalog import OfferingCatalog
from cloudcmp.provider.azure.faults import POLICY, is_missing
from cloudcmp.provider.azure.policy import actions, allows
from cloudcmp.provider.azure.sdk import Reply, Sdk
from cloudcmp.provider.common.findings import (
    account_finding,
    clock_finding,
    parse_http_date,
    quota_finding,
    refusal_finding,
)
from cloudcmp.provider.common.suggestions import nearest


class Preflight:
    """The checks before a study. `now` is this machine's Unix time (s)."""

    def __init__(self, sdk: Sdk, catalog: OfferingCatalog, *, now: Callable[[], float] = time.time) -> None:
        self._sdk, self._catalog, self._now = sdk, catalog, now

    async def run(self, candidates: Sequence[Candidate]) -> tuple[Finding, ...]:
        """All findings; only the first if the credentials are refused."""
        try:
            reply = await self._sdk.subscribed()
        except (NoCredentials, Refused) as fault:
            if not isinstance(fault, NoCredentials) and not is_missing(fault):
                raise
            return (refusal_finding("credentials", fault),)
        findings = [self._credentials(reply), self._account(candidates)]
        findings.append(clock_finding(parse_http_date(reply.headers.get("date", "")), self._now()))
        regions = await self._catalog.regions()
        accepted: list[Candidate] = []
        for candidate in candidates:
            region = candidate.offering.region
            if region not in regions:
                what = f"{candidate.id}: there is no region {region!r} for this subscription"
                findings.append(Finding("capability", False, what, nearest(region, regions)))
                continue
            finding = await self._image(candidate)
            findings.append(finding)
            accepted += [candidate] if finding.ok else []
        findings.append(await self._rights())
        findings += await quota(self._sdk, self._catalog, accepted)
        return tuple(findings)

    def _credentials(self, reply: Reply) -> Finding:
        name = str(reply.body.get("displayName") or "")[:60]
        state = str(reply.body.get("state") or "Enabled")
        text = self._sdk.with_endpoint(f"subscription {name!r}")
        if state != "Enabled":
            return Finding("credentials", False, f"{text} is {state}", "see the Azure portal")
        return Finding("credentials", True, text)

    def _account(self, candidates: Sequence[Candidate]) -> Finding:
        account = self._sdk.subscription()
        label, mismatch_hint = f"subscription {account}", "name the other one in AZURE_SUBSCRIPTION_ID"
        return account_finding(account, label, candidates, mismatch_hint=mismatch_hint, normalize=str.lower)

    async def _image(self, candidate: Candidate) -> Finding:
        """Whether the size and its image are available to this subscription."""
        offering, options = candidate.offering, dict(candidate.options)
        try:
            image = await self._catalog.image_for(offering.region, offering.name, options)
            if options.get("market") == "spot":
                await self._check_spot(candidate)
        except Refused as fault:
            return refusal_finding("image", fault, candidate.id)
        return Finding("image", True, f"{candidate.id}: {image.name}")

    async def _check_spot(self, candidate: Candidate) -> None:
        offering = candidate.offering
        facts = await self._catalog.facts(offering.region, offering.name)
        if facts.get("LowPriorityCapable") == "False":
            raise Refused.at(candidate.id, f"{offering.name} is not sold on the spot market", "take market: on-demand")

    async def _rights(self) -> Finding:
        """The role's permissions as Azure reports them, which excludes denials on single resources."""
        try:
            reply = await self._sdk.permissions()
        except NoCredentials:
            raise
        except ProviderFault as fault:
            return Finding("rights", None, f"they cannot be read ({fault})", POLICY)
        granted = reply.body.get("value") or []
        missing = [one for one in actions() if not allows(granted, one)]
        if missing:
            more = f" and {len(missing) - 3} more" if len(missing) > 3 else ""
            return Finding("rights", False, f"not allowed: {', '.join(missing[:3])}{more}", POLICY)
        return Finding("rights", True, f"all {len(actions())} actions of the role are allowed, deletes among them")


# https://learn.microsoft.com/azure/virtual-machines/quotas
_ALL, _SPOT = "cores", "lowPriorityCores"


async def quota(sdk: Sdk, catalog: OfferingCatalog, candidates: Sequence[Candidate]) -> list[Finding]:
    """Whether all candidates of a region may run at once, by Azure's own usage figures; None if they cannot be read."""
    needs: dict[str, dict[str, float]] = {}
    for one in candidates:
        region, vcpus = one.offering.region, (one.offering.vcpus or 0.0) * one.count
        for name in await _quota_names(catalog, one):
            of_region = needs.setdefault(region, {})
            of_region[name] = of_region.get(name, 0.0) + vcpus
    return [finding for region, need in sorted(needs.items()) for finding in await _quotas_of_region(sdk, region, need)]


async def _quota_names(catalog: OfferingCatalog, one: Candidate) -> tuple[str, ...]:
    """The quotas that count a candidate: spot machines share one quota for all families."""
    if dict(one.options).get("market") == "spot":
        return (_SPOT,)
    family = str((await catalog.size(one.offering.region, one.offering.name)).get("family") or "")
    return (_ALL, family) if family else (_ALL,)


async def _quotas_of_region(sdk: Sdk, region: str, needs: dict[str, float]) -> list[Finding]:
    try:
        usages = await sdk.pages("compute", "usage", "list", region)
    except ProviderFault as fault:
        return [Finding("quota", None, f"{region}: vCPUs: it cannot be read ({fault})")]
    by_name = {str((one.get("name") or {}).get("value", "")).lower(): one for one in usages}
    return [_quota_finding(region, name, need, by_name.get(name.lower())) for name, need in sorted(needs.items())]


def _quota_finding(region: str, name: str, need: float, usage: dict[str, Any] | None) -> Finding:
    where = f"{region}: {name} vCPUs"
    try:
        used, most = float(usage["currentValue"]), float(usage["limit"])  # type: ignore[index]
    except (KeyError, TypeError, ValueError):
        return Finding("quota", None, f"{where}: Azure does not report it")
    return quota_finding(where, need, used, most, "Azure portal, Quotas")
