"""An EC2 for tests: moto with authentication on, behind a proxy that adds what moto lacks and what goes wrong.

`with ec2(faults=..., boot=...) as cloud:` gives `cloud.environ` for the product (in this process or another),
`cloud.journal` of every call and `cloud.alive()`, the truth. `python -m tests.emulated.ec2` runs one in the
foreground and prints what to export, with `--machines DIR` also SSH servers behind its instances. Everything listens
on loopback only. It is an emulation: what was tested against it was not tested on a real account.
"""

import argparse
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from tests.emulated import ec2_told as told
from tests.emulated import ec2_xml as xml
from tests.emulated.boot import Boot
from tests.emulated.cloud import Call, Thing
from tests.emulated.ec2_calls import Calls
from tests.emulated.ec2_faults import EUCALYPTUS, Faults
from tests.emulated.ec2_lives import Lives
from tests.emulated.ec2_moto import IMAGES, Account, call_of
from tests.emulated.ec2_policy import permitted
from tests.emulated.ec2_state import State
from tests.emulated.ec2_touched import touched
from tests.emulated.faults import Fault
from tests.emulated.standing import Standing, foreground
from tests.emulated.wire import Answer, Request

REGIONS = ("us-east-1", "eu-central-1")

__all__ = ["EUCALYPTUS", "IMAGES", "REGIONS", "Call", "Ec2", "Fault", "Faults", "Thing", "ec2"]


