"""Strings for terminals, figures and tables."""

import csv
import io
import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from cloudcmp.model.untrusted_text import clip, one_line

_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
# Letters and symbols without a shape: Hangul fillers, and the empty Braille pattern.
_BLANK = "\u115f\u1160\u3164\uffa0\u2800"
_SPACES = re.compile(" {33,}")
# Each character maps to one character, so that alignment is kept.
_ASCII = str.maketrans("±×µ–—−·…≥≤→▲▼★’≠δ", "~xu---,.><>^v*'#d")


def clip_middle(text: str, limit: int) -> str:
    """Cut a string in its middle to at most `limit` characters, because names differ at their ends."""
    if len(text) <= limit:
        return text
    head = (limit - 1) // 2
    return f"{text[:head]}…{text[len(text) - (limit - 1 - head) :]}"


def short_names(names: Sequence[str], limit: int) -> tuple[str, ...]:
    """Cut names to `limit` characters; a number distinguishes names that became equal."""
    cut = [clip_middle(one_line(name), limit) for name in names]
    return tuple(
        name if cut.count(name) == 1 else f"{clip(name, max(1, limit - len(str(at)) - 1))}#{at}"
        for at, name in enumerate(cut, start=1)
    )


def without_common(names: Sequence[str]) -> list[str]:
    """Names such as `provider/region/offering on runner` without the parts at both ends that all share.

    So are services that one machine asks, `provider/region/service from machine`.
    """
    cleaned = [one_line(name) for name in names]
    for mark in (" on ", " from "):
        ends = {name.rpartition(mark)[2] for name in cleaned if mark in name}
        if len(ends) == 1 and len(cleaned) > 1 and all(mark in name for name in cleaned):
            cleaned = [name.rpartition(mark)[0] for name in cleaned]
    parts = [name.split("/") for name in cleaned]
    while len(parts) > 1 and all(len(part) > 1 for part in parts) and len({part[0] for part in parts}) == 1:
        parts = [part[1:] for part in parts]
    while len(parts) > 1 and all(len(part) > 1 for part in parts) and len({part[-1] for part in parts}) == 1:
        parts = [part[:-1] for part in parts]
    return ["/".join(part) for part in parts]


@dataclass(frozen=True, slots=True)
class ShortNames:
    """Names of candidates in their order without the parts that all share, and the same by whole name."""

    names: tuple[str, ...]
    by_whole: dict[str, str]
    pattern: re.Pattern[str] | None

    @classmethod
    def of(cls, names: Sequence[str]) -> "ShortNames":
        """Shorten names."""
        short = tuple(without_common(names))
        by_whole = dict(zip(names, short, strict=True))
        changed = sorted((name for name, short in by_whole.items() if name != short), key=len, reverse=True)
        # A name inside a longer word or path is not that name.
        pattern = re.compile(rf"(?<![\w/.-])(?:{'|'.join(map(re.escape, changed))})(?![\w/-]|\.\w)")
        return cls(short, by_whole, pattern if changed else None)

    def within(self, text: str) -> str:
        """Return a text with the short name of each candidate in place of the whole one."""
        return text if self.pattern is None else self.pattern.sub(lambda found: self.by_whole[found[0]], text)


def plain_ascii(text: str) -> str:
    """Convert a string for a terminal that shows only ASCII: our own signs are replaced, others become `?`."""
    return text.translate(_ASCII).encode("ascii", "replace").decode("ascii")


def csv_field(value: object) -> str:
    """Return a field that no spreadsheet treats as a formula; None is empty, numbers stay numbers."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return repr(value)
    text = one_line(str(value), 2000)
    return f"'{text}" if str(value).startswith(_FORMULA) or text.startswith(_FORMULA) else text


def csv_text(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a CSV table (RFC 4180 with LF) without formulas in its text fields."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([csv_field(column) for column in columns])
    writer.writerows([csv_field(value) for value in row] for row in rows)
    return out.getvalue()


def exact(text: str, *, ascii_only: bool = False) -> str:
    """Return the whole string, with each invisible or misleading character as its number, such as `<U+202E>`.

    A run of more than 32 spaces becomes its length, so that it hides nothing. Not reversible, because the string may
    contain such a number as text.
    """
    most = 0x7F if ascii_only else 0x110000
    shown = "".join(char if _is_visible(char) and ord(char) < most else f"<U+{ord(char):04X}>" for char in text)
    return _SPACES.sub(lambda run: f"<{len(run[0])} spaces>", shown)


def _is_visible(char: str) -> bool:
    """True for a space, and for a character that has its own shape and does not combine with another."""
    return char == " " or (unicodedata.category(char)[0] in "LNPS" and char not in _BLANK)
