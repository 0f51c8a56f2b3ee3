"""The values of a command's own metrics, parsed strictly from its output."""

import asyncio
import json
import math
import re
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from cloudcmp.execute import regex_extract
from cloudcmp.model.command import CommandMetric
from cloudcmp.model.tool import UnclearOutput
from cloudcmp.model.values import LARGEST_VALUE

_NUMBER = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?", re.ASCII)
_WALL_S = 60.0
_SHOWN = 40


async def metric_values(metrics: Sequence[CommandMetric], text: str) -> dict[str, float]:
    """The value of each metric in its unit, from a command's standard output.

    Raises UnclearOutput, with one line, for a metric that is not found, has several values, is no number, is not
    finite, or is 0 or less and not signed.
    """
    patterns = [one.regex for one in metrics if one.regex is not None]
    matches = iter(await _matches(patterns, text) if patterns else ())
    document = _document(text) if any(one.json is not None for one in metrics) else None
    numbers = {}
    for one in metrics:
        number = number_in(one, next(matches)) if one.regex is not None else number_at_path(one, document)
        numbers[one.name] = _scaled(one, number)
    return numbers


def number_in(metric: CommandMetric, texts: Sequence[str]) -> float:
    """The number that all matches agree on; raises UnclearOutput."""
    if not texts:
        raise UnclearOutput(f"{metric.name}: {metric.regex!r} is found nowhere in the output")
    odd = next((text for text in texts if not _NUMBER.fullmatch(text.strip())), None)
    if odd is not None:
        raise UnclearOutput(f"{metric.name}: {odd[:_SHOWN]!r} is not a number")
    number = float(texts[0])
    if other := next((text for text in texts if float(text) != number), None):
        raise UnclearOutput(f"{metric.name}: the output says {texts[0].strip()} and {other.strip()}")
    return number


def number_at_path(metric: CommandMetric, document: object) -> float:
    """The number at a dotted path of keys and indices; raises UnclearOutput."""
    here = document
    steps = (metric.json or "").split(".")
    for depth, step in enumerate(steps):
        if isinstance(here, dict) and step in here:
            here = here[step]
        elif isinstance(here, list) and step.isascii() and step.isdigit() and int(step[:9]) < len(here):
            here = here[int(step)]
        else:
            raise UnclearOutput(f"{metric.name}: the output has no {'.'.join(steps[: depth + 1])!r}")
    if isinstance(here, bool) or not isinstance(here, int | float):
        raise UnclearOutput(f"{metric.name}: {metric.json!r} is {str(here)[:_SHOWN]!r}, not a number")
    try:
        return float(here)
    except OverflowError:
        raise UnclearOutput(f"{metric.name}: {metric.json!r} is too large") from None


def _scaled(metric: CommandMetric, number: float) -> float:
    value = number * metric.scale
    if not math.isfinite(value):
        raise UnclearOutput(f"{metric.name}: {number:g} times {metric.scale:g} is not finite")
    if abs(value) >= LARGEST_VALUE:
        raise UnclearOutput(f"{metric.name}: {value:g} is too large")
    if not metric.signed and value <= 0:
        raise UnclearOutput(f"{metric.name}: it cannot be {value:g}; write signed: true if it can")
    return value


def _document(text: str) -> object:
    """The output as JSON; raises UnclearOutput for other text, a repeated key, and numbers that are not finite."""

    def pairs(items: list[tuple[str, object]]) -> dict[str, object]:
        fields = dict(items)
        if len(fields) != len(items):
            raise UnclearOutput("the output is JSON that holds a key twice")
        return fields

    def refuse(name: str) -> object:
        raise UnclearOutput(f"the output is JSON that holds {name}")

    try:
        document: object = json.loads(text, object_pairs_hook=pairs, parse_constant=refuse)
    except (ValueError, RecursionError) as error:
        raise UnclearOutput("the output is not one JSON document") from error
    return document


async def _matches(patterns: Sequence[str], text: str) -> list[list[str]]:
    """The matches of each pattern, by a program that is killed if it takes too long; raises UnclearOutput."""
    request = json.dumps({"text": text, "patterns": patterns}).encode()
    finder = await asyncio.create_subprocess_exec(
        sys.executable, "-I", "-S", str(Path(regex_extract.__file__)),
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL,
    )  # fmt: skip
    try:
        async with asyncio.timeout(_WALL_S):
            output, _ = await finder.communicate(request)
    except TimeoutError:
        output = b""
    finally:
        with suppress(ProcessLookupError):
            finder.kill()
        await finder.wait()
    if not output:
        raise UnclearOutput(f"an expression took more than {regex_extract.CPU_S} s in the output; write a simpler one")
    answer = json.loads(output)
    if isinstance(answer, str):
        raise UnclearOutput(f"the output cannot be searched: {answer}")
    return [[str(text) for text in texts] for texts in answer]
