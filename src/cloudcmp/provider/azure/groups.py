"""What a launch stands on: a resource group of its own, with a network and a firewall in it.

A group a launch, and not one a study: what ends it can end nothing of another launch, whatever a list shows or does not
show at that moment, and whatever is left in it of a machine that was half made goes with it. Its name holds the study's
and the token's; its tags are the study's. See docs/adr/0038-a-resource-group-for-each-launch.md.
"""

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from cloudcmp.errors import LostAnswer, ProviderFault, Refused
from cloudcmp.model.lease import CreateRequest
from cloudcmp.provider.azure import names
from cloudcmp.provider.azure.faults import code_of
from cloudcmp.provider.azure.launch import CLUSTER, SPREAD
from cloudcmp.provider.azure.sdk import Reply, Sdk
from cloudcmp.provider.common.address import allowed_v4_nets, login_ports
from cloudcmp.provider.common.firewall_rules import ANY, MEMBERS, Rule, ports_in
from cloudcmp.provider.common.inventory import TOKEN_TAG
from cloudcmp.provider.common.responses import unless_missing

_INSIDE, _ROOM = "10.0.0.0/16", "10.0.0.0/20"
_ENDING = "Deleting"
_BUSY = {"Accepted", "Creating", "Provisioning", "Running", "Updating"}
_AT_ONCE, _IN_TIME = "create_or_update", "begin_create_or_update"
_TRIES = 10
_LOOKS = 120  # a group with a network in it takes a while to go


@dataclass(slots=True)
class Groups:
    """The groups of one subscription; `pause_s` between looks at what takes its time, at most for `within_s`."""

    sdk: Sdk
    pause_s: float = 1.0
    within_s: float = 120.0
    _made: set[str] = field(default_factory=set)

    async def create(self, request: CreateRequest) -> str:
        """The group with its firewall and its network; asking again gives the same one. Returns its id.

        One whose inside cannot be made is asked to go again: nothing in it is billed. Raises Refused for a group of
        that name that is somebody else's, and the kinds of ProviderFault.
        """
        name, rules = names.group_of(request), _rules(request)
        there = await self._there(name)
        if there is not None and (there.get("tags") or {}).get(TOKEN_TAG) != request.token:
            what = f"there is a resource group {name!r} that does not bear our tags"
            raise Refused.at(request.name, what, "it is left alone; give the study another name")
        body = {"location": request.region, "tags": names.tags_of(request)}
        reply = await self._put("resource_groups", "resource", "create_or_update", name, body=body)
        id = reply.body.get("id")
        if not id:
            raise LostAnswer.at(request.name, "the answer does not say what was made", "it is looked for by its tags")
        try:
            await self._furnish(request, name, str(id), rules)
        except ProviderFault as fault:
            await self._undo(request, name, fault)
            raise
        return names.canonical(str(id))

    async def _furnish(self, request: CreateRequest, name: str, id: str, rules: list[dict[str, Any]]) -> None:
        common = {"location": request.region, "tags": names.tags_of(request)}
        firewall = {**common, "properties": {"securityRules": rules}}
        await self._made_in("network_security_groups", "network", name, names.FIREWALL_NAME, firewall)
        behind = {"id": f"{id}/providers/Microsoft.Network/networkSecurityGroups/{names.FIREWALL_NAME}"}
        room = {"name": names.SUBNET_NAME, "properties": {"addressPrefix": _ROOM, "networkSecurityGroup": behind}}
        inside = {"addressSpace": {"addressPrefixes": [_INSIDE]}, "subnets": [room]}
        await self._made_in("virtual_networks", "network", name, names.NETWORK_NAME, {**common, "properties": inside})
        placement = dict(request.options).get("placement")
        if placement == CLUSTER:
            near = {**common, "properties": {"proximityPlacementGroupType": "Standard"}}
            await self._made_in("proximity_placement_groups", "compute", name, names.PLACEMENT_NAME, near, _AT_ONCE)
        if placement == SPREAD:
            apart = {"platformFaultDomainCount": 2, "platformUpdateDomainCount": 5}
            away = {**common, "sku": {"name": "Aligned"}, "properties": apart}
            await self._made_in("availability_sets", "compute", name, names.PLACEMENT_NAME, away, _AT_ONCE)

    async def _put(self, kind: str, client: str, action: str, *names: str, body: dict[str, Any]) -> Reply:
        """A request by name: doing it twice is doing it once, so it is sent again where its answer is lost."""
        return await self.sdk.change(client, kind, action, *names, body=body, again=True)

    async def _made_in(
        self, kind: str, client: str, group: str, name: str, body: dict[str, Any], action: str = _IN_TIME
    ) -> None:
        """Make one thing and wait until it is seen ready, for what stands on it is refused before."""
        await self._put(kind, client, action, group, name, body=body)
        state, waited_s = "", 0.0
        while state not in {"Succeeded", "Failed", "Canceled"}:
            if waited_s > self.within_s:
                what = f"{name} is not there after {self.within_s:g} s"
                raise ProviderFault.at(group, what, "see the provider's console")
            reply = await unless_missing(self.sdk.read(client, kind, "get", group, name))
            state = state if reply is None else _state(reply)  # it may not be seen everywhere yet
            if not state or state in _BUSY:
                await asyncio.sleep(self.pause_s)
                waited_s += self.pause_s
        if state != "Succeeded":
            raise ProviderFault.at(group, f"{name} could not be made ({state})", "see the provider's console")

    async def _undo(self, request: CreateRequest, name: str, why: ProviderFault) -> None:
        """Ask for a group that is of no use to go; where it may be there still, whoever asked is told so, not why.

        Raises ProviderFault then, of a kind that keeps the lease open.
        """
        accepted, rest, left = False, "its group may still be there", _TRIES
        while left:
            left -= 1
            try:
                # It was just made: that it is not found yet says nothing, that its deletion is accepted does.
                if not accepted and await self._delete(name):
                    accepted, left = True, _LOOKS
                if accepted and await self._there(name) is None:
                    return
            except ProviderFault as fault:
                rest = f"its group may still be there ({fault})"
            await asyncio.sleep(self.pause_s)
        raise ProviderFault.at(request.name, f"{why}; {rest}", "cloudcmp cleanup") from why

    async def _there(self, name: str) -> dict[str, Any] | None:
        """What is said of a group, None where there is none of this name."""
        reply = await unless_missing(self.sdk.read("resource", "resource_groups", "get", name))
        return None if reply is None else reply.body

    async def state(self, name: str) -> str | None:
        """The state of a group, None where there is none."""
        response = await self._there(name)
        return None if response is None else str((response.get("properties") or {}).get("provisioningState", "unknown"))

    async def rules(self, name: str) -> list[Rule]:
        """What the firewall of a group admits: its own rules, and Azure's default ones for the network, which is the
        launch's own.
        """
        call = self.sdk.read("network", "network_security_groups", "get", name, names.FIREWALL_NAME)
        reply = await unless_missing(call)
        inside = (reply.body.get("properties") or {}) if reply is not None else {}
        listed = [*(inside.get("securityRules") or ()), *(inside.get("defaultSecurityRules") or ())]
        return [rule for one in listed for rule in _held(one.get("properties") or {})]

    async def destroy(self, name: str) -> bool:
        """Ask for a group with all in it to go; whether that was accepted, False where there is none.

        Raises Refused for a group that bears no tag of ours, and for one that holds what we did not make.
        """
        response = await self._there(name)
        if response is None:
            return False
        if not names.bears_ours(response):
            raise Refused.at(name, "the resource group bears no tag of ours", "it is left alone")
        if (response.get("properties") or {}).get("provisioningState") == _ENDING:
            return True
        await self._only_ours(name)
        return await self._delete(name)

    async def _delete(self, name: str) -> bool:
        """Whether the request was accepted; False where there is no such group."""
        call = self.sdk.change("resource", "resource_groups", "begin_delete", name, again=True)
        try:
            return await unless_missing(call) is not None
        except Refused as fault:
            if code_of(fault) == "ResourceGroupBeingDeleted":
                return True
            raise

    async def _only_ours(self, name: str) -> None:
        """Raises Refused where somebody put something into the group that would go with it."""
        inside = await unless_missing(self.sdk.pages("resource", "resources", "list_by_resource_group", name))
        foreign = [str(one.get("name")) for one in inside or () if not _made_by_us(one)]
        if foreign:
            what = f"it holds what we did not make: {', '.join(sorted(foreign)[:3])}"
            raise Refused.at(name, what, "move or delete that by hand, then cloudcmp cleanup")


