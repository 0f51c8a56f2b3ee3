"""Which permissions a call of the emulated Compute Engine takes, and the condition under which a role may be granted.

As each method's page tells: https://cloud.google.com/compute/docs/reference/rest/v1. Conditions on names:
https://cloud.google.com/iam/docs/conditions-resource-attributes
"""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

_INSERT = ("instances.create", "instances.setMetadata", "disks.create", "subnetworks.use", "images.useReadOnly")
TAKES: dict[str, tuple[str, ...]] = {
    "disks.aggregatedList": ("disks.list",),
    "disks.delete": ("disks.delete",),
    "disks.get": ("disks.get",),
    "firewalls.delete": ("firewalls.delete", "networks.updatePolicy"),
    "firewalls.get": ("firewalls.get",),
    "firewalls.insert": ("firewalls.create", "networks.updatePolicy"),
    "firewalls.list": ("firewalls.list",),
    "globalOperations.get": ("globalOperations.get",),
    "globalOperations.list": ("globalOperations.list",),
    "images.get": ("images.get",),
    "images.getFromFamily": ("images.getFromFamily",),
    "instances.aggregatedList": ("instances.list",),
    "instances.delete": ("instances.delete",),
    "instances.get": ("instances.get",),
    "instances.insert": _INSERT,
    "instances.setMachineType": ("instances.setMachineType",),
    "instances.start": ("instances.start",),
    "instances.stop": ("instances.stop",),
    "machineTypes.get": ("machineTypes.get",),
    "machineTypes.list": ("machineTypes.list",),
    "networks.get": ("networks.get",),
    "projects.get": ("projects.get",),
    "regions.list": ("regions.list",),
    "zoneOperations.get": ("zoneOperations.get",),
    "zoneOperations.list": ("zoneOperations.list",),
}
_CLAUSE = re.compile(
    r'\(resource\.type != "([^"]+)" \|\| resource\.name\.extract\("([^"]+)"\)\.startsWith\("([^"]+)"\)\)'
)
_KINDS = {"instances": "Instance", "disks": "Disk", "firewalls": "Firewall"}
_CHANGES = ("insert", "delete", "stop", "start", "setMachineType", "get")


@dataclass(frozen=True, slots=True)
class Rights:
    """What the account may do: the permissions of its role (None: all), and the condition of the grant."""

    permissions: frozenset[str] | None = None
    condition: str = ""

    def lacks(self, needed: Collection[str], denied: Collection[str]) -> list[str]:
        """Those of the permissions that are not granted."""
        ours = self.permissions
        return sorted(one for one in needed if one in denied or (ours is not None and one not in ours))

    def allows(self, action: str, name: str) -> bool:
        """Whether the condition holds for what a call names; the subset of its language that is used here."""
        kind, _, verb = action.partition(".")
        clauses = _CLAUSE.findall(self.condition)
        if self.condition and " && ".join(_written(one) for one in clauses) != self.condition:
            raise ValueError("the emulation does not know this condition's language")
        if kind not in _KINDS or verb not in _CHANGES:
            return True
        wanted = f"compute.googleapis.com/{_KINDS[kind]}"
        return all(name.startswith(prefix) for type_, _, prefix in clauses if type_ == wanted)


def _written(clause: tuple[str, str, str]) -> str:
    kind, part, prefix = clause
    return f'(resource.type != "{kind}" || resource.name.extract("{part}").startsWith("{prefix}"))'


def needed(action: str, body: Mapping[str, Any]) -> set[str]:
    """The permissions that a call takes, by what is in it."""
    takes = set(TAKES.get(action, ()))
    if action == "instances.insert":
        disks = [one.get("initializeParams", {}) for one in body.get("disks", ())]
        takes |= {"instances.setLabels"} if body.get("labels") else set()
        takes |= {"instances.setTags"} if body.get("tags", {}).get("items") else set()
        takes |= {"disks.setLabels"} if any(one.get("labels") for one in disks) else set()
        cards = body.get("networkInterfaces", ())
        takes |= {"subnetworks.useExternalIp"} if any(one.get("accessConfigs") for one in cards) else set()
        takes |= {"instances.setServiceAccount"} if body.get("serviceAccounts") else set()
    return {f"compute.{one}" for one in takes}
