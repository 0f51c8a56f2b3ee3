"""Droplets of DigitalOcean: https://docs.digitalocean.com/reference/api/reference/droplets/"""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

from cloudcmp.errors import NotAllowed, ProviderFault, Refused
from cloudcmp.model.firewall import SERVED_PORT
from cloudcmp.model.lease import CreateRequest
from cloudcmp.model.offering import Billing, Offering
from cloudcmp.provider.common.address import SSH, Net
from cloudcmp.provider.common.firewall_rules import MEMBERS, Rule, ports_in
from cloudcmp.provider.common.lifecycle import wait_until
from cloudcmp.provider.common.responses import none_if_missing, require_id
from cloudcmp.provider.longtail import labels
from cloudcmp.provider.longtail.dialect import NONEXISTENT_ID, Api, Cloud, Fact, Image, ListedResource, delete_tags
from cloudcmp.provider.longtail.options import user_data
from cloudcmp.provider.longtail.pages import Json, by_links
from cloudcmp.provider.longtail.prices import hourly

# https://docs.digitalocean.com/reference/api/reference/droplet-actions/
_STOP_S = 180.0
_RESIZE_S = 900.0
_START_S = 180.0


async def resize(api: Api, id: str, offering: str, stopped: Callable[[], None]) -> None:
    """Changes the size of a droplet; calls `stopped` while it is stopped."""
    await _Resizer(api).run(id, offering, stopped)


@dataclass(frozen=True, slots=True)
class _Resizer:
    """The resize steps for one cloud; `clock` is in seconds of any origin."""

    api: Api
    clock: Callable[[], float] = time.monotonic

    async def run(self, id: str, offering: str, stopped: Callable[[], None]) -> None:
        """Runs all steps, until the machine runs with the other size.

        The disk keeps its size, so that the resize can be undone. Raises Refused for an unavailable size, and
        ProviderFault if a step does not end in time; the machine then stays as it is until its launch ends it.
        """
        await self._run_action(id, {"type": "power_off"}, _STOP_S)
        await self._wait_until(id, lambda response: response.get("status") == "off", _STOP_S, "stopped")
        stopped()
        try:
            await self._run_action(id, {"type": "resize", "size": offering, "disk": False}, _RESIZE_S)
        finally:
            await self._run_action(id, {"type": "power_on"}, _START_S)
        await self._wait_until(id, lambda response: response.get("status") == "active", _START_S, "started")
        size = (await self._droplet(id)).get("size_slug")
        if size != offering:
            raise ProviderFault.at(id, f"it is still of size {size}", "see the provider's console")

    async def _run_action(self, id: str, body: Json, within_s: float) -> None:
        """Requests an action and waits for its end."""
        path = f"{self.api.cloud.dialect.machines[0]}/{id}/actions"
        response = (await self.api.change("POST", path, body)).body
        action = require_id(response, "action", "id", where=id)
        status, what = "", f"{body['type']} of {id}"

        async def has_ended() -> bool:
            nonlocal status
            status = str((await self.api.read(f"/v2/actions/{action}")).body.get("action", {}).get("status", ""))
            return status in {"completed", "errored"}

        await wait_until(has_ended, what, "it has not ended", within_s, self.api.wait, self.clock)
        if status == "errored":
            raise Refused.at(id, f"{body['type']} came to nothing", "take another size")

    async def _droplet(self, id: str) -> Json:
        response = (await self.api.read(f"{self.api.cloud.dialect.machines[0]}/{id}")).body
        return dict(response.get("droplet") or {})

    async def _wait_until(self, id: str, fits: Callable[[Json], bool], within_s: float, word: str) -> None:
        async def look() -> bool:
            return fits(await self._droplet(id))

        await wait_until(look, id, f"it has not {word}", within_s, self.api.wait, self.clock)


