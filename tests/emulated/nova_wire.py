"""The wire of an emulated OpenStack: routes, JSON answers, and errors as each service wraps them."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

from tests.emulated.wire import Answer, Request

_ID = r"(?P<id>[^/]+)"
# What is said and done, by service, method and path below the service's root; `*` stands for one word of an action.
ROUTES: tuple[tuple[str, str, str, str], ...] = (
    ("identity", "POST", "/v3/auth/tokens", "Authenticate"),
    ("identity", "GET", "/v3/auth/tokens", "ShowToken"),
    ("compute", "GET", "/v2.1/flavors/detail", "ListFlavors"),
    ("compute", "GET", "/v2.1/flavors/ID", "ShowFlavor"),
    ("compute", "GET", "/v2.1/limits", "ShowLimits"),
    ("compute", "GET", "/v2.1/servers/detail", "ListServers"),
    ("compute", "GET", "/v2.1/servers", "ListServers"),
    ("compute", "POST", "/v2.1/servers", "CreateServer"),
    ("compute", "GET", "/v2.1/servers/ID", "ShowServer"),
    ("compute", "DELETE", "/v2.1/servers/ID", "DeleteServer"),
    ("compute", "POST", "/v2.1/servers/ID/action", "ActOnServer"),
    ("compute", "GET", "/v2.1/os-server-groups", "ListServerGroups"),
    ("compute", "POST", "/v2.1/os-server-groups", "CreateServerGroup"),
    ("compute", "DELETE", "/v2.1/os-server-groups/ID", "DeleteServerGroup"),
    ("network", "GET", "/v2.0/networks", "ListNetworks"),
    ("network", "GET", "/v2.0/networks/ID", "ShowNetwork"),
    ("network", "GET", "/v2.0/routers", "ListRouters"),
    ("network", "GET", "/v2.0/ports", "ListPorts"),
    ("network", "GET", "/v2.0/extensions", "ListExtensions"),
    ("network", "GET", "/v2.0/quotas/ID/details", "ShowNetworkQuota"),
    ("network", "GET", "/v2.0/security-groups", "ListSecurityGroups"),
    ("network", "GET", "/v2.0/security-groups/ID", "ShowSecurityGroup"),
    ("network", "POST", "/v2.0/security-groups", "CreateSecurityGroup"),
    ("network", "DELETE", "/v2.0/security-groups/ID", "DeleteSecurityGroup"),
    ("network", "POST", "/v2.0/security-group-rules", "CreateSecurityGroupRules"),
    ("network", "GET", "/v2.0/floatingips", "ListFloatingIps"),
    ("network", "GET", "/v2.0/floatingips/ID", "ShowFloatingIp"),
    ("network", "POST", "/v2.0/floatingips", "CreateFloatingIp"),
    ("network", "DELETE", "/v2.0/floatingips/ID", "DeleteFloatingIp"),
    ("volume", "GET", "/v3/limits", "ShowVolumeLimits"),
    ("volume", "GET", "/v3/types", "ListVolumeTypes"),
    ("volume", "GET", "/v3/volumes/detail", "ListVolumes"),
    ("volume", "GET", "/v3/volumes/ID", "ShowVolume"),
    ("volume", "DELETE", "/v3/volumes/ID", "DeleteVolume"),
    ("volume", "POST", "/v3/volumes/ID/metadata", "SetVolumeMetadata"),
    ("image", "GET", "/v2/images", "ListImages"),
    ("image", "GET", "/v2/images/ID", "ShowImage"),
)
_TABLE = [
    (service, method, re.compile(path.replace("ID", _ID) + "/?"), action) for service, method, path, action in ROUTES
]
_ACTS = {"resize": "ResizeServer", "confirmResize": "ConfirmResize", "os-stop": "StopServer", "os-start": "StartServer",
         "forceDelete": "ForceDeleteServer"}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Asked:
    """A request, as far as it could be read: `path` is below the service's root, without a project's id; `whole` with
    it, as access rules know it.
    """

    service: str
    region: str
    method: str
    path: str
    action: str
    id: str
    query: Mapping[str, str]
    body: Mapping[str, Any]
    request: Request
    root: str
    whole: str

    @property
    def params(self) -> dict[str, str]:
        """What a journal keeps of it."""
        kept = {"method": self.method, "path": self.path, **dict(self.query)}
        kept |= {"id": self.id} if self.id else {}
        return kept | ({"body": json.dumps(self.body)} if self.body and self.service != "identity" else {})

    @property
    def microversion(self) -> tuple[int, ...]:
        """The microversion that is asked for; none asked is the oldest."""
        said = self.request.header("OpenStack-API-Version") or self.request.header("X-OpenStack-Nova-API-Version")
        word = said.split()[-1] if said else "2.1"
        return tuple(int(part) for part in word.split(".")) if re.fullmatch(r"\d+\.\d+", word) else (9, 9)


def asked(request: Request) -> Asked:
    """A request by service, region and action; an unknown one has no action."""
    parts = urlsplit(request.path)
    words = parts.path.strip("/").split("/")
    shared = words[0] == "identity"
    service = words[0] if shared else words[1] if len(words) > 1 else ""
    root = f"/{words[0]}" if shared else f"/{words[0]}/{service}"
    whole, region = parts.path.removeprefix(root) or "/", "" if shared else words[0]
    # The endpoints of Cinder bear the project, as most installations' do.
    path = re.sub(r"^/v3/[0-9a-f]{32}(?=/)", "/v3", whole) if service == "volume" else whole
    query = {key: values[-1] for key, values in parse_qs(parts.query, keep_blank_values=True).items()}
    try:
        body = json.loads(request.body) if request.body else {}
    except ValueError:
        body = {}
    found = next((row for row in _match(service, request.method, path)), ("", ""))
    action = _ACTS.get(next(iter(body), ""), found[0]) if found[0] == "ActOnServer" else found[0]
    return Asked(service, region, request.method, path, action, found[1], query, body, request, root, whole)


def _match(service: str, method: str, path: str) -> Iterable[tuple[str, str]]:
    for its, how, pattern, action in _TABLE:
        fits = pattern.fullmatch(path) if (its, how) == (service, method) else None
        if fits is not None:
            yield action, fits.groupdict().get("id") or ""


def said(body: Any, status: int = 200, **headers: str) -> Answer:
    """A JSON answer."""
    return Answer(status, json.dumps(body).encode(), {"Content-Type": "application/json", **headers})


def empty(status: int = 204) -> Answer:
    """An answer without a body."""
    return Answer(status, b"", {})


_WORDS = {400: "badRequest", 401: "unauthorized", 403: "forbidden", 404: "itemNotFound", 409: "conflictingRequest",
          413: "overLimit", 429: "overLimit", 500: "computeFault", 503: "serviceUnavailable"}  # fmt: skip


def error(service: str, status: int, message: str, kind: str = "") -> Answer:
    """An error as the service wraps it."""
    if service == "identity" or status == 401:
        title = {401: "Unauthorized", 403: "Forbidden"}.get(status, "Error")
        return said({"error": {"code": status, "message": message, "title": title}}, status)
    if service == "network":
        return said({"NeutronError": {"type": kind or "NeutronException", "message": message, "detail": ""}}, status)
    return said({_WORDS.get(status, "computeFault"): {"code": status, "message": message}}, status)


def listed(key: str, items: Sequence[dict[str, Any]], this: Asked, base: str, most: int | None) -> Answer:
    """A list in pages: with a link to the next one, whose marker is the last id of this one."""
    marker, limit = this.query.get("marker"), min(int(this.query.get("limit") or 1000), most or 1000)
    start = 0
    if marker:
        ids = [str(item["id"]) for item in items]
        if marker not in ids:
            return error(this.service, 400, f"marker [{marker}] not found")
        start = ids.index(marker) + 1
    page = list(items[start : start + limit])
    body: dict[str, Any] = {key: page}
    if start + limit < len(items):
        query = urlencode({**this.query, "limit": limit, "marker": page[-1]["id"]})
        if this.service == "image":
            body["next"] = f"{this.path}?{query}"
        else:
            body[f"{key}_links"] = [{"rel": "next", "href": f"{base}{this.root}{this.path}?{query}"}]
    return said(body)
