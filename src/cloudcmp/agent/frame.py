"""Strict parsing of one line of an agent's output."""

import json
import math
from collections.abc import Mapping

from cloudcmp.agent.job import PROTOCOL_VERSION
from cloudcmp.model.untrusted_text import one_line
from cloudcmp.model.values import LARGEST_VALUE

_DEPTH_MAX = 6
_ITEMS_MAX = 512
_TEXT_MAX = 4096
_INTEGER_MAX = 1 << 64


class BadFrame(Exception):
    """A line violates the protocol; its text describes the fault without quoting the line."""


def parse_frame(line: bytes, seq: int) -> dict[str, object]:
    """The frame of a line; raises BadFrame unless it is a JSON object of this protocol with the number `seq`."""
    try:
        frame = json.loads(line.decode("utf-8"), parse_constant=_refuse_constant, object_pairs_hook=_object)
    except BadFrame:
        raise
    except (ValueError, RecursionError) as error:
        raise BadFrame("is not a line of JSON in UTF-8") from error
    if type(frame) is not dict:
        raise BadFrame("is not a JSON object")
    if type(frame.get("v")) is not int or frame["v"] != PROTOCOL_VERSION:
        raise BadFrame(f"does not say protocol version {PROTOCOL_VERSION}")
    if type(frame.get("seq")) is not int or frame["seq"] != seq:
        raise BadFrame(f"does not carry sequence number {seq}")
    return frame


def _refuse_constant(name: str) -> object:
    raise BadFrame(f"holds {name}")


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    fields = dict(pairs)
    if len(fields) != len(pairs):
        raise BadFrame("holds a key twice")
    return fields


def number_of(frame: Mapping[str, object], key: str) -> float:
    """A number below `LARGEST_VALUE`; raises BadFrame for anything else, such as true, text, or 1e999."""
    value = frame.get(key)
    if type(value) is not float and type(value) is not int:
        raise BadFrame(f"{key} is not a number")
    try:
        number = float(value)
    except OverflowError as error:
        raise BadFrame(f"{key} is too large") from error
    if not math.isfinite(number):
        raise BadFrame(f"{key} is not finite")
    if abs(number) >= LARGEST_VALUE:
        raise BadFrame(f"{key} is too large")
    return number


def text_of(frame: Mapping[str, object], key: str, limit: int = 200) -> str:
    """A cleaned text; raises BadFrame if it is missing."""
    value = frame.get(key)
    if type(value) is not str:
        raise BadFrame(f"{key} is not text")
    return one_line(value, limit)


def facts_of(frame: Mapping[str, object], key: str) -> dict[str, object]:
    """An object of facts, every text in it cleaned; raises BadFrame for another type, or if too deep or too long."""
    value = frame.get(key)
    if type(value) is not dict:
        raise BadFrame(f"{key} is not an object")
    return {one_line(str(name), 64): _fact(item, 1) for name, item in _few(value).items()}


def scalar_of(frame: Mapping[str, object], key: str) -> str | float | int | bool:
    """A text, number or truth value; raises BadFrame for anything else."""
    value = _fact(frame.get(key), 1)
    if isinstance(value, str | float | int):
        return value
    raise BadFrame(f"{key} is no text, number or truth value")


def _fact(value: object, depth: int) -> object:
    if depth > _DEPTH_MAX:
        raise BadFrame("facts are nested too deeply")
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return one_line(value, _TEXT_MAX)
    if isinstance(value, dict):
        return {one_line(str(name), 64): _fact(item, depth + 1) for name, item in _few(value).items()}
    if isinstance(value, list):
        if len(value) > _ITEMS_MAX:
            raise BadFrame(f"more than {_ITEMS_MAX} facts in a list")
        return [_fact(item, depth + 1) for item in value]
    if isinstance(value, int | float) and abs(value) < _INTEGER_MAX:
        return value
    raise BadFrame("a fact is not a usable number")


def _few(facts: dict[str, object]) -> dict[str, object]:
    if len(facts) > _ITEMS_MAX:
        raise BadFrame(f"more than {_ITEMS_MAX} facts in an object")
    return facts
