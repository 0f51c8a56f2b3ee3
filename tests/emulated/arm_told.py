"""What calls to the emulated Azure name, and what is missing in the bodies of those that make something."""

import base64
import json
from collections.abc import Iterator
from typing import Any

from tests.emulated.cloud import Call
from tests.emulated.standing import Standing

_TAGS = {"cloudcmp:schema", "cloudcmp:study", "cloudcmp:slot", "cloudcmp:attempt", "cloudcmp:expires", "cloudcmp:token"}
_CHANGES = ("/write", "/delete", "/action")
_GROUP, _MACHINE = "subscriptions/resourceGroups/write", "virtualMachines/write"


def made_by(call: Call) -> str | None:
    """The token of what a call makes, None where it makes nothing; empty where it names none.

    A change of a machine's size has no tags and makes nothing.
    """
    if not call.action.endswith("/write"):
        return None
    body = body_of(call)
    if "location" not in body:
        return None
    return str((body.get("tags") or {}).get("cloudcmp:token", ""))


def changed_by(call: Call) -> tuple[str, ...]:
    """The id that a call which changes or ends something names."""
    if call.action.endswith(_CHANGES) and made_by(call) is None:
        return (call.params["id"],)
    return ()


def body_of(call: Call) -> dict[str, Any]:
    """What a call said."""
    body = json.loads(call.params.get("body", "{}"))
    return body if isinstance(body, dict) else {}


def machines_made(cloud: Standing[Any]) -> list[Call]:
    """The calls that asked for a machine."""
    return [call for call in cloud.calls(_MACHINE) if made_by(call) is not None]


def user_data(call: Call) -> str:
    """The text that a call gave its machine."""
    return base64.b64decode(body_of(call)["properties"]["osProfile"]["customData"]).decode()


def bodies(cloud: Standing[Any]) -> list[str]:
    """What is missing in the bodies of the calls that made something: a line for each (P5)."""
    wrong = []
    for call in machines_made(cloud):
        body = body_of(call)
        wrong += [] if set(body.get("tags") or {}) >= _TAGS else ["a machine without tags"]
        wrong += [f"{name} stays" for name, what in _parts(body) if what.get("deleteOption") != "Delete"]
    for call in cloud.calls(_GROUP):
        wrong += [] if set(body_of(call).get("tags") or {}) >= _TAGS else ["a resource group without tags"]
    return wrong


def _parts(body: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """What a machine's call brings, by its name, with what it says of its end."""
    properties = body["properties"]
    storage = properties["storageProfile"]
    for disk in (storage["osDisk"], *storage.get("dataDisks", ())):
        yield disk["name"], disk
    for card in properties["networkProfile"]["networkInterfaceConfigurations"]:
        yield card["name"], card["properties"]
        for one in card["properties"]["ipConfigurations"]:
            address = one["properties"]["publicIPAddressConfiguration"]
            yield address["name"], address["properties"]
