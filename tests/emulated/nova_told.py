"""What calls to the emulated OpenStack name, and what is missing in the bodies of those that make something."""

import base64
import json
from typing import Any

from cloudcmp.provider.openstack.tags import parse_mark
from tests.emulated.cloud import Call
from tests.emulated.standing import Standing

_TAGS = {"cloudcmp:schema", "cloudcmp:study", "cloudcmp:slot", "cloudcmp:attempt", "cloudcmp:expires"}
_CHANGES = ("Delete", "Resize", "Confirm", "Stop", "Start", "ForceDelete", "ActOn", "Set")
# What says whose a thing is: the field of the body that holds our mark.
_MARKED = {"CreateSecurityGroup": ("security_group", "description"), "CreateFloatingIp": ("floatingip", "description"),
           "CreateServerGroup": ("server_group", "name")}  # fmt: skip


def _body(call: Call) -> dict[str, Any]:
    return dict(json.loads(call.params.get("body", "{}")))


def made_by(call: Call) -> str | None:
    """The token of what a call makes, None where it makes nothing; empty where it names none."""
    if call.action == "CreateServer":
        server = _body(call).get("server")
        return None if server is None else str(server.get("metadata", {}).get("cloudcmp:token", ""))
    if call.action in _MARKED:
        of, key = _MARKED[call.action]
        mark = parse_mark(str(_body(call).get(of, {}).get(key, "")))
        return mark.token if mark else ""
    return None


def changed_by(call: Call) -> tuple[str, ...]:
    """The id that a call which changes or ends something names, and the group that rules are added to."""
    if call.action == "CreateSecurityGroupRules":
        return tuple(rule["security_group_id"] for rule in _body(call).get("security_group_rules", ()))
    return (call.params["id"],) if call.action.startswith(_CHANGES) and "id" in call.params else ()


def machines_made(cloud: Standing[Any]) -> list[Call]:
    """The calls that asked for a machine."""
    return [call for call in cloud.calls("CreateServer") if made_by(call) is not None]


def user_data(call: Call) -> str:
    """The text that a call gave its machine."""
    return base64.b64decode(_body(call)["server"]["user_data"]).decode()


def bodies(cloud: Standing[Any]) -> list[str]:
    """What is missing in the bodies of the calls that made something: a line for each (P5).

    No end of its own is looked for: Nova has none to give.
    """
    wrong = []
    for call in machines_made(cloud):
        server = _body(call)["server"]
        given = set(server.get("metadata", {}))
        wrong += [] if given >= {*_TAGS, "cloudcmp:token"} else [f"a server with nothing but {sorted(given)}"]
        wrong += [] if server.get("config_drive") is True else ["its user data may never reach it"]
        wrong += [] if "#cloud-config" in user_data(call) else ["nothing switches it off"]
        disks = server.get("block_device_mapping_v2", ())
        wrong += [f"{disk} stays" for disk in disks if disk.get("delete_on_termination") is not True]
    for action, (of, key) in _MARKED.items():
        for call in cloud.calls(action):
            mark = parse_mark(str(_body(call).get(of, {}).get(key, "")))
            wrong += [] if mark is not None and {name for name, _ in mark.tags} >= _TAGS else [f"{action} without tags"]
    return wrong
