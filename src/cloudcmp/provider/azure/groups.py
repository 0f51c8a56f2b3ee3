"""The resource group of a launch, with a network and a firewall in it.

Each launch has its own group, so deleting it cannot end another launch, whatever a list shows, and removes half-made
machines too. Its name holds the study's name and the token; its tags are the study's. See
docs/adr/0038-a-resource-group-for-each-launch.md.
"""

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from cloudcmp.errors import LostAnswer, ProviderFault, Refused
from cloudcmp.model.firewall import SERVED_PORT
from cloudcmp.model.lease import CreateRequest
from cloudcmp.provider.azure import names
from cloudcmp.provider.azure.faults import code_of
from cloudcmp.provider.azure.launch import CLUSTER, SPREAD
from cloudcmp.provider.azure.sdk import Reply, Sdk
from cloudcmp.provider.common.address import Net, allowed_v4_nets, login_ports, vantage_v4_nets
from cloudcmp.provider.common.firewall_rules import ANY, MEMBERS, Rule, ports_in
from cloudcmp.provider.common.inventory import TOKEN_TAG
from cloudcmp.provider.common.responses import none_if_missing

_NETWORK_RANGE, _SUBNET = "10.0.0.0/16", "10.0.0.0/20"
_DELETING = "Deleting"
_BUSY = {"Accepted", "Creating", "Provisioning", "Running", "Updating"}
_CREATE, _BEGIN_CREATE = "create_or_update", "begin_create_or_update"
_ATTEMPTS = 10
_DELETE_POLLS = 120  # deleting a group with a network takes a while


@dataclass(slots=True)
class Groups:
    """The resource groups of one subscription; `pause_s` is the poll interval, `within_s` the longest wait."""

    sdk: Sdk
    pause_s: float = 1.0
    within_s: float = 120.0

    async def create(self, request: CreateRequest) -> str:
        """Creates a group with its firewall and network, and returns its id; idempotent. Nothing in it is billed.

        Requests its deletion if its contents fail. Raises Refused if a foreign group has that name, and the kinds of
        ProviderFault.
        """
        name, rules = names.group_of(request), [*_controller_rules(request), *_vantage_rules(request)]
        existing = await self._describe(name)
        if existing is not None and (existing.get("tags") or {}).get(TOKEN_TAG) != request.token:
            what = f"there is a resource group {name!r} without our tags"
            raise Refused.at(request.name, what, "it is left alone; give the study another name")
        body = {"location": request.region, "tags": names.tags_of(request)}
        reply = await self._put("resource_groups", "resource", "create_or_update", name, body=body)
        id = reply.body.get("id")
        if not id:
            raise LostAnswer.at(
                request.name, "the answer does not name the new resource", "cloudcmp looks for it by its tags"
            )
        try:
            await self._create_contents(request, name, str(id), rules)
        except ProviderFault as fault:
            await self._undo(request, name, fault)
            raise
        return names.canonical(str(id))

    async def _create_contents(self, request: CreateRequest, name: str, id: str, rules: list[dict[str, Any]]) -> None:
        common = {"location": request.region, "tags": names.tags_of(request)}
        firewall = {**common, "properties": {"securityRules": rules}}
        await self._add("network_security_groups", "network", name, names.FIREWALL_NAME, firewall)
        link = {"id": f"{id}/providers/Microsoft.Network/networkSecurityGroups/{names.FIREWALL_NAME}"}
        subnet = {"name": names.SUBNET_NAME, "properties": {"addressPrefix": _SUBNET, "networkSecurityGroup": link}}
        network = {"addressSpace": {"addressPrefixes": [_NETWORK_RANGE]}, "subnets": [subnet]}
        await self._add("virtual_networks", "network", name, names.NETWORK_NAME, {**common, "properties": network})
        placement = dict(request.options).get("placement")
        if placement == CLUSTER:
            body = {**common, "properties": {"proximityPlacementGroupType": "Standard"}}
            await self._add("proximity_placement_groups", "compute", name, names.PLACEMENT_NAME, body, _CREATE)
        if placement == SPREAD:
            domains = {"platformFaultDomainCount": 2, "platformUpdateDomainCount": 5}
            body = {**common, "sku": {"name": "Aligned"}, "properties": domains}
            await self._add("availability_sets", "compute", name, names.PLACEMENT_NAME, body, _CREATE)

    async def _put(self, kind: str, client: str, action: str, *names: str, body: dict[str, Any]) -> Reply:
        """Creates or updates a resource by name; idempotent, so it is sent again if its response is lost."""
        return await self.sdk.change(client, kind, action, *names, body=body, again=True)

    async def _add(
        self, kind: str, client: str, group: str, name: str, body: dict[str, Any], action: str = _BEGIN_CREATE
    ) -> None:
        """Creates a resource and waits until it is ready, since resources that use it are refused before."""
        await self._put(kind, client, action, group, name, body=body)
        state, waited_s = "", 0.0
        while state not in {"Succeeded", "Failed", "Canceled"}:
            if waited_s > self.within_s:
                what = f"{name} is not there after {self.within_s:g} s"
                raise ProviderFault.at(group, what, "see the provider's console")
            reply = await none_if_missing(self.sdk.read(client, kind, "get", group, name))
            state = state if reply is None else _state(reply)  # it may not be visible yet
            if not state or state in _BUSY:
                await asyncio.sleep(self.pause_s)
                waited_s += self.pause_s
        if state != "Succeeded":
            raise ProviderFault.at(group, f"{name} could not be made ({state})", "see the provider's console")

    async def _undo(self, request: CreateRequest, name: str, why: ProviderFault) -> None:
        """Deletes a useless group; raises ProviderFault, which keeps the lease open, if the group may still exist."""
        accepted, rest, left = False, "its group may still be there", _ATTEMPTS
        while left:
            left -= 1
            try:
                # A new group may not be visible yet, so only an accepted deletion is conclusive.
                if not accepted and await self._delete(name):
                    accepted, left = True, _DELETE_POLLS
                if accepted and await self._describe(name) is None:
                    return
            except ProviderFault as fault:
                rest = f"its group may still be there ({fault})"
            await asyncio.sleep(self.pause_s)
        raise ProviderFault.at(request.name, f"{why}; {rest}", "cloudcmp cleanup") from why

    async def _describe(self, name: str) -> dict[str, Any] | None:
        """The description of a group, None if there is none of this name."""
        reply = await none_if_missing(self.sdk.read("resource", "resource_groups", "get", name))
        return None if reply is None else reply.body

    async def state(self, name: str) -> str | None:
        """The state of a group, None if there is none."""
        response = await self._describe(name)
        return None if response is None else str((response.get("properties") or {}).get("provisioningState", "unknown"))

    async def rules(self, name: str) -> list[Rule]:
        """The rules of a group's firewall: its own, and Azure's defaults, which admit the launch's own network."""
        call = self.sdk.read("network", "network_security_groups", "get", name, names.FIREWALL_NAME)
        reply = await none_if_missing(call)
        properties = (reply.body.get("properties") or {}) if reply is not None else {}
        listed = [*(properties.get("securityRules") or ()), *(properties.get("defaultSecurityRules") or ())]
        return [rule for one in listed for rule in _to_rules(one.get("properties") or {})]

    async def destroy(self, name: str) -> bool:
        """Requests a group's deletion; False if there is none. Raises Refused if it or its contents are not ours."""
        response = await self._describe(name)
        if response is None:
            return False
        if not names.has_our_tag(response):
            raise Refused.at(name, "the resource group has none of our tags", "it is left alone")
        if (response.get("properties") or {}).get("provisioningState") == _DELETING:
            return True
        await self._check_no_foreign_resources(name)
        return await self._delete(name)

    async def _delete(self, name: str) -> bool:
        """True if the deletion was accepted, False if there is no such group."""
        call = self.sdk.change("resource", "resource_groups", "begin_delete", name, again=True)
        try:
            return await none_if_missing(call) is not None
        except Refused as fault:
            if code_of(fault) == "ResourceGroupBeingDeleted":
                return True
            raise

    async def _check_no_foreign_resources(self, name: str) -> None:
        """Raises Refused if the group holds foreign resources, which its deletion would delete."""
        resources = await none_if_missing(self.sdk.pages("resource", "resources", "list_by_resource_group", name))
        foreign = [str(one.get("name")) for one in resources or () if not _is_ours(one)]
        if foreign:
            what = f"it holds foreign resources: {', '.join(sorted(foreign)[:3])}"
            raise Refused.at(name, what, "move or delete that by hand, then cloudcmp cleanup")


