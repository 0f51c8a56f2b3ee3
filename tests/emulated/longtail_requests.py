"""What a study asks of the clouds of the long tail, in the smallest form, for tests of the driver."""

import time
from typing import Any

from cloudcmp.model.lease import FIREWALL, INSTANCE, CreateRequest, Handle
from cloudcmp.model.offering import Offering
from cloudcmp.model.plan import Candidate
from cloudcmp.model.remote import Access, KeyPair
from cloudcmp.provider.longtail import CLOUDS, LongTailProvider
from cloudcmp.provider.longtail.sdk import Library

STUDY = "study-a"
ALLOW = ("allow", "192.0.2.7/32")
PLACES = {
    "digitalocean": ("fra1", "s-1vcpu-1gb"),
    "linode": ("eu-central", "g6-nanode-1"),
    "vultr": ("ams", "vc2-1c-1gb"),
}
"""A region and a type of each."""


def provider(name: str, *, deadline_s: float = 20.0, attempts: int = 1, **more: Any) -> LongTailProvider:
    """A driver that tries once and pauses hardly at all."""
    library = Library(CLOUDS[name], attempts=attempts, deadline_s=deadline_s, pause_s=0.01)
    return LongTailProvider(name, library=library, **more)


def tags(study: str = STUDY, slot: str = "launch-0", schema: str = "1") -> tuple[tuple[str, str], ...]:
    """Our tags, of a study that expires in 2030."""
    named = {"attempt": "1", "expires": "2030-01-01T00:00:00Z", "owner": "0123abcd", "schema": schema}
    return tuple((f"cloudcmp:{key}", value) for key, value in {**named, "slot": slot, "study": study}.items())


def request(cloud: str, kind: str = INSTANCE, token: str = "token-1", study: str = STUDY, **more: Any) -> CreateRequest:
    """A request for one resource of a cloud; `more` are further fields of it, `options` as a dictionary."""
    region, offering = PLACES[cloud]
    options = {**({"allow": ALLOW[1]} if kind == FIREWALL else {}), **more.pop("options", {})}
    fields: dict[str, Any] = {
        "slot": "launch-0",
        "attempt": 1,
        "name": f"cloudcmp-{study}-{token}",
        "region": region,
        "offering": offering,
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


def candidate(name: str, offering: str | None = None, region: str | None = None, **options: str) -> Candidate:
    """A candidate of a cloud."""
    where, what = PLACES[name]
    sold = Offering(name, region or where, offering or what, 1.0, 1.0, "burstable")
    return Candidate(0, f"{name} {sold.name}", sold, name, options=tuple(sorted(options.items())))


def instance(name: str, id: str) -> Handle:
    """The handle of a machine."""
    return Handle(INSTANCE, PLACES[name][0], id)


def firewall(name: str, id: str) -> Handle:
    """The handle of a firewall."""
    return Handle(FIREWALL, PLACES[name][0], id)


async def launched(name: str, driver: LongTailProvider, token: str = "token-1", **more: Any) -> tuple[str, str]:
    """The ids of a firewall and of a machine behind it."""
    wall = await driver.create(request(name, FIREWALL, f"{token}-f"))
    options = {**more.pop("options", {}), "firewall": wall}
    return wall, await driver.create(request(name, token=token, options=options, **more))
