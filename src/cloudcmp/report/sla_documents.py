"""The data of the JSON document of `sla`."""

from dataclasses import fields
from typing import Any

from cloudcmp.model.credits import CreditFinding
from cloudcmp.model.sla import SlaAnswer
from cloudcmp.model.utility import UtilityAnswer

Data = dict[str, Any]


def sla(found: SlaAnswer) -> Data:
    """The document of `sla`: the answer, each claim, and the money."""
    return {
        **_named(found),
        "credits": [_credit(one) for one in found.credits],
        "utility": None if found.utility is None else _utility(found.utility),
    }


def _credit(one: CreditFinding) -> Data:
    expected = None
    if one.expected is not None:
        chances = [{"percent": percent, "chance": chance} for percent, chance in one.expected.chances]
        expected = {**_named(one.expected), "chances": chances}
    return {**_named(one), "expected": expected}


def _utility(found: UtilityAnswer) -> Data:
    weights = [{**_named(one), "below": one.below and one.below._asdict(), "above": one.above and one.above._asdict()}
               for one in found.weights]  # fmt: skip
    return {
        **_named(found),
        "choice": found.choice and _keyed(found.choice),
        "options": [_keyed(one) for one in found.options],
        "weights": weights,
        "steps": [_keyed(one) for one in found.steps],
        "left_out": [{"key": key._asdict(), "lack": lack} for key, lack in found.left_out],
    }


def _keyed(one: Any) -> Data:
    return {**_named(one), "key": one.key._asdict()}


def _named(value: Any) -> Data:
    return {one.name: getattr(value, one.name) for one in fields(value)}