class Ec2(Standing[Faults]):
    """One emulated cloud with one account and one user."""

    def __init__(
        self,
        faults: Faults | None = None,
        boot: Boot | None = None,
        *,
        policy: dict[str, Any] | None = None,
        regions: tuple[str, ...] = REGIONS,
        clock: Callable[[], float] = time.monotonic,
        port: int = 0,
    ) -> None:
        self.account = Account(policy)
        lives = Lives(self.account.ec2, boot, clock)
        self.state = State(self.account, lives, regions, Faults())
        self.neighbours: list[Ec2] = []  # other accounts at the same place, each known by its key
        self._calls = Calls(self.state)
        super().__init__(faults or Faults(), port)

    def _behave(self, faults: Faults) -> None:
        self.state.faults = self.state.lives.faults = faults

    @property
    def environ(self) -> dict[str, str]:
        """What the product is to find in its environment; nothing of the caller's own AWS settings is to be kept."""
        return {
            "AWS_ACCESS_KEY_ID": self.account.key_id,
            "AWS_SECRET_ACCESS_KEY": self.account.secret,
            "AWS_ENDPOINT_URL": self.url,
            "AWS_REGION": self.state.regions[0],
            "AWS_DEFAULT_REGION": self.state.regions[0],
            "AWS_EC2_METADATA_DISABLED": "true",
            "AWS_CONFIG_FILE": "/dev/null",
            "AWS_SHARED_CREDENTIALS_FILE": "/dev/null",
        }

    def _end_machines(self) -> None:
        self.state.lives.close()

    # -- what goes on

    def _handle(self, request: Request) -> Answer:
        for other in self.neighbours:
            if f"Credential={other.account.key_id}/" in request.header("Authorization"):
                return other._handle(request)
        service, region, action, params = call_of(request)
        call = Call(self.state.lives.clock(), service, region, action, params)
        return self._answered(call, lambda: self._honest(request, service, region, action, params))

    def _honest(self, request: Request, service: str, region: str, action: str, params: dict[str, str]) -> Answer:
        """The answer without any fault: signature, right, then the call itself."""
        if self.account.has_expired(request):
            code = "RequestExpired" if service == "ec2" else "ExpiredToken"
            return xml.error(code, "Request has expired.", service)
        if not self.account.signed_right(request):
            return self.account.forward(request)
        denied = action in self.faults.denied or not permitted(
            self.account.policy, touched(self.state, service, region, action, params)
        )
        if denied:
            code = "UnauthorizedOperation" if service == "ec2" else "AccessDenied"
            return xml.error(code, f"You are not authorized to perform this operation: {service}:{action}", service)
        return self._calls.answer(service, region, action, params)

    def _outcome(self, answer: Answer) -> str:
        if answer.status == 200:
            return "200"
        body = answer.body.decode(errors="replace")
        for before, after in (("<Code>", "</Code>"), ('"__type": "', '"')):
            if before in body:
                return body.partition(before)[2].partition(after)[0]
        return str(answer.status)

    def _injected(self, call: Call, code: str) -> Answer:
        return xml.error(code, f"{code} was injected", call.service)

    def _broken(self, answer: Answer, call: Call) -> Answer:
        return xml.error("InternalError", "An internal error has occurred", call.service)

    def _cut(self, body: bytes) -> bytes:
        return body.replace(b"-end</nextToken>", b"</nextToken>")

    def _empty(self, answer: Answer, call: Call) -> Answer:
        return Answer(200, f"<{call.action}Response></{call.action}Response>".encode(), answer.headers)

    def reclaim(self, id: str) -> None:
        """The cloud takes a spot instance back."""
        why = ("Server.SpotInstanceTermination", "Spot instance termination")
        with self._lock:
            self.state.lives.end(id, why)

    # -- the truth

    def alive(self) -> list[Thing]:
        """All that exists now, in every region: instances not terminated, volumes, groups, cards and spots."""
        with self._lock:
            self.state.lives.settle()
            return [thing for region in self.account.regions() for thing in self._there(region)]

    def _there(self, region: str) -> Iterator[Thing]:
        backend = self.account.ec2(region)
        for reservation in backend.reservations.values():
            for each in reservation.instances:
                state = self.state.lives.state(each.id) if each.id in self.state.lives.all else each.state
                if state != "terminated":
                    yield Thing("instance", region, each.id, state, _tags(each))
        for volume in backend.volumes.values():
            yield Thing("volume", region, volume.id, volume.status, _tags(volume))
        for of_vpc in backend.groups.values():
            for group in of_vpc.values():
                if group.name != "default":
                    yield Thing("firewall", region, group.id, "there", _tags(group))
        for card in backend.enis.values():
            yield Thing("interface", region, card.id, "there", _tags(card))
        for spot in self.state.spots.values():
            if spot.region == region and self.state.spot_state(spot) == "active":
                yield Thing("spot request", region, spot.id, "active", tuple(spot.tags.items()))
        for (there, name), group in list(self.state.placements.items()):
            if there == region:
                yield Thing("placement group", region, name, "there", tuple(group.tags.items()))

    def made_by(self, call: Call) -> str | None:
        """The token or name that a call which makes something names; a placement group's is its firewall's name."""
        named = told.made_by(call)
        group = told.firewall_of(named or "")
        if call.action != "CreatePlacementGroup" or group is None:
            return named
        all_of = self.account.ec2(call.region).groups.values()
        return next((str(of_vpc[group].name) for of_vpc in all_of if group in of_vpc), named)

    def changed_by(self, call: Call) -> tuple[str, ...]:
        """The ids that a call which changes or ends something names."""
        return told.changed_by(call)

    def plant(self, kind: str, region: str, name: str, tags: Mapping[str, str]) -> str:
        """Make a resource behind the product's back, which no journal shows; returns its id."""
        backend = self.account.ec2(region)
        if kind == "firewall":
            made = backend.create_security_group(name, "somebody else's", tags=dict(tags))
            return str(made.id)
        if kind == "volume":
            made = backend.create_volume(size=1, zone_name=f"{region}a")
            made.add_tags(dict(tags))
            return str(made.id)
        made = backend.run_instances(
            IMAGES[1].id(region), 1, None, [], instance_type="t3.micro", is_instance_type_default=False,
            tags={"instance": {"Name": name, **tags}}, region_name=region,
        )  # fmt: skip
        for card in made.instances[0].nics.values():
            card.delete_on_termination = True
        return str(made.instances[0].id)


def _tags(thing: Any) -> tuple[tuple[str, str], ...]:
    return tuple(sorted((tag["key"], tag["value"]) for tag in thing.get_tags()))


@contextmanager
def ec2(faults: Faults | None = None, boot: Boot | None = None, **more: Any) -> Iterator[Ec2]:
    """A cloud of the test's own (`more`: policy, regions, clock, port); its machines end with the context."""
    with Ec2(faults, boot, **more) as cloud:
        yield cloud


def main() -> None:
    """Run one in the foreground."""
    asked = argparse.ArgumentParser(description=main.__doc__)
    asked.add_argument("--features-off", action="store_true", help="an older EC2-compatible cloud")
    foreground(asked, lambda args, boot: Ec2(EUCALYPTUS if args.features_off else None, boot, port=args.port))


if __name__ == "__main__":
    main()
