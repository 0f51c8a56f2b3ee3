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
from cloudcmp.provider.openstack.faults import POLICY, missing
from cloudcmp.provider.openstack.launch import check_disk, check_options
from cloudcmp.provider.openstack.safeguards import RACKSPACE
from cloudcmp.provider.openstack.sdk import BLOCKS, COMPUTE, NETWORK, Sdk
from cloudcmp.provider.openstack.tags import MOST

NOBODY = "00000000-0000-4000-8000-000000000000"
"""An id that nobody owns: a delete of it tests whether the credentials allow deletions."""
_ENDS = ((COMPUTE, "/servers/"), (NETWORK, "/security-groups/"), (NETWORK, "/floatingips/"), (BLOCKS, "/volumes/"))
_DESCRIBED = "standard-attr-description"
_RACKSPACES = ".rackspacecloud.com"


class Preflight:
    """The checks before a study. `now` is this machine's Unix time (s)."""

    def __init__(self, sdk: Sdk, catalog: OfferingCatalog, now: Callable[[], float] = time.time) -> None:
        self._sdk, self._catalog, self._now = sdk, catalog, now

    async def run(self, candidates: Sequence[Candidate]) -> tuple[Finding, ...]:
        """All findings; only the first if the credentials are refused."""
        try:
            id, name = await self._sdk.run_in_thread(self._sdk.project_now, "")
            known = await self._catalog.regions()
            home = (await self._sdk.run_in_thread(self._sdk.default_region, "")) if not candidates else ""
        except NoCredentials as fault:
            return (refusal_finding("credentials", fault),)
        except Refused as fault:
            return (refusal_finding("capability", fault),)
        findings = [Finding("credentials", True, f"they are taken at {self._sdk.endpoint()}")]
        findings.append(self._account(id, name, candidates))
        findings += self._whose()
        good: list[Candidate] = []
        for candidate in candidates:
            found = await self._candidate(candidate, known)
            findings += found
            good += [candidate] if all(one.ok is not False for one in found) else []
        regions = list(dict.fromkeys(one.offering.region for one in good)) or ([home] if home in known else [])
        for region in regions:
            findings += [await self._capability(region), await self._rights(region)]
        findings += [clock_finding(parse_http_date(self._sdk.date), self._now())] if regions else []
        return (*findings, *await quota(self._sdk, self._catalog, good))

    @staticmethod
    def _account(id: str, name: str, candidates: Sequence[Candidate]) -> Finding:
        unknown_text = "the credentials are of no project"
        mismatch_hint = "use the other project's credentials, and write its id"
        return account_finding(
            id, f"project {name} ({id})", candidates, unknown_text=unknown_text, mismatch_hint=mismatch_hint
        )

    def _whose(self) -> list[Finding]:
        """Whether provider `rackspace` is a cloud of Rackspace's, because prices depend on that name."""
        host = urlsplit(self._sdk.endpoint()).hostname or ""
        if self._sdk.name != RACKSPACE or f".{host}".endswith(_RACKSPACES):
            return []
        return [Finding("capability", None, f"{host} is no host of Rackspace's", "name it as provider: openstack")]

    async def _candidate(self, candidate: Candidate, known: Sequence[str]) -> list[Finding]:
        """Whether region, flavor, image, disk, network and options are available together."""
        sold, options = candidate.offering, dict(candidate.options)
        if sold.region not in known:
            hint = nearest(sold.region, known, f"there are {', '.join(known)}")
            return [Finding("capability", False, f"{candidate.id}: there is no region {sold.region!r}", hint)]
        what = "capability"
        try:
            check_options(options, candidate.id)
            flavor = await self._catalog.flavor(sold.region, sold.name)
            reach = await self._catalog.reach(sold.region, options)
            what = "image"
            image = await self._catalog.image(sold.region, options)
            what = "capability"
            check_disk(flavor, candidate.volume, image, candidate.id)
            if candidate.volume is not None and not await self._sdk.has(sold.region, BLOCKS):
                raise Refused.at(candidate.id, "this cloud has no Cinder there", "leave volume out")
        except (Refused, NotAllowed) as fault:
            return [refusal_finding(what, fault, candidate.id)]
        reached = "a floating address" if reach.floating else "its own address there"
        return [
            Finding("image", True, f"{candidate.id}: {image.name or image.id} ({image.id})"),
            Finding("capability", True, f"{candidate.id}: on the network {reach.name}, reached at {reached}"),
        ]

    async def _capability(self, region: str) -> Finding:
        """The cloud's versions, Cinder, and descriptions, which mark our floating addresses."""
        door = await self._sdk.run_in_thread(lambda: self._sdk.door_now(region, COMPUTE), region)
        cinder = "with" if await self._sdk.has(region, BLOCKS) else "without"
        told = f"{region}: Nova up to {door.newest or '2.1' if door else 'none'}, {cinder} Cinder"
        try:
            listed = await self._sdk.pages(region, NETWORK, "/extensions", "extensions")
        except ProviderFault as fault:
            return Finding("capability", None, f"{told}; what its Neutron has is not told ({fault.faults[0].what})")
        if _DESCRIBED not in {one.get("alias") for one in listed}:
            what = f"{told}; its Neutron keeps no descriptions: a floating address of ours would be nobody's"
            return Finding("capability", False, what, "write address: fixed, or ask the operator")
        return Finding("capability", True, f"{told}; descriptions are kept ({MOST} characters)")

    async def _rights(self, region: str) -> Finding:
        """The roles, and whether the credential allows deletions; an operator's own policy is not visible."""
        roles = await self._sdk.run_in_thread(self._sdk.roles_now, "")
        if roles and not set(roles) - {"reader"}:
            return Finding("rights", False, f"the user is only {', '.join(roles)}", "have the role member given to it")
        closed: list[str] = []
        for service, path in _ENDS:
            if not await self._sdk.has(region, service):
                continue
            try:
                await self._sdk.change(region, service, "DELETE", path + NOBODY, again=True)
            except NotAllowed:
                closed.append(f"DELETE {path}{{id}}")
            except ProviderFault as fault:
                if not missing(fault):
                    return Finding("rights", None, f"{region}: not told: {fault.faults[0].what}")
        if closed:
            return Finding("rights", False, f"{region}: not opened: {', '.join(closed)}", POLICY)
        what = f"{region}: as {', '.join(sorted(roles)) or 'no role that is told'}; the calls that end things are open"
        return Finding("rights", True, f"{what}, and what the operator's own policy forbids is not told before")


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
Room = Mapping[str, tuple[float, float]]


