"""The security and placement group of a launch.

The group admits only the controller, the launch's machines, and its vantage points to the pages served to them.
"""

import asyncio
import ipaddress
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from cloudcmp.errors import IncompleteListing, LostAnswer, NotAllowed, ProviderFault, Refusal, RefusalKind, Refused
from cloudcmp.model.firewall import SERVED_PORT
from cloudcmp.model.lease import CreateRequest
from cloudcmp.provider.aws.faults import POLICY
from cloudcmp.provider.aws.launch import STRATEGIES, placement_of, tags_of
from cloudcmp.provider.aws.sdk import Sdk
from cloudcmp.provider.common.address import Net, allowed_nets, login_ports, vantage_nets
from cloudcmp.provider.common.firewall_rules import ANY, MEMBERS, Rule
from cloudcmp.provider.common.inventory import SCHEMA_TAG
from cloudcmp.provider.common.responses import SEARCH_NOTICE, leftover_fault, none_if_missing, require_id

_ATTEMPTS = 10
_DRY_RUNS = 3
_DELETE = "ec2:DeleteSecurityGroup"
_DELETED_STATES = ("deleting", "deleted")
_ECHO = {4: ("icmp", 8), 6: ("icmpv6", 128)}
"""The protocol and the type of an echo request, by the version of IP."""