_DOCS = "https://docs.digitalocean.com"
_TAG_MAX = 255
_USER_DATA_MAX = 64 * 1024
_STATES = {"new": "pending", "active": "running", "off": "stopped", "archive": "stopped"}
_EVERYWHERE = ["0.0.0.0/0", "::/0"]
# https://docs.digitalocean.com/products/droplets/concepts/choosing-a-plan/
_CATEGORIES = {"c": "compute", "g": "general", "gd": "general", "gpu": "accelerated", "m": "memory", "s": "burstable"}
_CATEGORIES |= {"c2": "compute", "m3": "memory", "m6": "memory", "so": "storage", "so1_5": "storage"}
_PRICES = "DigitalOcean's own list, https://api.digitalocean.com/v2/sizes"


class Droplets:
    """DigitalOcean's dialect. A firewall applies to a tag, which its machines have from the start."""

    machines = ("/v2/droplets", "droplets")
    machine_key: tuple[str, ...] = ("droplet",)
    firewalls = ("/v2/firewalls", "firewalls")
    regions = ("/v2/regions", "regions")
    types = ("/v2/sizes", "sizes")
    tags: tuple[str, str] | None = ("/v2/tags", "tags")
    renames = False
    account = "/v2/account"

    def region(self, response: Json) -> tuple[str, bool]:
        """A region's slug, and whether it takes new machines."""
        return str(response["slug"]), bool(response.get("available", True))

    def offering(self, cloud: Cloud, region: str, response: Json, today: date) -> Offering | None:
        """A size as sold in a region; converts MiB to GiB."""
        if region not in response.get("regions", ()) or not response.get("available", True):
            return None
        name = str(response["slug"])
        facts = {"disks": f"1 x {response['disk']} GB"} if response.get("disk") else {}
        return Offering(
            cloud.name,
            region,
            name,
            float(response["vcpus"]) if response.get("vcpus") else None,
            response["memory"] / 1024 if response.get("memory") else None,
            _CATEGORIES.get(name.partition("-")[0]),
            hourly(response.get("price_hourly"), _PRICES, today, cloud.currency),
            tuple(sorted({"architecture": "x86_64", **facts}.items())),
        )

    async def image(self, api: Api, image_name: str) -> Image:
        """The public image of a slug."""
        slug = api.cloud.images.get(image_name, image_name)
        reply = await none_if_missing(api.read(f"/v2/images/{slug}"))
        if reply is None:
            hint = f"write a slug, or one of {', '.join(api.cloud.images)}"
            raise Refused.at(api.cloud.name, f"there is no image {image_name!r}", hint)
        fields = reply.body.get("image") or {}
        return Image(slug if fields.get("slug") == slug else int(fields["id"]), str(fields.get("name", slug)))

    def body(self, request: CreateRequest, image: Image, tags: Sequence[str], firewall: str | None) -> Json:
        """The body of the creating call; the machine joins the account's own network of the region."""
        return {
            "name": request.name,
            "region": request.region,
            "size": request.offering,
            "image": image.id,
            "tags": [*tags, *([firewall] if firewall else [])],
            "user_data": user_data(request, _USER_DATA_MAX),
            "ipv6": False,
            "monitoring": False,
            "backups": False,
        }

    def machine(self, response: Json) -> ListedResource:
        """A droplet; it has addresses once it has networks."""
        nets = (response.get("networks") or {}).get("v4") or []
        addresses = {str(one.get("type")): str(one.get("ip_address")) for one in nets}
        status = str(response.get("status", "unknown"))
        region, size = response.get("region") or {}, response.get("size_slug")
        return ListedResource(
            str(response["id"]), str(response.get("name", "")), _tags_of(response), _STATES.get(status, "pending"),
            status, str(region.get("slug", "")), str(size) if size else None, addresses.get("public"),
            addresses.get("private"),
        )  # fmt: skip

    def firewall(self, response: Json) -> ListedResource:
        """A firewall; its record is in the tag that it applies to."""
        return ListedResource(str(response["id"]), str(response.get("name", "")), _tags_of(response))

    async def create_firewall(
        self, api: Api, request: CreateRequest, nets: Sequence[Net], vantages: Sequence[Net]
    ) -> str:
        """Creates the tag, which must exist first, then the firewall with all its rules."""
        record = labels.Record(request.tags, request.token, region=request.region)
        tags = labels.write(record, _TAG_MAX, labels.FIREWALL)
        for tag in tags:
            await _make_tag(api, tag)
        body = {
            "name": request.name,
            "tags": list(tags),
            "inbound_rules": _inbound(nets, vantages, tags[0]),
            "outbound_rules": [_rule(kind, "destinations", {"addresses": _EVERYWHERE}) for kind in _PROTOCOLS],
        }
        try:
            response = (await api.change("POST", self.firewalls[0], body)).body
        except Refused:
            await delete_tags(api, tags)
            raise
        return require_id(response, "firewall", "id", where=request.name)

    async def firewall_reference(self, api: Api, id: str) -> str:
        """The first tag that a firewall applies to."""
        response = (await api.read(f"{self.firewalls[0]}/{id}")).body.get("firewall") or {}
        tags = [tag for tag in _tags_of(response) if labels.has_prefix(tag, labels.FIREWALL)]
        if not tags:
            raise ProviderFault.at(id, "its firewall is on no tag of ours", "cloudcmp cleanup")
        return sorted(tags, key=lambda tag: "-1of" not in tag)[0]

    async def delete_firewall(self, api: Api, id: str) -> bool:
        """Deletes the firewall, then its tags."""
        path = f"{self.firewalls[0]}/{id}"
        reply = await none_if_missing(api.read(path))
        if reply is None or not await api.delete(path):
            return False
        tags = _tags_of(reply.body.get("firewall") or {})
        await delete_tags(api, [tag for tag in tags if labels.has_prefix(tag, labels.FIREWALL)])
        return True

    async def rules(self, api: Api, id: str) -> list[Rule]:
        """Its inbound rules; machines with the firewall's tag are the launch's own."""
        reply = await none_if_missing(api.read(f"{self.firewalls[0]}/{id}"))
        firewall = (reply.body.get("firewall") or {}) if reply is not None else {}
        return [rule for one in firewall.get("inbound_rules") or () for rule in _to_rules(one, _tags_of(firewall))]

    def account_id(self, response: Json) -> str | None:
        """The id of the team, which owns resources, else the user's."""
        account = response.get("account") or {}
        return str((account.get("team") or {}).get("uuid") or account.get("uuid") or "") or None


