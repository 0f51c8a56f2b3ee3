"""Linode for tests: its instances and firewalls, as its interface of version 4 has them."""

import base64
import binascii
import re
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from cloudcmp.provider.longtail.linode import CLOUD
from tests.emulated.boot import Boot
from tests.emulated.longtail import Faults, Json, LongTail, No, Wall, lacking, page_of, run
from tests.emulated.longtail_lives import Rented
from tests.emulated.tail import Emulated, Recorded

REGIONS = ("eu-central", "us-east")
PLAIN = "xx-old"
"""A region whose machines read no user data."""
IMAGES = {
    "linode/ubuntu24.04": True,
    "linode/ubuntu22.04": True,
    "linode/debian12": True,
    "linode/slackware15.0": False,
}
# Id, vCPUs, MiB, MiB, USD for the hour and class: https://api.linode.com/v4/linode/types (2026; R)
TYPES = (
    ("g6-nanode-1", 1, 1024, 25600, 0.0075, "nanode"),
    ("g6-standard-2", 2, 4096, 81920, 0.036, "standard"),
    ("g6-dedicated-2", 2, 4096, 81920, 0.054, "dedicated"),
)
_LABEL = re.compile(r"[A-Za-z0-9](?:(?!--|__|\.\.)[A-Za-z0-9._-]){2,}")
_SCOPES = {"machines": "linodes", "firewalls": "firewall", "images": "images", "account": "account"}


