"""What is missing in the bodies of the calls to small emulated clouds that make something (P5)."""

import base64
import json
import re
from typing import Any

from cloudcmp.provider.longtail import labels
from tests.emulated.cloud import Call
from tests.emulated.standing import Standing

_TOKEN = re.compile(r"token:([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})")
_WORDS = ("attempt:", "expires:", "owner:", "schema:", "slot:", "study:", "token:")
_MACHINE, _FIREWALL = "cloudcmp", "cloudcmp-fw"
_PIECE = re.compile(r"(cloudcmp(?:-fw)?)-[0-9a-f]{6}-(\d+)of\d+:(.*)")
"""Where a cloud's tags are short, ours stands in several of them."""


def machines_made(cloud: Standing[Any]) -> list[Call]:
    """The calls that asked for a machine."""
    return _carried_out(cloud, "machines.create")


def _carried_out(cloud: Standing[Any], action: str) -> list[Call]:
    """The calls of an action that were not refused: what tries out a right asks for nothing that could be made."""
    return [call for call in cloud.calls(action) if made_by(call) is not None and not call.outcome.startswith("4")]


def made_by(call: Call) -> str | None:
    """The token of what a call makes, else its name; None where it makes nothing."""
    if call.action not in {"machines.create", "firewalls.create"}:
        return None
    found = _TOKEN.search(_label(call))
    body = _body(call)
    return found[1] if found else next((str(body[key]) for key in ("name", "label") if body.get(key)), None)


def user_data(call: Call) -> str:
    """The text that a call gave its machine, which some clouds want as base64."""
    body = _body(call)
    text = str(body.get("user_data") or body.get("metadata", {}).get("user_data", ""))
    return text if text.startswith("#") else base64.b64decode(text).decode()


def bodies(cloud: Standing[Any]) -> list[str]:
    """A line for each thing that is missing."""
    wrong = []
    for call in [*machines_made(cloud), *_carried_out(cloud, "firewalls.create")]:
        label = _label(call)
        wrong += [f"{call.action} without {word}" for word in _WORDS if word not in label]
    for call in machines_made(cloud):
        wrong += [] if "cloudcmp-ttl" in user_data(call) else ["the machine does not power itself off"]
    return wrong


def _body(call: Call) -> dict[str, Any]:
    return dict(json.loads(call.params.get("body", "{}")))


def _label(call: Call) -> str:
    """What among a call's tags (or in its description) says whose what it makes is."""
    begins = _FIREWALL if call.action == "firewalls.create" else _MACHINE
    body = _body(call)
    named = body.get("labels", {})
    pairs = named if isinstance(named, dict) else {one["key"]: one["value"] for one in named}
    words = [*body.get("tags", ()), *labels.from_pairs(pairs), str(body.get("description", ""))]
    pieces = {int(found[2]): found[3] for word in words if (found := _PIECE.fullmatch(word)) and found[1] == begins}
    whole = next((word for word in words if word.startswith(f"{begins}:")), "")
    return whole or "".join(pieces[number] for number in sorted(pieces))
