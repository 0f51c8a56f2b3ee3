"""What a study asks of an OpenStack, in the smallest form, for tests of the driver and of the emulation."""

import time
from typing import Any

from cloudcmp.model.lease import FIREWALL, INSTANCE, CreateRequest, Handle
from cloudcmp.model.offering import Offering
from cloudcmp.model.plan import Candidate
from cloudcmp.model.remote import Access, KeyPair
from cloudcmp.provider.openstack import OpenStackProvider
from cloudcmp.provider.openstack.sdk import Sdk

REGION = "RegionOne"
STUDY = "study-a"
ALLOW = ("allow", "192.0.2.7/32")


def provider(name: str = "openstack", *, deadline_s: float = 20.0, attempts: int = 1, **more: Any) -> OpenStackProvider:
    """A driver that tries once and pauses hardly at all."""
    return OpenStackProvider(name, sdk=Sdk(name, attempts=attempts, deadline_s=deadline_s), pause_s=0.01, **more)


def tags(study: str = STUDY, slot: str = "launch-0", schema: str = "1") -> tuple[tuple[str, str], ...]:
    """Our tags, of a study that expires in 2030."""
    named = {"schema": schema, "study": study, "slot": slot, "attempt": "1", "owner": "0123abcd"}
    named["expires"] = "2030-01-01T00:00:00Z"
    return tuple(sorted((f"cloudcmp:{key}", value) for key, value in named.items()))


def request(kind: str = INSTANCE, token: str = "token-1", study: str = STUDY, **more: Any) -> CreateRequest:
    """A request for one resource; `more` are further fields of it, `options` as a dictionary."""
    options = {**({"allow": ALLOW[1]} if kind == FIREWALL else {}), **more.pop("options", {})}
    fields: dict[str, Any] = {
        "slot": "launch-0",
        "attempt": 1,
        "name": f"cloudcmp-{study}-{token}",
        "region": REGION,
        "offering": "m1.small",
        "ttl_s": 600.0,
        "tags": tags(study),
        "candidate": 0,
        "round": 0,
        "seed": 1,
        "at": time.time(),
        "access": Access(KeyPair("private", "public"), "client", "#cloud-config\n{}\n") if kind == INSTANCE else None,
        **more,
    }
    return CreateRequest(kind=kind, token=token, options=tuple(sorted(options.items())), **fields)


def candidate(offering: str = "m1.small", region: str = REGION, vcpus: float = 1.0, **options: str) -> Candidate:
    """A candidate of the `openstack` provider."""
    sold = Offering("openstack", region, offering, vcpus, 2.0)
    return Candidate(0, f"openstack {offering}", sold, "openstack", options=tuple(sorted(options.items())))


def instance(id: str, region: str = REGION) -> Handle:
    """The handle of a machine."""
    return Handle(INSTANCE, region, id)


def firewall(id: str, region: str = REGION) -> Handle:
    """The handle of a firewall group."""
    return Handle(FIREWALL, region, id)


async def launched(driver: OpenStackProvider, token: str = "token-1", **more: Any) -> tuple[str, str]:
    """The ids of a firewall and of a machine behind it."""
    group = await driver.create(request(FIREWALL, f"{token}-f", **{k: v for k, v in more.items() if k == "options"}))
    options = {**more.pop("options", {}), "firewall": group}
    return group, await driver.create(request(token=token, options=options, **more))


class Clock:
    """Seconds that pass when told to."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now
