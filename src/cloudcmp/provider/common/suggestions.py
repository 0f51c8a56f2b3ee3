"""Refusals of names in a study, with a hint."""

import difflib
from collections.abc import Iterable

from cloudcmp.errors import Refused


def nearest(name: str, known: Iterable[str], otherwise: str = "cloudcmp list offerings") -> str:
    """A hint with the most similar known name, `otherwise` if none is similar."""
    near = difflib.get_close_matches(name, list(known), n=1)
    return f"did you mean {near[0]}?" if near else otherwise


def check_system(where: str, image: str, *, windows: bool, system: str) -> None:
    """Raises Refused if the image is not of the operating system that the study names."""
    if windows is not (system == "windows"):
        own = "windows" if windows else "linux"
        raise Refused.at(where, f"the image {image} is {own}", f"write os: {own}")


def check_name(where: str, what: str, name: str, known: Iterable[str], verb: str = "there are") -> None:
    """Raises Refused with `what` for an unknown name; the hint is the nearest name, or all of them."""
    names = tuple(known)
    if name not in names:
        raise Refused.at(where, what, nearest(name, names, f"{verb} {', '.join(names)}"))
