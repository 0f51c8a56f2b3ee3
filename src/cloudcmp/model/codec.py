"""The JSON codec of frozen dataclasses: equal data give equal bytes."""

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from datetime import date
from decimal import Decimal, InvalidOperation
from enum import Enum
from functools import cache
from types import NoneType, UnionType
from typing import Any, TypeVar, Union, cast, get_args, get_origin, get_type_hints

T = TypeVar("T")
_Turn = Callable[[Any], Any]


class CodecError(ValueError):
    """Data or text is not of the expected type; `path` leads to the place, outermost step first."""

    def __init__(self, what: str, path: tuple[str, ...] = ()) -> None:
        self.what = what
        self.path = path
        super().__init__(f"{''.join(path).lstrip('.')}: {what}" if path else what)

    def inside(self, step: str) -> "CodecError":
        """The error with one more outer step in its path."""
        return CodecError(self.what, (step, *self.path))


def to_json(value: object, cls: Any = None) -> str:
    """`value` as JSON text on one line of ASCII; equal data give equal text.

    Dataclasses become objects in the order of their fields, tuples arrays, enums their values, Decimal and date
    strings; the keys of a dict are sorted. `cls` is the type to write it as, the value's own class by default. Raises
    CodecError for NaN, infinities and values that are not of the type.
    """
    type_: Any = type(value) if cls is None else cls
    return json.dumps(_encoder(type_)(value), separators=(",", ":"))


def from_json(cls: type[T], text: str) -> T:
    """The value of type `cls` (a dataclass, or e.g. `tuple[Launch, ...]`) in a text of `to_json`.

    A missing field takes its default. Raises CodecError, with the path to the place, for text that is not JSON, a
    missing or unknown field, and a value of another type: numbers are never parsed from text.
    """
    try:
        plain = json.loads(text)
        if "\\u" in text or not text.isascii():  # an unpaired surrogate could not be written again
            json.dumps(plain, ensure_ascii=False).encode()
    except (ValueError, RecursionError) as error:
        raise CodecError(f"no JSON text ({error})") from None
    type_: Any = cls
    return cast(T, _decoder(type_)(plain))


@cache
def _encoder(cls: Any) -> _Turn:
    if isinstance(cls, type) and is_dataclass(cls):
        return _encode_dataclass(cls)
    if isinstance(cls, type) and issubclass(cls, Enum):
        return _checked(cls, lambda member: member.value)
    if cls in _LEAVES:
        return _LEAVES[cls][0]
    return _generic(cls, _encoder, encode=True)


@cache
def _decoder(cls: Any) -> _Turn:
    if isinstance(cls, type) and is_dataclass(cls):
        return _decode_dataclass(cls)
    if isinstance(cls, type) and issubclass(cls, Enum):
        return _decode_enum(cls)
    if cls in _LEAVES:
        return _LEAVES[cls][1]
    return _generic(cls, _decoder, encode=False)


def _generic(cls: Any, turn: Callable[[Any], _Turn], *, encode: bool) -> _Turn:
    """The writer or reader of an `X | None`, one of several dataclasses, a tuple or a dict with text keys."""
    origin, args = get_origin(cls), get_args(cls)
    if origin in (Union, UnionType) and len(args) == 2 and NoneType in args:
        inner = turn(next(arg for arg in args if arg is not NoneType))
        return lambda value: None if value is None else inner(value)
    if origin in (Union, UnionType) and all(isinstance(arg, type) and is_dataclass(arg) for arg in args):
        return _tagged({arg.__name__.lower(): (arg, turn(arg)) for arg in args}, encode=encode)
    if origin is tuple and len(args) == 2 and args[1] is Ellipsis:
        return _every(turn(args[0]), tuple if encode else list, list if encode else tuple)
    if origin is tuple:
        return _each([turn(arg) for arg in args], tuple if encode else list, list if encode else tuple)
    if origin in (dict, Mapping) and args[0] is str:
        return _mapping(turn(args[1]))
    raise CodecError(f"{cls!r} is no type that is written to files")


def _tagged(members: Mapping[str, tuple[type[Any], _Turn]], *, encode: bool) -> _Turn:
    """One of several dataclasses: an object with one key, the name of the class in lower case."""
    expected = f"one of {', '.join(members)}"

    def write(value: Any) -> Any:
        for name, (cls, inner) in members.items():
            if isinstance(value, cls):
                return {name: inner(value)}
        raise _mismatch(expected, value)

    def read(plain: Any) -> Any:
        if not isinstance(plain, dict) or len(plain) != 1 or next(iter(plain)) not in members:
            raise _mismatch(expected, plain)
        ((name, value),) = plain.items()
        return members[name][1](value)

    return write if encode else read


def _every(inner: _Turn, source: type[Any], target: type[Any]) -> _Turn:
    def turn(values: Any) -> Any:
        if not isinstance(values, source):
            raise _mismatch("a list", values)
        index = -1
        try:
            done = []
            for index, value in enumerate(values):  # noqa: B007 (named in the error)
                done.append(inner(value))
        except CodecError as error:
            raise error.inside(f"[{index}]") from None
        return target(done)

    return turn


