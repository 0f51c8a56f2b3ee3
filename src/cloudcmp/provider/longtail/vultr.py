"""Cloud compute of Vultr: https://www.vultr.com/api/"""

import base64
from collections.abc import Sequence
from datetime import date

from cloudcmp.errors import IncompleteListing, LostAnswer, ProviderFault, RefusalKind, Refused
from cloudcmp.model.firewall import SERVED_PORT
from cloudcmp.model.lease import CreateRequest
from cloudcmp.model.offering import Billing, Offering
from cloudcmp.provider.common.address import SSH, Net
from cloudcmp.provider.common.firewall_rules import ANY, MEMBERS, Rule, ports_in
from cloudcmp.provider.common.responses import leftover_fault, none_if_missing, require_id
from cloudcmp.provider.longtail import labels
from cloudcmp.provider.longtail.dialect import Api, Cloud, Fact, Image, ListedResource, SingleFirewall
from cloudcmp.provider.longtail.options import user_data
from cloudcmp.provider.longtail.pages import Json, by_cursor
from cloudcmp.provider.longtail.prices import hourly, monthly

_API = "https://www.vultr.com/api/"
_BILLING = "https://docs.vultr.com/support/platform/billing/how-am-i-billed-for-my-servers"
_TAG_MAX = 128
_TEXT_MAX = 255
_USER_DATA_MAX = 16 * 1024
_MONTH_HOURS = 672
_PRICES = f"Vultr's own list, {_API}#tag/plans"
_CATEGORIES = {"vc2": "burstable", "vhf": "burstable", "vhp": "burstable", "vdc": "compute", "voc": "compute"}
_CATEGORIES |= {"vcg": "accelerated"}
_ATTEMPTS = 5


class Instances(SingleFirewall):
    """Vultr's dialect. A firewall group has no tags, so its description is its record."""

    machines = ("/v2/instances", "instances")
    machine_key: tuple[str, ...] = ("instance",)
    firewalls = ("/v2/firewalls", "firewall_groups")
    regions = ("/v2/regions", "regions")
    types = ("/v2/plans", "plans")
    tags: tuple[str, str] | None = None
    renames = False
    account = "/v2/account"

    def region(self, response: Json) -> tuple[str, bool]:
        """A region's id; all listed regions take machines."""
        return str(response["id"]), True

    def offering(self, cloud: Cloud, region: str, response: Json, today: date) -> Offering | None:
        """A plan as sold in a region. The price of a month is that of 672 hours, except for GPUs (730)."""
        if region not in response.get("locations", ()):
            return None
        kind = str(response.get("type", ""))
        price = hourly(response.get("hourly_cost"), _PRICES, today, cloud.currency)
        if price is None and kind != "vcg":
            price = monthly(response.get("monthly_cost"), _MONTH_HOURS, f"{_PRICES}; {_BILLING}", today, cloud.currency)
        facts = {"disks": f"{response.get('disk_count', 1)} x {response['disk']} GB"} if response.get("disk") else {}
        return Offering(
            cloud.name,
            region,
            str(response["id"]),
            float(response["vcpu_count"]) if response.get("vcpu_count") else None,
            response["ram"] / 1024 if response.get("ram") else None,
            _CATEGORIES.get(kind),
            price,
            tuple(sorted({"architecture": "x86_64", **facts}.items())),
        )

    async def image(self, api: Api, image_name: str) -> Image:
        """The system with this number or with this prefix of its name; the first of several by name."""
        name = api.cloud.images.get(image_name, image_name)
        systems = await api.all("/v2/os", "os")
        matches = [one for one in systems if str(one.get("id")) == name or str(one.get("name", "")).startswith(name)]
        if not matches:
            hint = f"write its number, or one of {', '.join(api.cloud.images)}"
            raise Refused.at(api.cloud.name, f"there is no system {image_name!r}", hint)
        first = min(matches, key=lambda one: str(one.get("name", "")))
        return Image(int(first["id"]), str(first.get("name", image_name)))

    def body(self, request: CreateRequest, image: Image, tags: Sequence[str], firewall: str | None) -> Json:
        """The body of the creating call; the machine joins the account's own network of the region."""
        text = user_data(request, _USER_DATA_MAX)
        return {
            "label": request.name,
            "hostname": request.name,
            "region": request.region,
            "plan": request.offering,
            "os_id": image.id,
            "tags": list(tags),
            "user_data": base64.b64encode(text.encode()).decode(),
            "enable_ipv6": False,
            "enable_vpc": True,
            "backups": "disabled",
            "activation_email": False,
            **({"firewall_group_id": firewall} if firewall else {}),
        }

    def machine(self, response: Json) -> ListedResource:
        """An instance; its first address is 0.0.0.0 until it has one."""
        status, power = str(response.get("status", "unknown")), str(response.get("power_status", ""))
        if status == "active":
            state = "running" if power == "running" else "stopped"
        else:
            state = "stopped" if status in {"halted", "suspended"} else "pending"
        public, plan = str(response.get("main_ip") or ""), response.get("plan")
        return ListedResource(
            str(response["id"]), str(response.get("label", "")), tuple(map(str, response.get("tags") or ())), state,
            f"{status}, {power}" if power else status, str(response.get("region", "")), str(plan) if plan else None,
            public if public not in {"", "0.0.0.0"} else None, str(response.get("internal_ip") or "") or None,  # noqa: S104
        )  # fmt: skip

    def firewall(self, response: Json) -> ListedResource:
        """A firewall group."""
        text = str(response.get("description", ""))
        record = labels.read([text], labels.FIREWALL)
        return ListedResource(str(response["id"]), (record.name if record else None) or text, (text,))

    async def create_firewall(
        self, api: Api, request: CreateRequest, nets: Sequence[Net], vantages: Sequence[Net]
    ) -> str:
        """Creates the group, then a rule for each address; deletes the group again if its rules fail."""
        (text,) = labels.write(
            labels.Record(request.tags, request.token, region=request.region), 10_000, labels.FIREWALL
        )
        if len(text) > _TEXT_MAX:
            raise Refused.at(request.name, f"its record is longer than {_TEXT_MAX}", "give the study a shorter name")
        group = await self._create_group(api, request, text)
        try:
            for net in nets:
                await self._add_rule(api, group, _rule(net, "tcp", SSH))
            for net in vantages:
                await self._add_rule(api, group, _rule(net, "tcp", SERVED_PORT))
                await self._add_rule(api, group, _rule(net, "icmp"))
        except BaseException as error:
            await self._undo(api, request, group, error)
            raise
        return group

    async def _create_group(self, api: Api, request: CreateRequest, text: str) -> str:
        """Creates the empty group, or finds it if its response was lost."""
        try:
            response = (await api.change("POST", self.firewalls[0], {"description": text})).body
            return require_id(response, "firewall_group", "id", where=request.name)
        except LostAnswer as fault:
            for _ in range(_ATTEMPTS):
                listed = await api.all(*self.firewalls)
                mine = [one for one in listed if one.get("description") == text]
                if mine:
                    return str(mine[0]["id"])
                await api.wait()
            # Not LostAnswer: a group found later has no rules.
            raise IncompleteListing.at(request.name, f"its firewall's answer was lost: {fault}", "run again") from None

    async def _add_rule(self, api: Api, group: str, rule: Json) -> None:
        try:
            await api.change("POST", f"{self.firewalls[0]}/{group}/rules", rule, again=True)
        except Refused as fault:
            if not fault.is_refusal(RefusalKind.EXISTS):
                raise

    async def _undo(self, api: Api, request: CreateRequest, group: str, error: BaseException) -> None:
        """Deletes a useless group. If it stays, raises no Refused, so that the lease stays open."""
        try:
            await self.delete_firewall(api, group)
        except ProviderFault as fault:
            what = f"its group {group} is still there: {fault.faults[0].what}"
            raise leftover_fault(request.name, error, what) from error
        if isinstance(error, LostAnswer):
            raise IncompleteListing.at(request.name, error.faults[0].what, "its group was deleted again") from error

    async def rules(self, api: Api, id: str) -> list[Rule]:
        """The rules of the group. The account's own network, which connects a launch's machines, is not filtered."""
        listed = await none_if_missing(api.all(f"{self.firewalls[0]}/{id}/rules", "firewall_rules"))
        return [*map(_to_rule, listed), Rule(MEMBERS, ANY)] if listed is not None else []

    def account_id(self, response: Json) -> str | None:
        """A digest of the account's mail address: Vultr reports no account id, and the address is personal data."""
        return labels.digest(str((response.get("account") or {}).get("email") or ""))


