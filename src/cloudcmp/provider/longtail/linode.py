"""Linodes of Akamai: https://techdocs.akamai.com/linode-api/reference/api"""

import base64
import ipaddress
import re
import secrets
from collections.abc import Iterator, Sequence
from datetime import date

from cloudcmp.errors import Refused
from cloudcmp.model.firewall import SERVED_PORT
from cloudcmp.model.lease import CreateRequest
from cloudcmp.model.offering import Billing, Offering
from cloudcmp.model.promise import Promised, promise_of
from cloudcmp.provider.common.address import SSH, Net
from cloudcmp.provider.common.firewall_rules import ANY, MEMBERS, Rule, ports_in
from cloudcmp.provider.common.responses import none_if_missing, require_id
from cloudcmp.provider.longtail import labels
from cloudcmp.provider.longtail.dialect import Api, Cloud, Fact, Image, ListedResource, SingleFirewall
from cloudcmp.provider.longtail.options import user_data
from cloudcmp.provider.longtail.pages import Json, by_number
from cloudcmp.provider.longtail.prices import hourly

_API = "https://techdocs.akamai.com/linode-api/reference"
_BILLING = (
    "https://www.linode.com/community/questions/23981/how-does-billing-work-for-resources-with-usage-less-than-a-hour"
)
_TAG_MAX = 50
_USER_DATA_MAX = 65535
_INSIDE = ipaddress.ip_network("192.168.128.0/17")
"""The private addresses within a region, shared by all its customers' machines."""
_STATES = {"running": "running", "offline": "stopped", "stopped": "stopped", "shutting_down": "stopped"}
_CATEGORIES = {"nanode": "burstable", "standard": "burstable", "dedicated": "compute", "premium": "compute"}
_CATEGORIES |= {"highmem": "memory", "gpu": "accelerated", "accelerated": "accelerated"}
_NEEDED = {"Linodes", "Metadata", "Cloud Firewall"}
_TYPES = "https://api.linode.com/v4/linode/types"
_PRICES = f"Linode's own list, {_TYPES}"


