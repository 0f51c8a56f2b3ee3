"""An OpenStack for tests: Keystone v3, Nova, Neutron, Cinder and Glance of the tests' own, on one loopback port.

`with nova(faults=..., boot=...) as cloud:` gives `cloud.environ` for the product (in this process or another),
`cloud.journal` of every call and `cloud.alive()`, the truth. `python -m tests.emulated.nova` runs one in the
foreground and prints what to export, with `--machines DIR` also SSH servers behind its servers. Everything listens
on loopback only. It is an emulation: what was tested against it was not tested on a real account.
"""

import argparse
import json
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from cloudcmp.provider.openstack.tags import Mark, parse_mark
from tests.emulated import nova_told as told
from tests.emulated import nova_wire as wire
from tests.emulated.boot import Boot
from tests.emulated.cloud import Call, Thing
from tests.emulated.faults import Fault
from tests.emulated.nova_compute import Compute
from tests.emulated.nova_keystone import Keystone
from tests.emulated.nova_lives import Lives
from tests.emulated.nova_network import Network
from tests.emulated.nova_state import FLAVORS, IMAGES, Faults, Floating, Region, Server
from tests.emulated.nova_storage import Storage
from tests.emulated.standing import Standing, foreground
from tests.emulated.wire import Answer, Request

REGIONS = ("RegionOne", "RegionTwo")

__all__ = ["FLAVORS", "IMAGES", "REGIONS", "Call", "Fault", "Faults", "Nova", "Thing", "nova"]


