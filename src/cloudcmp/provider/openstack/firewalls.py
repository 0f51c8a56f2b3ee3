"""The security group of a launch, which admits only the controller, the launch's machines, and vantage points to pages.

Also its server group, if the study wants one. Both are free. Neither has a token: the mark is in the description of the
former and in the name of the latter (see `tags`).
"""

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from cloudcmp.errors import IncompleteListing, LostAnswer, ProviderFault, RefusalKind, Refused
from cloudcmp.model.firewall import SERVED_PORT
from cloudcmp.model.lease import CreateRequest
from cloudcmp.provider.common.address import SSH, allowed_nets, vantage_nets
from cloudcmp.provider.common.firewall_rules import ANY, MEMBERS, Rule
from cloudcmp.provider.common.responses import SEARCH_NOTICE, leftover_fault, require_id
from cloudcmp.provider.openstack.launch import POLICIES
from cloudcmp.provider.openstack.sdk import COMPUTE, NETWORK, Sdk
from cloudcmp.provider.openstack.tags import Mark, parse_mark

_ATTEMPTS = 10
_ONE_POLICY = (2, 64)  # a server group has one policy from this microversion, before it a list
PLACEMENT = "placement/"
"""The prefix of a server group's id, to distinguish it from a security group's."""
_ANY_ID = "0" * 36
_ECHO = {4: ("icmp", 8), 6: ("ipv6-icmp", 128)}
"""The protocol and the type of an echo request, by the version of IP."""


@dataclass(frozen=True, slots=True)
class Firewalls:
    """The security groups of one cloud; `pause_s` is the poll interval for new ones."""

    sdk: Sdk
    pause_s: float = 2.0

    async def create(self, request: CreateRequest) -> str:
        """Creates a group with its rules, or none: deletes it again if its rules fail."""
        rules = [*_ssh_rules(request), *_vantage_rules(request)]
        mark = Mark(request.token, request.tags)
        Mark(request.token, request.tags, _ANY_ID).text(request.name)  # a mark with an id must fit as well
        group = await self._create_group(request, mark)
        try:
            await self._add_rules(request.region, group, rules)
            await self._create_server_group(request, group)
        except BaseException as error:
            await self._undo(request, group, error)
            raise
        return group

    async def _create_group(self, request: CreateRequest, mark: Mark) -> str:
        """Creates the empty group, or finds it if its response was lost."""
        body = {"name": request.name, "description": mark.text(request.name)}
        try:
            created = await self.sdk.change(
                request.region, NETWORK, "POST", "/security-groups", {"security_group": body}
            )  # fmt: skip
            return require_id(created, "security_group", "id", where=request.name)
        except LostAnswer as fault:
            for _ in range(_ATTEMPTS):
                ids = [id for id, _, one in await self.groups(request.region) if one.token == request.token]
                if ids:
                    return ids[0]
                await asyncio.sleep(self.pause_s)
            what = fault.faults[0].what
            # Not LostAnswer: a group found later is incomplete, and the candidate is not at fault.
            raise IncompleteListing.at(request.name, what, SEARCH_NOTICE) from None

    async def _add_rules(self, region: str, group: str, rules: list[dict[str, Any]]) -> None:
        """Adds all rules in one call: SSH from the controller, everything from the group itself."""
        own = [{"ethertype": kind, "remote_group_id": group} for kind in ("IPv4", "IPv6")]
        rows = [{"direction": "ingress", "security_group_id": group, **rule} for rule in (*rules, *own)]
        try:
            await self.sdk.change(
                region, NETWORK, "POST", "/security-group-rules", {"security_group_rules": rows}, again=True
            )  # fmt: skip
        except Refused as fault:
            if not fault.is_refusal(RefusalKind.EXISTS):
                raise

    async def _create_server_group(self, request: CreateRequest, group: str) -> None:
        policy = POLICIES.get(dict(request.options).get("placement", ""))
        if policy is None:
            return
        endpoint = await self.sdk.run_in_thread(
            lambda: self.sdk.service_endpoint(request.region, COMPUTE), request.region
        )
        version = tuple(int(part) for part in ((endpoint and endpoint.microversion) or "2.1").split("."))
        policies = {"policy": policy} if version >= _ONE_POLICY else {"policies": [policy]}
        name = Mark(request.token, request.tags, group).text(request.name)
        await self.sdk.change(
            request.region, COMPUTE, "POST", "/os-server-groups", {"server_group": {"name": name, **policies}}
        )

    async def _undo(self, request: CreateRequest, group: str, error: BaseException) -> None:
        """Deletes a useless group. If it stays, raises no Refused, so that the lease stays open."""
        try:
            await self.destroy(request.region, group)
        except ProviderFault as fault:
            if isinstance(error, Exception):
                what = f"its group {group} is still there: {fault.faults[0].what}"
                raise leftover_fault(request.name, error, what) from error

    async def placement_of(self, region: str, group: str) -> str | None:
        """The id of the server group that belongs to a security group."""
        return next((id for id, _, mark in await self.placements(region) if mark.parent == group), None)

    async def groups(self, region: str) -> list[tuple[str, str, Mark]]:
        """Our security groups: id, name and mark."""
        listed = await self.sdk.own(region, "/security-groups", "security_groups")
        marked = [(one, parse_mark(str(one.get("description") or ""))) for one in listed]
        return [(str(one["id"]), str(one.get("name") or ""), mark) for one, mark in marked if mark is not None]

    async def placements(self, region: str) -> list[tuple[str, str, Mark]]:
        """Our server groups: id, policy and mark."""
        listed = await self.sdk.pages(region, COMPUTE, "/os-server-groups", "server_groups")
        marked = [(one, parse_mark(str(one.get("name") or ""))) for one in listed]
        return [
            (str(one["id"]), str(one.get("policy") or one.get("policies")), mark) for one, mark in marked if mark
        ]  # fmt: skip

    async def rules(self, region: str, id: str) -> list[Rule]:
        """The rules of a group, as Neutron lists them."""
        listed = await self.sdk.own(region, "/security-groups", "security_groups")
        return [
            _to_rule(one, id)
            for group in listed
            if group.get("id") == id
            for one in group.get("security_group_rules") or ()
            if one.get("direction") == "ingress"
        ]

    async def destroy(self, region: str, id: str) -> bool:
        """Requests the deletion of a group and of its server group; False if there was none."""
        if id.startswith(PLACEMENT):
            path = f"/os-server-groups/{id.removeprefix(PLACEMENT)}"
            return await self.sdk.delete(region, COMPUTE, path)
        for one, _, mark in await self.placements(region):
            if mark.parent == id:
                await self.sdk.delete(region, COMPUTE, f"/os-server-groups/{one}")
        return await self.sdk.delete(region, NETWORK, f"/security-groups/{id}")

    async def exists(self, region: str, id: str) -> bool:
        """True if a group or its server group is listed."""
        placements = await self.placements(region)
        if id.startswith(PLACEMENT):
            return id.removeprefix(PLACEMENT) in {one for one, _, _ in placements}
        listed = await self.sdk.own(region, "/security-groups", "security_groups")
        return id in {one.get("id") for one in listed} or id in {mark.parent for _, _, mark in placements}


