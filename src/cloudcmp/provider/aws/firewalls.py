"""What a launch stands on: a security group that lets in the controller and the launch's own machines, nobody else.

Beside it, where the study asks for one, a placement group. Both cost nothing.
"""

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from cloudcmp.errors import IncompleteListing, LostAnswer, NotAllowed, ProviderFault, Refusal, RefusalKind, Refused
from cloudcmp.model.lease import CreateRequest
from cloudcmp.provider.aws.faults import POLICY
from cloudcmp.provider.aws.launch import STRATEGIES, placement_of, tags_of
from cloudcmp.provider.aws.sdk import Sdk
from cloudcmp.provider.common.address import allowed_nets, login_ports
from cloudcmp.provider.common.firewall_rules import ANY, MEMBERS, Rule
from cloudcmp.provider.common.inventory import SCHEMA_TAG
from cloudcmp.provider.common.responses import LOOKED_FOR, id_in, left_behind, unless_missing

_TRIES = 10
_PROOFS = 3
_DELETE = "ec2:DeleteSecurityGroup"
_ENDING = ("deleting", "deleted")


@dataclass(slots=True)
class Traits:
    """What an EC2-compatible cloud was seen to do; `lacks` are parameters that it does not know.

    `tags`: whether tags hold; `token`: whether machines are found by their token. None where it was not seen yet.
    `deletes`: for each region whether a group of ours may be deleted, as far as it was tried.
    """

    tags: bool | None = None
    token: bool | None = None
    lacks: set[str] = field(default_factory=set)
    deletes: dict[str, bool] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Firewalls:
    """The groups of one cloud; `pause_s` between tries, while a new group is not seen everywhere yet."""

    sdk: Sdk
    traits: Traits
    pause_s: float = 2.0

    async def create(self, request: CreateRequest) -> str:
        """A group with its rules, or none: one whose rules fail is deleted again. Asking again gives the same group.

        Raises Refused and the kinds of ProviderFault.
        """
        rules = _rules(request)
        if self.traits.deletes.get(request.region) is False:
            raise NotAllowed.at(request.name, "the last group that was made here may not be deleted", POLICY)
        group = await self._group(request)
        try:
            if "TagSpecifications" in self.traits.lacks:
                await tag_after(self.sdk, request.region, group, tags_of(request))
            await self._open(request.region, group, rules)
            await self._place(request, group)
        except BaseException as error:
            await self.undo(request, group, error)
            raise
        return group

    async def prove(self, request: CreateRequest, group: str) -> str:
        """Try by a dry run, once a region, whether a group of ours may be deleted, before any machine stands on it.

        The group that is there afterwards. Raises Refused where it may not be deleted, or the base fault that says that
        it stays. What comes else tells nothing, and the next group is tried. Only for AWS: other clouds may take a dry
        run for a real one.
        """
        if request.region in self.traits.deletes:
            return group
        for left in reversed(range(_PROOFS)):
            verdict = await self._may_delete(request.region, group)
            if verdict.kind is not RefusalKind.DENIED:
                if verdict.kind is RefusalKind.ALLOWED:
                    self.traits.deletes[request.region] = True
                return group
            if left:
                await asyncio.sleep(self.pause_s)  # the tag that the right rests on may not be seen yet
        refusal = NotAllowed.at(
            request.name, f"{verdict.code}: what was just made may not be deleted ({_DELETE})", POLICY
        )
        self.traits.deletes[request.region] = False
        await self.undo(request, group, refusal)
        # It could be deleted after all: another one stands in for it.
        self.traits.deletes[request.region] = True
        return await self.create(request)

    async def _may_delete(self, region: str, group: str) -> Refusal:
        """The answer to a dry run of deleting a group; one of no kind where it tells nothing."""
        try:
            await self.sdk.read("ec2", region, "delete_security_group", DryRun=True, GroupId=group)
        except Refused as fault:
            return fault.reason or Refusal(RefusalKind.OTHER)
        except ProviderFault:
            pass  # the group is there and its id must be told: the next call raises what is wrong
        return Refusal(RefusalKind.OTHER)

    async def undo(self, request: CreateRequest, group: str, error: BaseException) -> None:
        """Delete a group that is of no use; one that stays is no refusal, or nobody would look for it again."""
        try:
            stays = "" if await self._delete_new(request.region, group) else "it cannot be deleted yet"
        except ProviderFault as fault:
            stays = fault.faults[0].what
        if stays and isinstance(error, Exception):
            raise left_behind(request.name, error, f"its group {group} is still there: {stays}") from error

    async def _delete_new(self, region: str, group: str) -> bool:
        """Delete what was just made, which may not be seen everywhere yet; whether that was accepted."""
        for left in reversed(range(_TRIES)):
            if await self.destroy(region, group):
                return True
            if left:
                await asyncio.sleep(self.pause_s)
        return False

    async def _group(self, request: CreateRequest) -> str:
        """The empty group, found again where the answer was lost or an earlier try made it."""
        params: dict[str, Any] = {"GroupName": request.name, "Description": described(request.token)}
        tags = tags_of(request)
        if "TagSpecifications" not in self.traits.lacks:
            params["TagSpecifications"] = [{"ResourceType": "security-group", "Tags": tags}]
        try:
            made = await self.sdk.change(request.region, "create_security_group", **params)
            return id_in(made, "GroupId", where=request.name)
        except LostAnswer as fault:
            return await self._again(request, fault)
        except Refused as fault:
            if not unknown(fault, "TagSpecification") or "TagSpecifications" not in params:
                raise
            self.traits.lacks.add("TagSpecifications")
            return await self._group(request)

    async def _again(self, request: CreateRequest, fault: LostAnswer) -> str:
        """The group whose answer was lost; a base fault where it is not found, for it has no rules yet."""
        for _ in range(_TRIES):
            found = await groups_by_token(self.sdk, request.region, request.token)
            if found:
                return str(found[0]["GroupId"])
            await asyncio.sleep(self.pause_s)
        raise ProviderFault.at(request.name, fault.faults[0].what, LOOKED_FOR)

    async def _open(self, region: str, group: str, rules: list[dict[str, Any]]) -> None:
        own = {"IpProtocol": "-1", "UserIdGroupPairs": [{"GroupId": group}]}
        for left in reversed(range(_TRIES)):
            try:
                await self.sdk.change(
                    region, "authorize_security_group_ingress", again=True, GroupId=group, IpPermissions=[*rules, own]
                )
                return
            except Refused as fault:
                if fault.is_refusal(RefusalKind.EXISTS):
                    return
                if not fault.is_refusal(RefusalKind.MISSING) or not left:
                    raise
            await asyncio.sleep(self.pause_s)

    async def _place(self, request: CreateRequest, group: str) -> None:
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
        """Ask for a group to be deleted, and for the placement group beside it; False where there was none."""
        if id.startswith("pg-"):
            return await self._delete_placements(region, "GroupId", id)
        await self._delete_placements(region, "GroupName", placement_of(id))
        return await self._unless_gone(region, "delete_security_group", GroupId=id)

    async def _delete_placements(self, region: str, key: str, value: str) -> bool:
        """Delete the placement group that is listed with a name or an id; False where there was none.

        One that was never made is not asked to be deleted: it bears no tag, so that a user whose rights rest on tags is
        refused, and the firewall group would stay.
        """
        names = [str(one["GroupName"]) for one in await self._placements(region, key, value)]
        return any([await self._unless_gone(region, "delete_placement_group", GroupName=name) for name in names])

    async def _placements(self, region: str, key: str, value: str) -> list[Any]:
        """The placement groups of ours that are listed with a name or an id, for which there is no filter."""
        if "placement" in self.traits.lacks:
            return []
        ask = [{"Name": "tag-key", "Values": [SCHEMA_TAG]}]
        try:
            found = await self.sdk.pages(region, "describe_placement_groups", "PlacementGroups", Filters=ask)
        except Refused as fault:
            if not fault.is_refusal(RefusalKind.UNKNOWN_ACTION):
                raise
            self.traits.lacks.add("placement")
            return []
        return [one for one in found if one.get(key) == value and one.get("State") not in _ENDING]

    async def _unless_gone(self, region: str, action: str, **params: Any) -> bool:
        return await unless_missing(self.sdk.change(region, action, again=True, **params)) is not None

    async def rules(self, region: str, id: str) -> list[Rule]:
        """The rules that the cloud holds for a group."""
        groups = await self.sdk.pages(
            region, "describe_security_groups", "SecurityGroups", Filters=[_by("group-id", id)]
        )
        return [rule for group in groups for one in group.get("IpPermissions") or () for rule in _held(one, id)]

    async def there(self, region: str, id: str) -> bool:
        """Whether a list still shows a group; raises IncompleteListing where the list does not come whole."""
        if id.startswith("pg-"):
            return bool(await self._placements(region, "GroupId", id))
        ask = [_by("group-id", id)]
        return bool(await self.sdk.pages(region, "describe_security_groups", "SecurityGroups", Filters=ask))


