"""How much the project may still have, where Nova, Neutron and Cinder tell it.

https://docs.openstack.org/api-ref/compute/#limits-limits, https://docs.openstack.org/api-ref/network/v2/#quotas-details,
https://docs.openstack.org/api-ref/block-storage/v3/#limits-limits; a limit of -1 is none.
"""

import math
from collections.abc import Mapping, Sequence

from cloudcmp.errors import ProviderFault
from cloudcmp.model.plan import Candidate
from cloudcmp.model.safety import Finding
from cloudcmp.provider.openstack.catalog import OfferingCatalog
from cloudcmp.provider.openstack.sdk import BLOCKS, COMPUTE, NETWORK, Sdk

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
    """Whether all candidates of a region may run at once; None where it cannot be read.

    What other people of the project start meanwhile is not known.
    """
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
    """What all of them take at once."""
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
    """What is in use and what is allowed, as far as each service tells it."""
    nova = (await sdk.read(region, COMPUTE, "/limits"))["limits"]["absolute"]
    room = {what: (float(nova[used]), float(nova[most])) for what, (used, most) in _NOVA.items()}
    if await sdk.has(region, BLOCKS):
        cinder = (await sdk.read(region, BLOCKS, "/limits"))["limits"]["absolute"]
        room |= {what: (float(cinder[used]), float(cinder[most])) for what, (used, most) in _CINDER.items()}
    project, _ = await sdk.run_in_thread(sdk.project_now, region)
    try:
        told = (await sdk.read(region, NETWORK, f"/quotas/{project}/details"))["quota"]
    except ProviderFault:
        return room  # an older Neutron tells only the limits, and not what is in use
    return room | {
        what: (float(told[key]["used"]) + float(told[key].get("reserved", 0)), float(told[key]["limit"]))
        for what, key in _NEUTRON.items()
        if key in told
    }