def _to_rule(rule: dict[str, Any], group: str) -> Rule:
    """Converts a rule of Neutron; one without a source admits everybody."""
    source = str(rule.get("remote_ip_prefix") or rule.get("remote_group_id") or "everybody")
    first, last = rule.get("port_range_min"), rule.get("port_range_max")
    ports = None if first is None or last is None else (int(first), int(last))
    return Rule(MEMBERS if source == group else source, str(rule.get("protocol") or ANY), ports)


def _ssh_rules(request: CreateRequest) -> Iterator[dict[str, Any]]:
    """One rule for each address of the controller; raises Refused if there is none or one is wide."""
    for net in allowed_nets(request):
        ssh = {"protocol": "tcp", "port_range_min": SSH, "port_range_max": SSH, "remote_ip_prefix": str(net)}
        yield {"ethertype": f"IPv{net.version}", **ssh}


def _vantage_rules(request: CreateRequest) -> Iterator[dict[str, Any]]:
    """Two rules for each vantage point: the pages that a machine serves, and echo requests.

    Neutron takes the type of ICMP for the first port, and its code for the last one:
    https://docs.openstack.org/api-ref/network/v2/#create-security-group-rule
    """
    for net in vantage_nets(request):
        protocol, echo = _ECHO[net.version]
        common = {"ethertype": f"IPv{net.version}", "remote_ip_prefix": str(net)}
        yield {**common, "protocol": "tcp", "port_range_min": SERVED_PORT, "port_range_max": SERVED_PORT}
        yield {**common, "protocol": protocol, "port_range_min": echo, "port_range_max": 0}
