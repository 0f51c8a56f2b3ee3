"""Untrusted text (from machines, clouds, other people's files), cleaned for lines, terminals, tables and documents."""

import re
import unicodedata

_TERMINAL = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?|\x1b[@-Z\\-_]")
_BIDI = "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"
# Characters that control a terminal or change the reading direction; without tabs and line ends.
_STEERING = re.compile(f"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f{_BIDI}]")
_NOT_IN_JSON = re.compile(f"[\x7f-\x9f{_BIDI}\u2028\u2029]")


def one_line(text: object, limit: int = 300) -> str:
    """A text on one line of at most `limit` characters, the last an ellipsis if it was cut.

    Removes terminal sequences, control, bidirectional, unpaired and other invisible characters, and makes each run of
    white space one space. Does not escape for HTML or a spreadsheet: their writers do.
    """
    # Eight times the limit is enough to fill it after removal, and bounds the work on a hostile flood.
    cleaned = str(text)[: 8 * limit]
    if not (cleaned.isascii() and cleaned.isprintable()):
        cleaned = _TERMINAL.sub("", cleaned)
        cleaned = "".join(char for char in cleaned if char.isspace() or not _hidden(char))
    return clip(" ".join(cleaned.split()), limit)


def lines(text: str) -> str:
    """Lines of `text` without terminal sequences, control, format or unpaired characters; tabs stay.

    A carriage return ends a line, as it does on a terminal that shows progress.
    """
    cleaned = _TERMINAL.sub("", text).replace("\r\n", "\n").replace("\r", "\n")
    if cleaned.isascii() and cleaned.replace("\n", "").replace("\t", "").isprintable():
        return cleaned
    return "".join(
        char for char in cleaned if char in "\n\t" or unicodedata.category(char) == "Zs" or not _hidden(char)
    )


def visible(text: str, keep: str = "", instead: str = " ") -> str:
    """A text with `instead` in place of each invisible character, except those to `keep`."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(
        instead if char not in keep and unicodedata.category(char) != "Zs" and _hidden(char) else char for char in text
    )


def clip(text: str, limit: int) -> str:
    """A text cut to at most `limit` characters, the last of them an ellipsis if it was cut."""
    return text if len(text) <= limit else text[: max(0, limit - 1)] + "…"


def steering_character(text: str) -> str | None:
    """The first character that controls a terminal or changes the reading direction, as `U+202E`; None if none does."""
    match = None if text.isprintable() else _STEERING.search(text)
    return f"U+{ord(match[0]):04X}" if match else None


def without_steering(text: str) -> str:
    """A text with a mark in place of each character that `steering_character` finds; tabs and line ends stay."""
    return text if text.isprintable() else _STEERING.sub("\ufffd", text)


def escaped_json(document: str) -> str:
    """A JSON document with terminal control characters escaped as `\\u009b`, which every JSON reader undoes."""
    return document if document.isascii() else _NOT_IN_JSON.sub(lambda match: f"\\u{ord(match[0]):04x}", document)


def _hidden(char: str) -> bool:
    """True if a character is invisible: control, format (bidi), unpaired, unassigned, separator."""
    return unicodedata.category(char)[0] in {"C", "Z"} and char != " "
