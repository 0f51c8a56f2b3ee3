"""What others wrote, for lines of ours, and the hint after a name that is unknown."""

import difflib
from collections.abc import Iterable

_MOST = 200


def plain(text: str) -> str:
    """A provider's words (untrusted) in one line: no control characters, single spaces, at most 200 characters."""
    shown = "".join(letter if letter.isprintable() else " " for letter in text)
    return " ".join(shown.split())[:_MOST]


def nearest(name: str, known: Iterable[str], otherwise: str = "cloudcmp list offerings") -> str:
    """A hint: the known name that is most like this one, `otherwise` where none is like it."""
    near = difflib.get_close_matches(name, list(known), n=1)
    return f"did you mean {near[0]}?" if near else otherwise
