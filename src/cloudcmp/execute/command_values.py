"""The values of a command's own metrics, read from what it printed; whatever is in doubt is no value."""

import asyncio
import json
import math
import re
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from cloudcmp.execute import regex_extract as found
from cloudcmp.model.command import Told
from cloudcmp.model.tool import Unsure
from cloudcmp.model.values import LARGEST_VALUE

_NUMBER = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?", re.ASCII)
_WALL_S = 60.0
_SHOWN = 40


async def values_of(told: Sequence[Told], text: str) -> dict[str, float]:
    """The value of each metric in its unit, from a command's standard output.

    Raises Unsure, with one line, for a metric that is not found, is found with several values, is no number, is not
    finite, or is 0 or less where it cannot be.
    """
    patterns = [one.regex for one in told if one.regex is not None]
    matches = iter(await _matches(patterns, text) if patterns else ())
    document = _document(text) if any(one.json is not None for one in told) else None
    numbers = {}
    for one in told:
        number = one_number(one, next(matches)) if one.regex is not None else at_path(one, document)
        numbers[one.name] = _scaled(one, number)
    return numbers


def one_number(told: Told, texts: Sequence[str]) -> float:
    """The one number that all matches say; raises Unsure."""
    if not texts:
        raise Unsure(f"{told.name}: {told.regex!r} is found nowhere in the output")
    odd = next((text for text in texts if not _NUMBER.fullmatch(text.strip())), None)
    if odd is not None:
        raise Unsure(f"{told.name}: {odd[:_SHOWN]!r} is not a number")
    number = float(texts[0])
    if other := next((text for text in texts if float(text) != number), None):
        raise Unsure(f"{told.name}: the output says {texts[0].strip()} and {other.strip()}")
    return number


def at_path(told: Told, document: object) -> float:
    """The number at a dotted path of keys and indices; raises Unsure."""
    here = document
    steps = (told.json or "").split(".")
    for depth, step in enumerate(steps):
        if isinstance(here, dict) and step in here:
            here = here[step]
        elif isinstance(here, list) and step.isascii() and step.isdigit() and int(step[:9]) < len(here):
            here = here[int(step)]
        else:
            raise Unsure(f"{told.name}: the output has no {'.'.join(steps[: depth + 1])!r}")
    if isinstance(here, bool) or not isinstance(here, int | float):
        raise Unsure(f"{told.name}: {told.json!r} is {str(here)[:_SHOWN]!r}, not a number")
    try:
        return float(here)
    except OverflowError:
        raise Unsure(f"{told.name}: {told.json!r} is too large") from None


def _scaled(told: Told, number: float) -> float:
    value = number * told.scale
    if not math.isfinite(value):
        raise Unsure(f"{told.name}: {number:g} times {told.scale:g} is not finite")
    if abs(value) >= LARGEST_VALUE:
        raise Unsure(f"{told.name}: {value:g} is too large")
    if not told.signed and value <= 0:
        raise Unsure(f"{told.name}: it cannot be {value:g}; write signed: true if it can")
    return value


def _document(text: str) -> object:
    """The output as JSON; raises Unsure for what is none, for a key given twice, and for what is not finite."""

    def pairs(items: list[tuple[str, object]]) -> dict[str, object]:
        fields = dict(items)
        if len(fields) != len(items):
            raise Unsure("the output is JSON that holds a key twice")
        return fields

    def refuse(name: str) -> object:
        raise Unsure(f"the output is JSON that holds {name}")

    try:
        document: object = json.loads(text, object_pairs_hook=pairs, parse_constant=refuse)
    except (ValueError, RecursionError) as error:
        raise Unsure("the output is not one JSON document") from error
    return document


async def _matches(patterns: Sequence[str], text: str) -> list[list[str]]:
    """What the patterns find, by a program that is killed where it takes too long; raises Unsure."""
    asked = json.dumps({"text": text, "patterns": patterns}).encode()
    finder = await asyncio.create_subprocess_exec(
        sys.executable, "-I", "-S", str(Path(found.__file__)),
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL,
    )  # fmt: skip
    try:
        async with asyncio.timeout(_WALL_S):
            said, _ = await finder.communicate(asked)
    except TimeoutError:
        said = b""
    finally:
        with suppress(ProcessLookupError):
            finder.kill()
        await finder.wait()
    if not said:
        raise Unsure(f"an expression took more than {found.CPU_S} s in the output; write a simpler one")
    answer = json.loads(said)
    if isinstance(answer, str):
        raise Unsure(f"the output cannot be searched: {answer}")
    return [[str(text) for text in texts] for texts in answer]
