"""The hint after a name that is unknown."""

import difflib
from collections.abc import Iterable


def nearest(name: str, known: Iterable[str], otherwise: str = "cloudcmp list offerings") -> str:
    """A hint: the known name that is most like this one, `otherwise` where none is like it."""
    near = difflib.get_close_matches(name, list(known), n=1)
    return f"did you mean {near[0]}?" if near else otherwise