def _to_rules(rule: dict[str, Any]) -> Iterator[Rule]:
    """The rules in one Azure rule; ignores Azure's load balancer, from which only Azure's own probes come.

    https://learn.microsoft.com/azure/virtual-network/network-security-groups-overview#default-security-rules
    """
    if rule.get("direction") != "Inbound" or rule.get("access") != "Allow":
        return
    sources = [*(rule.get("sourceAddressPrefixes") or ()), *filter(None, [rule.get("sourceAddressPrefix")])]
    ports = [*(rule.get("destinationPortRanges") or ()), *filter(None, [rule.get("destinationPortRange")])]
    kind = str(rule.get("protocol", "*")).lower()
    for source in sources:
        if source != "AzureLoadBalancer":
            name = MEMBERS if source == "VirtualNetwork" else str(source)
            yield from (Rule(name, ANY if kind == "*" else kind, ports_in(str(one))) for one in ports)


def _is_ours(response: dict[str, Any]) -> bool:
    """True if a resource has our tags or, for disks, which have none, one of our names."""
    return names.has_our_tag(response) or str(response.get("name", "")).startswith(names.OURS)


def _state(reply: Reply) -> str:
    return str((reply.body.get("properties") or {}).get("provisioningState", "Succeeded"))


def _controller_rules(request: CreateRequest) -> Iterator[dict[str, Any]]:
    """The rule that admits the controller; Azure's default rules connect the launch's machines."""
    ports = [str(port) for port in login_ports(request)]
    yield _rule("cloudcmp-controller", 100, "Tcp", allowed_v4_nets(request), ports)


def _vantage_rules(request: CreateRequest) -> Iterator[dict[str, Any]]:
    """The rules that let vantage points in to the pages of a machine, and their ICMP, of which Azure names no types."""
    nets = vantage_v4_nets(request)
    if nets:
        yield _rule("cloudcmp-pages", 101, "Tcp", nets, [str(SERVED_PORT)])
        yield _rule("cloudcmp-echo", 102, "Icmp", nets, ["*"])


def _rule(name: str, priority: int, protocol: str, nets: Sequence[Net], ports: list[str]) -> dict[str, Any]:
    rule = {
        "priority": priority,
        "direction": "Inbound",
        "access": "Allow",
        "protocol": protocol,
        "sourceAddressPrefixes": [str(net) for net in nets],
        "sourcePortRange": "*",
        "destinationAddressPrefix": "*",
    }
    where = {"destinationPortRange": "*"} if ports == ["*"] else {"destinationPortRanges": ports}
    return {"name": name, "properties": {**rule, **where}}
