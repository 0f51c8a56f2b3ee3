"""Phoronix Test Suite: the results of all its tests on one system or several, from composite.xml or JSON; import only."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any
from xml.etree import ElementTree

from cloudcmp.model.tool import Measure, Reader, Report, UnclearOutput
from cloudcmp.tools.base import BYTES, FLOPS, INDEX, KIB, LATENCY, MIB, PENALTY, RATE, TIME, reading
from cloudcmp.tools.page import above_zero, distinct, document, entry, half_a_digit, shown, word

_VERSIONED = re.compile(r"(.+)-(\d[\w.]*)", re.ASCII)
_BARS = {"", "BAR_GRAPH", "BAR_ANALYZE_GRAPH"}
_KEYS = ("identifier", "title", "app_version", "description", "scale", "proportion", "display_format")
_PLAIN = " :,()"
"""Characters of a description that say nothing by themselves."""

# Scales, in small letters, whose unit is known; the figures of all others are comparable with themselves only.
_LOWER: dict[str, tuple[str, float]] = {
    **dict.fromkeys(("seconds", "second", "sec", "s"), (TIME, 1.0)),
    **dict.fromkeys(("ms", "milliseconds"), (LATENCY, 1e-3)),
    **dict.fromkeys(("us", "microseconds"), (LATENCY, 1e-6)),
    **dict.fromkeys(("ns", "nanoseconds"), (LATENCY, 1e-9)),
}
_HIGHER: dict[str, tuple[str, float]] = {
    **{f"{unit}{end}": (BYTES, factor)
       for unit, factor in (("byte", 1.0), ("bytes", 1.0), ("kb", 1e3), ("mb", 1e6), ("gb", 1e9), ("kib", KIB), ("mib", MIB),
                            ("gib", KIB * MIB), ("mbits", 1e6 / 8), ("gbits", 1e9 / 8))
       for end in ("/s", "/sec", "/second")},
    **{f"{prefix}{unit}": (FLOPS, factor)
       for prefix, factor in (("m", 1e6), ("g", 1e9), ("t", 1e12)) for unit in ("flops", "flop/s")},
    **{f"{what}{end}": (RATE, 1.0)
       for what in ("requests", "ops", "operations", "frames", "transactions", "queries", "iterations", "events", "nodes")
       for end in ("/s", "/sec", "/second", " per second")},
    "tps": (RATE, 1.0), "fps": (RATE, 1.0), "iops": (RATE, 1.0),
}  # fmt: skip
_SCALES = {"HIB": _HIGHER, "LIB": _LOWER}
_OTHER = {"HIB": INDEX, "LIB": PENALTY}


@dataclass(frozen=True, slots=True)
class _Entry:
    """What one system got in a test: the value that is shown, and each run's."""

    system: str
    value: str
    runs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Result:
    """A test with its unit (scale) and direction (proportion), and the entries of all systems."""

    where: str
    test: str
    version: str
    description: str
    scale: str
    proportion: str
    display: str
    entries: tuple[_Entry, ...]


def _is_xml(text: str) -> bool:
    return "<PhoronixTestSuite>" in text and "<Result>" in text


def _is_json(text: str) -> bool:
    return text.lstrip()[:1] == "{" and '"results"' in text and ('"raw_values"' in text or '"all_results"' in text)


def _reports(text: str) -> tuple[Report, ...]:
    results = list(_of_xml(text) if "<PhoronixTestSuite>" in text else _of_json(document(text)))
    reports: list[Report] = []
    left: list[str] = []
    told: set[tuple[str, ...]] = set()
    for result in results:
        if result.display not in _BARS:
            left.append(
                f"{result.where} ({word(result.test)}): {word(result.display)}, which is no bar of single values"
            )
        elif result.proportion not in _SCALES:
            left.append(f"{result.where} ({word(result.test)}): whether more or less is better is not told")
        else:
            for one in result.entries:
                key = (word(one.system), result.test, distinct(result.description, _PLAIN), result.scale)
                if key in told:
                    raise UnclearOutput(f"{result.where}: {word(result.test)} of {shown(one.system)} is told twice")
                told.add(key)
                reports += _runs(result, one)
    if not reports:
        raise UnclearOutput(left[0] if left else "the output tells of no result")
    return (replace(reports[0], unread=tuple(left)), *reports[1:])


