"""Names, ids and tags of Azure resources; names derive from a request's name and token."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from cloudcmp.errors import Refused
from cloudcmp.model.lease import CreateRequest
from cloudcmp.provider.common.inventory import TOKEN_TAG

OURS = "cloudcmp-"
"""The prefix of all names that we give."""
NAME_TAG = "cloudcmp:name"
FIREWALL_NAME, NETWORK_NAME, SUBNET_NAME = "cloudcmp-firewall", "cloudcmp-network", "cloudcmp-machines"
PLACEMENT_NAME = "cloudcmp-placement"
_GROUP_MOST, _MACHINE_MOST = 90, 64
_ID = re.compile(
    r"/subscriptions/(?P<subscription>[^/]+)/resourceGroups/(?P<group>[^/]+)"
    r"(?:/providers/(?P<kind>[^/]+/[^/]+)/(?P<name>[^/]+))?",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Place:
    """The location of a resource: group, type and name; type and name are empty for the group itself."""

    subscription: str
    group: str
    kind: str = ""
    name: str = ""


def place_of(id: str, where: str = "azure") -> Place:
    """The place in a resource id; raises Refused for an invalid id."""
    match = _ID.fullmatch(id)
    if match is None:
        raise Refused.at(where, f"{id[:80]!r} is no id of a resource", "see the provider's console")
    return Place(*(match.group(part) or "" for part in ("subscription", "group", "kind", "name")))


def canonical(id: str) -> str:
    """An id in one spelling: Azure varies the case of group names."""
    place = place_of(id)
    group = f"/subscriptions/{place.subscription}/resourceGroups/{place.group.lower()}"
    return f"{group}/providers/{place.kind}/{place.name}" if place.kind else group


def tags_of(request: CreateRequest) -> dict[str, str]:
    """The request's tags, with its token and its name."""
    return {**dict(request.tags), TOKEN_TAG: request.token, NAME_TAG: request.name}


def group_of(request: CreateRequest) -> str:
    """The name of a launch's resource group, unique to the request.

    Allowed letters: https://learn.microsoft.com/azure/azure-resource-manager/management/resource-name-rules
    """
    return f"{request.name[: _GROUP_MOST - 9].rstrip('-')}-{request.token[:8]}"


def machine_of(request: CreateRequest) -> str:
    """The name of a machine: the request's own, at most 64 letters as for Linux."""
    return request.name[:_MACHINE_MOST].rstrip("-")


def has_our_tag(response: Mapping[str, Any]) -> bool:
    """True if a resource has one of our tags."""
    return any(str(key).startswith("cloudcmp:") for key in response.get("tags") or {})
