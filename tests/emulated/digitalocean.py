"""DigitalOcean for tests: its droplets, firewalls and tags, as its interface of version 2 has them."""

import json
import re
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from cloudcmp.provider.longtail.digitalocean import CLOUD
from tests.emulated.boot import Boot
from tests.emulated.longtail import Faults, Json, LongTail, No, Wall, lacking, page_of, run
from tests.emulated.longtail_lives import Rented
from tests.emulated.tail import Emulated, Recorded

REGIONS = ("fra1", "nyc3")
CLOSED = "sfo1"
IMAGES = {"ubuntu-24-04-x64": 155133621, "ubuntu-22-04-x64": 129211873, "debian-12-x64": 133297505}
# Slug, vCPUs, MiB, GB, USD for the hour: https://www.digitalocean.com/pricing/droplets (2026; R)
SIZES = (
    ("s-1vcpu-1gb", 1, 1024, 25, 0.00893),
    ("s-2vcpu-4gb", 2, 4096, 80, 0.03571),
    ("c-2", 2, 4096, 25, 0.0625),
    ("free-1vcpu", 1, 512, 10, 0.0),
)
_TAG = re.compile(r"[A-Za-z0-9_:-]{1,255}")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9.-]+")
_NEEDED = ("name", "region", "size", "image")
_PLURAL = {"droplets": "machines", "firewalls": "firewalls", "tags": "tags", "images": "images", "sizes": "sizes"}
_PLURAL |= {"regions": "regions", "account": "account"}
_SCOPES = {"machines": "droplet", "firewalls": "firewall", "tags": "tag", "images": "image"}
_PLURAL |= {"actions": "actions"}
_VERBS = {"act": "update", "list": "read", "get": "read", "create": "create", "delete": "delete"}


