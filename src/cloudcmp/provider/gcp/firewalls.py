"""The firewall rules of a launch, which admit only the controller and the launch's machines. They are free.

Rules of Compute Engine belong to a network, and the default network's own rules admit everybody at port 22. So a launch
has rules for machines with its tag: the controller's ports, the launch's machines, its vantage points if it has any,
and, after them, a denial of everybody. https://cloud.google.com/firewall/docs/firewalls
"""

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from cloudcmp.errors import NOTHING_MADE, IncompleteListing, LostAnswer, ProviderFault, RefusalKind, Refused
from cloudcmp.model.firewall import SERVED_PORT
from cloudcmp.model.lease import FIREWALL, CreateRequest, TaggedResource
from cloudcmp.provider.common.address import allowed_v4_nets, login_ports, vantage_v4_nets
from cloudcmp.provider.common.firewall_rules import ANY, MEMBERS, Rule, ports_in
from cloudcmp.provider.common.responses import leftover_fault, none_if_missing
from cloudcmp.provider.gcp.launch import NETWORK, derived_name
from cloudcmp.provider.gcp.operations import Operations
from cloudcmp.provider.gcp.sdk import Sdk
from cloudcmp.provider.gcp.tags import parse_text, request_id, tags_and_token, to_text

_ALL = {"I_p_protocol": "all"}
_FIRST, _LAST = 100, 200  # lower goes first; the default network's own rules have 65534
_AFTER_ALL = 65536  # after all priorities
_ATTEMPTS = 10
_DELETE_POLLS = 120  # deleting a rule takes a while


@dataclass(frozen=True, slots=True)
class Firewalls:
    """The firewall rules of one project."""

    sdk: Sdk
    operations: Operations
    _failures: dict[str, int] = field(default_factory=dict)

    async def create(self, request: CreateRequest) -> str:
        """Creates all rules of a launch, or none; returns the first one's name, the machines' target tag."""
        created: list[str] = []
        for rule in list(_rules(request)):
            try:
                await self._insert(request, rule)
            except BaseException as error:
                # A rule that was surely not created may be a foreign one of that name.
                uncertain = [] if isinstance(error, NOTHING_MADE) else [rule["name"]]
                # A used id returns its old operation, whose rule is deleted by then.
                self._failures[request.token] = self._failures.get(request.token, 0) + 1
                await self._undo(request, created + uncertain, error)
                raise
            created.append(rule["name"])
        return request.name

    async def _insert(self, request: CreateRequest, rule: dict[str, Any]) -> None:
        """Inserts a rule; if its response is lost, looks for it by name, which is unique to the request."""
        name = rule["name"]
        id = request_id(request.token, name, self._failures.get(request.token, 0))
        try:
            operation = await self.sdk.change("firewalls", "insert_unary", firewall_resource=rule, request_id=id)
            await self.operations.wait(operation, name)
        except LostAnswer as fault:
            if not await self._is_ours(request, name, _ATTEMPTS):
                # Not LostAnswer: a rule found later is no complete firewall, and the candidate is not at fault.
                raise IncompleteListing.at(name, fault.faults[0].what, "cloudcmp looks for it by name") from None
        except Refused as fault:
            if not fault.is_refusal(RefusalKind.EXISTS) or not await self._is_ours(request, name, 1):
                raise

    async def _is_ours(self, request: CreateRequest, name: str, attempts: int) -> bool:
        """True if the rule of this name was created by this request."""
        for left in reversed(range(attempts)):
            rule = await self._get(name)
            if rule is not None:
                return (parse_text(str(rule.description)) or {}).get("token") == request.token
            if left:
                await asyncio.sleep(self.sdk.pause_s)
        return False

    async def _get(self, name: str) -> Any:
        return await none_if_missing(self.sdk.read("firewalls", "get", firewall=name))

    async def _undo(self, request: CreateRequest, names: list[str], error: BaseException) -> None:
        """Deletes the created rules. If one stays, raises no Refused, so that the lease stays open."""
        try:
            stays = ", ".join([name for name in names if not await self._delete_and_wait(name)])
        except ProviderFault as fault:
            stays = fault.faults[0].what
        if stays and isinstance(error, Exception):
            raise leftover_fault(request.name, error, f"rules of it may still be there: {stays}") from error

    async def _delete_and_wait(self, name: str) -> bool:
        """Deletes a new rule; True if it is seen gone. A rule that is being deleted refuses another deletion."""
        accepted = False
        for left in reversed(range(_DELETE_POLLS)):
            accepted = accepted or await self._delete(name)
            if await self._get(name) is None:
                return True
            if left:
                await asyncio.sleep(self.sdk.pause_s)
        return False

    async def destroy(self, name: str) -> bool:
        """Requests the deletion of all rules of a launch; False if there was none."""
        return any([await self._delete(one) for one in _names(name)])

    async def _delete(self, name: str) -> bool:
        return await none_if_missing(self.sdk.change("firewalls", "delete_unary", firewall=name)) is not None

    async def exists(self, name: str) -> bool:
        """True if any rule of a launch exists."""
        return any([await self._get(one) is not None for one in _names(name)])

    async def rules(self, name: str) -> list[Rule]:
        """The rules that admit traffic to a launch's machines; without those after the launch's own denial."""
        rules = [one for page in await self.sdk.pages("firewalls") for one in page.items]
        applicable = [one for one in rules if _applies_to(one, name)]
        denials = (one.priority for one in applicable if one.denied and list(one.source_ranges) == ["0.0.0.0/0"])
        last = min(denials, default=_AFTER_ALL)
        return [rule for one in applicable if one.allowed and one.priority < last for rule in _to_rules(one, name)]

    async def find(self) -> list[TaggedResource]:
        """The rules with our marks; each launch is one resource, named after its first rule."""
        pages = await self.sdk.pages("firewalls")
        resources: dict[str, TaggedResource] = {}
        for rule in (one for page in pages for one in page.items):
            content = parse_text(str(rule.description))
            if content is None:
                continue
            tags, token = tags_and_token(str(rule.description), {})
            first = str(content.get("first") or rule.name)
            resources[first] = TaggedResource(
                first, first, token, tags, "there", FIREWALL, str(content.get("region") or "")
            )
        return list(resources.values())


