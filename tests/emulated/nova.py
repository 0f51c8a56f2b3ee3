"""An OpenStack for tests: Keystone v3, Nova, Neutron, Cinder and Glance of the tests' own, on one loopback port.

`with nova(faults=..., boot=...) as cloud:` gives `cloud.environ` for the product (in this process or another),
`cloud.journal` of every call and `cloud.alive()`, the truth. `python -m tests.emulated.nova` runs one in the
foreground and prints what to export, with `--machines DIR` also SSH servers behind its servers. Everything listens
on loopback only. It is an emulation: what was tested against it was not tested on a real account.
"""

import argparse
import json
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from cloudcmp.provider.openstack.marks import Mark, mark_in
from tests.emulated import nova_told as told
from tests.emulated import nova_wire as wire
from tests.emulated.boot import Boot, ssh_boot, why_not
from tests.emulated.cloud import Call, Thing
from tests.emulated.faults import Chooser, Fault
from tests.emulated.nova_compute import Compute
from tests.emulated.nova_keystone import Keystone
from tests.emulated.nova_lives import Lives
from tests.emulated.nova_network import Network
from tests.emulated.nova_state import FLAVORS, IMAGES, Faults, Floating, Region, Server
from tests.emulated.nova_storage import Storage
from tests.emulated.wire import Answer, Request
from tests.emulated.wire import Server as HttpServer

REGIONS = ("RegionOne", "RegionTwo")

__all__ = ["FLAVORS", "IMAGES", "REGIONS", "Call", "Fault", "Faults", "Nova", "Thing", "nova"]


class Nova:
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
        self.journal: list[Call] = []
        self._lock = threading.RLock()
        self._compute = Compute(self.lives, lambda: self.url)
        self._network = Network(self.lives, lambda: self.url)
        self._storage = Storage(self.lives, lambda: self.url)
        self._server = HttpServer(self._handle, port)
        self.faults = faults or Faults()

    @property
    def faults(self) -> Faults:
        """How this cloud behaves; setting it starts the counts of single faults again."""
        return self.lives.faults

    @faults.setter
    def faults(self, faults: Faults) -> None:
        self.lives.faults = faults
        self.keystone.token_s, self.keystone.volumes = faults.token_s, faults.volumes != "none"
        self._chooser = Chooser(faults.seed, faults.shares, faults.at)

    def inject(self, action: str, what: str, first: int = 1, times: int = 1, seconds: float = 0.0) -> None:
        """A fault at the calls of an action to come; `error:STATUS words` answers that status without doing it."""
        self._chooser.inject(Fault(action, what, first, times, seconds))

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self._server.port}"

    @property
    def environ(self) -> dict[str, str]:
        """What the product is to find in its environment; nothing of the caller's own settings is to be kept."""
        home = next(iter(self.regions))
        return {**self.keystone.environ(), "OS_REGION_NAME": home, "OS_CLIENT_CONFIG_FILE": "/dev/null"}

    def __enter__(self) -> "Nova":
        self._server.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self.lives.close()
        self._server.__exit__()

    def leave(self) -> None:
        """Nothing listens any more: connections are refused, until it comes back. Its machines live on."""
        self._server.__exit__()

    def come_back(self) -> None:
        """Listen again, at the same place."""
        self._server = HttpServer(self._handle, self._server.port)
        self._server.__enter__()

    # -- what goes on

    def _handle(self, request: Request) -> Answer:
        this = wire.asked(request)
        action = this.action or "Versions"
        call = Call(self.lives.clock(), this.service, this.region, action, this.params)
        with self._lock:
            if this.action:
                self.journal.append(call)
            fault = self._chooser.next(action)
            if fault is not None and fault.what == "drop":
                call.outcome = "drop"
                return Answer(how="close")
            if fault is not None and fault.what.startswith("error:"):
                status, _, words = fault.what.removeprefix("error:").partition(" ")
                call.outcome = status
                return wire.error(this.service, int(status), words or "It was injected.")
            answer = self._honest(this)
        call.outcome = str(answer.status)
        answer = replace(answer, headers={**answer.headers, **wire.date(self.faults.skew_s, time.time())})
        return answer if fault is None else _spoilt(answer, fault, call)

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

    # -- the truth

    def calls(self, action: str) -> list[Call]:
        """The calls of one action, in order."""
        return [call for call in self.journal if call.action == action]

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
    mark = mark_in(text)
    return mark.tags if mark else ()


def _spoilt(answer: Answer, fault: Fault, call: Call) -> Answer:
    """The call was carried out; this is what becomes of its answer."""
    call.outcome = f"{fault.what} after {call.outcome}"
    if fault.what == "late":
        return replace(answer, delay_s=fault.seconds)
    if fault.what == "5xx":
        return wire.error(call.service, 500, "Unexpected API Error.")
    if fault.what == "truncated":
        return replace(answer, body=answer.body[: len(answer.body) * 2 // 3])
    if fault.what == "cut":
        return replace(answer, body=_cut(answer.body))
    if fault.what == "empty":
        return replace(answer, body=b"{}")
    return replace(answer, how={"lost": "close", "reset": "reset", "part": "part"}[fault.what])


def _cut(body: bytes) -> bytes:
    """A list whose marker of the next page comes cut short."""
    found: dict[str, Any] = json.loads(body or b"{}")
    for key, value in found.items():
        if key.endswith("_links") or key == "next":
            found[key] = json.loads(json.dumps(value)[: -6 if key == "next" else None].replace("marker=", "marker=x"))
    return json.dumps(found).encode()


@contextmanager
def nova(faults: Faults | None = None, boot: Boot | None = None, **more: Any) -> Iterator[Nova]:
    """A cloud of the test's own (`more`: policy, regions, clock, port); its machines end with the context."""
    with Nova(faults, boot, **more) as cloud:
        yield cloud


def main() -> None:
    """Run one in the foreground."""
    asked = argparse.ArgumentParser(description=main.__doc__)
    asked.add_argument("--port", type=int, default=0)
    asked.add_argument("--provider-network", action="store_true", help="machines stand on an external network")
    asked.add_argument(
        "--machines", type=Path, help="a folder: an SSH server stands behind each server, and works there"
    )
    args = asked.parse_args()
    if args.machines and why_not():
        asked.error(why_not())
    boot = ssh_boot(args.machines) if args.machines else None
    with nova(Faults(network="provider" if args.provider_network else "tenant"), boot, port=args.port) as cloud:
        for name, value in cloud.environ.items():
            print(f"export {name}={value}")
        sys.stdout.flush()
        seen = 0
        try:
            while True:
                while seen < len(cloud.journal) and cloud.journal[seen].outcome:
                    call, seen = cloud.journal[seen], seen + 1
                    print(f"# {call.region} {call.name} {call.outcome}", file=sys.stderr, flush=True)
                time.sleep(0.2)
        except KeyboardInterrupt:
            for thing in cloud.alive():
                print(f"# left: {thing.kind} {thing.region} {thing.id} {thing.state}", file=sys.stderr)


if __name__ == "__main__":
    main()
