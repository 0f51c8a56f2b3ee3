"""What calls to the emulated Compute Engine name, and what is missing in those that make something."""

import json
from typing import Any

from tests.emulated.cloud import Call
from tests.emulated.standing import Standing

_MAKES = ("instances.insert", "firewalls.insert")
_ENDS = ("delete", "stop", "start", "setMachineType")
_HEAD, _ITEM = "cloudcmp ", "cloudcmp-tags"
_TAGS = {"cloudcmp:schema", "cloudcmp:study", "cloudcmp:slot", "cloudcmp:attempt", "cloudcmp:expires"}
_LABELS = {tag.replace(":", "-") for tag in _TAGS} | {"cloudcmp-token"}


def read(text: str) -> dict[str, Any]:
    """What a text of the product's says, nothing where it is none."""
    return dict(json.loads(text.removeprefix(_HEAD))) if text.startswith(_HEAD + "{") else {}


def items(body: dict[str, Any]) -> dict[str, str]:
    """A machine's metadata."""
    return {one["key"]: one["value"] for one in body.get("metadata", {}).get("items", ())}


def marks(body: dict[str, Any]) -> dict[str, Any]:
    """What the product wrote on a machine, a disk or a rule."""
    return read(items(body).get(_ITEM, "") or body.get("description", ""))


def tags(body: dict[str, Any]) -> tuple[tuple[str, str], ...]:
    """The exact tags of a machine, a disk or a rule."""
    return tuple(sorted(marks(body).get("tags", {}).items()))


def body_of(call: Call) -> dict[str, Any]:
    """The JSON that a call brought."""
    return dict(json.loads(call.params["body"]))


def made_by(call: Call) -> str | None:
    """The token, else the name, of what a call makes, None where it makes nothing."""
    if call.action not in _MAKES:
        return None
    body = body_of(call)
    return str(marks(body).get("token") or body["name"])


def changed_by(call: Call) -> tuple[str, ...]:
    """The id of what a call changes or ends; empty for any other call."""
    if call.action.partition(".")[2] not in _ENDS:
        return ()
    name, zone = call.params["resource"], call.params.get("zone")
    return (f"{zone}/{name}" if zone else name,)


def machines_made(cloud: Standing[Any]) -> list[Call]:
    """The calls that asked for a machine."""
    return cloud.calls("instances.insert")


def user_data(call: Call) -> str:
    """The text that a call gave its machine."""
    return items(body_of(call)).get("user-data", "")


def bodies(cloud: Standing[Any]) -> list[str]:
    """What is missing in the bodies of the calls that made something: a line for each (P5)."""
    wrong = []
    for call in machines_made(cloud):
        body = body_of(call)
        scheduling, disks = body.get("scheduling", {}), body.get("disks", ())
        wrong += [] if len(call.params.get("requestId", "")) == 36 else ["no request id"]
        wrong += [] if set(dict(tags(body))) >= _TAGS and set(body.get("labels", {})) >= _LABELS else ["no tags"]
        for disk in disks:
            made = disk.get("initializeParams", {})
            wrong += [] if disk.get("autoDelete") else ["a disk stays"]
            marked = set(dict(tags(made))) >= _TAGS and set(made.get("labels", {})) >= _LABELS
            wrong += [] if marked or disk.get("type") == "SCRATCH" else ["a disk without tags"]
        ends = scheduling.get("terminationTime") and scheduling.get("instanceTerminationAction") == "DELETE"
        wrong += [] if ends else ["nothing ends it"]
        wrong += [] if not body.get("serviceAccounts") else ["it has a service account"]
        wrong += [] if items(body).get("block-project-ssh-keys") == "TRUE" else ["the project's keys log in"]
    for call in cloud.calls("firewalls.insert"):
        wrong += [] if set(dict(tags(body_of(call)))) >= _TAGS else ["a rule without tags"]
        wrong += [] if len(call.params.get("requestId", "")) == 36 else ["a rule without a request id"]
    return wrong
