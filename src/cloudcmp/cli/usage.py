"""Words for a command line that cannot be understood."""

import re
from collections.abc import Iterable

from typer._click.exceptions import BadParameter, NoSuchOption, UsageError  # typer carries its own click

from cloudcmp.errors import Fault

_CHOICE = re.compile(r"(?:Value error, )?'(?P<given>.*)' is not one of (?P<known>'.*')\.?", re.DOTALL)
_COMMAND = re.compile(r"(?P<what>No such command '.*')\. Did you mean (?P<near>'.*')\?", re.DOTALL)
_MISSING = re.compile(r"(?P<what>Missing \w+ '.*')\. Choose from:(?P<known>.*)", re.DOTALL)
_NUMBERS = {
    "int_parsing": "is no whole number",
    "int_from_float": "is no whole number",
    "float_parsing": "is no number",
}
"""What is wrong with a value, by the kind of error of the library that reads it."""


def usage_fault(error: UsageError) -> Fault:
    """The fault of a command line: what is wrong, the nearest known word, and where to look."""
    where = error.ctx.command_path if error.ctx else "cloudcmp"
    what, next_ = _told(error)
    return Fault(where, what, f"{next_}see '{where} --help'")


def _told(error: UsageError) -> tuple[str, str]:
    """What is wrong, and advice that precedes `see`."""
    message = " ".join(error.format_message().split())
    if isinstance(error, NoSuchOption):
        return f"no such option: {error.option_name}", _did_you_mean(error.option_name, error.possibilities or ())
    if found := _COMMAND.fullmatch(message):
        return _lower(found["what"]), f"did you mean {found['near'].replace(chr(39), '')}? "
    if found := _MISSING.fullmatch(message):
        return _lower(found["what"]), f"choose one of{found['known']}; "
    if isinstance(error, BadParameter) and error.param is not None:
        name = error.param.get_error_hint().strip("'")
        if found := _CHOICE.fullmatch(error.message):
            known = found["known"].strip("'").split("', '")
            return f"{name}: {found['given']!r} is none of {', '.join(known)}", _did_you_mean(found["given"], known)
        if number := _number(error):
            return f"{name}: {number}", ""
    return _lower(message.rstrip(".")), ""


def _number(error: BadParameter) -> str:
    """What is wrong with a value that should be a number; empty for other values."""
    details: list[dict[str, object]] = getattr(error.__cause__, "errors", list)()
    if len(details) == 1 and (words := _NUMBERS.get(str(details[0].get("type")))):
        return f"{details[0].get('input')!r} {words}"
    return ""


def _did_you_mean(word: str, known: Iterable[str]) -> str:
    from difflib import get_close_matches

    close = get_close_matches(word, list(known), n=1)
    return f"did you mean {close[0]}? " if close else ""


def _lower(text: str) -> str:
    return text[:1].lower() + text[1:]