def _runs(result: _Result, one: _Entry) -> Iterator[Report]:
    """A report of each run of a test on one system; without a value the test has failed there."""
    match = _VERSIONED.fullmatch(result.test)
    name, profile = (match[1], match[2]) if match else (result.test, "")
    settings = {"scale": word(result.scale)} | ({"profile": word(profile)} if profile else {})
    settings |= {"test": distinct(result.description, _PLAIN)} if result.description.strip() else {}
    known = _SCALES[result.proportion].get(result.scale.strip().lower())
    metric, unit = known or (_OTHER[result.proportion], 1.0)
    report = Report(word(name), word(result.version) if result.version.strip() else "", settings, ())
    report = replace(report, offering=word(one.system))
    if not one.value.strip():
        yield replace(report, failed=(Measure("result", metric),))
        return
    value = above_zero(one.value.strip(), result.where)
    runs = [above_zero(run.strip(), result.where) for run in one.runs if run.strip()]
    rounding = half_a_digit(one.value.strip()) + 1e-9 * value
    if runs and not min(runs) - rounding <= value <= max(runs) + rounding:
        raise UnclearOutput(f"{result.where}: {shown(one.value)} of {shown(one.system)} is not among its runs")
    for run in runs or [value]:
        yield replace(report, readings=(reading("result", metric, run * unit),))


def _of_xml(text: str) -> Iterator[_Result]:
    if "<!DOCTYPE" in text or "<!ENTITY" in text:
        raise UnclearOutput("the document declares types of its own, which a result of this tool never does")
    try:
        # Without declarations there are no entities, so that nothing grows and nothing is fetched.
        root = ElementTree.fromstring(text[text.find("<") :])  # noqa: S314
    except ElementTree.ParseError as error:
        raise UnclearOutput(f"line {error.position[0]}: the XML document is cut or broken") from None
    if root.tag != "PhoronixTestSuite":
        raise UnclearOutput("the document is no PhoronixTestSuite")
    for i, result in enumerate(root.findall("Result"), 1):
        where = f"result {i}"
        entries = tuple(
            _Entry(_child(one, "Identifier", where), _child(one, "Value", where), tuple(_runs_of(one)))
            for one in result.findall("Data/Entry")
        )
        if not entries:
            raise UnclearOutput(f"{where}: there is no value")
        test, title = _text(result, "Identifier"), _text(result, "Title")
        yield _Result(where, test or title or "test", _text(result, "AppVersion"), _text(result, "Description"),
                      _text(result, "Scale"), _text(result, "Proportion"), _text(result, "DisplayFormat"), entries)  # fmt: skip


def _text(of: ElementTree.Element, name: str) -> str:
    return (of.findtext(name) or "").strip()


def _child(of: ElementTree.Element, name: str, where: str) -> str:
    """The text of an element that must be there once."""
    found = of.findall(name)
    if len(found) != 1:
        raise UnclearOutput(f"{where}: an entry has {len(found)} elements {name}, one is needed")
    return (found[0].text or "").strip()


def _runs_of(one: ElementTree.Element) -> list[str]:
    text = _text(one, "RawString")
    return text.split(":") if text else []


def _of_json(output: Any) -> Iterator[_Result]:
    results = entry(output, "results")
    items = list(results.values()) if isinstance(results, dict) else results if isinstance(results, list) else []
    for i, result in enumerate(items, 1):
        where = f"result {i}"
        if isinstance(result, dict) and "units" in result and "proportion" not in result:
            raise UnclearOutput(
                f"{where}: this older kind of JSON does not say whether more or less is better: import composite.xml"
            )
        systems = entry(result, "results")
        if not isinstance(systems, dict) or not systems:
            raise UnclearOutput(f"{where}: there is no value")
        entries = tuple(_entry_of(name, one, where) for name, one in systems.items())
        name, title, version, description, scale, proportion, display = (str(result.get(key, "")) for key in _KEYS)
        yield _Result(where, name or title or "test", version, description, scale, proportion, display, entries)


def _entry_of(system: str, one: Any, where: str) -> _Entry:
    """An entry; figures that are false for PHP (an empty text, a zero) are left out by the tool."""
    if not isinstance(one, dict):
        raise UnclearOutput(f"{where}: the entry of {shown(system)} is no JSON object")
    runs = one.get("raw_values", [])
    if not isinstance(runs, list):
        raise UnclearOutput(f"{where}: raw_values is no list")
    return _Entry(system, _figure(one.get("value", "")), tuple(_figure(run) for run in runs))


def _figure(value: object) -> str:
    return value if isinstance(value, str) else repr(value)


READERS = (
    Reader(
        "phoronix",
        "composite.xml of the Phoronix Test Suite, or its result-file-to-json: each run, each system an offering",
        lambda text: _is_xml(text) or _is_json(text),
        _reports,
    ),
)
