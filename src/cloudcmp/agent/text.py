"""Text from machines that are not trusted, made fit to be shown."""

import re
import unicodedata

_ESCAPES = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?|\x1b[@-Z\\-_]")


def clean(text: str, limit: int = 200) -> str:
    """One line of `text` without terminal sequences, control, bidirectional or unpaired characters, cut at `limit`.

    Does not escape for HTML or a spreadsheet: whoever writes those does.
    """
    if text.isascii() and text.isprintable():
        return text[:limit].strip()
    # Four times the limit is enough to fill it after removal, and bounds the work on a hostile flood.
    kept = _ESCAPES.sub("", text[: 4 * limit])
    line = "".join(" " if char.isspace() else char for char in kept if char.isspace() or _shown(char))
    return " ".join(line.split())[:limit]


def clean_lines(text: str) -> str:
    """Lines of `text` without terminal sequences, and without control, format or unpaired characters but tabs.

    A carriage return ends a line, as it does on a terminal that shows progress.
    """
    lines = _ESCAPES.sub("", text).replace("\r\n", "\n").replace("\r", "\n")
    if lines.isascii() and lines.replace("\n", "").replace("\t", "").isprintable():
        return lines
    return "".join(char for char in lines if char in "\n\t " or _shown(char) or unicodedata.category(char) == "Zs")


def _shown(char: str) -> bool:
    """Whether a character has a shape of its own: not control, format (bidi), surrogate, private or unassigned."""
    return unicodedata.category(char)[0] not in {"C", "Z"}