class Linode(LongTail):
    """One account."""

    row = CLOUD
    word_most = 50
    wrong_token = "Invalid Token"
    no_scope = (401, "Your OAuth token is not authorized to use this endpoint.")
    full = (400, "Account Limit reached. Please open a support ticket.")

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        self.euuid = str(uuid.uuid4()).upper()

    def action(self, method: str, path: str) -> tuple[str, str]:
        """By the path, whose collections are of one word or two."""
        heads = {
            "/v4/linode/instances": "machines",
            "/v4/networking/firewalls": "firewalls",
            "/v4/linode/types": "types",
            "/v4/regions": "regions",
            "/v4/images": "images",
            "/v4/account": "account",
        }
        head = next((one for one in heads if path.startswith(one)), "")
        what, id = heads.get(head, "unknown"), path.removeprefix(head).strip("/")
        verb = {"GET": "get" if id or what == "account" else "list", "POST": "create", "DELETE": "delete"}
        return f"{what}.{verb.get(method, 'unknown')}", id

    def scope(self, action: str) -> str | None:
        """As the interface's own pages list them; types and regions are public."""
        what, _, verb = action.partition(".")
        if what not in _SCOPES:
            return None
        return f"{_SCOPES[what]}:{'read_only' if verb in {'list', 'get'} else 'read_write'}"

    def _permit(self, request: Any, action: str) -> None:
        has = self.faults.scopes
        if has is not None and (needed := self.scope(action)) and needed.replace("only", "write") in has:
            return super()._permit(request, "types.list")  # who may write may read
        return super()._permit(request, action)

    def refusal(self, no: No) -> Json:
        """A list of reasons, each with the field that it is about."""
        return {"errors": [{"reason": no.text, **({"field": no.field} if no.field else {})}]}

    def carry_out(self, action: str, id: str, body: Json, query: Mapping[str, str]) -> tuple[int, Json]:
        """Do it."""
        if action == "account.get":
            return 200, {"euuid": self.euuid, "email": "somebody@example.org", "active_since": "2020-01-01T00:00:00"}
        own = {
            "machines.create": self._make,
            "machines.get": lambda id, _: (200, self._linode(self.machine(id))),
            "machines.delete": self._end,
            "firewalls.create": self._make_wall,
            "firewalls.get": lambda id, _: (200, _wall(self.wall(id))),
            "firewalls.delete": self._fell,
            "images.get": lambda id, _: (200, _image(id)),
        }.get(action)
        if own is not None:
            return own(id, body)
        lists: dict[str, Any] = {
            "machines.list": lambda: [self._linode(one) for one in self.machines()],
            "firewalls.list": lambda: [_wall(one) for one in self.seen_walls()],
            "types.list": lambda: [_type(*one) for one in TYPES],
            "regions.list": lambda: [_region(one) for one in (*REGIONS, PLAIN)],
            "images.list": lambda: [_image(id) for id in IMAGES],
        }
        if action not in lists:
            raise No(404, "Not found")
        items = lists[action]()
        shown, number, count = page_of(items, query, self.faults.page)
        return 200, {"data": shown, "page": number, "pages": count, "results": len(items)}

    def without_next(self, said: Json) -> Json:
        """There is one page, it says."""
        return {**said, "pages": 1}

    # -- linodes

    def _make(self, _: str, body: Json) -> tuple[int, Json]:
        missing = lacking(body, ("region", "type"))
        if missing:
            raise No(400, f"{missing} is required", missing)
        if body["region"] not in {*REGIONS, PLAIN}:
            raise No(400, "region is not valid", "region")
        if body["type"] not in {one[0] for one in TYPES}:
            raise No(400, "A valid plan type by that ID was not found", "type")
        if body.get("image") not in IMAGES:
            raise No(400, "image is not valid", "image")
        if len(str(body.get("root_pass", ""))) < 11:
            raise No(400, "Must have 11 characters or more", "root_pass")
        if body.get("firewall_id") is not None and str(body["firewall_id"]) not in self.walls:
            raise No(400, "Firewall not found", "firewall_id")
        try:
            text = base64.b64decode(str(body.get("metadata", {}).get("user_data", "")), validate=True).decode()
        except (binascii.Error, UnicodeDecodeError):
            raise No(400, "user_data must be base64", "metadata.user_data") from None
        self._labelled(body, 64, [one.name for one in self.lives.there()])
        self.room()
        made = self.lives.begin(
            self.new_id(), body["label"], body["region"], body["type"], tuple(body.get("tags", ())), user_data=text,
            image=body["image"], wall=str(body.get("firewall_id") or ""),
        )  # fmt: skip
        return 200, self._linode(made)

    @staticmethod
    def _labelled(body: Json, most: int, taken: list[str]) -> None:
        label = str(body.get("label", ""))
        if not _LABEL.fullmatch(label) or len(label) > most:
            raise No(400, f"label must be 3 to {most} letters, digits, dashes, underscores and periods", "label")
        if label in taken:
            raise No(400, "Label must be unique among your services", "label")
        if any(not 3 <= len(word) <= 50 for word in body.get("tags", ())):
            raise No(400, "Tags must be between 3 and 50 characters", "tags")

    def _end(self, id: str, _: Json) -> tuple[int, Json]:
        self.end(id)
        return 200, {}

    def _linode(self, one: Rented) -> Json:
        state = self.lives.state(one)
        kind = next(kind for kind in TYPES if kind[0] == one.type)
        said = {"pending": "provisioning", "off": "offline", "ending": "deleting"}.get(state, "running")
        return {
            "id": int(one.id), "label": one.name, "group": "", "status": said, "created": "2026-11-22T15:00:00",
            "updated": "2026-11-22T15:00:00", "type": one.type, "ipv4": [one.address], "ipv6": None,
            "image": one.image or "linode/ubuntu24.04", "region": one.region, "hypervisor": "kvm",
            "specs": {"disk": kind[3], "memory": kind[2], "vcpus": kind[1], "gpus": 0, "transfer": 1000},
            "alerts": {}, "backups": {"enabled": False}, "watchdog_enabled": True, "tags": list(one.words),
            "has_user_data": bool(one.user_data),
        }  # fmt: skip

    # -- firewalls

    def _make_wall(self, _: str, body: Json) -> tuple[int, Json]:
        self._labelled(body, 32, [one.name for one in self.walls.values()])
        rules = body.get("rules") or {}
        if rules.get("inbound_policy") not in {"ACCEPT", "DROP"} or rules.get("outbound_policy") not in {
            "ACCEPT",
            "DROP",
        }:
            raise No(400, "policies are required", "rules")
        id = self.new_id()
        self.walls[id] = Wall(id, body["label"], tuple(body.get("tags", ())), self.lives.clock(), body)
        return 200, _wall(self.walls[id])

    def _fell(self, id: str, _: Json) -> tuple[int, Json]:
        self.wall(id)
        del self.walls[id]
        return 200, {}


