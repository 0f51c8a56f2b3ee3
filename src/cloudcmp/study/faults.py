"""Collects a study file's faults, each with its line and column."""

import re
from pathlib import Path as Folder

from cloudcmp.errors import Fault, UserMistake

_UNSHOWN = re.compile(r"[^\x20-\x7e\xa0-\ud7ff\uf900-\uffef\U00010000-\U000e0fff]")
_SHOWN = 60

Path = tuple[str | int, ...]
Place = tuple[int, int]


def shown(word: object) -> str:
    """A user's text on one line, without control characters and cut to a readable length; text is quoted."""
    text = _UNSHOWN.sub("?", str(word).lower() if isinstance(word, bool) else str(word))
    text = text if len(text) <= _SHOWN else f"{text[: _SHOWN - 3]}..."
    return text if isinstance(word, (bool, int, float)) else repr(text)


def one_line(text: str) -> str:
    """An external message on one line, without control characters."""
    return _UNSHOWN.sub("?", " ".join(text.split()))[:200]


class Faults:
    """The faults of one file. Only the first at a place is kept: the rest follow from it."""

    def __init__(self, file: str) -> None:
        self._file = file
        self._found: dict[Place, Fault] = {}

    @property
    def folder(self) -> Folder:
        """The folder of the file."""
        return Folder(self._file).parent

    def add(self, place: Place, what: str, next: str) -> None:
        """Adds a fault at a line and column, both counted from 1."""
        self._found.setdefault(place, Fault(self.where(place), one_line(what), one_line(next)))

    def add_text(self, place: Place, message: str, next: str) -> None:
        """Adds a fault whose message may hold the advice after a semicolon; `next` is for those that do not."""
        what, _, advice = message.partition("; ")
        self.add(place, what, advice or next)

    def at(self, place: Place) -> bool:
        """True if a fault is known at a place."""
        return place in self._found

    def where(self, place: Place) -> str:
        """A place for people: file:line:column."""
        return f"{self._file}:{place[0]}:{place[1]}"

    def raise_any(self) -> None:
        """Raises UserMistake with all faults, in the order of the file, if there are any."""
        if self._found:
            raise UserMistake(*(fault for _, fault in sorted(self._found.items())))
