"""Parses a study file's bytes into plain data with the line and column of every part.

The accepted language is a small part of YAML 1.2: one document of mappings, lists and scalars. Tags, anchors, aliases,
merge keys and repeated keys are refused, because each can make a file mean something other than it shows.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NoReturn

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError
from ruamel.yaml.events import (
    AliasEvent,
    CollectionStartEvent,
    DocumentStartEvent,
    Event,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
)

from cloudcmp.study.faults import Faults, Path, Place, shown

MAX_BYTES = 2**20
MAX_DEPTH = 20
# Far beyond a handwritten study; they keep the time for a hostile file well under a second. Candidates may be written
# by a program: a thousand of them, each with a volume and a price, have 17,000 values.
MAX_VALUES = 10_000
MAX_VALUES_OF = {"candidates": 25_000}
MAX_LINES = 20_000
MAX_LINE = 4_000

# The path element of things that are not a value: a key itself, and a repeated key's second value.
_NOWHERE = -1
_REFUSED = re.compile("[^\t\n\r\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]")
# The parser looks a thousand characters ahead for the end of each of these, so they are refused before parsing.
_BRACKETS = re.compile(rf"(?:[\[{{]\s*){{{MAX_DEPTH + 1}}}")
_INTEGER = re.compile(r"[-+]?[0-9]{1,18}")
_NUMBER = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_WORDS: dict[str, bool | None] = {
    "": None, "~": None, "null": None, "Null": None, "NULL": None,
    "true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False,
}  # fmt: skip


class _StopReading(Exception):
    """Reading cannot continue; the fault is already added."""


@dataclass(slots=True)
class Tree:
    """Data with the place of every value and of every mapping's keys, both by their path from the top."""

    data: Any = None
    values: dict[Path, Place] = field(default_factory=dict)
    keys: dict[Path, Place] = field(default_factory=dict)

    def place(self, path: Path) -> Place:
        """The place of a value, or of the nearest part around it."""
        while path not in self.values and path:
            path = path[:-1]
        return self.values.get(path, (1, 1))

    def key(self, path: Path) -> Place:
        """The place of a key, or of the nearest part around it."""
        return self.keys.get(path) or self.place(path)


def read_tree(content: bytes, faults: Faults, empty: str = "write a study; 'cloudcmp start' writes one") -> Tree:
    """The data of a file's bytes; adds faults to `faults` and reads on; `empty` advises about an empty file."""
    tree = Tree()
    try:
        text = _text(content, faults)
        _Reader(text, faults, tree, empty).read()
    except _StopReading:
        tree.data = None
    return tree


def _text(content: bytes, faults: Faults) -> str:
    """The characters of a file, after checking size, encoding, characters and line lengths."""
    if len(content) > MAX_BYTES:
        _refuse(faults, (1, 1), f"the file is larger than {MAX_BYTES} bytes", "a study needs a few kilobytes")
    try:
        text = content.decode("utf-8").removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        before = content[: error.start].decode("utf-8")
        _refuse(faults, _place_after(before), "this byte is not UTF-8", "save the file as UTF-8 text")
    if match := _REFUSED.search(text):
        what = f"the character U+{ord(match[0]):04X} does not belong into a study file"
        _refuse(faults, _place_after(text[: match.start()]), what, "remove it")
    for number, line in enumerate(text.split("\n"), 1):
        if number > MAX_LINES:
            _refuse(faults, (number, 1), f"more than {MAX_LINES} lines", "split the study")
        if len(line) > MAX_LINE:
            what = f"the line is longer than {MAX_LINE} characters"
            _refuse(faults, (number, MAX_LINE + 1), what, "break it into several lines")
    if match := _BRACKETS.search(text):
        place = _place_after(text[: match.end()])
        _refuse(faults, place, f"nested deeper than {MAX_DEPTH} levels", "a study needs five")
    return text


def _place_after(text: str) -> Place:
    return text.count("\n") + 1, len(text) - text.rfind("\n")


def _refuse(faults: Faults, place: Place, what: str, next: str) -> NoReturn:
    faults.add(place, what, next)
    raise _StopReading