def _by(name: str, *values: str) -> dict[str, Any]:
    return {"Name": name, "Values": list(values)}


def _held(permission: dict[str, Any], group: str) -> Iterator[Rule]:
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


def described(token: str) -> str:
    """The description that a group of ours has, for groups take no idempotency token."""
    return f"cloudcmp {token}"


def token_in(description: str) -> str | None:
    """The token in a group's description, None for a group that is not described by us."""
    head, _, token = description.partition(" ")
    return token if head == "cloudcmp" and token else None


async def groups_by_token(sdk: Sdk, region: str, token: str) -> list[Any]:
    """The groups that were made with a token."""
    wanted = [_by("description", described(token))]
    return await sdk.pages(region, "describe_security_groups", "SecurityGroups", Filters=wanted)


async def tag_after(sdk: Sdk, region: str, id: str, tags: list[dict[str, str]]) -> None:
    """Tag what was just made, for clouds that cannot do it in the same call."""
    await sdk.change(region, "create_tags", again=True, Resources=[id], Tags=tags)


def unknown(fault: Refused, parameter: str) -> bool:
    """Whether a cloud refused because it does not know a parameter."""
    why = fault.reason
    return why is not None and why.kind is RefusalKind.UNKNOWN_PARAMETER and parameter in why.text


