"""The machines in the JSON of `aws ec2 describe-instances`.

Source: https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_Instance.html (R, as of 2026). The document has no
prices, no hours and no commitments: list prices stand in, and each running machine is taken to run all the month.
"""

import json
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from cloudcmp.cost.inventory import cells
from cloudcmp.errors import UserMistake
from cloudcmp.model.fleet import FleetMachine, Inventory, Skipped
from cloudcmp.model.market import OfferKey

_LARGEST = 512 * 2**20
_ZONE = re.compile(r"(?P<region>[a-z]{2,3}(?:-[a-z]+)+-\d)[a-z]")
_AGAIN = "save the output of `aws ec2 describe-instances` again"


def read_instances(path: Path) -> Inventory:
    """Read the running machines of the document, of its reservations, or of its list of instances.

    Raises UserMistake if it is no such document.
    """
    document = _document(path)
    found: dict[str, FleetMachine] = {}
    skipped: Counter[str] = Counter()
    for one in _instances(path, document):
        state = one.get("State")
        word = state.get("Name") if isinstance(state, dict) else None
        if word not in {None, "running"}:
            skipped[f"machines that are {cells.name(str(word))}"] += 1
            continue
        machine = _machine(path, one)
        if machine.name in found:
            raise UserMistake.at(str(path), f"instance {machine.name} is there twice", _AGAIN)
        found[machine.name] = machine
    if not found and not skipped:
        raise UserMistake.at(str(path), "no instance is in it", _AGAIN)
    return Inventory(tuple(found.values()), "", tuple(Skipped(what, rows) for what, rows in skipped.items()))


def _document(path: Path) -> Any:
    try:
        if path.stat().st_size > _LARGEST:
            raise UserMistake.at(str(path), "is larger than 512 MiB", "name the output of one region at a time")
        return json.loads(path.read_text(encoding="utf-8-sig"))
    except json.JSONDecodeError as error:
        raise UserMistake.at(f"{path}:{error.lineno}", f"no JSON ({error.msg.lower()})", _AGAIN) from None
    except (UnicodeDecodeError, RecursionError):
        raise UserMistake.at(str(path), "no JSON", _AGAIN) from None
    except OSError as error:
        raise UserMistake.at(str(path), (error.strerror or str(error)).lower(), "check its rights") from None


def _instances(path: Path, document: Any) -> Iterator[dict[str, Any]]:
    """Yield the objects with an instance's id and type, from any depth of lists and reservations."""
    waiting = [document]
    while waiting:
        one = waiting.pop()
        if isinstance(one, list):
            waiting += reversed(one)
        elif isinstance(one, dict) and "InstanceId" in one:
            yield one
        elif isinstance(one, dict) and ("Reservations" in one or "Instances" in one):
            waiting += [one.get("Instances") or [], one.get("Reservations") or []]
        else:
            raise UserMistake.at(str(path), "no Reservations with Instances", _AGAIN)


def _machine(path: Path, one: dict[str, Any]) -> FleetMachine:
    kind = one.get("InstanceType")
    identity = cells.identity(str(one["InstanceId"]))
    if not isinstance(kind, str) or not kind.strip() or not identity:
        raise UserMistake.at(str(path), f"instance {identity!r} has no InstanceType", _AGAIN)
    placed = one.get("Placement")
    placement = placed if isinstance(placed, dict) else {}
    zone = _ZONE.fullmatch(str(placement.get("AvailabilityZone", "")))
    tenancy = str(placement.get("Tenancy", "default"))
    is_spot = one.get("InstanceLifecycle") is not None
    system = cells.system(str(one.get("PlatformDetails") or one.get("Platform") or ""))
    return FleetMachine(
        name=identity,
        key=OfferKey("aws", zone["region"] if zone else "", cells.name(kind)),
        has_list_price=not is_spot,
        system=system or ("" if tenancy == "default" else f"{cells.name(tenancy)} tenancy"),
    )
