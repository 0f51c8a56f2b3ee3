"""What a request to the Resource Manager is about: the resource, and the action as roles name it."""

import json
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from tests.emulated.cloud import Call
from tests.emulated.wire import Request

_VERBS = {"GET": "read", "HEAD": "read", "PUT": "write", "PATCH": "write", "DELETE": "delete"}


@dataclass(frozen=True, slots=True)
class Route:
    """One request, taken apart. `kind` is `Microsoft.Compute/virtualMachines`; `name` is empty for a list of a kind.

    `action` is what a role would have to allow.
    """

    method: str
    path: str
    query: dict[str, str]
    body: dict[str, Any]
    subscription: str = ""
    group: str = ""
    kind: str = ""
    name: str = ""
    action: str = ""

    @property
    def id(self) -> str:
        """The resource's id, its group in lower case."""
        base = f"/subscriptions/{self.subscription}"
        grouped = f"{base}/resourceGroups/{self.group}" if self.group else base
        return f"{grouped}/providers/{self.kind}/{self.name}" if self.kind and self.name else grouped


def route_of(request: Request) -> Route:
    """A request, taken apart."""
    parts = urlsplit(request.path)
    query = dict(parse_qsl(parts.query, keep_blank_values=True))
    try:
        body = json.loads(request.body) if request.body else {}
    except ValueError:
        body = {}
    words = [unquote(word) for word in parts.path.split("/") if word]
    verb = _VERBS.get(request.method, "action")
    plain = Route(request.method, parts.path, query, body if isinstance(body, dict) else {})
    if words[:1] != ["subscriptions"] or len(words) < 2:
        return plain
    subscription, rest = words[1], words[2:]

    def routed(action: str, group: str = "", kind: str = "", name: str = "") -> Route:
        return Route(plain.method, plain.path, plain.query, plain.body, subscription, group.lower(), kind, name, action)

    base = "Microsoft.Resources/subscriptions"
    if not rest:
        return routed(f"{base}/{verb}")
    if rest[0] == "locations":
        return routed(f"{base}/locations/{verb}")
    if rest[0] == "operationresults":
        return routed(f"{base}/operationresults/{verb}", name=rest[1])
    if rest[0].lower() == "resourcegroups":
        if len(rest) == 1:
            return routed(f"{base}/resourceGroups/{verb}")
        if len(rest) == 2:
            return routed(f"{base}/resourceGroups/{verb}", group=rest[1])
        if rest[2] == "resources":
            return routed(f"{base}/resourceGroups/resources/{verb}", group=rest[1])
        return routed(*_within(rest[3:], verb, request.method, rest[1]))
    return routed(*_within(rest[1:], verb, request.method))


def _within(words: list[str], verb: str, method: str, group: str = "") -> tuple[str, str, str, str]:
    """The action, the group, the kind and the name of what stands behind `providers`."""
    service, names = words[0], words[1:]
    if names[:1] == ["locations"]:
        told = "/".join(names[2::2])
        return f"{service}/locations/{told}/{verb}", group, f"{service}/locations", "/".join(names[1:])
    kind = f"{service}/{names[0]}"
    name = names[1] if len(names) > 1 else ""
    if method == "POST":
        return f"{kind}/{names[-1]}/action", group, kind, name
    return f"{kind}/{verb}", group, kind, name


def call_of(at: float, route: Route) -> Call:
    """The row of the journal for a request."""
    service, _, action = route.action.partition("/")
    params = {"id": route.id, **route.query}
    if route.body:
        params["body"] = json.dumps(route.body)
    return Call(at, service or "login", str(route.body.get("location", "")), action or route.path, params)