def _applies_to(rule: Any, name: str) -> bool:
    """True if an enabled rule applies to a launch's machines."""
    network = str(rule.network).endswith(f"/{NETWORK}") and str(rule.direction) == "INGRESS" and not rule.disabled
    tags = list(rule.target_tags)
    return network and (name in tags or not (tags or list(rule.target_service_accounts)))


def _to_rules(rule: Any, name: str) -> Iterator[Rule]:
    sources = [*rule.source_ranges, *rule.source_service_accounts]
    sources += [MEMBERS if tag == name else str(tag) for tag in rule.source_tags]
    for one in rule.allowed:
        kind = ANY if str(one.I_p_protocol) == "all" else str(one.I_p_protocol)
        for ports in map(ports_in, list(one.ports) or [""]):
            yield from (Rule(str(source), kind, ports) for source in sources or ["0.0.0.0/0"])


def _names(name: str) -> tuple[str, ...]:
    """The names of a launch's rules, in deletion order, which admits nobody in between."""
    return (derived_name(name, "inside"), derived_name(name, "afar"), name, derived_name(name, "nobody"))


def _rules(request: CreateRequest) -> Iterator[dict[str, Any]]:
    """The rules of a launch; raises Refused without a narrow address of the controller."""
    inside, afar, controller, nobody = _names(request.name)
    nets, seen = [str(net) for net in allowed_v4_nets(request)], [str(net) for net in vantage_v4_nets(request)]
    ports = [str(port) for port in login_ports(request)]
    allowed = {"source_ranges": nets, "allowed": [{"I_p_protocol": "tcp", "ports": ports}]}
    yield _rule(request, nobody, _LAST, {"source_ranges": ["0.0.0.0/0"], "denied": [_ALL]})
    yield _rule(request, controller, _FIRST, allowed)
    if seen:  # a rule names no types of ICMP
        pages = {"I_p_protocol": "tcp", "ports": [str(SERVED_PORT)]}
        yield _rule(request, afar, _FIRST, {"source_ranges": seen, "allowed": [pages, {"I_p_protocol": "icmp"}]})
    yield _rule(request, inside, _FIRST, {"source_tags": [request.name], "allowed": [_ALL]})


def _rule(request: CreateRequest, name: str, priority: int, more: dict[str, Any]) -> dict[str, Any]:
    return {
        "name": name,
        "description": to_text(request, first=request.name, region=request.region),
        "network": f"global/networks/{NETWORK}",
        "direction": "INGRESS",
        "priority": priority,
        "target_tags": [request.name],
        **more,
    }
