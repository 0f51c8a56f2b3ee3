"""Checks that run before anything is created, and create nothing."""

import math
import time
from collections.abc import Callable, Mapping, Sequence
from urllib.parse import urlsplit

from cloudcmp.errors import NoCredentials, NotAllowed, ProviderFault, Refused
from cloudcmp.model.plan import Candidate
from cloudcmp.model.safety import Finding
from cloudcmp.provider.common.findings import account_finding, clock_finding, parse_http_date, refusal_finding
from cloudcmp.provider.common.suggestions import nearest
from cloudcmp.provider.openstack.catalog import OfferingCatalog
from cloudcmp.provider.openstack.faults import POLICY, is_missing
from cloudcmp.provider.openstack.launch import check_disk, check_options
from cloudcmp.provider.openstack.safeguards import RACKSPACE
from cloudcmp.provider.openstack.sdk import BLOCKS, COMPUTE, NETWORK, Sdk
from cloudcmp.provider.openstack.tags import MOST

NONEXISTENT_ID = "00000000-0000-4000-8000-000000000000"
"""An id that nobody owns: a delete of it tests whether the credentials allow deletions."""
_DELETIONS = ((COMPUTE, "/servers/"), (NETWORK, "/security-groups/"), (NETWORK, "/floatingips/"), (BLOCKS, "/volumes/"))
_DESCRIPTION_EXTENSION = "standard-attr-description"
_RACKSPACE_DOMAIN = ".rackspacecloud.com"


class Preflight:
    """The checks before a study. `now` is this machine's Unix time (s)."""

    def __init__(self, sdk: Sdk, catalog: OfferingCatalog, now: Callable[[], float] = time.time) -> None:
        self._sdk, self._catalog, self._now = sdk, catalog, now

    async def run(self, candidates: Sequence[Candidate]) -> tuple[Finding, ...]:
        """All findings; only the first if the credentials are refused."""
        try:
            id, name = await self._sdk.run_in_thread(self._sdk.project, "")
            regions = await self._catalog.regions()
            home = (await self._sdk.run_in_thread(self._sdk.default_region, "")) if not candidates else ""
        except NoCredentials as fault:
            return (refusal_finding("credentials", fault),)
        except Refused as fault:
            return (refusal_finding("capability", fault),)
        findings = [Finding("credentials", True, f"they are accepted at {self._sdk.endpoint()}")]
        findings.append(self._account(id, name, candidates))
        findings += self._check_rackspace()
        accepted: list[Candidate] = []
        for candidate in candidates:
            results = await self._candidate(candidate, regions)
            findings += results
            accepted += [candidate] if all(one.ok is not False for one in results) else []
        checked = list(dict.fromkeys(one.offering.region for one in accepted)) or ([home] if home in regions else [])
        for region in checked:
            findings += [await self._capability(region), await self._rights(region)]
        findings += [clock_finding(parse_http_date(self._sdk.date), self._now())] if checked else []
        return (*findings, *await quota(self._sdk, self._catalog, accepted))

    @staticmethod
    def _account(id: str, name: str, candidates: Sequence[Candidate]) -> Finding:
        unknown_text = "the credentials are of no project"
        mismatch_hint = "use the other project's credentials, and write its id"
        return account_finding(
            id, f"project {name} ({id})", candidates, unknown_text=unknown_text, mismatch_hint=mismatch_hint
        )

    def _check_rackspace(self) -> list[Finding]:
        """Whether provider `rackspace` is a cloud of Rackspace's, because prices depend on that name."""
        host = urlsplit(self._sdk.endpoint()).hostname or ""
        if self._sdk.name != RACKSPACE or f".{host}".endswith(_RACKSPACE_DOMAIN):
            return []
        return [Finding("capability", None, f"{host} is no host of Rackspace's", "name it as provider: openstack")]

    async def _candidate(self, candidate: Candidate, regions: Sequence[str]) -> list[Finding]:
        """Whether region, flavor, image, disk, network and options are available together."""
        offering, options = candidate.offering, dict(candidate.options)
        if offering.region not in regions:
            hint = nearest(offering.region, regions, f"there are {', '.join(regions)}")
            return [Finding("capability", False, f"{candidate.id}: there is no region {offering.region!r}", hint)]
        what = "capability"
        try:
            check_options(options, candidate.id)
            flavor = await self._catalog.flavor(offering.region, offering.name)
            network = await self._catalog.network(offering.region, options)
            what = "image"
            image = await self._catalog.image(offering.region, options)
            what = "capability"
            check_disk(flavor, candidate.volume, image, candidate.id)
            if candidate.volume is not None and not await self._sdk.has(offering.region, BLOCKS):
                raise Refused.at(candidate.id, "this cloud has no Cinder there", "leave volume out")
        except (Refused, NotAllowed) as fault:
            return [refusal_finding(what, fault, candidate.id)]
        address = "a floating address" if network.floating else "its own address there"
        return [
            Finding("image", True, f"{candidate.id}: {image.name or image.id} ({image.id})"),
            Finding("capability", True, f"{candidate.id}: on the network {network.name}, reached at {address}"),
        ]

    async def _capability(self, region: str) -> Finding:
        """The cloud's versions, Cinder, and descriptions, which mark our floating addresses."""
        endpoint = await self._sdk.run_in_thread(lambda: self._sdk.service_endpoint(region, COMPUTE), region)
        cinder = "with" if await self._sdk.has(region, BLOCKS) else "without"
        summary = f"{region}: Nova up to {endpoint.newest or '2.1' if endpoint else 'none'}, {cinder} Cinder"
        try:
            listed = await self._sdk.pages(region, NETWORK, "/extensions", "extensions")
        except ProviderFault as fault:
            return Finding(
                "capability", None, f"{summary}; its Neutron's extensions cannot be read ({fault.faults[0].what})"
            )
        if _DESCRIPTION_EXTENSION not in {one.get("alias") for one in listed}:
            what = f"{summary}; its Neutron keeps no descriptions: our floating addresses could not be found again"
            return Finding("capability", False, what, "write address: fixed, or ask the operator")
        return Finding("capability", True, f"{summary}; descriptions are kept ({MOST} characters)")

    async def _rights(self, region: str) -> Finding:
        """The roles, and whether the credential allows deletions; an operator's own policy is not visible."""
        roles = await self._sdk.run_in_thread(self._sdk.roles, "")
        if roles and not set(roles) - {"reader"}:
            return Finding("rights", False, f"the user is only {', '.join(roles)}", "give it the role member")
        denied: list[str] = []
        for service, path in _DELETIONS:
            if not await self._sdk.has(region, service):
                continue
            try:
                await self._sdk.change(region, service, "DELETE", path + NONEXISTENT_ID, again=True)
            except NotAllowed:
                denied.append(f"DELETE {path}{{id}}")
            except ProviderFault as fault:
                if not is_missing(fault):
                    return Finding("rights", None, f"{region}: unclear: {fault.faults[0].what}")
        if denied:
            return Finding("rights", False, f"{region}: not allowed: {', '.join(denied)}", POLICY)
        what = f"{region}: as {', '.join(sorted(roles)) or 'no known role'}; deletions are allowed"
        return Finding("rights", True, f"{what}; the operator's own policy is not visible")