class _Reader:
    """Builds a tree from the parser's events, so that every part is checked before it is built."""

    def __init__(self, text: str, faults: Faults, tree: Tree, empty: str) -> None:
        self._faults = faults
        self._tree = tree
        self._empty = empty
        self._last: Place = (1, 1)
        self._counts: dict[object, int] = {}
        self._events = self._parse(text)

    def _parse(self, text: str) -> Iterator[Event]:
        """The parser's events; any error of the parser becomes one fault."""
        try:
            for event in YAML(typ="safe", pure=True).parse(text):
                self._last = (event.start_mark.line + 1, event.start_mark.column + 1)
                yield event
        except MarkedYAMLError as error:
            mark = error.problem_mark or error.context_mark
            place = (mark.line + 1, mark.column + 1) if mark else self._last
            problem = (error.problem or error.context or "the text cannot be read").replace("; ", ", ")
            _refuse(self._faults, place, f"not YAML: {problem}", "correct the line, or the one before it")
        except (ValueError, TypeError, LookupError, OverflowError, AttributeError, AssertionError, RecursionError):
            # The parser raises these for a few malformed escapes and directives; hypothesis found them.
            _refuse(self._faults, self._last, "not YAML: the text cannot be read", "correct the line, or the next one")

    def read(self) -> None:
        """Fills the tree from the single document."""
        documents = 0
        for event in self._events:
            if isinstance(event, DocumentStartEvent):
                documents += 1
                if documents > 1:
                    _refuse(self._faults, self._last, "a second document begins here", "keep one study in a file")
                if event.tags or event.version not in {None, (1, 2)}:
                    self._faults.add(self._last, "directives are not allowed", "remove the line that begins with %")
            elif isinstance(event, (ScalarEvent, CollectionStartEvent, AliasEvent)):
                self._tree.data = self._value(event, ())
        if self._tree.data is None and not self._faults.at((1, 1)):
            _refuse(self._faults, (1, 1), "the file is empty", self._empty)

    def _value(self, event: Any, path: Path) -> Any:
        """The value that begins with an event; records its place."""
        place = self._last
        self._tree.values[path] = place
        part = path[0] if path and path[0] in MAX_VALUES_OF else None
        self._counts[part] = self._counts.get(part, 0) + 1
        most = MAX_VALUES_OF.get(str(part), MAX_VALUES)
        if self._counts[part] > most:
            where = f" in {part}" if part else ""
            _refuse(self._faults, place, f"more than {most} values{where}", "split the study")
        if len(path) > MAX_DEPTH:
            _refuse(self._faults, place, f"nested deeper than {MAX_DEPTH} levels", "a study needs five")
        if isinstance(event, AliasEvent):
            self._faults.add(place, "aliases are not allowed", "write the value out")
            return None
        if event.anchor is not None:
            self._faults.add(place, f"anchors are not allowed: {shown('&' + event.anchor)}", "remove it")
        if event.tag is not None:
            self._faults.add(place, f"tags are not allowed: {shown(event.tag)}", "remove it, or quote the text")
        if isinstance(event, ScalarEvent):
            return _scalar(event)
        return self._mapping(path) if isinstance(event, MappingStartEvent) else self._list(path)

    def _list(self, path: Path) -> list[Any]:
        values: list[Any] = []
        for event in self._events:
            if isinstance(event, SequenceEndEvent):
                break
            values.append(self._value(event, (*path, len(values))))
        return values

    def _mapping(self, path: Path) -> dict[str, Any]:
        values: dict[str, Any] = {}
        for event in self._events:
            if isinstance(event, MappingEndEvent):
                break
            place, key = self._last, self._key(event, path)
            if key in values:
                first = self._tree.keys[(*path, key)]
                what = f"the key {shown(key)} was given before"
                self._faults.add(place, what, f"keep one, the first is in line {first[0]}")
                self._value(next(self._events), (*path, _NOWHERE))
                continue
            self._tree.keys[(*path, key)] = place
            values[key] = self._value(next(self._events), (*path, key))
        return values

    def _key(self, event: Any, path: Path) -> str:
        """The text of a key, which is always a plain word."""
        place = self._last
        value = self._value(event, (*path, _NOWHERE))
        if not isinstance(event, ScalarEvent):
            self._faults.add(place, "a key must be a word", "write key: value")
            return f"line {place[0]} column {place[1]}"
        if event.value == "<<" and not event.style:
            self._faults.add(place, "merge keys are not allowed", "write the keys out")
        return str(event.value) if value is None or not isinstance(value, str) else value


def _scalar(event: ScalarEvent) -> str | int | float | bool | None:
    """A scalar by the core rules of YAML 1.2: quoted text stays text."""
    text = event.value
    if event.style:
        return str(text)
    if text in _WORDS:
        return _WORDS[text]
    if _INTEGER.fullmatch(text):
        return int(text)
    if _NUMBER.fullmatch(text):
        return float(text)
    return str(text)
