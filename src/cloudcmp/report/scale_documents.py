"""The data of the JSON document of `scale`."""

from dataclasses import fields
from typing import Any

from cloudcmp.model.replay import MachineType, OwnedBase, ScaleAnswer

Data = dict[str, Any]


def scale(found: ScaleAnswer) -> Data:
    """The document of `scale`: the choice, every machine type with its policies, and what would change it."""
    choices = [{"machine": _machine(one.machine), "outcomes": one.outcomes} for one in found.choices]
    left = [{"key": key._asdict(), "lack": lack} for key, lack in found.left_out]
    return {**_named(found), "choices": choices, "left_out": left, "owned": _owned(found.owned)}


def _owned(base: OwnedBase | None) -> Data | None:
    if base is None:
        return None
    loads = [{"factor": factor, "owned": many, "total": total} for factor, many, total in base.at_loads]
    return {**_named(base), "at_loads": loads}


def _machine(one: MachineType) -> Data:
    return {**_named(one), "key": one.key._asdict()}


def _named(value: Any) -> Data:
    return {one.name: getattr(value, one.name) for one in fields(value)}