class Droplets(LongTail):
    """One account."""

    row = CLOUD
    words_stay = True

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        self.team = str(uuid.uuid4())
        self.actions: dict[str, tuple[str, float]] = {}  # what each does, and when it ends

    def action(self, method: str, path: str) -> tuple[str, str]:
        """By the path: /v2/COLLECTION[/ID]."""
        parts = path.strip("/").split("/")
        what, id = _PLURAL.get(parts[1] if len(parts) > 1 else "", "unknown"), "/".join(parts[2:])
        if (what, parts[-1], method) == ("machines", "actions", "POST"):
            return "machines.act", parts[2]
        verb = {"GET": "get" if id or what == "account" else "list", "POST": "create", "DELETE": "delete"}
        return f"{what}.{verb.get(method, 'unknown')}", id

    def scope(self, action: str) -> str | None:
        """As each call's page says."""
        what, _, verb = action.partition(".")
        return f"{_SCOPES.get(what, what)}:{_VERBS.get(verb, verb)}"

    def refusal(self, no: No) -> Json:
        """An id for the kind of error, and a message."""
        ids = {401: "Unauthorized", 403: "Forbidden", 404: "not_found", 422: "unprocessable_entity"}
        return {"id": ids.get(no.status, "error"), "message": no.text}

    def carry_out(self, action: str, id: str, body: Json, query: Mapping[str, str]) -> tuple[int, Json]:
        """Do it."""
        if action == "account.get":
            account = {
                "droplet_limit": self.faults.machines,
                "email": "somebody@example.org",
                "uuid": str(uuid.uuid4()),
            }
            return 200, {"account": {**account, "team": {"uuid": self.team, "name": "My Team"}, "status": "active"}}
        own = {
            "machines.create": self._make,
            "machines.get": lambda id, _: (200, {"droplet": self._droplet(self.machine(id))}),
            "machines.delete": self._end,
            "machines.act": self._act,
            "actions.get": lambda id, _: (200, {"action": self._action(id)}),
            "firewalls.create": self._make_wall,
            "firewalls.get": lambda id, _: (200, {"firewall": self._wall(self.wall(id))}),
            "firewalls.delete": self._fell,
            "tags.create": self._make_tag,
            "tags.delete": self._delete_tag,
            "images.get": lambda id, _: (200, {"image": _image(id)}),
        }.get(action)
        if own is not None:
            return own(id, body)
        what = action.removesuffix(".list")
        lists: dict[str, tuple[str, Any]] = {
            "machines": ("droplets", lambda: [self._droplet(one) for one in self.machines()]),
            "firewalls": ("firewalls", lambda: [self._wall(one) for one in self.seen_walls()]),
            "tags": ("tags", lambda: [self._tag(word) for word in self.words]),
            "sizes": ("sizes", lambda: [_size(*one) for one in SIZES]),
            "regions": ("regions", lambda: [_region(one) for one in (*REGIONS, CLOSED)]),
            "images": ("images", lambda: [_image(slug) for slug in IMAGES]),
        }
        if what not in lists:
            raise No(404, "The resource you requested could not be found.")
        key, fill = lists[what]
        return 200, self._page(key, fill(), query)

    def _page(self, key: str, items: list[Json], query: Mapping[str, str]) -> Json:
        shown, number, count = page_of(items, query, self.faults.page)
        links: Json = {}
        if number < count:
            head = f"{self.url}/v2/{key}?page="
            links = {"pages": {"next": f"{head}{number + 1}", "last": f"{head}{count}"}}
        return {key: shown, "links": links, "meta": {"total": len(items)}}

    def without_next(self, said: Json) -> Json:
        """The links are left out."""
        return {key: value for key, value in said.items() if key != "links"}

    # -- droplets

    def _make(self, _: str, body: Json) -> tuple[int, Json]:
        missing = lacking(body, _NEEDED)
        if missing:
            raise No(422, f"{missing} is missing")
        words = tuple(body.get("tags") or ())
        if body["region"] not in REGIONS:
            raise No(422, "You specified an invalid region for Droplet creation.")
        if body["size"] not in {one[0] for one in SIZES}:
            raise No(422, "You specified an invalid size for Droplet creation.")
        if str(body["image"]) not in {*IMAGES, *map(str, IMAGES.values())}:
            raise No(422, "You specified an invalid image for Droplet creation.")
        if not _NAME.fullmatch(str(body["name"])) or not all(_TAG.fullmatch(word) for word in words):
            raise No(422, "Only valid hostname characters are allowed. (a-z, A-Z, 0-9, . and -)")
        if len(str(body.get("user_data") or "").encode()) > 65536:
            raise No(422, "User data must be 64 KiB or less.")
        self.room()
        for word in words:
            self.words.setdefault(word, self.lives.clock())
        made = self.lives.begin(
            self.new_id(), body["name"], body["region"], body["size"], words,
            user_data=str(body.get("user_data") or ""), image=str(body["image"]),
        )  # fmt: skip
        return 202, {"droplet": self._droplet(made), "links": {"actions": []}}

    def _end(self, id: str, _: Json) -> tuple[int, Json]:
        self.end(id)
        return 204, {}

    def _act(self, id: str, body: Json) -> tuple[int, Json]:
        """An action is carried out at once, and told as being so a little later; one at a time."""
        one, what = self.machine(id), str(body.get("type", ""))
        if what == "resize" and (not one.off or body.get("size") not in {size[0] for size in SIZES}):
            raise No(422, "Droplet must be off, and the size one that is there")
        if what not in {"power_off", "power_on", "resize"}:
            raise No(422, "no such action")
        if what == "resize":
            one.type = body["size"]
        elif what == "power_off":
            self.lives.power_off(one)
        else:
            self.lives.power_on(one)
        number = self.new_id()
        self.actions[number] = (what, self.lives.clock() + self.faults.pending_s)
        return 201, {"action": self._action(number)}

    def _action(self, id: str) -> Json:
        if id not in self.actions:
            raise No(404, "The resource you were accessing could not be found.")
        what, ends = self.actions[id]
        status = "completed" if self.lives.clock() >= ends else "in-progress"
        return {"id": int(id), "type": what, "status": status, "resource_type": "droplet"}

    def _droplet(self, one: Rented) -> Json:
        state = self.lives.state(one)
        size = next(size for size in SIZES if size[0] == one.type)
        nets = [] if state == "pending" else [_net(one.inside, "private"), _net(one.address, "public")]
        return {
            "id": int(one.id), "name": one.name, "memory": size[2], "vcpus": size[1], "disk": size[3], "locked": False,
            "status": {"pending": "new", "off": "off"}.get(state, "active"), "kernel": None,
            "created_at": "2026-11-22T15:00:00Z", "features": ["virtio"], "backup_ids": [], "snapshot_ids": [],
            "image": _image("ubuntu-24-04-x64"), "volume_ids": [], "size": _size(*size), "size_slug": one.type,
            "networks": {"v4": nets, "v6": []}, "region": _region(one.region), "tags": list(one.words),
            "vpc_uuid": self.team, "next_backup_window": None,
        }  # fmt: skip

    # -- firewalls and tags

    def _make_wall(self, _: str, body: Json) -> tuple[int, Json]:
        if not _NAME.fullmatch(str(body.get("name", ""))):
            raise No(422, "name is invalid")
        if not body.get("inbound_rules") and not body.get("outbound_rules"):
            raise No(422, "at least one rule is needed")
        if any(one.name == body["name"] for one in self.walls.values()):
            raise No(409, "duplicate name")
        named = [*body.get("tags", ()), *(w for one in body["inbound_rules"] for w in one["sources"].get("tags", ()))]
        if any(word not in self.words for word in named):
            raise No(422, "a tag does not exist")
        id = str(uuid.uuid4())
        self.walls[id] = Wall(id, body["name"], tuple(body.get("tags", ())), self.lives.clock(), body)
        return 202, {"firewall": self._wall(self.walls[id])}

    def _fell(self, id: str, _: Json) -> tuple[int, Json]:
        self.wall(id)
        del self.walls[id]
        return 204, {}

    def _wall(self, one: Wall) -> Json:
        known = {"id": one.id, "name": one.name, "status": "succeeded", "created_at": "2026-11-22T15:00:00Z"}
        rules = {key: one.body.get(key, []) for key in ("inbound_rules", "outbound_rules")}
        return {**known, "pending_changes": [], "droplet_ids": [], "tags": list(one.words), **rules}

    def _make_tag(self, _: str, body: Json) -> tuple[int, Json]:
        word = str(body.get("name", ""))
        if not _TAG.fullmatch(word):
            raise No(422, "name is invalid")
        self.words.setdefault(word, self.lives.clock())
        return 201, {"tag": self._tag(word)}

    def _delete_tag(self, word: str, _: Json) -> tuple[int, Json]:
        if word not in self.words:
            raise No(404, "The resource you were accessing could not be found.")
        del self.words[word]
        for one in [*self.lives.all.values(), *self.walls.values()]:
            one.words = tuple(other for other in one.words if other != word)
        return 204, {}

    def _tag(self, word: str) -> Json:
        count = sum(word in one.words for one in self.lives.there())
        return {"name": word, "resources": {"count": count, "droplets": {"count": count}}}