def _rule(net: Net, protocol: str, port: int | None = None) -> Json:
    source = {"ip_type": f"v{net.version}", "subnet": str(net.network_address), "subnet_size": net.prefixlen}
    return {**source, "protocol": protocol, **({"port": str(port)} if port else {}), "notes": "cloudcmp"}


def _to_rule(rule: Json) -> Rule:
    source = f"{rule.get('subnet')}/{rule.get('subnet_size')}"
    return Rule(source, str(rule.get("protocol")), ports_in(str(rule.get("port"))))


CLOUD = Cloud(
    name="vultr",
    title="Vultr",
    smallest=("ams", "vc2-1c-1gb"),
    host="api.vultr.com",
    tokens=("VULTR_API_KEY",),
    tag_length=_TAG_MAX,
    currency="USD",
    paging=by_cursor("per_page", 500),
    billing=Billing(3600.0, 3600.0, uncounted=("traffic beyond what the plan includes",)),
    powered_off="https://docs.vultr.com/support/platform/billing/are-stopped-instances-still-billed-on-vultr",
    images={
        "ubuntu-24.04": "Ubuntu 24.04 LTS x64",
        "ubuntu-22.04": "Ubuntu 22.04 LTS x64",
        "debian-12": "Debian 12 x64",
        "debian-13": "Debian 13 x64",
    },
    scopes=(),
    scopes_note=f"a key has no scopes: it may do what its user may, from the addresses that its user lists, {_API}",
    facts=(
        Fact("tags", "words; length and letters are undocumented, so they are few and short", _API),
        Fact("user data", "in the creating call, in base64", _API),
        Fact("idempotency token", "none", _API),
        Fact(
            "firewall",
            "a group with rules, made before and named in the creating call; it does not filter what comes "
            "through the account's own network (R)",
            "https://docs.vultr.com/products/network/firewall",
        ),
        Fact(
            "network of the region",
            "the account's own; where a region has none Vultr makes one with the machine, which stays and costs "
            "nothing (R): it bears nothing of ours, and no sweep finds it; where there are several one must be named, "
            "which this driver does not do",
            f"{_API}#tag/instances/operation/create-instance",
        ),
        Fact(
            "powered off",
            "billed as if it ran",
            "https://docs.vultr.com/support/platform/billing/are-stopped-instances-still-billed-on-vultr",
        ),
        Fact(
            "prices",
            "where there is none for the hour, that for the month by 672 hours; of GPU plans, which are billed "
            "otherwise, unknown (R)",
            f"{_API}#tag/plans",
        ),
        Fact("account", "no id is shown: `account:` pins a digest of its mail address (R)", f"{_API}#tag/account"),
        Fact("billing", "per started hour, at most the price of 672 hours a month", _BILLING),
        Fact("public address", "in the plan's price (R)", _API),
    ),
    dialect=Instances(),
)
"""Vultr's row of the table."""