def _wall(one: Wall) -> Json:
    at = "2026-11-22T15:00:00"
    return {
        "id": int(one.id), "label": one.name, "status": "enabled", "created": at, "updated": at,
        "rules": one.body.get("rules", {}), "tags": list(one.words),
    }  # fmt: skip


def _region(id: str) -> Json:
    able = ["Linodes", "NodeBalancers", "Block Storage", "Cloud Firewall", *([] if id == PLAIN else ["Metadata"])]
    return {"id": id, "country": "de", "capabilities": able, "status": "ok", "resolvers": {"ipv4": "", "ipv6": ""}}


def _type(id: str, vcpus: int, memory: int, disk: int, price: float, kind: str) -> Json:
    dearer = {"id": "us-east", "hourly": round(price * 1.2, 6), "monthly": round(price * 1.2 * 666, 2)}
    return {
        "id": id, "label": id, "class": kind, "vcpus": vcpus, "memory": memory, "disk": disk, "transfer": 1000,
        "network_out": 1000, "gpus": 0, "price": {"hourly": price, "monthly": round(price * 666, 2)},
        "region_prices": [dearer], "addons": {}, "successor": None,
    }  # fmt: skip


def _image(id: str) -> Json:
    if id not in IMAGES:
        raise No(404, "Not found")
    return {
        "id": id, "label": id, "created": "2026-01-01T00:00:00", "created_by": "linode", "deprecated": False,
        "description": None, "eol": None, "expiry": None, "is_public": True, "size": 2500, "type": "manual",
        "vendor": "Ubuntu", "capabilities": ["cloud-init"] if IMAGES[id] else [],
    }  # fmt: skip


@contextmanager
def linode(faults: Faults | None = None, boot: Boot | None = None, **more: Any) -> Iterator[Linode]:
    """A cloud of the test's own (`more`: clock, port); its machines end with the context."""
    with Linode(faults, boot, **more) as cloud:
        yield cloud


def _check_rules(wall: Wall) -> None:
    rules = wall.body["rules"]
    doors = [one for one in rules["inbound"] if one.get("ports") == "22"]
    assert [one["addresses"] for one in doors] == [{"ipv4": ["192.0.2.7/32"], "ipv6": ["2001:db8::/64"]}]
    others = [one["addresses"] for one in rules["inbound"] if one not in doors]
    assert others == [{"ipv4": ["192.168.128.0/17"]}] * 3
    assert rules["inbound_policy"] == "DROP"


EMULATED = Emulated(
    cloud=CLOUD,
    make=linode,
    body={
        "label": "abc", "region": "us-east", "type": "g6-nanode-1", "image": "linode/ubuntu24.04",
        "root_pass": "not a real one",
    },
    made=200,
    refused_tags=("", "x" * 256),
    wrong=({"metadata": {"user_data": "not base64!"}}, {"root_pass": "short"}),
    out_of_scope=401,
    full=400,
    off='"offline"',
    firewall_field="firewall_id",
    price="0.0075",
    currency="USD",
    recorded=Recorded(
        "linode_v4", ("list_types", "data"), ("list_nodes", "data"), "data", "eu-west", ("g6-nanode-1", "0.0075"),
        "_linode", creates={"root_pass": "not a real one"},
    ),
    check_rules=_check_rules,
    scopes=(
        ("GET", "/v4/linode/instances/1", "linodes:read_only"),
        ("POST", "/v4/networking/firewalls", "firewall:read_write"),
        ("GET", "/v4/regions", None),
    ),
    delete_scopes=frozenset({"linodes:read_write"}),
    read_scopes=frozenset({"linodes:read_only"}),
    account=lambda cloud: str(cloud.euuid),
    unique_labels=True,
    alone="addresses inside Linode are of 192.168.128.0/17, and this host has none",
)  # fmt: skip


if __name__ == "__main__":
    run(Linode)