@dataclass(slots=True)
class Traits:
    """What an EC2-compatible cloud supports, as far as observed. `unsupported` are parameters that it does not know.

    `tags`: it keeps tags; `token`: it finds machines by their token; None if not yet observed. `deletable`: for each
    region, whether our groups may be deleted, as far as tried.
    """

    tags: bool | None = None
    token: bool | None = None
    unsupported: set[str] = field(default_factory=set)
    deletable: dict[str, bool] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Firewalls:
    """The security groups of one cloud; `pause_s` is the wait between attempts while a new group is not yet visible."""

    sdk: Sdk
    traits: Traits
    pause_s: float = 2.0

    async def create(self, request: CreateRequest) -> str:
        """Creates a group with its rules, or none: deletes it again if its rules fail. Idempotent."""
        rules = [*_login_rules(request), *_vantage_rules(request)]
        if self.traits.deletable.get(request.region) is False:
            raise NotAllowed.at(request.name, "the last group that was made here may not be deleted", POLICY)
        group = await self._create_group(request)
        try:
            if "TagSpecifications" in self.traits.unsupported:
                await add_tags(self.sdk, request.region, group, tags_of(request))
            own = {"IpProtocol": "-1", "UserIdGroupPairs": [{"GroupId": group}]}
            await self._add_rules(request.region, group, [*rules, own])
            await self._create_placement_group(request, group)
        except BaseException as error:
            await self.undo(request, group, error)
            raise
        return group

    async def check_deletable(self, request: CreateRequest, group: str) -> str:
        """Tries once per region, by a dry run, if our groups may be deleted; returns the group that exists afterwards.

        Raises Refused if deletion is denied, or the base fault if the group stays as well. An inconclusive dry run is
        repeated on the next group. For AWS only: other clouds may execute a dry run.
        """
        if request.region in self.traits.deletable:
            return group
        for left in reversed(range(_DRY_RUNS)):
            verdict = await self._may_delete(request.region, group)
            if verdict.kind is not RefusalKind.DENIED:
                if verdict.kind is RefusalKind.ALLOWED:
                    self.traits.deletable[request.region] = True
                return group
            if left:
                await asyncio.sleep(self.pause_s)  # the tag that grants the right may not be visible yet
        refusal = NotAllowed.at(
            request.name, f"{verdict.code}: what was just made may not be deleted ({_DELETE})", POLICY
        )
        self.traits.deletable[request.region] = False
        await self.undo(request, group, refusal)
        # The deletion succeeded after all: create another group.
        self.traits.deletable[request.region] = True
        return await self.create(request)

    async def _may_delete(self, region: str, group: str) -> Refusal:
        """The outcome of a dry run of deleting a group; OTHER if inconclusive."""
        try:
            await self.sdk.read("ec2", region, "delete_security_group", DryRun=True, GroupId=group)
        except Refused as fault:
            return fault.reason or Refusal(RefusalKind.OTHER)
        except ProviderFault:
            pass  # the caller needs the group's id; the next call raises the fault
        return Refusal(RefusalKind.OTHER)

    async def undo(self, request: CreateRequest, group: str, error: BaseException) -> None:
        """Deletes a useless group. If it stays, raises no Refused, so that the lease stays open."""
        try:
            stays = "" if await self._delete_new(request.region, group) else "it cannot be deleted yet"
        except ProviderFault as fault:
            stays = fault.faults[0].what
        if stays and isinstance(error, Exception):
            raise leftover_fault(request.name, error, f"its group {group} is still there: {stays}") from error

    async def _delete_new(self, region: str, group: str) -> bool:
        """Deletes a new group, which may not be visible yet; True if that was accepted."""
        for left in reversed(range(_ATTEMPTS)):
            if await self.destroy(region, group):
                return True
            if left:
                await asyncio.sleep(self.pause_s)
        return False

    async def _create_group(self, request: CreateRequest) -> str:
        """Creates the empty group, or finds it if its response was lost or an earlier attempt made it."""
        params: dict[str, Any] = {"GroupName": request.name, "Description": description_of(request.token)}
        tags = tags_of(request)
        if "TagSpecifications" not in self.traits.unsupported:
            params["TagSpecifications"] = [{"ResourceType": "security-group", "Tags": tags}]
        try:
            response = await self.sdk.change(request.region, "create_security_group", **params)
            return require_id(response, "GroupId", where=request.name)
        except LostAnswer as fault:
            return await self._find_lost_group(request, fault)
        except Refused as fault:
            if not rejects(fault, "TagSpecification") or "TagSpecifications" not in params:
                raise
            self.traits.unsupported.add("TagSpecifications")
            return await self._create_group(request)

    async def _find_lost_group(self, request: CreateRequest, fault: LostAnswer) -> str:
        """The group whose response was lost; raises the base fault if not found, since it has no rules yet."""
        for _ in range(_ATTEMPTS):
            groups = await groups_by_token(self.sdk, request.region, request.token)
            if groups:
                return str(groups[0]["GroupId"])
            await asyncio.sleep(self.pause_s)
        raise ProviderFault.at(request.name, fault.faults[0].what, SEARCH_NOTICE)

    async def _add_rules(self, region: str, group: str, rules: list[dict[str, Any]]) -> None:
        for left in reversed(range(_ATTEMPTS)):
            try:
                await self.sdk.change(
                    region, "authorize_security_group_ingress", again=True, GroupId=group, IpPermissions=rules
                )
                return
            except Refused as fault:
                if fault.is_refusal(RefusalKind.EXISTS):
                    return
                if not fault.is_refusal(RefusalKind.MISSING) or not left:
                    raise
            await asyncio.sleep(self.pause_s)

    async def admit(self, region: str, group: str, addresses: Sequence[str]) -> None:
        """Admits single addresses to the machines of a group, at any port."""
        for address in map(ipaddress.ip_address, addresses):
            net = f"{address}/{address.max_prefixlen}"
            ranges = {"IpRanges": [{"CidrIp": net}]} if address.version == 4 else {"Ipv6Ranges": [{"CidrIpv6": net}]}
            await self._add_rules(region, group, [{"IpProtocol": "-1", **ranges}])

    async def _create_placement_group(self, request: CreateRequest, group: str) -> None:
        strategy = dict(request.options).get("placement")
        if strategy not in STRATEGIES:
            return
        tags = {"ResourceType": "placement-group", "Tags": tags_of(request)}
        await self.sdk.change(
            request.region,
            "create_placement_group",
            GroupName=placement_of(group),
            Strategy=strategy,
            TagSpecifications=[tags],
        )

    async def destroy(self, region: str, id: str) -> bool:
        """Requests the deletion of a group and of its placement group; False if there was none."""
        if id.startswith("pg-"):
            return await self._delete_placements(region, "GroupId", id)
        await self._delete_placements(region, "GroupName", placement_of(id))
        return await self._delete_if_present(region, "delete_security_group", GroupId=id)

    async def _delete_placements(self, region: str, key: str, value: str) -> bool:
        """Deletes the listed placement group with this name or id; False if there was none.

        Never requests the deletion of an unlisted one: it has no tag, so a user whose rights depend on tags would be
        refused.
        """
        names = [str(one["GroupName"]) for one in await self._list_placements(region, key, value)]
        return any([await self._delete_if_present(region, "delete_placement_group", GroupName=name) for name in names])

    async def _list_placements(self, region: str, key: str, value: str) -> list[Any]:
        """Our placement groups with this name or id; the API has no filter for either."""
        if "placement" in self.traits.unsupported:
            return []
        filters = [{"Name": "tag-key", "Values": [SCHEMA_TAG]}]
        try:
            groups = await self.sdk.pages(region, "describe_placement_groups", "PlacementGroups", Filters=filters)
        except Refused as fault:
            if not fault.is_refusal(RefusalKind.UNKNOWN_ACTION):
                raise
            self.traits.unsupported.add("placement")
            return []
        return [one for one in groups if one.get(key) == value and one.get("State") not in _DELETED_STATES]

    async def _delete_if_present(self, region: str, action: str, **params: Any) -> bool:
        return await none_if_missing(self.sdk.change(region, action, again=True, **params)) is not None

    async def rules(self, region: str, id: str) -> list[Rule]:
        """The rules of a group, as the cloud lists them."""
        groups = await self.sdk.pages(
            region, "describe_security_groups", "SecurityGroups", Filters=[_by("group-id", id)]
        )
        return [rule for group in groups for one in group.get("IpPermissions") or () for rule in _to_rules(one, id)]

    async def exists(self, region: str, id: str) -> bool:
        """True if a group is listed; raises IncompleteListing."""
        if id.startswith("pg-"):
            return bool(await self._list_placements(region, "GroupId", id))
        filters = [_by("group-id", id)]
        return bool(await self.sdk.pages(region, "describe_security_groups", "SecurityGroups", Filters=filters))