_OTHERS = ("droplet_ids", "load_balancer_uids", "kubernetes_ids")
_PROTOCOLS = ("tcp", "udp", "icmp")


def _inbound(nets: Sequence[Net], vantages: Sequence[Net], tag: str) -> list[Json]:
    """SSH from the controller, pages and ICMP for vantage points, anything from machines of the same launch."""
    ssh = {"protocol": "tcp", "ports": str(SSH), "sources": {"addresses": [str(net) for net in nets]}}
    afar = {"sources": {"addresses": [str(net) for net in vantages]}}
    pages = [{"protocol": "tcp", "ports": str(SERVED_PORT), **afar}, {"protocol": "icmp", **afar}] if vantages else []
    return [ssh, *pages, *(_rule(kind, "sources", {"tags": [tag]}) for kind in _PROTOCOLS)]


def _to_rules(rule: Json, own: Sequence[str]) -> Iterator[Rule]:
    kind, sources = str(rule.get("protocol")), rule.get("sources") or {}
    members = [MEMBERS if tag in own else str(tag) for tag in sources.get("tags") or ()]
    others = [f"{key} {one}" for key in _OTHERS for one in sources.get(key) or ()]
    for source in (*map(str, sources.get("addresses") or ()), *members, *others):
        yield Rule(source, kind, ports_in(str(rule.get("ports") or "")))


def _rule(kind: str, end: str, which: Json) -> Json:
    return {"protocol": kind, **({} if kind == "icmp" else {"ports": "all"}), end: which}


