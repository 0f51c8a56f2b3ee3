"""Strings shown whole: what is not seen as it is stands as its number."""

import re
import unicodedata

# Letters and symbols without a shape: Hangul fillers, and the empty Braille pattern.
_BLANK = "\u115f\u1160\u3164\uffa0\u2800"
_SPACES = re.compile(" {33,}")


def exact(text: str, *, ascii_only: bool = False) -> str:
    """A string whole, in which each character that is not seen as it is stands as its number, such as `<U+202E>`.

    A run of more than 32 spaces is counted, so that it pushes nothing out of sight. Not reversible: a string may hold
    such a number as text.
    """
    most = 0x7F if ascii_only else 0x110000
    shown = "".join(char if _is_seen(char) and ord(char) < most else f"<U+{ord(char):04X}>" for char in text)
    return _SPACES.sub(lambda run: f"<{len(run[0])} spaces>", shown)


def _is_seen(char: str) -> bool:
    """Whether a character has a shape of its own, joins no other one, and is not blank (but for the space)."""
    return char == " " or (unicodedata.category(char)[0] in "LNPS" and char not in _BLANK)