class Nova(Standing[Faults]):
    """One emulated cloud with one project and one user; with `policy` it is known by an application credential."""

    def __init__(
        self,
        faults: Faults | None = None,
        boot: Boot | None = None,
        *,
        policy: Sequence[dict[str, str]] | None = None,
        regions: tuple[str, ...] = REGIONS,
        clock: Callable[[], float] = time.monotonic,
        port: int = 0,
    ) -> None:
        self.regions = {name: Region(name) for name in regions}
        self.lives = Lives(self.regions, boot, clock)
        self.keystone = Keystone(regions, lambda: self.url, policy)
        self._compute = Compute(self.lives, lambda: self.url)
        self._network = Network(self.lives, lambda: self.url)
        self._storage = Storage(self.lives, lambda: self.url)
        super().__init__(faults or Faults(), port)

    def _behave(self, faults: Faults) -> None:
        self.lives.faults = faults
        self.keystone.token_s, self.keystone.volumes = faults.token_s, faults.volumes != "none"

    @property
    def environ(self) -> dict[str, str]:
        """What the product is to find in its environment; nothing of the caller's own settings is to be kept."""
        home = next(iter(self.regions))
        return {**self.keystone.environ(), "OS_REGION_NAME": home, "OS_CLIENT_CONFIG_FILE": "/dev/null"}

    def _end_machines(self) -> None:
        self.lives.close()

    # -- what goes on

    def _handle(self, request: Request) -> Answer:
        this = wire.asked(request)
        action = this.action or "Versions"
        call = Call(self.lives.clock(), this.service, this.region, action, this.params)
        return self._answered(call, lambda: self._honest(this), kept=bool(this.action))

    def _honest(self, this: wire.Asked) -> Answer:
        """The answer without any fault: token, access rules, role, then the call itself."""
        self.lives.settle()
        if this.service == "identity":
            return self.keystone.answer(this)
        if not this.action:
            return self._versions(this)
        region = self.regions.get(this.region)
        if region is None:
            return wire.error(this.service, 404, "The resource could not be found.")
        refused = self.keystone.refused(this)
        if refused is not None:
            return refused
        if this.action in self.faults.denied and not self._nobodys(region, this):
            return wire.error(this.service, 403, f"Policy doesn't allow {this.action} to be performed.")
        if this.service == "compute":
            return self._compute.answer(region, this)
        return (self._network if this.service == "network" else self._storage).answer(region, this)

    @staticmethod
    def _nobodys(region: Region, this: wire.Asked) -> bool:
        """Whether a call names what is not there: services look for it before they ask whether the user may."""
        kinds = (region.servers, region.volumes, region.groups, region.floatings, region.placements)
        return bool(this.id) and not any(this.id in kind for kind in kinds)

    def _versions(self, this: wire.Asked) -> Answer:
        """Documents that tell a service's versions, to anybody; 404 for what there is not."""
        known = {"compute": self._compute, "network": self._network, "volume": self._storage, "image": self._storage}
        service = known.get(this.service)
        plain = this.method == "GET" and len(this.path.strip("/").split("/")) <= 1
        if service is None or this.region not in self.regions or not plain:
            return wire.error(this.service, 404, "The resource could not be found.")
        return service.versions(this.region, this)

    def _injected(self, call: Call, code: str) -> Answer:
        status, _, words = code.partition(" ")
        return wire.error(call.service, int(status), words or "It was injected.")

    def _broken(self, answer: Answer, call: Call) -> Answer:
        return wire.error(call.service, 500, "Unexpected API Error.")

    def _cut(self, body: bytes) -> bytes:
        found: dict[str, Any] = json.loads(body or b"{}")
        for key, value in found.items():
            if key.endswith("_links") or key == "next":
                cut = json.dumps(value)[: -6 if key == "next" else None]
                found[key] = json.loads(cut.replace("marker=", "marker=x"))
        return json.dumps(found).encode()

    # -- the truth

    def alive(self) -> list[Thing]:
        """All that exists now, in every region: servers, volumes, addresses, and groups but each region's own."""
        with self._lock:
            self.lives.settle()
            return [thing for region in self.regions.values() for thing in self._there(region)]

    def _there(self, region: Region) -> Iterator[Thing]:
        for server in region.servers.values():
            yield Thing("instance", region.name, server.id, self.lives.state(server), _tags(server.metadata))
        for volume in region.volumes.values():
            yield Thing(
                "volume", region.name, volume.id, "in-use" if volume.server else "there", _tags(volume.metadata)
            )
        for group in region.groups.values():
            if group.name != "default":
                yield Thing("firewall", region.name, group.id, "there", _marked(group.description))
        for one in region.floatings.values():
            yield Thing("address", region.name, one.id, "there", _marked(one.description))
        for place in region.placements.values():
            yield Thing("placement group", region.name, place.id, "there", _marked(place.name))

    def made_by(self, call: Call) -> str | None:
        """The token or name that a call which makes something names, None for any other call."""
        return told.made_by(call)

    def changed_by(self, call: Call) -> tuple[str, ...]:
        """The ids that a call which changes or ends something names."""
        return told.changed_by(call)

    def plant(self, kind: str, region: str, name: str, tags: Mapping[str, str]) -> str:
        """Make a resource behind the product's back, which no journal shows; returns its id."""
        there, pairs = self.regions[region], tuple(sorted(tags.items()))
        with self._lock:
            if kind == "firewall":
                text = Mark("theirs", pairs).text(name) if tags else "somebody else's"
                return there.add_group(name, text).id
            if kind == "volume":
                return there.add_volume(1, "ssd", name=name, metadata=dict(tags)).id
            if kind == "address":
                text = Mark("theirs", pairs).text(name) if tags else "somebody else's"
                one = Floating(str(uuid.uuid4()), there.address(122), there.id_of("public"), text)
                there.floatings[one.id] = one
                return one.id
            made = Server(
                str(uuid.uuid4()), region, name, FLAVORS[0], IMAGES[0].id, dict(tags), self.lives.clock() - 1e6,
                there.address(121), network=there.id_of("private"), port=str(uuid.uuid4()),
            )  # fmt: skip
            there.servers[made.id] = made
            return made.id


def _tags(metadata: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    return tuple(sorted(metadata.items()))


def _marked(text: str) -> tuple[tuple[str, str], ...]:
    mark = parse_mark(text)
    return mark.tags if mark else ()


@contextmanager
def nova(faults: Faults | None = None, boot: Boot | None = None, **more: Any) -> Iterator[Nova]:
    """A cloud of the test's own (`more`: policy, regions, clock, port); its machines end with the context."""
    with Nova(faults, boot, **more) as cloud:
        yield cloud


def main() -> None:
    """Run one in the foreground."""
    asked = argparse.ArgumentParser(description=main.__doc__)
    asked.add_argument("--provider-network", action="store_true", help="machines stand on an external network")

    def make(args: argparse.Namespace, boot: Boot | None) -> Nova:
        return Nova(Faults(network="provider" if args.provider_network else "tenant"), boot, port=args.port)

    foreground(asked, make)


if __name__ == "__main__":
    main()