class Linodes(SingleFirewall):
    """Linode's dialect. Labels have few letters and are unique in an account, so the names are in the records."""

    machines = ("/v4/linode/instances", "data")
    machine_key: tuple[str, ...] = ()
    firewalls = ("/v4/networking/firewalls", "data")
    regions = ("/v4/regions", "data")
    types = ("/v4/linode/types", "data")
    tags: tuple[str, str] | None = None
    renames = True
    account = "/v4/account"

    def region(self, response: Json) -> tuple[str, bool]:
        """A region's id, and whether its machines read user data and have firewalls."""
        able = set(response.get("capabilities") or ())
        return str(response["id"]), response.get("status", "ok") == "ok" and able >= _NEEDED

    def offering(self, cloud: Cloud, region: str, response: Json, today: date) -> Offering | None:
        """A type, with the region's own price if it has one; stock is not reported here."""
        own = next((one for one in response.get("region_prices") or () if one.get("id") == region), None)
        price = (own or response.get("price") or {}).get("hourly")
        kind = str(response.get("class", ""))
        facts = {"disks": f"1 x {response['disk']} MiB"} if response.get("disk") else {}
        network_mbit = response.get("network_out")
        return Offering(
            cloud.name,
            region,
            str(response["id"]),
            float(response["vcpus"]) if response.get("vcpus") else None,
            response["memory"] / 1024 if response.get("memory") else None,
            _CATEGORIES.get(kind),
            hourly(price, _PRICES, today, cloud.currency),
            tuple(sorted({"architecture": "x86_64", **facts}.items())),
            promise_of(Promised.NETWORK, network_mbit, None, _TYPES, today, words="outbound", factor=1e6 / 8),
        )

    async def image(self, api: Api, image_name: str) -> Image:
        """The image of an id, which must run cloud-init, as Linode reports for its images."""
        id = api.cloud.images.get(image_name, image_name)
        hint = f"write its id, or one of {', '.join(api.cloud.images)}"
        reply = await none_if_missing(api.read(f"/v4/images/{id}"))
        if reply is None:
            raise Refused.at(api.cloud.name, f"there is no image {image_name!r}", hint)
        fields = reply.body
        if "cloud-init" not in (fields.get("capabilities") or ()):
            raise Refused.at(api.cloud.name, f"the image {image_name!r} does not read user data", hint)
        return Image(str(fields.get("id", id)), str(fields.get("label", id)))

    def body(self, request: CreateRequest, image: Image, tags: Sequence[str], firewall: str | None) -> Json:
        """The body of the creating call. Root's password is required; it is random and kept nowhere."""
        text = user_data(request, _USER_DATA_MAX)
        return {
            "label": _label(request.name, 64),
            "region": request.region,
            "type": request.offering,
            "image": image.id,
            "root_pass": secrets.token_urlsafe(48),
            "tags": list(tags),
            "metadata": {"user_data": base64.b64encode(text.encode()).decode()},
            "private_ip": True,
            "backups_enabled": False,
            "booted": True,
            **({"firewall_id": int(firewall)} if firewall else {}),
        }

    def machine(self, response: Json) -> ListedResource:
        """A linode; one of its addresses is private to its region."""
        private: list[str] = []
        public: list[str] = []
        for one in response.get("ipv4") or ():
            (private if ipaddress.ip_address(one) in _INSIDE else public).append(str(one))
        status, kind = str(response.get("status", "unknown")), response.get("type")
        tags = tuple(str(tag) for tag in response.get("tags") or ())
        return ListedResource(
            str(response["id"]), _name(response, tags, labels.MACHINE), tags, _STATES.get(status, "pending"), status,
            str(response.get("region", "")), str(kind) if kind else None, next(iter(public), None),
            next(iter(private), None),
        )  # fmt: skip

    def firewall(self, response: Json) -> ListedResource:
        """A firewall."""
        tags = tuple(str(tag) for tag in response.get("tags") or ())
        return ListedResource(str(response["id"]), _name(response, tags, labels.FIREWALL), tags)

    async def create_firewall(
        self, api: Api, request: CreateRequest, nets: Sequence[Net], vantages: Sequence[Net]
    ) -> str:
        """Creates a firewall with its rules in one call."""
        inside = {"ipv4": [str(_INSIDE)]}
        rules = [_accept("controller", "TCP", _addresses(nets), str(SSH))]
        if vantages:
            rules.append(_accept("pages", "TCP", _addresses(vantages), str(SERVED_PORT)))
            rules.append(_accept("echo", "ICMP", _addresses(vantages)))
        rules += [_accept(f"inside-{kind.lower()}", kind, inside, "1-65535") for kind in ("TCP", "UDP")]
        rules.append(_accept("inside-icmp", "ICMP", inside))
        record = labels.Record(request.tags, request.token, request.name, request.region)
        body = {
            "label": _label(f"cloudcmp-{request.token}", 32),
            "tags": list(labels.write(record, _TAG_MAX, labels.FIREWALL)),
            "rules": {"inbound": rules, "inbound_policy": "DROP", "outbound": [], "outbound_policy": "ACCEPT"},
        }
        return require_id((await api.change("POST", self.firewalls[0], body)).body, "id", where=request.name)

    async def rules(self, api: Api, id: str) -> list[Rule]:
        """Its inbound rules. The region's network, which it admits entirely, is shared by all customers there."""
        reply = await none_if_missing(api.read(f"{self.firewalls[0]}/{id}"))
        rules = (reply.body.get("rules") or {}) if reply is not None else {}
        result = [
            rule for one in rules.get("inbound") or () if one.get("action") == "ACCEPT" for rule in _to_rules(one)
        ]
        return result if rules.get("inbound_policy", "DROP") == "DROP" else [*result, Rule("everybody", ANY)]

    def account_id(self, response: Json) -> str | None:
        """The account's unique id."""
        return str(response.get("euuid") or "") or None


