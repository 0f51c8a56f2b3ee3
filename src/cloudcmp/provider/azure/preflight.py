"""What must hold before anything is created, looked at without creating anything."""

import time
from collections.abc import Callable, Sequence

from cloudcmp.errors import NoCredentials, ProviderFault, Refused
from cloudcmp.model.plan import Candidate
from cloudcmp.model.safety import Finding
from cloudcmp.provider.azure.catalog import OfferingCatalog
from cloudcmp.provider.azure.faults import POLICY, missing
from cloudcmp.provider.azure.policy import actions, allows
from cloudcmp.provider.azure.quota import quota
from cloudcmp.provider.azure.sdk import Reply, Sdk
from cloudcmp.provider.common.findings import account_finding, clock_finding, parse_http_date, refusal_finding
from cloudcmp.provider.common.suggestions import nearest


class Preflight:
    """One look before a study. `now` is this machine's Unix time (s)."""

    def __init__(self, sdk: Sdk, catalog: OfferingCatalog, *, now: Callable[[], float] = time.time) -> None:
        self._sdk, self._catalog, self._now = sdk, catalog, now

    async def run(self, candidates: Sequence[Candidate]) -> tuple[Finding, ...]:
        """Everything that can be told; nothing more where the credentials do not hold."""
        try:
            reply = await self._sdk.subscribed()
        except (NoCredentials, Refused) as fault:
            if not isinstance(fault, NoCredentials) and not missing(fault):
                raise
            return (refusal_finding("credentials", fault),)
        findings = [self._credentials(reply), self._account(candidates)]
        findings.append(clock_finding(parse_http_date(reply.headers.get("date", "")), self._now()))
        known = await self._catalog.regions()
        good: list[Candidate] = []
        for candidate in candidates:
            region = candidate.offering.region
            if region not in known:
                what = f"{candidate.id}: there is no region {region!r} for this subscription"
                findings.append(Finding("capability", False, what, nearest(region, known)))
                continue
            found = await self._image(candidate)
            findings.append(found)
            good += [candidate] if found.ok else []
        findings.append(await self._rights())
        findings += await quota(self._sdk, self._catalog, good)
        return tuple(findings)

    def _credentials(self, reply: Reply) -> Finding:
        endpoint = self._sdk.endpoint()
        name = str(reply.body.get("displayName") or "")[:60]
        state = str(reply.body.get("state") or "Enabled")
        text = f"subscription {name!r}{f' at {endpoint}' if endpoint else ''}"
        if state != "Enabled":
            return Finding("credentials", False, f"{text} is {state}", "see the Azure portal")
        return Finding("credentials", True, text)

    def _account(self, candidates: Sequence[Candidate]) -> Finding:
        account = self._sdk.subscription()
        shown, other = f"subscription {account}", "name the other one in AZURE_SUBSCRIPTION_ID"
        return account_finding(account, shown, candidates, other=other, same=str.lower)

    async def _image(self, candidate: Candidate) -> Finding:
        """The size and its image; what is sold here for another subscription only is not there."""
        sold, options = candidate.offering, dict(candidate.options)
        try:
            image = await self._catalog.image_for(sold.region, sold.name, options)
            if options.get("market") == "spot":
                await self._spot(candidate)
        except Refused as fault:
            return refusal_finding("image", fault, candidate.id)
        return Finding("image", True, f"{candidate.id}: {image.name}")

    async def _spot(self, candidate: Candidate) -> None:
        sold = candidate.offering
        facts = await self._catalog.facts(sold.region, sold.name)
        if facts.get("LowPriorityCapable") == "False":
            raise Refused.at(candidate.id, f"{sold.name} is not sold on the spot market", "take market: on-demand")

    async def _rights(self) -> Finding:
        """What the role allows, as Azure tells it; denials that are laid on single resources are not in it."""
        try:
            reply = await self._sdk.permissions()
        except NoCredentials:
            raise
        except ProviderFault as fault:
            return Finding("rights", None, f"they cannot be read ({fault})", POLICY)
        held = reply.body.get("value") or []
        lacking = [one for one in actions() if not allows(held, one)]
        if lacking:
            more = f" and {len(lacking) - 3} more" if len(lacking) > 3 else ""
            return Finding("rights", False, f"not allowed: {', '.join(lacking[:3])}{more}", POLICY)
        return Finding("rights", True, f"all {len(actions())} actions of the role are allowed, deletes among them")
