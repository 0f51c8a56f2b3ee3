"""Parses users' parameter values into canonical text in base units."""

import difflib
from collections.abc import Iterable, Sequence
from decimal import Decimal

from cloudcmp.errors import UserMistake
from cloudcmp.model.cell import Cell
from cloudcmp.model.metric import Param, ParamKind
from cloudcmp.units import parse_bytes, parse_rate, parse_seconds


def nearest(word: str, words: Iterable[str]) -> str | None:
    """The known word nearest to a mistyped one, None if none is near."""
    matches = difflib.get_close_matches(word, list(words), n=1, cutoff=0.5)
    return matches[0] if matches else None


def hint(word: str, words: Iterable[str], listing: str = "") -> str:
    """The advice for an unknown word: the nearest one, and the command that lists all, if there is one."""
    close = nearest(word, words)
    return "; ".join([f"nearest: {close}"] * bool(close) + [f"see '{listing}'"] * bool(listing))


def _number(text: str) -> str:
    """A number in its shortest decimal form, so that equal values are equal text."""
    value = float(text)
    return str(int(value)) if value == int(value) else format(Decimal(repr(value)), "f")


def _base_units(param: Param, text: str) -> str:
    """A parameter's value as text in base units; raises ValueError for a value of another kind."""
    bare = text.replace(".", "", 1).isdigit() and text.isascii()
    match param.kind:
        case ParamKind.COUNT | ParamKind.THREADS:
            if not bare or float(text) != int(float(text)) or float(text) < 1:
                raise ValueError(f"{text!r} is not a whole number of at least 1")
            return _number(text)
        case ParamKind.BYTES:
            size = _number(text) if bare else str(parse_bytes(text))
            if not size.isdigit() or size == "0":
                raise ValueError(f"{text!r} is not a whole number of bytes above 0")
            return size
        case ParamKind.SECONDS:
            return _number(text) if bare else _number(repr(parse_seconds(text)))
        case ParamKind.RATE:
            return _number(text) if bare else _number(repr(parse_rate(text)))
        case ParamKind.TEXT:
            Cell.of("x", {param.name: text})
            return text
        case ParamKind.CHOICE:
            raise ValueError(f"{text!r} is none of {', '.join(param.words)}")


def canonical_of(where: str, params: Sequence[Param], key: str, text: str, listing: str) -> str:
    """One parameter's value as canonical text in base units; raises UserMistake with the expected kind."""
    known = {param.name: param for param in params}
    if key not in known:
        raise UserMistake.at(where, f"unknown parameter {key!r}", hint(key, known, listing))
    param = known[key]
    if text in param.words:
        return text
    try:
        return _base_units(param, text)
    except (ValueError, OverflowError) as error:
        words = f"; or {', '.join(param.words)}" if param.words and param.kind is not ParamKind.CHOICE else ""
        raise UserMistake.at(where, f"{key}: {error}{words}", f"it is {param.doc}") from error
    except UserMistake as error:
        raise UserMistake.at(where, f"{key}: {error}", f"it is {param.doc}") from error
