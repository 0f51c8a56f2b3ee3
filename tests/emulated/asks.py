"""What a study asks of any cloud, in the smallest form, for tests of the drivers and of the emulations."""

import time
from dataclasses import dataclass
from typing import Any

from cloudcmp.model.lease import FIREWALL, INSTANCE, CreateRequest, Handle
from cloudcmp.model.offering import Offering
from cloudcmp.model.plan import Candidate
from cloudcmp.model.protocol import Provider
from cloudcmp.model.remote import Access, KeyPair

STUDY = "study-a"
ALLOW = ("allow", "192.0.2.7/32")


def tags(study: str = STUDY, slot: str = "launch-0", schema: str = "1") -> tuple[tuple[str, str], ...]:
    """Our tags, of a study that expires in 2030."""
    named = {"attempt": "1", "expires": "2030-01-01T00:00:00Z", "owner": "0123abcd"}
    named |= {"schema": schema, "slot": slot, "study": study}
    return tuple((f"cloudcmp:{key}", value) for key, value in named.items())


@dataclass(frozen=True)
class Asks:
    """What is asked of one provider where a test says nothing else."""

    provider: str
    region: str
    offering: str
    vcpus: float = 1.0
    memory_gib: float = 1.0
    category: str | None = "burstable"
    seed: int = 1

    def request(self, kind: str = INSTANCE, token: str = "token-1", study: str = STUDY, **more: Any) -> CreateRequest:
        """A request for one resource; `more` are further fields of it, `options` as a dictionary."""
        options = {**({"allow": ALLOW[1]} if kind == FIREWALL else {}), **more.pop("options", {})}
        access = Access(KeyPair("private", "public"), "client", "#cloud-config\n{}\n") if kind == INSTANCE else None
        fields: dict[str, Any] = {
            "slot": "launch-0",
            "attempt": 1,
            "name": f"cloudcmp-{study.lower()}-{token}",
            "region": self.region,
            "offering": self.offering,
            "ttl_s": 600.0,
            "tags": tags(study),
            "candidate": 0,
            "round": 0,
            "seed": self.seed,
            "at": time.time(),
            "access": access,
            **more,
        }
        return CreateRequest(kind=kind, token=token, options=tuple(sorted(options.items())), **fields)

    def candidate(
        self, offering: str | None = None, region: str | None = None, vcpus: float | None = None, **options: str
    ) -> Candidate:
        """A candidate of the provider."""
        what, where, cpus = offering or self.offering, region or self.region, vcpus or self.vcpus
        sold = Offering(self.provider, where, what, cpus, self.memory_gib, self.category)
        return Candidate(0, f"{self.provider} {what}", sold, self.provider, options=tuple(sorted(options.items())))

    def instance(self, id: str, region: str | None = None) -> Handle:
        """The handle of a machine."""
        return Handle(INSTANCE, region or self.region, id)

    def firewall(self, id: str, region: str | None = None) -> Handle:
        """The handle of what lets a launch's machines be reached."""
        return Handle(FIREWALL, region or self.region, id)

    async def launched(self, driver: Provider, token: str = "token-1", **more: Any) -> tuple[str, str]:
        """The ids of a firewall and of a machine behind it."""
        beside = {key: value for key, value in more.items() if key in {"options", "region"}}
        group = await driver.create(self.request(FIREWALL, f"{token}-f", **beside))
        options = {**more.pop("options", {}), "firewall": group}
        return group, await driver.create(self.request(token=token, options=options, **more))


class Clock:
    """Seconds that pass when told to."""

    def __init__(self, now: float = 1000.0) -> None:
        self.now = now

    def __call__(self) -> float:
        """The time now."""
        return self.now