def _held(rule: dict[str, Any]) -> Iterator[Rule]:
    """The rules in one of Azure's. Its load balancer is none of a launch's: only Azure's own probes come from it.

    https://learn.microsoft.com/azure/virtual-network/network-security-groups-overview#default-security-rules
    """
    if rule.get("direction") != "Inbound" or rule.get("access") != "Allow":
        return
    sources = [*(rule.get("sourceAddressPrefixes") or ()), *filter(None, [rule.get("sourceAddressPrefix")])]
    ports = [*(rule.get("destinationPortRanges") or ()), *filter(None, [rule.get("destinationPortRange")])]
    kind = str(rule.get("protocol", "*")).lower()
    for source in sources:
        if source != "AzureLoadBalancer":
            here = MEMBERS if source == "VirtualNetwork" else str(source)
            yield from (Rule(here, ANY if kind == "*" else kind, ports_in(str(one))) for one in ports)


def _made_by_us(response: dict[str, Any]) -> bool:
    """Whether a thing in a group is ours: it bears our tags or, as disks do not, a name of ours."""
    return names.bears_ours(response) or str(response.get("name", "")).startswith(names.OURS)


def _state(reply: Reply) -> str:
    return str((reply.body.get("properties") or {}).get("provisioningState", "Succeeded"))


def _rules(request: CreateRequest) -> list[dict[str, Any]]:
    """Who may come in beside the launch's own machines, which Azure's default rules let reach each other."""
    rule = {
        "priority": 100,
        "direction": "Inbound",
        "access": "Allow",
        "protocol": "Tcp",
        "sourceAddressPrefixes": [str(net) for net in allowed_v4_nets(request)],
        "sourcePortRange": "*",
        "destinationAddressPrefix": "*",
        "destinationPortRanges": [str(door) for door in login_ports(request)],
    }
    return [{"name": "cloudcmp-controller", "properties": rule}]
