"""Text from outside (machines, clouds, files of others), made fit for a line, a terminal, a table or a document."""

import re
import unicodedata

_TERMINAL = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?|\x1b[@-Z\\-_]")
_BIDI = "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"
# What steers a terminal or turns the order of reading; tabs and ends of lines are no part of it.
_STEERING = re.compile(f"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f{_BIDI}]")
_NOT_IN_JSON = re.compile(f"[\x7f-\x9f{_BIDI}\u2028\u2029]")


def one_line(text: object, limit: int = 300) -> str:
    """A text on one line of at most `limit` characters, the last an ellipsis where it was cut.

    Terminal sequences, control, bidirectional, unpaired and other characters without a shape of their own are left out,
    and each run of white space is one space. Does not escape for HTML or a spreadsheet: whoever writes those does.
    """
    # Eight times the limit is enough to fill it after removal, and bounds the work on a hostile flood.
    said = str(text)[: 8 * limit]
    if not (said.isascii() and said.isprintable()):
        said = _TERMINAL.sub("", said)
        said = "".join(char for char in said if char.isspace() or not _hidden(char))
    return clip(" ".join(said.split()), limit)


def lines(text: str) -> str:
    """Lines of `text` without terminal sequences, and without control, format or unpaired characters but tabs.

    A carriage return ends a line, as it does on a terminal that shows progress.
    """
    said = _TERMINAL.sub("", text).replace("\r\n", "\n").replace("\r", "\n")
    if said.isascii() and said.replace("\n", "").replace("\t", "").isprintable():
        return said
    return "".join(char for char in said if char in "\n\t" or unicodedata.category(char) == "Zs" or not _hidden(char))


def visible(text: str, keep: str = "", instead: str = " ") -> str:
    """A text in which `instead` stands for each character without a shape of its own, but for those to `keep`."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(
        instead if char not in keep and unicodedata.category(char) != "Zs" and _hidden(char) else char for char in text
    )


def clip(text: str, limit: int) -> str:
    """A text cut to at most `limit` characters, the last of them an ellipsis where it was cut."""
    return text if len(text) <= limit else text[: max(0, limit - 1)] + "…"


def steering_character(text: str) -> str | None:
    """The first character that steers a terminal or turns the order of reading, as `U+202E`; None where none does."""
    found = None if text.isprintable() else _STEERING.search(text)
    return f"U+{ord(found[0]):04X}" if found else None


def without_steering(text: str) -> str:
    """A text in which a mark stands for each character that `steering_character` finds; tabs and line ends stay."""
    return text if text.isprintable() else _STEERING.sub("\ufffd", text)


def escaped_json(document: str) -> str:
    """A JSON document in which what steers a terminal is written as `\\u009b`, which every reader undoes."""
    return document if document.isascii() else _NOT_IN_JSON.sub(lambda found: f"\\u{ord(found[0]):04x}", document)


def _hidden(char: str) -> bool:
    """Whether a character has no shape of its own: control, format (bidi), unpaired, unassigned, separator."""
    return unicodedata.category(char)[0] in {"C", "Z"} and char != " "