def _to_rules(rule: Json) -> Iterator[Rule]:
    addresses, kind = rule.get("addresses") or {}, str(rule.get("protocol")).lower()
    for source in (*(addresses.get("ipv4") or ()), *(addresses.get("ipv6") or ())):
        ports = ports_in(str(rule.get("ports") or ""))
        if source == str(_INSIDE):  # includes the launch's machines
            yield Rule(MEMBERS, kind, ports)
        yield Rule(str(source), kind, ports)


def _addresses(nets: Sequence[Net]) -> Json:
    """Networks as the sources of a rule."""
    v4 = [str(net) for net in nets if net.version == 4]
    v6 = [str(net) for net in nets if net.version == 6]
    return ({"ipv4": v4} if v4 else {}) | ({"ipv6": v6} if v6 else {})


def _accept(label: str, kind: str, addresses: Json, ports: str | None = None) -> Json:
    rule: Json = {"label": label, "action": "ACCEPT", "protocol": kind, "addresses": addresses}
    return {**rule, "ports": ports} if ports else rule


def _label(name: str, max_length: int) -> str:
    """A name in the label alphabet, without two dashes in a row."""
    return re.sub(r"-+", "-", name)[:max_length].rstrip("-")


def _name(response: Json, tags: Sequence[str], mark: str) -> str:
    """The name in the record, else the label."""
    record = labels.read(tags, mark)
    return (record.name if record else None) or str(response.get("label", ""))


def _scope_of(method: str, path: str) -> str | None:
    """The scope of a call: https://techdocs.akamai.com/linode-api/reference/get-started#oauth-reference (R)."""
    able = "read_only" if method == "GET" else "read_write"
    for part, word in (("/linode/instances", "linodes"), ("/networking/firewalls", "firewall"), ("/images", "images")):
        if part in path:
            return f"{word}:{able}"
    return "account:read_only" if path.endswith("/account") else None


CLOUD = Cloud(
    name="linode",
    title="Linode (Akamai)",
    smallest=("eu-central", "g6-nanode-1"),
    host="api.linode.com",
    tokens=("LINODE_CLI_TOKEN", "LINODE_TOKEN"),
    tag_length=_TAG_MAX,
    currency="USD",
    paging=by_number("page_size", 25),
    billing=Billing(3600.0, 3600.0, uncounted=("traffic beyond what the account's types include",)),
    powered_off=_BILLING,
    images={
        "ubuntu-24.04": "linode/ubuntu24.04",
        "ubuntu-22.04": "linode/ubuntu22.04",
        "debian-12": "linode/debian12",
        "debian-13": "linode/debian13",
    },
    scopes=("account:read_only", "firewall:read_write", "images:read_only", "linodes:read_write"),
    scopes_note=f"scopes of a personal access token, {_API}/get-started#oauth-reference; tags are only taken from an "
    f"unrestricted user (R), {_API}/post-linode-instance",
    facts=(
        Fact("tags", "words of 3 to 50 characters (R), case-insensitive (R)", f"{_API}/post-tag"),
        Fact(
            "user data",
            "in the creating call, in base64, in regions with Metadata, for images with cloud-init",
            f"{_API}/post-linode-instance",
        ),
        Fact(
            "regions",
            "those without Metadata or without cloud firewalls are not used (R)",
            f"{_API}/get-regions",
        ),
        Fact(
            "root password",
            "required with an image: it is random and kept nowhere (R)",
            f"{_API}/post-linode-instance",
        ),
        Fact("idempotency token", "none; labels are unique in an account", f"{_API}/post-linode-instance"),
        Fact(
            "firewall",
            "made before and named in the creating call; it filters the region's network too, which all "
            "customers share, and lets its 192.168.128.0/17 in whole: it knows no machines of a launch",
            f"{_API}/post-firewalls",
        ),
        Fact("powered off", "billed as if it ran", _BILLING),
        Fact("billing", "per started hour, with a monthly maximum", _BILLING),
        Fact("public address", "in the type's price (R)", f"{_API}/get-linode-types"),
    ),
    dialect=Linodes(),
    nonexistent=("0", "0"),
    scope_of=_scope_of,
    open_to="the region's network, which all customers share, because its firewalls name no machines",
)
"""Linode's row of the table."""