def _each(inner: list[_Turn], source: type[Any], target: type[Any]) -> _Turn:
    def turn(values: Any) -> Any:
        if not isinstance(values, source) or len(values) != len(inner):
            raise _mismatch(f"a list of {len(inner)}", values)
        done = []
        for index, (one, value) in enumerate(zip(inner, values, strict=True)):
            try:
                done.append(one(value))
            except CodecError as error:
                raise error.inside(f"[{index}]") from None
        return target(done)

    return turn


def _mapping(inner: _Turn) -> _Turn:
    def turn(values: Any) -> Any:
        if not isinstance(values, Mapping) or not all(isinstance(key, str) for key in values):
            raise _mismatch("an object", values)
        done = {}
        for key in sorted(values):
            try:
                done[key] = inner(values[key])
            except CodecError as error:
                raise error.inside(f"[{key!r}]") from None
        return done

    return turn


def _encode_dataclass(cls: Any) -> _Turn:
    turns: list[tuple[str, _Turn]] = []

    def turn(value: Any) -> dict[str, Any]:
        if not isinstance(value, cls):
            raise _mismatch(cls.__name__, value)
        if not turns:  # only now, so that a type may contain itself
            hints = get_type_hints(cls)
            turns.extend((item.name, _encoder(hints[item.name])) for item in fields(cls))
        name = ""
        try:
            return {name: inner(getattr(value, name)) for name, inner in turns}
        except CodecError:
            for name, inner in turns:
                _step(name, inner, getattr(value, name))
            raise

    return turn


def _decode_dataclass(cls: Any) -> _Turn:
    turns: dict[str, _Turn] = {}
    items: dict[str, Field[Any]] = {item.name: item for item in fields(cls)}
    needed = {name for name, item in items.items() if item.default is MISSING and item.default_factory is MISSING}

    def turn(plain: Any) -> Any:
        if not isinstance(plain, dict):
            raise _mismatch(f"an object ({cls.__name__})", plain)
        if not turns:
            hints = get_type_hints(cls)
            turns.update((name, _decoder(hints[name])) for name in items)
        if not turns.keys() >= plain.keys():
            raise CodecError(f"{min(plain.keys() - turns.keys())!r} is no field of {cls.__name__}")
        if not plain.keys() >= needed:
            raise CodecError(f"{min(needed - plain.keys())!r} of {cls.__name__} is missing")
        try:
            return cls(**{name: turns[name](value) for name, value in plain.items()})
        except CodecError:
            for name, value in plain.items():
                _step(name, turns[name], value)
            raise

    return turn


def _step(name: str, inner: _Turn, value: Any) -> None:
    """Converts one field again after a failure, to name it: the happy path has no try in each field."""
    try:
        inner(value)
    except CodecError as error:
        raise error.inside(f".{name}") from None


def _decode_enum(cls: type[Enum]) -> _Turn:
    members = {member.value: member for member in cls}

    def turn(plain: Any) -> Enum:
        try:
            return members[plain]
        except (KeyError, TypeError):
            raise _mismatch(f"one of {', '.join(map(str, members))}", plain) from None

    return turn


def _checked(cls: type | tuple[type, ...], inner: _Turn) -> _Turn:
    def turn(value: Any) -> Any:
        if not isinstance(value, cls):
            raise _mismatch(getattr(cls, "__name__", "a value"), value)
        return inner(value)

    return turn


def _text(value: Any) -> str:
    if type(value) is not str:
        if not isinstance(value, str):
            raise _mismatch("text", value)
        return str(value)
    return value


def _count(value: Any) -> int:
    if type(value) is not int:
        raise _mismatch("a whole number", value)
    return value


def _flag(value: Any) -> bool:
    if type(value) is not bool:
        raise _mismatch("true or false", value)
    return value


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, float | int):
        raise _mismatch("a number", value)
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise CodecError(f"a finite number is needed, not {number!r}")
    return number


def _decimal(value: Any) -> Decimal:
    try:
        number = Decimal(_text(value))
    except InvalidOperation:
        raise _mismatch("a decimal number in quotes", value) from None
    if not number.is_finite():
        raise _mismatch("a finite decimal number", value)
    return number


def _day(value: Any) -> date:
    try:
        return date.fromisoformat(_text(value))
    except ValueError:
        raise _mismatch("a date as 2026-01-31", value) from None


def _null(value: Any) -> None:
    if value is not None:
        raise _mismatch("null", value)


def _mismatch(expected: str, value: Any) -> CodecError:
    shown = repr(value)
    return CodecError(f"{expected} is needed, not {shown if len(shown) <= 60 else shown[:57] + '...'}")


_LEAVES: dict[Any, tuple[_Turn, _Turn]] = {
    str: (_text, _text),
    int: (_count, _count),
    bool: (_flag, _flag),
    float: (_number, _number),
    Decimal: (_checked(Decimal, lambda value: str(_decimal(str(value)))), _decimal),
    date: (_checked(date, date.isoformat), _day),
    NoneType: (_null, _null),
}
