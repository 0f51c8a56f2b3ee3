"""An Azure for tests: an own small server of the calls of its Resource Manager that are used, over TLS.

`with arm(faults=..., boot=...) as cloud:` gives `cloud.environ` for the product (in this process or another),
`cloud.journal` of every call and `cloud.alive()`, the truth. `python -m tests.emulated.arm` runs one in the foreground
and prints what to export, with `--machines DIR` also SSH servers behind its machines. Everything listens on loopback
only. It is an emulation: what was tested against it was not tested on a real account.
"""

import argparse
import json
import secrets
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from tests.emulated.arm_answers import code_in, error
from tests.emulated.arm_calls import Calls
from tests.emulated.arm_catalogue import REGIONS
from tests.emulated.arm_faults import Faults
from tests.emulated.arm_login import Login
from tests.emulated.arm_routes import Route, call_of, route_of
from tests.emulated.arm_state import ADDRESS, CARD, DISK, VM, Resource, State
from tests.emulated.arm_tls import authority
from tests.emulated.arm_told import changed_by, made_by
from tests.emulated.boot import Boot
from tests.emulated.cloud import Call, Thing
from tests.emulated.faults import Fault
from tests.emulated.standing import Standing, foreground
from tests.emulated.wire import Answer, Request

__all__ = ["REGIONS", "Arm", "Call", "Fault", "Faults", "Thing", "arm"]

STANDING = "somebodys"
"""A resource group that is there from the start, in which what is planted stands; it is none of what `alive` tells."""
_KINDS = {"": "firewall", VM: "instance", DISK: "volume", ADDRESS: "address", CARD: "interface"}
# What else a machine's own call does, and must be allowed.
_WITHIN = (
    "Microsoft.Compute/disks/write",
    "Microsoft.Network/networkInterfaces/join/action",
    "Microsoft.Network/networkInterfaces/write",
    "Microsoft.Network/publicIPAddresses/join/action",
    "Microsoft.Network/publicIPAddresses/write",
    "Microsoft.Network/virtualNetworks/subnets/join/action",
)


