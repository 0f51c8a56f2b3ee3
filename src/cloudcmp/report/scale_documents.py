"""The data of the JSON document of `scale`."""

from dataclasses import fields
from typing import Any

from cloudcmp.model.replay import ScaleAnswer

Data = dict[str, Any]


def scale(found: ScaleAnswer) -> Data:
    """The document of `scale`: the choice, every machine type with its policies, and what would change it."""
    choices = [
        {"machine": {**_named(one.machine), "key": one.machine.key._asdict()}, "outcomes": one.outcomes}
        for one in found.choices
    ]
    owned = found.owned
    return {
        **_named(found),
        "choices": choices,
        "left_out": [{"key": key._asdict(), "lack": lack} for key, lack in found.left_out],
        "owned": None if owned is None else {
            **_named(owned),
            "at_loads": [{"factor": factor, "owned": many, "total": total} for factor, many, total in owned.at_loads],
        },
    }  # fmt: skip


def _named(value: Any) -> Data:
    return {one.name: getattr(value, one.name) for one in fields(value)}