def _net(address: str, kind: str) -> Json:
    return {"ip_address": address, "netmask": "255.255.255.0", "gateway": "127.0.0.1", "type": kind}


def _region(slug: str) -> Json:
    sizes = [one[0] for one in SIZES]
    features = ["backups", "ipv6", "metadata", "install_agent", "storage"]
    return {"slug": slug, "name": slug.upper(), "features": features, "available": slug != CLOSED, "sizes": sizes}


def _size(slug: str, vcpus: int, memory: int, disk: int, price: float) -> Json:
    return {
        "slug": slug, "memory": memory, "vcpus": vcpus, "disk": disk, "transfer": 1.0, "price_hourly": price,
        "price_monthly": round(price * 672, 2), "regions": list(REGIONS), "available": True, "description": "Basic",
    }  # fmt: skip


def _image(slug: str) -> Json:
    if slug not in IMAGES:
        raise No(404, "The resource you requested could not be found.")
    return {
        "id": IMAGES[slug], "name": slug, "distribution": slug.partition("-")[0].title(), "slug": slug, "public": True,
        "regions": list(REGIONS), "created_at": "2026-01-01T00:00:00Z", "min_disk_size": 7, "type": "base",
        "status": "available",
    }  # fmt: skip


def rules_of(cloud: Droplets, id: str) -> Any:
    """The rules of a firewall as they were asked for."""
    return json.loads(json.dumps(cloud.walls[id].body))


@contextmanager
def digitalocean(faults: Faults | None = None, boot: Boot | None = None, **more: Any) -> Iterator[Droplets]:
    """A cloud of the test's own (`more`: clock, port); its machines end with the context."""
    with Droplets(faults, boot, **more) as cloud:
        yield cloud


def _check_rules(wall: Wall) -> None:
    doors = [one for one in wall.body["inbound_rules"] if "addresses" in one["sources"]]
    assert [(one["protocol"], one["ports"]) for one in doors] == [("tcp", "22")]
    assert doors[0]["sources"]["addresses"] == ["192.0.2.7/32", "2001:db8::/64"]
    others = [one["sources"] for one in wall.body["inbound_rules"] if one not in doors]
    assert others == [{"tags": wall.body["tags"]}] * 3


EMULATED = Emulated(
    cloud=CLOUD,
    make=digitalocean,
    body={"name": "abc", "region": "fra1", "size": "s-1vcpu-1gb", "image": "ubuntu-24-04-x64"},
    made=202,
    refused_tags=("", "with space", "x" * 256),
    wrong=({"user_data": "x" * 65537},),
    out_of_scope=403,
    full=422,
    off='"off"',
    firewall_field="tags",
    price="0.00893",
    currency="USD",
    recorded=Recorded(
        "digitalocean_v2", ("list_sizes", "sizes"), ("list_nodes", "droplets"), "regions", "nyc1", ("512mb", "0.00744"),
        "_droplet",
    ),
    check_rules=_check_rules,
    scopes=(
        ("POST", "/v2/droplets", "droplet:create"),
        ("DELETE", "/v2/tags/word", "tag:delete"),
        ("GET", "/v2/account", "account:read"),
    ),
    delete_scopes=frozenset({"droplet:delete"}),
    base64=False,
    unpriced="free-1vcpu",
    account=lambda cloud: str(cloud.team),
    larger="s-2vcpu-4gb",
)  # fmt: skip


if __name__ == "__main__":
    run(Droplets)