def _rules(request: CreateRequest) -> list[dict[str, Any]]:
    """One rule a door, for the controller's addresses only; raises Refused without any, or for a wide one."""
    nets = allowed_nets(request)
    v4 = [{"CidrIp": str(net)} for net in nets if net.version == 4]
    v6 = [{"CidrIpv6": str(net)} for net in nets if net.version == 6]
    ranges = ({"IpRanges": v4} if v4 else {}) | ({"Ipv6Ranges": v6} if v6 else {})
    return [{"IpProtocol": "tcp", "FromPort": door, "ToPort": door, **ranges} for door in login_ports(request)]


async def probe(sdk: Sdk, traits: Traits, region: str, group: str, token: str) -> None:
    """See what an EC2-compatible cloud does, on a free group that was just made, and by a filter."""
    if traits.tags is None:
        found = await sdk.pages(region, "describe_security_groups", "SecurityGroups", Filters=[_by("group-id", group)])
        held = {tag["Key"] for one in found for tag in one.get("Tags", ())}
        traits.tags = SCHEMA_TAG in held
    if traits.token is None:
        try:
            await sdk.pages(region, "describe_instances", "Reservations", Filters=[_by("client-token", token)])
            traits.token = True
        except IncompleteListing:
            raise
        except Refused:
            traits.token = False