def _by(name: str, *values: str) -> dict[str, Any]:
    return {"Name": name, "Values": list(values)}


def _to_rules(permission: dict[str, Any], group: str) -> Iterator[Rule]:
    """The rules in one permission of a group."""
    kind = str(permission.get("IpProtocol"))
    first, last = permission.get("FromPort", -1), permission.get("ToPort", -1)
    ports = None if kind == "-1" or first < 0 else (int(first), int(last))
    sources = [str(one["CidrIp"]) for one in permission.get("IpRanges") or ()]
    sources += [str(one["CidrIpv6"]) for one in permission.get("Ipv6Ranges") or ()]
    sources += [str(one["PrefixListId"]) for one in permission.get("PrefixListIds") or ()]
    pairs = permission.get("UserIdGroupPairs") or ()
    sources += [MEMBERS if one.get("GroupId") == group else str(one.get("GroupId")) for one in pairs]
    return (Rule(source, ANY if kind == "-1" else kind, ports) for source in sources)


def description_of(token: str) -> str:
    """The description of our groups: it holds the token, since groups take no idempotency token."""
    return f"cloudcmp {token}"


def token_in(description: str) -> str | None:
    """The token in a group's description, None if the group is not ours."""
    head, _, token = description.partition(" ")
    return token if head == "cloudcmp" and token else None


async def groups_by_token(sdk: Sdk, region: str, token: str) -> list[Any]:
    """The groups that were created with a token."""
    filters = [_by("description", description_of(token))]
    return await sdk.pages(region, "describe_security_groups", "SecurityGroups", Filters=filters)


async def add_tags(sdk: Sdk, region: str, id: str, tags: list[dict[str, str]]) -> None:
    """Tags a new resource, for clouds that cannot tag it in the creating call."""
    await sdk.change(region, "create_tags", again=True, Resources=[id], Tags=tags)


def rejects(fault: Refused, parameter: str) -> bool:
    """True if a cloud refused because it does not know a parameter."""
    why = fault.reason
    return why is not None and why.kind is RefusalKind.UNKNOWN_PARAMETER and parameter in why.text


def _login_rules(request: CreateRequest) -> list[dict[str, Any]]:
    """A rule for each login port that admits the controller only; raises Refused without a narrow address."""
    ranges = _ranges(allowed_nets(request))
    return [{"IpProtocol": "tcp", "FromPort": port, "ToPort": port, **ranges} for port in login_ports(request)]


def _vantage_rules(request: CreateRequest) -> Iterator[dict[str, Any]]:
    """Rules that let vantage points in to the pages that a machine serves, and let their echoes in.

    Types of ICMP: https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_IpPermission.html
    """
    nets = vantage_nets(request)
    if nets:
        yield {"IpProtocol": "tcp", "FromPort": SERVED_PORT, "ToPort": SERVED_PORT, **_ranges(nets)}
    for version, (protocol, echo) in _ECHO.items():
        some = [net for net in nets if net.version == version]
        if some:
            yield {"IpProtocol": protocol, "FromPort": echo, "ToPort": -1, **_ranges(some)}


def _ranges(nets: Sequence[Net]) -> dict[str, Any]:
    """Networks as the sources of a rule."""
    v4 = [{"CidrIp": str(net)} for net in nets if net.version == 4]
    v6 = [{"CidrIpv6": str(net)} for net in nets if net.version == 6]
    return ({"IpRanges": v4} if v4 else {}) | ({"Ipv6Ranges": v6} if v6 else {})


async def detect_traits(sdk: Sdk, traits: Traits, region: str, group: str, token: str) -> None:
    """Observes the traits of an EC2-compatible cloud on a new, free group and by a filter."""
    if traits.tags is None:
        groups = await sdk.pages(region, "describe_security_groups", "SecurityGroups", Filters=[_by("group-id", group)])
        tags = {tag["Key"] for one in groups for tag in one.get("Tags", ())}
        traits.tags = SCHEMA_TAG in tags
    if traits.token is None:
        try:
            await sdk.pages(region, "describe_instances", "Reservations", Filters=[_by("client-token", token)])
            traits.token = True
        except IncompleteListing:
            raise
        except Refused:
            traits.token = False
