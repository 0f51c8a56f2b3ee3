"""Reads the values of options; a value that cannot be read is one line that names its option."""

from collections.abc import Callable
from typing import TypeVar

from cloudcmp.errors import UserMistake
from cloudcmp.units import Money, parse_money, parse_ratio

Value = TypeVar("Value")
Number = TypeVar("Number", int, float)


def parsed(option: str, text: str, parse: Callable[[str], Value]) -> Value:
    """Return what a parser of `units` makes of the text; raises UserMistake with the parser's own words."""
    try:
        return parse(text)
    except ValueError as error:
        raise UserMistake.at(option, *str(error).split("; ", 1)) from None


def above_zero(option: str, text: str, parse: Callable[[str], Number], example: str) -> Number:
    """Return a number above zero; raises UserMistake, with `example` as the advice for what is not above zero."""
    value = parsed(option, text, parse)
    if value <= 0:
        raise UserMistake.at(option, f"{text!r} is not more than zero", f"write e.g. '{example}'")
    return value


def share(option: str, text: str, most: float, example: str) -> float:
    """Return a share above zero and at most `most`; raises UserMistake."""
    value = parsed(option, text, parse_ratio)
    if not 0 < value <= most:
        raise UserMistake.at(option, f"{text!r} is not above 0 and at most {most * 100:g} %", f"write e.g. '{example}'")
    return value


def money_per_month(option: str, text: str, example: str) -> Money:
    """Return the money of a text such as `120 USD/month`; raises UserMistake."""
    money, slash, period = text.rpartition("/")
    advice = f"write e.g. '{example}'"
    if not slash or period.strip() != "month":
        raise UserMistake.at(option, f"{text!r} needs its period", advice)
    try:
        return parse_money(money)
    except ValueError as error:
        raise UserMistake.at(option, str(error).split("; ", 1)[0], advice) from None
