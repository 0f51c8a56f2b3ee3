"""What a launch stands on: a security group that lets in the controller and the launch's own machines, nobody else.

Beside it, where the study asks for one, a server group. Both cost nothing. Neither has a token: the description of the
one and the name of the other say what they are (see `marks`).
"""

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from cloudcmp.errors import IncompleteListing, LostAnswer, ProviderFault, RefusalKind, Refused
from cloudcmp.model.lease import CreateRequest
from cloudcmp.provider.common.address import SSH, allowed_nets
from cloudcmp.provider.common.firewall_rules import ANY, MEMBERS, Rule
from cloudcmp.provider.common.responses import LOOKED_FOR, id_in, left_behind
from cloudcmp.provider.openstack.launch import POLICIES
from cloudcmp.provider.openstack.sdk import COMPUTE, NETWORK, Sdk
from cloudcmp.provider.openstack.tags import Mark, mark_in

_TRIES = 10
_NAMED = (2, 64)  # from this microversion on a server group has one policy, before it a list
PLACEMENT = "placement/"
"""What stands before the id of a server group, to tell it from a security group's."""
_ANY_ID = "0" * 36


@dataclass(frozen=True, slots=True)
class Firewalls:
    """The groups of one cloud; `pause_s` between looks for what was made."""

    sdk: Sdk
    pause_s: float = 2.0

    async def create(self, request: CreateRequest) -> str:
        """A group with its rules, or none: one whose rules fail is deleted again.

        Raises Refused and the kinds of ProviderFault.
        """
        rules = list(_rules(request))
        mark = Mark(request.token, request.tags)
        Mark(request.token, request.tags, _ANY_ID).text(request.name)  # what belongs to it must fit as well
        group = await self._group(request, mark)
        try:
            await self._open(request.region, group, rules)
            await self._place(request, group)
        except BaseException as error:
            await self._undo(request, group, error)
            raise
        return group

    async def _group(self, request: CreateRequest, mark: Mark) -> str:
        """The empty group, found again where the answer was lost."""
        response = {"name": request.name, "description": mark.text(request.name)}
        try:
            made = await self.sdk.change(
                request.region, NETWORK, "POST", "/security-groups", {"security_group": response}
            )  # fmt: skip
            return id_in(made, "security_group", "id", where=request.name)
        except LostAnswer as fault:
            for _ in range(_TRIES):
                found = [id for id, _, one in await self.groups(request.region) if one.token == request.token]
                if found:
                    return found[0]
                await asyncio.sleep(self.pause_s)
            what = fault.faults[0].what
            # No lost answer: found later, it would be taken for a whole one; and no candidate is to blame.
            raise IncompleteListing.at(request.name, what, LOOKED_FOR) from None

    async def _open(self, region: str, group: str, rules: list[dict[str, Any]]) -> None:
        """All rules in one call: from the controller's addresses to the door, from the group itself to everything."""
        own = [{"ethertype": kind, "remote_group_id": group} for kind in ("IPv4", "IPv6")]
        ours = [{"direction": "ingress", "security_group_id": group, **rule} for rule in (*rules, *own)]
        try:
            await self.sdk.change(
                region, NETWORK, "POST", "/security-group-rules", {"security_group_rules": ours}, again=True
            )  # fmt: skip
        except Refused as fault:
            if not fault.is_refusal(RefusalKind.EXISTS):
                raise

    async def _place(self, request: CreateRequest, group: str) -> None:
        policy = POLICIES.get(dict(request.options).get("placement", ""))
        if policy is None:
            return
        door = await self.sdk.run_in_thread(lambda: self.sdk.door_now(request.region, COMPUTE), request.region)
        known = tuple(int(part) for part in ((door and door.microversion) or "2.1").split("."))
        response = {"policy": policy} if known >= _NAMED else {"policies": [policy]}
        name = Mark(request.token, request.tags, group).text(request.name)
        await self.sdk.change(
            request.region, COMPUTE, "POST", "/os-server-groups", {"server_group": {"name": name, **response}}
        )

    async def _undo(self, request: CreateRequest, group: str, error: BaseException) -> None:
        """Delete a group that is of no use; one that stays is no refusal, or nobody would look for it again."""
        try:
            await self.destroy(request.region, group)
        except ProviderFault as fault:
            if isinstance(error, Exception):
                what = f"its group {group} is still there: {fault.faults[0].what}"
                raise left_behind(request.name, error, what) from error

    async def placement_of(self, region: str, group: str) -> str | None:
        """The id of the server group that stands beside a security group."""
        return next((id for id, _, mark in await self.placements(region) if mark.on == group), None)

    async def groups(self, region: str) -> list[tuple[str, str, Mark]]:
        """The security groups of ours: id, name and mark."""
        listed = await self.sdk.own(region, "/security-groups", "security_groups")
        marked = [(one, mark_in(str(one.get("description") or ""))) for one in listed]
        return [(str(one["id"]), str(one.get("name") or ""), mark) for one, mark in marked if mark is not None]

    async def placements(self, region: str) -> list[tuple[str, str, Mark]]:
        """The server groups of ours: id, policy and mark."""
        listed = await self.sdk.pages(region, COMPUTE, "/os-server-groups", "server_groups")
        marked = [(one, mark_in(str(one.get("name") or ""))) for one in listed]
        return [
            (str(one["id"]), str(one.get("policy") or one.get("policies")), mark) for one, mark in marked if mark
        ]  # fmt: skip

    async def rules(self, region: str, id: str) -> list[Rule]:
        """The rules that Neutron holds for a group."""
        listed = await self.sdk.own(region, "/security-groups", "security_groups")
        return [
            _held(one, id)
            for group in listed
            if group.get("id") == id
            for one in group.get("security_group_rules") or ()
            if one.get("direction") == "ingress"
        ]

    async def destroy(self, region: str, id: str) -> bool:
        """Ask for a group to be deleted, and for the server group beside it; False where there was none."""
        if id.startswith(PLACEMENT):
            path = f"/os-server-groups/{id.removeprefix(PLACEMENT)}"
            return await self.sdk.delete(region, COMPUTE, path)
        for one, _, mark in await self.placements(region):
            if mark.on == id:
                await self.sdk.delete(region, COMPUTE, f"/os-server-groups/{one}")
        return await self.sdk.delete(region, NETWORK, f"/security-groups/{id}")

    async def there(self, region: str, id: str) -> bool:
        """Whether a list still shows a group, or the server group beside it."""
        placed = await self.placements(region)
        if id.startswith(PLACEMENT):
            return id.removeprefix(PLACEMENT) in {one for one, _, _ in placed}
        listed = await self.sdk.own(region, "/security-groups", "security_groups")
        return id in {one.get("id") for one in listed} or id in {mark.on for _, _, mark in placed}


def _held(rule: dict[str, Any], group: str) -> Rule:
    """A rule of Neutron's; one without a source admits everybody."""
    source = str(rule.get("remote_ip_prefix") or rule.get("remote_group_id") or "everybody")
    first, last = rule.get("port_range_min"), rule.get("port_range_max")
    ports = None if first is None or last is None else (int(first), int(last))
    return Rule(MEMBERS if source == group else source, str(rule.get("protocol") or ANY), ports)


def _rules(request: CreateRequest) -> Iterator[dict[str, Any]]:
    """One rule an address of the controller; raises Refused without any, or for a wide one."""
    for net in allowed_nets(request):
        door = {"protocol": "tcp", "port_range_min": SSH, "port_range_max": SSH, "remote_ip_prefix": str(net)}
        yield {"ethertype": f"IPv{net.version}", **door}
