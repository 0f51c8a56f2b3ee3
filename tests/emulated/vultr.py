"""Vultr for tests: its instances and firewall groups, as its interface of version 2 has them."""

import base64
import binascii
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from cloudcmp.provider.longtail.vultr import CLOUD
from tests.emulated.boot import Boot
from tests.emulated.longtail import Faults, Json, LongTail, No, Wall, lacking, run
from tests.emulated.longtail_lives import Rented
from tests.emulated.tail import Emulated, Recorded

REGIONS = ("ams", "ewr")
SYSTEMS = {2284: "Ubuntu 24.04 LTS x64", 1743: "Ubuntu 22.04 LTS x64", 2136: "Debian 12 x64 (bookworm)"}
# Id, vCPUs, MiB, GB, USD for the month and type: https://www.vultr.com/pricing/ (2026; R)
PLANS = (
    ("vc2-1c-1gb", 1, 1024, 25, 5, "vc2"),
    ("vhf-1c-2gb", 1, 2048, 64, 12, "vhf"),
    ("vcg-a16-2c-8g", 2, 8192, 50, 43, "vcg"),
)
_NEEDED = ("region", "plan", "os_id")


class Vultr(LongTail):
    """One account."""

    row = CLOUD
    wrong_token = "Invalid API token."
    full = (400, "You have reached the maximum number of active virtual machines for this account")

    def action(self, method: str, path: str) -> tuple[str, str]:
        """By the path: /v2/COLLECTION[/ID[/rules]]."""
        parts = path.strip("/").split("/")
        names = {"instances": "machines", "firewalls": "firewalls", "plans": "plans", "os": "os", "regions": "regions"}
        what, id = {**names, "account": "account"}.get(parts[1], "unknown"), parts[2] if len(parts) > 2 else ""
        if parts[-1] == "rules":
            return f"firewalls.{'rule' if method == 'POST' else 'rules'}", id
        verb = {"GET": "get" if id or what == "account" else "list", "POST": "create", "DELETE": "delete"}
        return f"{what}.{verb.get(method, 'unknown')}", id

    def scope(self, action: str) -> str | None:
        """A key has none."""
        return None

    def new_id(self) -> str:
        """A UUID."""
        return str(uuid.uuid4())

    def refusal(self, no: No) -> Json:
        """The text, and the status once more."""
        return {"error": no.text, "status": no.status}

    def carry_out(self, action: str, id: str, body: Json, query: Mapping[str, str]) -> tuple[int, Json]:
        """Do it."""
        if action == "account.get":
            return 200, {"account": {"name": "Somebody", "email": "somebody@example.org", "balance": 0, "acls": []}}
        own = {
            "machines.create": self._make,
            "machines.get": lambda id, _: (200, {"instance": self._instance(self.machine(id))}),
            "machines.delete": self._end,
            "firewalls.create": self._make_group,
            "firewalls.rule": self._rule,
            "firewalls.delete": self._fell,
        }.get(action)
        if own is not None:
            return own(id, body)
        lists: dict[str, tuple[str, Any]] = {
            "machines.list": ("instances", lambda: [self._instance(one) for one in self.machines()]),
            "firewalls.list": ("firewall_groups", lambda: [_group(one) for one in self.seen_walls()]),
            "plans.list": ("plans", lambda: [_plan(*one) for one in PLANS]),
            "regions.list": ("regions", lambda: [_region(one) for one in REGIONS]),
            "firewalls.rules": ("firewall_rules", lambda: self.wall(id).rules),
            "os.list": ("os", lambda: [_system(id, name) for id, name in SYSTEMS.items()]),
        }
        if action not in lists:
            raise No(404, "Invalid API path")
        key, fill = lists[action]
        return 200, self._page(key, fill(), query)

    def _page(self, key: str, items: list[Json], query: Mapping[str, str]) -> Json:
        """Cursors, which stand for the place where the next page begins."""
        start = int(base64.b64decode(query["cursor"])) if query.get("cursor") else 0
        after = start + min(self.faults.page, int(query.get("per_page", "100")))
        more = base64.b64encode(str(after).encode()).decode() if after < len(items) else ""
        return {key: items[start:after], "meta": {"total": len(items), "links": {"next": more, "prev": ""}}}

    def without_next(self, said: Json) -> Json:
        """The cursor is left out."""
        meta = said.get("meta", {})
        return {**said, "meta": {**meta, "links": {"next": "", "prev": ""}}}

    # -- instances

    def _make(self, _: str, body: Json) -> tuple[int, Json]:
        missing = lacking(body, _NEEDED)
        if missing:
            raise No(400, f"Invalid {missing}.")
        if body["region"] not in REGIONS:
            raise No(400, "Invalid region.")
        if body["plan"] not in {one[0] for one in PLANS}:
            raise No(400, "Invalid plan.")
        if str(body["os_id"]) not in map(str, SYSTEMS):
            raise No(400, "Invalid os_id.")
        wall = str(body.get("firewall_group_id") or "")
        if wall and wall not in self.walls:
            raise No(400, "Invalid firewall_group_id.")
        try:
            text = base64.b64decode(str(body.get("user_data") or ""), validate=True).decode()
        except (binascii.Error, UnicodeDecodeError):
            raise No(400, "user_data must be base64.") from None
        self.room()
        made = self.lives.begin(
            self.new_id(), str(body.get("label", "")), body["region"], body["plan"], tuple(body.get("tags", ())),
            user_data=text, image=str(body["os_id"]), wall=wall,
        )  # fmt: skip
        return 202, {"instance": {**self._instance(made), "default_password": "not told"}}

    def _end(self, id: str, _: Json) -> tuple[int, Json]:
        self.end(id)
        return 204, {}

    def _instance(self, one: Rented) -> Json:
        state = self.lives.state(one)
        plan = next(plan for plan in PLANS if plan[0] == one.type)
        up = state not in {"pending"}
        return {
            "id": one.id, "os": "Ubuntu 24.04 LTS x64", "ram": plan[2], "disk": plan[3], "vcpu_count": plan[1],
            "main_ip": one.address if up else "0.0.0.0", "region": one.region, "plan": one.type,
            "date_created": "2026-11-22T15:00:00+00:00", "status": "active" if up else "pending",
            "power_status": "stopped" if state == "off" else "running", "server_status": "ok" if up else "none",
            "allowed_bandwidth": 1000, "netmask_v4": "", "gateway_v4": "", "v6_network": "", "v6_main_ip": "",
            "v6_network_size": 0, "label": one.name, "internal_ip": one.inside if up else "", "kvm": "",
            "hostname": "", "tag": "", "tags": list(one.words), "os_id": int(one.image or 2284), "app_id": 0,
            "image_id": "", "firewall_group_id": one.wall, "features": [],
        }  # fmt: skip

    # -- firewall groups

    def _make_group(self, _: str, body: Json) -> tuple[int, Json]:
        text = str(body.get("description", ""))
        if len(text) > 255:
            raise No(400, "Invalid description.")
        id = self.new_id()
        self.walls[id] = Wall(id, text, (text,), self.lives.clock())
        return 201, {"firewall_group": _group(self.walls[id])}

    def _rule(self, id: str, body: Json) -> tuple[int, Json]:
        missing = lacking(body, ("ip_type", "protocol", "subnet", "subnet_size"))
        if missing:
            raise No(400, f"Invalid {missing}.")
        if body in self.wall(id).rules:
            raise No(400, "This rule is already defined")
        self.wall(id).rules.append(body)
        return 201, {"firewall_rule": {**body, "id": len(self.wall(id).rules), "action": "accept"}}

    def _fell(self, id: str, _: Json) -> tuple[int, Json]:
        self.wall(id)
        del self.walls[id]
        return 204, {}