async def quota(sdk: Sdk, catalog: OfferingCatalog, candidates: Sequence[Candidate]) -> list[Finding]:
    """Whether all candidates of a region may run at once, by the cloud's usage figures; None if they cannot be read."""
    found: list[Finding] = []
    for region in dict.fromkeys(one.offering.region for one in candidates):
        here = [one for one in candidates if one.offering.region == region]
        found.append(await _one(sdk, catalog, region, here))
    return found


async def _one(sdk: Sdk, catalog: OfferingCatalog, region: str, candidates: Sequence[Candidate]) -> Finding:
    try:
        needs = await _needs(catalog, region, candidates)
        room = await _room(sdk, region)
    except (ProviderFault, KeyError, TypeError, ValueError) as fault:
        return Finding("quota", None, f"{region}: it cannot be read ({fault})")
    told: list[str] = []
    short: list[str] = []
    for what, need in needs.items():
        if what not in room or not need:
            continue
        used, most = room[what]
        line = f"{need:g} {what} needed, {used:g} in use, {'no limit' if most < 0 else f'{most:g} allowed'}"
        (short if 0 <= most < need + used else told).append(line)
    if short:
        return Finding("quota", False, f"{region}: {'; '.join(short)}", "ask for more, or run fewer at once")
    return Finding("quota", True, f"{region}: {'; '.join(told)}")


async def _needs(catalog: OfferingCatalog, region: str, candidates: Sequence[Candidate]) -> dict[str, float]:
    """The needs of all candidates at once."""
    needs = dict.fromkeys((*_NOVA, *_CINDER, *_NEUTRON), 0.0)
    for one in candidates:
        reach, volume = await catalog.reach(region, dict(one.options)), one.volume
        needs["servers"] += one.count
        needs["vCPUs"] += (one.offering.vcpus or 0.0) * one.count
        needs["MiB of memory"] += (one.offering.memory_gib or 0.0) * 1024 * one.count
        needs["volumes"] += one.count if volume else 0
        needs["GiB of volumes"] += math.ceil((volume.size_bytes or 0) / _GIB) * one.count if volume else 0
        needs["floating addresses"] += one.count if reach.floating else 0
        needs["security groups"] += 1
    return needs


async def _room(sdk: Sdk, region: str) -> Room:
    """Usage and limit of each quota, as far as the services report them."""
    nova = (await sdk.read(region, COMPUTE, "/limits"))["limits"]["absolute"]
    room = {what: (float(nova[used]), float(nova[most])) for what, (used, most) in _NOVA.items()}
    if await sdk.has(region, BLOCKS):
        cinder = (await sdk.read(region, BLOCKS, "/limits"))["limits"]["absolute"]
        room |= {what: (float(cinder[used]), float(cinder[most])) for what, (used, most) in _CINDER.items()}
    project, _ = await sdk.run_in_thread(sdk.project_now, region)
    try:
        told = (await sdk.read(region, NETWORK, f"/quotas/{project}/details"))["quota"]
    except ProviderFault:
        return room  # an older Neutron reports only limits, not usage
    return room | {
        what: (float(told[key]["used"]) + float(told[key].get("reserved", 0)), float(told[key]["limit"]))
        for what, key in _NEUTRON.items()
        if key in told
    }
