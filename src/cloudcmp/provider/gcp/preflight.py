"""What must hold before anything is created, looked at without creating anything."""

import time
from collections.abc import Callable, Sequence

from cloudcmp.errors import NoCredentials, ProviderFault, RefusalKind, Refused
from cloudcmp.model.plan import Candidate
from cloudcmp.model.safety import Finding
from cloudcmp.provider.common.findings import account_finding, clock_finding, refusal_finding
from cloudcmp.provider.gcp.catalog import OfferingCatalog
from cloudcmp.provider.gcp.faults import POLICY
from cloudcmp.provider.gcp.launch import NETWORK
from cloudcmp.provider.gcp.policy import permissions
from cloudcmp.provider.gcp.quota import quota
from cloudcmp.provider.gcp.sdk import Sdk

_AT_ONCE = 100  # permissions in one question


class Preflight:
    """One look before a study. `now` is this machine's Unix time (s)."""

    def __init__(self, sdk: Sdk, catalog: OfferingCatalog, now: Callable[[], float] = time.time) -> None:
        self._sdk, self._catalog, self._now = sdk, catalog, now

    async def run(self, candidates: Sequence[Candidate]) -> tuple[Finding, ...]:
        """Everything that can be told; nothing more where the credentials do not hold."""
        try:
            project = await self._sdk.read("projects", "get")
            at = await self._sdk.date()
        except NoCredentials as fault:
            return (refusal_finding("credentials", fault),)
        endpoint = self._sdk.endpoint()
        named = f"{project.name}{f' at {endpoint}' if endpoint else ''}"
        findings = [Finding("credentials", True, f"they are taken for the project {named}")]
        findings += [self._account(str(project.name), candidates), clock_finding(at, self._now())]
        good = []
        for candidate in candidates:
            found = await self._names(candidate)
            findings += found
            good += [candidate] if all(one.ok for one in found) else []
        findings += [await self._network(), await self._rights()]
        return (*findings, *await quota(self._sdk, good))

    @staticmethod
    def _account(project: str, candidates: Sequence[Candidate]) -> Finding:
        other = "set GOOGLE_CLOUD_PROJECT, or use the other project's credentials"
        return account_finding(project, f"project {project}", candidates, other=other)

    async def _names(self, candidate: Candidate) -> list[Finding]:
        """Region, zone and machine type, then the image for it."""
        sold, options = candidate.offering, dict(candidate.options)
        try:
            zones = await self._catalog.zones_for(sold.region, sold.name, options)
        except Refused as fault:
            return [refusal_finding("capability", fault, candidate.id)]
        names = Finding("capability", True, f"{candidate.id}: to be had in {', '.join(sorted(zones))}")
        try:
            image = await self._catalog.image_for(zones[0], sold.name, options)
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
        """Which of the role's permissions are granted in the project; a condition of the grant is not seen by that."""
        asked = permissions()
        try:
            granted: set[str] = set()
            for first in range(0, len(asked), _AT_ONCE):
                granted |= await self._sdk.granted(asked[first : first + _AT_ONCE])
        except ProviderFault as fault:
            what = f"which permissions are granted cannot be asked ({fault.faults[0].what})"
            return Finding(
                "rights", None, what, "enable the Cloud Resource Manager API of the project to have them told"
            )
        missing = [one for one in asked if one not in granted]
        if missing:
            return Finding("rights", False, f"not allowed: {', '.join(missing)}", POLICY)
        return Finding("rights", True, f"all {len(asked)} permissions that are used are granted in the project")