def _group(one: Wall) -> Json:
    at = "2026-11-22T15:00:00+00:00"
    counts = {"instance_count": 0, "rule_count": len(one.rules), "max_rule_count": 50}
    return {"id": one.id, "description": one.words[0] if one.words else "", "date_created": at, **counts}


def _plan(id: str, vcpus: int, ram: int, disk: int, month: int, kind: str) -> Json:
    return {
        "id": id, "vcpu_count": vcpus, "ram": ram, "disk": disk, "disk_count": 1, "bandwidth": 1024,
        "monthly_cost": month, "type": kind, "locations": list(REGIONS),
    }  # fmt: skip


def _region(id: str) -> Json:
    return {"id": id, "city": id.upper(), "country": "NL", "continent": "Europe", "options": ["ddos_protection"]}


def _system(id: int, name: str) -> Json:
    return {"id": id, "name": name, "arch": "x64", "family": name.partition(" ")[0].lower()}


@contextmanager
def vultr(faults: Faults | None = None, boot: Boot | None = None, **more: Any) -> Iterator[Vultr]:
    """A cloud of the test's own (`more`: clock, port); its machines end with the context."""
    with Vultr(faults, boot, **more) as cloud:
        yield cloud


def _check_rules(wall: Wall) -> None:
    rules = [(one["protocol"], one["port"], one["subnet"], one["subnet_size"]) for one in wall.rules]
    assert rules == [("tcp", "22", "192.0.2.7", 32), ("tcp", "22", "2001:db8::", 64)]


EMULATED = Emulated(
    cloud=CLOUD,
    make=vultr,
    body={"label": "a", "region": "ams", "plan": "vc2-1c-1gb", "os_id": 2284},
    made=202,
    refused_tags=(),
    wrong=({"user_data": "not base64!"},),
    out_of_scope=200,
    full=400,
    off='"stopped"',
    firewall_field="firewall_group_id",
    price="0.007441",
    currency="USD",
    recorded=Recorded(
        "vultr_v2", ("list_sizes", "plans"), ("list_nodes", "instances"), "regions", "ams", ("vc2-1c-1gb", "0.007441"),
        "_instance", lists={"ex_list_bare_metals": False},
    ),
    check_rules=_check_rules,
    scopes=(("POST", "/v2/instances", None),),
    unpriced="vcg-a16-2c-8g",
    rules_apart=True,
)  # fmt: skip


if __name__ == "__main__":
    run(Vultr)