class Arm(Standing[Faults]):
    """One emulated cloud with one subscription and one application that signs in."""

    def __init__(
        self,
        faults: Faults | None = None,
        boot: Boot | None = None,
        *,
        policy: Mapping[str, Any] | None = None,
        regions: tuple[str, ...] = REGIONS,
        clock: Callable[[], float] = time.monotonic,
        port: int = 0,
    ) -> None:
        self.subscription = str(uuid.uuid4())
        self.login = Login(str(uuid.uuid4()), str(uuid.uuid4()), secrets.token_urlsafe(16), clock)
        self.state = State(self.subscription, regions, boot, clock)
        self.neighbours: list[Arm] = []  # other subscriptions at the same place
        actions = list(policy["Actions"]) if policy else ["*"]
        self._permissions = [{"actions": actions, "notActions": []}]
        self._calls = Calls(self.state, self._permissions)
        self.state.make("", STANDING, STANDING, regions[0], {"location": regions[0]}, 0.0)
        super().__init__(faults or Faults(), port, authority()[0])
        self._lock = self.state.lock
        self.login.base = self._calls.machines.base = self.url

    def _behave(self, faults: Faults) -> None:
        self.state.faults = faults
        self.login.expires_s = faults.expires_s

    @property
    def environ(self) -> dict[str, str]:
        """What the product is to find in its environment; nothing of the caller's own Azure settings is to be kept."""
        return {
            "AZURE_AUTHORITY_HOST": self.url,
            "AZURE_CLIENT_ID": self.login.client,
            "AZURE_CLIENT_SECRET": self.login.secret,
            "AZURE_SUBSCRIPTION_ID": self.subscription,
            "AZURE_TENANT_ID": self.login.tenant,
            "AZURE_TOKEN_CREDENTIALS": "EnvironmentCredential",
            "CLOUDCMP_AZURE_ENDPOINT": self.url,
            "CLOUDCMP_AZURE_REGION": self.state.regions[0],
            "REQUESTS_CA_BUNDLE": str(authority()[1]),
        }

    def _end_machines(self) -> None:
        self.state.close()

    # -- what goes on

    def _handle(self, request: Request) -> Answer:
        login = self._login(request)
        if login is not None:
            return login
        route = route_of(request)
        for other in self.neighbours:
            if route.subscription == other.subscription:
                return other._handle(request)
        return self._answered(call_of(self.state.clock(), route), lambda: self._honest(request, route))

    def _login(self, request: Request) -> Answer | None:
        for cloud in (self, *self.neighbours):
            answer = cloud.login.answer(request)
            if answer is not None:
                return self._dated(answer)
        return None

    def _honest(self, request: Request, route: Route) -> Answer:
        """The answer without any fault: token, right, then the call itself."""
        refused = self.login.refused(request)
        if refused:
            return error(refused, "The access token is invalid or expired.")
        if route.subscription != self.subscription:
            return error("SubscriptionNotFound", f"The subscription '{route.subscription}' could not be found.")
        needed = [route.action, *(_WITHIN if route.kind == VM and route.method == "PUT" else ())]
        lacking = [one for one in needed if not self._may(one)]
        if lacking:
            text = f"The client does not have authorization to perform action '{lacking[0]}' over scope '{route.id}'."
            return error("AuthorizationFailed", text)
        given = {name.lower(): value for name, value in request.headers.items()}
        return self._calls.answer(route, given)

    def _may(self, action: str) -> bool:
        if any(action.endswith(one) for one in self.faults.denied):
            return False
        if "/operationresults/" in action:  # the way to an answer is open to whoever asked
            return True
        allowed: Iterable[str] = self._permissions[0]["actions"]
        return any(fnmatchcase(action.lower(), one.lower()) for one in allowed)

    def _outcome(self, answer: Answer) -> str:
        return code_in(answer)

    def _injected(self, call: Call, code: str) -> Answer:
        return error(code, f"{code} was injected into 'Microsoft.Compute'", wait_s=self.faults.wait_s)

    def _broken(self, answer: Answer, call: Call) -> Answer:
        return error("InternalServerError", "Something went wrong.")

    def _cut(self, body: bytes) -> bytes:
        return body.replace(b"-end", b"")

    def reclaim(self, id: str) -> None:
        """The cloud takes a spot machine back: it is deleted, and nothing tells of it."""
        with self.state.lock:
            found = self.state.find(id)
            if found is not None:
                self.state.end(found)

    # -- the truth

    def alive(self) -> list[Thing]:
        """All that exists now: groups, machines, disks, addresses, cards, networks and what places machines."""
        with self.state.lock:
            self.state.settle()
            return [self._thing(one) for one in self.state.all.values() if one.kind or one.group != STANDING]

    def _thing(self, one: Resource) -> Thing:
        state = (self.state.power(one) if one.kind == VM else "") or self.state.provisioning(one)
        kind = _KINDS.get(one.kind, one.kind.rpartition("/")[2])
        return Thing(kind, one.location, one.id, state, tuple(sorted(one.tags.items())))

    def plant(self, kind: str, region: str, name: str, tags: Mapping[str, str]) -> str:
        """Make a resource behind the product's back, which no journal shows; returns its id.

        A firewall is a resource group; machines and disks stand in the group that is there from the start.
        """
        with self.state.lock:
            body: dict[str, Any] = {"location": region, "tags": dict(tags)}
            if kind == "firewall":
                return self.state.make("", name.lower(), name.lower(), region, body, 0.0).id
            if kind == "volume":
                return self.state.make(DISK, STANDING, name, region, body, 0.0).id
            body["properties"] = {
                "hardwareProfile": {"vmSize": "Standard_B1s"},
                "storageProfile": {"osDisk": {"name": f"{name}-root"}},
            }
            made = self.state.make(VM, STANDING, name, region, body, 0.0)
            self.state.start(made, "")
            return made.id

    def made_by(self, call: Call) -> str | None:
        """The token that a call which makes something names, empty where it names none; None for any other call."""
        return made_by(call)

    def changed_by(self, call: Call) -> tuple[str, ...]:
        """The id that a call which changes or ends something names; empty for any other call."""
        return changed_by(call)


@contextmanager
def arm(faults: Faults | None = None, boot: Boot | None = None, **more: Any) -> Iterator[Arm]:
    """A cloud of the test's own (`more`: policy, regions, clock, port); its machines end with the context."""
    with Arm(faults, boot, **more) as cloud:
        yield cloud


def main() -> None:
    """Run one in the foreground."""
    asked = argparse.ArgumentParser(description=main.__doc__)
    asked.add_argument("--policy", type=Path, help="a role's definition: its user may do no more")

    def make(args: argparse.Namespace, boot: Boot | None) -> Arm:
        policy = json.loads(args.policy.read_text()) if args.policy else None
        return Arm(None, boot, policy=policy, port=args.port)

    foreground(asked, make)


if __name__ == "__main__":
    main()