# https://docs.openstack.org/api-ref/compute/#limits-limits, https://docs.openstack.org/api-ref/network/v2/#quotas-details,
# https://docs.openstack.org/api-ref/block-storage/v3/#limits-limits; a limit of -1 is none.
_GIB = 2**30
_NOVA = {
    "servers": ("totalInstancesUsed", "maxTotalInstances"),
    "vCPUs": ("totalCoresUsed", "maxTotalCores"),
    "MiB of memory": ("totalRAMUsed", "maxTotalRAMSize"),
}
_CINDER = {
    "volumes": ("totalVolumesUsed", "maxTotalVolumes"),
    "GiB of volumes": ("totalGigabytesUsed", "maxTotalVolumeGigabytes"),
}
_NEUTRON = {"floating addresses": "floatingip", "security groups": "security_group"}
Usages = Mapping[str, tuple[float, float]]


async def quota(sdk: Sdk, catalog: OfferingCatalog, candidates: Sequence[Candidate]) -> list[Finding]:
    """Whether all candidates of a region may run at once, by the cloud's usage figures; None if they cannot be read."""
    findings: list[Finding] = []
    for region in dict.fromkeys(one.offering.region for one in candidates):
        in_region = [one for one in candidates if one.offering.region == region]
        findings.append(await _quota_finding(sdk, catalog, region, in_region))
    return findings


async def _quota_finding(sdk: Sdk, catalog: OfferingCatalog, region: str, candidates: Sequence[Candidate]) -> Finding:
    try:
        needs = await _needs(catalog, region, candidates)
        usages = await _usages(sdk, region)
    except (ProviderFault, KeyError, TypeError, ValueError) as fault:
        return Finding("quota", None, f"{region}: it cannot be read ({fault})")
    lines: list[str] = []
    exceeded: list[str] = []
    for what, need in needs.items():
        if what not in usages or not need:
            continue
        used, most = usages[what]
        line = f"{need:g} {what} needed, {used:g} in use, {'no limit' if most < 0 else f'{most:g} allowed'}"
        (exceeded if 0 <= most < need + used else lines).append(line)
    if exceeded:
        return Finding("quota", False, f"{region}: {'; '.join(exceeded)}", "ask for more, or run fewer at once")
    return Finding("quota", True, f"{region}: {'; '.join(lines)}")


async def _needs(catalog: OfferingCatalog, region: str, candidates: Sequence[Candidate]) -> dict[str, float]:
    """The needs of all candidates at once."""
    needs = dict.fromkeys((*_NOVA, *_CINDER, *_NEUTRON), 0.0)
    for one in candidates:
        network, volume = await catalog.network(region, dict(one.options)), one.volume
        needs["servers"] += one.count
        needs["vCPUs"] += (one.offering.vcpus or 0.0) * one.count
        needs["MiB of memory"] += (one.offering.memory_gib or 0.0) * 1024 * one.count
        needs["volumes"] += one.count if volume else 0
        needs["GiB of volumes"] += math.ceil((volume.size_bytes or 0) / _GIB) * one.count if volume else 0
        needs["floating addresses"] += one.count if network.floating else 0
        needs["security groups"] += 1
    return needs


async def _usages(sdk: Sdk, region: str) -> Usages:
    """Usage and limit of each quota, as far as the services report them."""
    nova = (await sdk.read(region, COMPUTE, "/limits"))["limits"]["absolute"]
    usages = {what: (float(nova[used]), float(nova[most])) for what, (used, most) in _NOVA.items()}
    if await sdk.has(region, BLOCKS):
        cinder = (await sdk.read(region, BLOCKS, "/limits"))["limits"]["absolute"]
        usages |= {what: (float(cinder[used]), float(cinder[most])) for what, (used, most) in _CINDER.items()}
    project, _ = await sdk.run_in_thread(sdk.project, region)
    try:
        neutron = (await sdk.read(region, NETWORK, f"/quotas/{project}/details"))["quota"]
    except ProviderFault:
        return usages  # an older Neutron reports only limits, not usage
    return usages | {
        what: (float(neutron[key]["used"]) + float(neutron[key].get("reserved", 0)), float(neutron[key]["limit"]))
        for what, key in _NEUTRON.items()
        if key in neutron
    }
