"""What calls to the emulated EC2 name, and what is missing in the bodies of those that make something."""

import base64
import re
from typing import Any

from tests.emulated.cloud import Call
from tests.emulated.ec2_query import tags_of
from tests.emulated.standing import Standing

_MAKES = ("Run", "Create", "Allocate", "Request", "Import", "Register", "Copy")
_CHANGES = (
    "Terminate", "Delete", "Modify", "Stop", "Start", "Reboot", "Authorize", "Revoke", "CreateTags", "Cancel",
    "Attach", "Detach", "Release",
)  # fmt: skip
_ID = re.compile(r"[a-z]+-[0-9a-f]{8,17}")
_TRIED = ("DryRun", "true")
_PLACEMENT = "cloudcmp-"  # before its firewall group's id
_TAGGED = {"instance", "volume", "network-interface"}
TAGS = {"cloudcmp:schema", "cloudcmp:study", "cloudcmp:slot", "cloudcmp:attempt", "cloudcmp:expires"}
"""What every study tags all that it makes with, at the least."""


def made_by(call: Call) -> str | None:
    """The client token or the name of what a call makes, None where it makes nothing; empty where it names none."""
    if not call.action.startswith(_MAKES) or call.action == "CreateTags" or _TRIED in call.params.items():
        return None
    return call.params.get("ClientToken") or call.params.get("GroupName") or ""


def firewall_of(placement: str) -> str | None:
    """The id of the firewall group that a placement group of ours is named after."""
    id = placement.removeprefix(_PLACEMENT)
    return id if id != placement and _ID.fullmatch(id) else None


def changed_by(call: Call) -> tuple[str, ...]:
    """Every id that a call names which changes or ends something, and the name of a placement group."""
    if not call.action.startswith(_CHANGES):
        return ()
    named = [value for key, value in call.params.items() if key.endswith("GroupName") or _ID.fullmatch(value)]
    return tuple(named)


def machines_made(cloud: Standing[Any]) -> list[Call]:
    """The calls that asked for a machine."""
    return [call for call in cloud.calls("RunInstances") if made_by(call) is not None]


def user_data(call: Call) -> str:
    """The text that a call gave its machine."""
    return base64.b64decode(call.params["UserData"]).decode()


def bodies(cloud: Standing[Any]) -> list[str]:
    """What is missing in the bodies of the calls that made something: a line for each (P5)."""
    wrong = []
    for call in machines_made(cloud):
        params, tags = call.params, tags_of(call.params)
        named = {kind for kind, some in tags.items() if set(some) >= TAGS}
        wrong += [] if 0 < len(params.get("ClientToken", "")) <= 64 else ["no token"]
        wrong += [] if named >= _TAGGED else [f"tags only on {sorted(named)}"]
        wrong += [] if params.get("InstanceInitiatedShutdownBehavior") == "terminate" else ["it would only stop"]
        wrong += [] if params.get("MetadataOptions.HttpTokens") == "required" else ["IMDSv1 answers"]
        kept = [name for name in params if name.endswith("DeleteOnTermination") and params[name] != "true"]
        wrong += [f"{name} stays" for name in kept]
    for call in cloud.calls("CreateSecurityGroup"):
        given = tags_of(call.params).get("security-group", {})
        wrong += [] if made_by(call) is None or set(given) >= TAGS else ["a firewall group without tags"]
    return wrong
