"""The expressions of DynamoDB that the simulated service knows: equal keys, `SET`, and whether an attribute exists."""

import re
from collections.abc import Mapping
from typing import Any

from cloudcmp.provider.simulated.storage.json_fields import Fields

Value = Mapping[str, Any]
Item = Mapping[str, Value]

_TERM = r"\s*([#A-Za-z_][A-Za-z0-9_.\-]*)\s*=\s*(:[A-Za-z0-9_]+)\s*"
_EQUAL = re.compile(_TERM)
_SET = re.compile(r"\s*SET\s(.*)", re.IGNORECASE | re.DOTALL)
_EXISTS = re.compile(r"\s*attribute_(not_)?exists\s*\(\s*([#A-Za-z_][A-Za-z0-9_.\-]*)\s*\)\s*")
_AND = re.compile(r"\sAND\s", re.IGNORECASE)
_TYPES: Mapping[str, type[Any]] = {"S": str, "N": str, "B": str, "BOOL": bool, "NULL": bool, "M": dict, "L": list}
_SETS = ("SS", "NS", "BS")
_DEPTH_MAX = 32
_NUMBER = re.compile(r"[+-]?(?:[0-9]{1,38}(?:\.[0-9]{0,38})?|\.[0-9]{1,38})(?:[eE][+-]?[0-9]{1,3})?")


def key_conditions(fields: Fields) -> dict[str, Value]:
    """The attributes that a KeyConditionExpression wants equal to a value."""
    text = fields.text("KeyConditionExpression")
    return dict(_equal(fields, part) for part in _AND.split(text))


def assignments(fields: Fields) -> dict[str, Value]:
    """The attributes that an UpdateExpression sets."""
    match = _SET.fullmatch(fields.text("UpdateExpression"))
    if match is None:
        raise fields.error("This service has only SET name = :value in an UpdateExpression.")
    return dict(_equal(fields, part) for part in match[1].split(","))


def condition_holds(fields: Fields, present: Item | None) -> bool:
    """Whether the ConditionExpression of a request holds for the present item."""
    if "ConditionExpression" not in fields.plain:
        return True
    match = _EXISTS.fullmatch(fields.text("ConditionExpression"))
    if match is None:
        raise fields.error("This service has only attribute_exists and attribute_not_exists in a condition.")
    exists = present is not None and _attribute(fields, match[2]) in present
    return exists is not bool(match[1])


def item_in(fields: Fields, name: str) -> Item:
    """The item or the key in a field, each of its values checked for its type."""
    item = fields.fields(name).plain
    if not item:
        raise fields.error(f"{name} must not be empty.")
    for attribute, value in item.items():
        if not _is_value(value):
            raise fields.error(f"{name}.{attribute} is no value with one type.")
    return item


def size_of(item: Item) -> int:
    """The size of an item in bytes, for its limit and its units of capacity."""
    return sum(len(name.encode()) + _value_size(value) for name, value in item.items())


def _equal(fields: Fields, part: str) -> tuple[str, Value]:
    match = _EQUAL.fullmatch(part)
    if match is None:
        raise fields.error("This service has only name = :value in an expression.")
    value = fields.fields("ExpressionAttributeValues").fields(match[2]).plain
    if not _is_value(value):
        raise fields.error(f"{match[2]} is no value with one type.")
    return _attribute(fields, match[1]), value


def _attribute(fields: Fields, name: str) -> str:
    if not name.startswith("#"):
        return name
    return fields.fields("ExpressionAttributeNames").text(name)


def _is_value(value: object, depth: int = 1) -> bool:
    if not isinstance(value, dict) or len(value) != 1 or depth > _DEPTH_MAX:
        return False
    kind = next(iter(value))
    inner: Any = value[kind]
    if kind in _SETS:
        return isinstance(inner, list) and bool(inner) and all(isinstance(one, str) for one in inner)
    if kind not in _TYPES or not isinstance(inner, _TYPES[kind]):
        return False
    if kind == "N":
        return _NUMBER.fullmatch(inner) is not None
    if kind == "M":
        return all(_is_value(one, depth + 1) for one in inner.values())
    return kind != "L" or all(_is_value(one, depth + 1) for one in inner)


def _value_size(value: Value) -> int:
    kind, inner = next(iter(value.items()))
    if kind == "M":
        return 3 + size_of(inner)
    if kind == "L":
        return 3 + sum(map(_value_size, inner))
    if kind in _SETS:
        return sum(len(one.encode()) for one in inner)
    return len(inner.encode()) if isinstance(inner, str) else 1
