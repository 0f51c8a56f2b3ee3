"""What a study asks of Compute Engine, in the smallest form, for tests of the driver and of the emulation."""

import time
from typing import Any

from cloudcmp.model.lease import FIREWALL, INSTANCE, CreateRequest, Handle
from cloudcmp.model.offering import Offering
from cloudcmp.model.plan import Candidate
from cloudcmp.model.remote import Access, KeyPair
from cloudcmp.provider.gcp import GcpProvider
from cloudcmp.provider.gcp.sdk import Sdk

REGION, ZONE = "us-central1", "us-central1-a"
STUDY = "study-a"
ALLOW = ("allow", "192.0.2.7/32")


def provider(*, deadline_s: float = 20.0, attempts: int = 1, **more: Any) -> GcpProvider:
    """A driver that tries once and pauses hardly at all."""
    return GcpProvider(sdk=Sdk(attempts=attempts, deadline_s=deadline_s, pause_s=0.01), **more)


def tags(study: str = STUDY, slot: str = "launch-0", schema: str = "1") -> tuple[tuple[str, str], ...]:
    """Our tags, of a study that expires in 2030."""
    named = {"schema": schema, "study": study, "slot": slot, "attempt": "1", "owner": "0123abcd"}
    named["expires"] = "2030-01-01T00:00:00Z"
    return tuple((f"cloudcmp:{key}", value) for key, value in named.items())


def request(kind: str = INSTANCE, token: str = "token-1", study: str = STUDY, **more: Any) -> CreateRequest:
    """A request for one resource; `more` are further fields of it, `options` as a dictionary."""
    options = {**({"allow": ALLOW[1]} if kind == FIREWALL else {}), **more.pop("options", {})}
    fields: dict[str, Any] = {
        "slot": "launch-0",
        "attempt": 1,
        "name": f"cloudcmp-{study.lower()}-{token}",
        "region": REGION,
        "offering": "e2-micro",
        "ttl_s": 600.0,
        "tags": tags(study),
        "candidate": 0,
        "round": 0,
        "seed": 0,
        "at": time.time(),
        "access": Access(KeyPair("private", "public"), "client", "#cloud-config\n{}\n") if kind == INSTANCE else None,
        **more,
    }
    return CreateRequest(kind=kind, token=token, options=tuple(sorted(options.items())), **fields)


def candidate(offering: str = "e2-micro", region: str = REGION, vcpus: float = 2.0, **options: str) -> Candidate:
    """A candidate of the `gcp` provider."""
    sold = Offering("gcp", region, offering, vcpus, 1.0, "burstable")
    return Candidate(0, f"gcp {offering}", sold, "gcp", options=tuple(sorted(options.items())))


def instance(id: str, region: str = REGION) -> Handle:
    """The handle of a machine."""
    return Handle(INSTANCE, region, id)


def firewall(id: str, region: str = REGION) -> Handle:
    """The handle of a launch's rules."""
    return Handle(FIREWALL, region, id)


async def launched(driver: GcpProvider, token: str = "token-1", **more: Any) -> tuple[str, str]:
    """The ids of a firewall and of a machine behind it."""
    group = await driver.create(request(FIREWALL, f"{token}-f", **{k: v for k, v in more.items() if k == "options"}))
    options = {**more.pop("options", {}), "firewall": group}
    return group, await driver.create(request(token=token, options=options, **more))