async def _make_tag(api: Api, tag: str) -> None:
    try:
        await api.change("POST", "/v2/tags", {"name": tag}, again=True)
    except NotAllowed:
        raise
    except Refused:  # it exists, or is refused: then the firewall is refused too
        return


def _tags_of(response: Any) -> tuple[str, ...]:
    return tuple(str(tag) for tag in response.get("tags") or ())


_WORDS = {"droplets": "droplet", "firewalls": "firewall", "images": "image", "tags": "tag"}
_VERBS = {"GET": "read", "POST": "create", "DELETE": "delete", "PUT": "update"}


def _scope_of(method: str, path: str) -> str:
    """The scope of a call, from its page: https://docs.digitalocean.com/reference/api/reference/"""
    parts = path.strip("/").split("/")
    if parts[-1] == "actions" and method == "POST":
        return "droplet:update"
    return f"{_WORDS.get(parts[1], parts[1])}:{_VERBS[method]}"


def _machine_limit(account: Json) -> int | None:
    most = (account.get("account") or {}).get("droplet_limit")
    return most if isinstance(most, int) else None


CLOUD = Cloud(
    name="digitalocean",
    title="DigitalOcean",
    smallest=("fra1", "s-1vcpu-1gb"),
    host="api.digitalocean.com",
    tokens=("DIGITALOCEAN_ACCESS_TOKEN", "DIGITALOCEAN_TOKEN"),
    tag_length=_TAG_MAX,
    currency="USD",
    paging=by_links("per_page", 200),
    # Per second since January 2026, at least 60 s or 0.01 USD, whichever is more:
    # https://www.digitalocean.com/community/questions/how-billing-works-for-1-hour
    billing=Billing(
        60.0,
        1.0,
        uncounted=(
            "what is missing to 0.01 USD, the least that each machine is billed",
            "traffic beyond what the size includes",
        ),
    ),
    powered_off=f"{_DOCS}/reference/doctl/reference/compute/droplet-action/power-off",
    images={
        "ubuntu-24.04": "ubuntu-24-04-x64",
        "ubuntu-22.04": "ubuntu-22-04-x64",
        "debian-12": "debian-12-x64",
        "debian-13": "debian-13-x64",
    },
    scopes=(
        "account:read",
        "actions:read",
        "droplet:create",
        "droplet:delete",
        "droplet:read",
        "droplet:update",
        "firewall:create",
        "firewall:delete",
        "firewall:read",
        "image:read",
        "regions:read",
        "sizes:read",
        "tag:create",
        "tag:delete",
        "tag:read",
    ),
    scopes_note=f"custom scopes of a personal access token, {_DOCS}/reference/api/scopes",
    facts=(
        Fact(
            "tags",
            "words of letters, digits, colons, dashes and underscores, 255 at most, case-insensitive",
            f"{_DOCS}/reference/api/reference/tags/",
        ),
        Fact("user data", "in the creating call, 64 KiB at most", f"{_DOCS}/reference/api/reference/droplets/"),
        Fact("idempotency token", "none", f"{_DOCS}/reference/api/reference/droplets/"),
        Fact(
            "firewall",
            "a cloud firewall, put on a tag that the machine bears from its creating call on",
            f"{_DOCS}/products/networking/firewalls/",
        ),
        Fact(
            "powered off", "billed as if it ran", f"{_DOCS}/reference/doctl/reference/compute/droplet-action/power-off"
        ),
        Fact(
            "billing",
            "by the second, at least 60 s or 0.01 USD, at most the price of 672 hours a month",
            "https://www.digitalocean.com/community/questions/how-billing-works-for-1-hour",
        ),
        Fact("public address", "in the size's price (R)", f"{_DOCS}/products/droplets/details/pricing/"),
    ),
    dialect=Droplets(),
    nonexistent=("0", NONEXISTENT_ID),
    scope_of=_scope_of,
    machine_limit=_machine_limit,
    resize=resize,
)
"""DigitalOcean's row of the table."""
