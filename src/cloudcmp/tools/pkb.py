"""Samples of PerfKitBenchmarker: one JSON object a line, as its publisher writes them."""

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from cloudcmp.model.tool import Unsure
from cloudcmp.tools.base import BYTES, LATENCY, RATE, TIME
from cloudcmp.tools.page import once, shown, word

# A unit, as one word of small letters, that says by itself whether more or less is better.
_UNITS: dict[str, tuple[str, float]] = {
    **{f"{prefix}bit{s}/s{ec}": (BYTES, factor / 8) for prefix, factor in
       (("", 1.0), ("k", 1e3), ("m", 1e6), ("g", 1e9)) for s in ("", "s") for ec in ("", "ec")},
    **{f"{prefix}b/s{ec}": (BYTES, factor) for prefix, factor in
       (("k", 1e3), ("m", 1e6), ("g", 1e9), ("ki", 2.0**10), ("mi", 2.0**20), ("gi", 2.0**30)) for ec in ("", "ec")},
    "bytes/sec": (BYTES, 1.0), "bytes/s": (BYTES, 1.0), "bytes/second": (BYTES, 1.0),
    **{f"{what}/s{ec}": (RATE, 1.0) for what in ("ops", "operations", "requests", "transactions", "events", "queries")
       for ec in ("", "ec", "econd")},
    "tps": (RATE, 1.0), "iops": (RATE, 1.0), "qps": (RATE, 1.0),
    "ns": (LATENCY, 1e-9), "us": (LATENCY, 1e-6), "usec": (LATENCY, 1e-6), "microseconds": (LATENCY, 1e-6),
    "ms": (LATENCY, 1e-3), "msec": (LATENCY, 1e-3), "milliseconds": (LATENCY, 1e-3),
    "s": (TIME, 1.0), "sec": (TIME, 1.0), "seconds": (TIME, 1.0),
}  # fmt: skip
DECIMAL = frozenset(unit for unit in _UNITS if re.fullmatch("[kmg]b/s(ec)?", unit))
"""Units that stand for powers of ten here, and that some tools use for powers of two."""

_ENDS = ("machine_type", "zone")
_LABEL = re.compile(r"\|\[?([^|:]+):([^|]*)\|")
_PER_RUN = re.compile(r"(.*_)?(uri|uuid|id|timestamp|hostname|ip|ip_address|internal_ip|start_time|end_time)")


@dataclass(frozen=True, slots=True)
class Sample:
    """One value: of which machines, of which run, of what, when (Unix seconds). `unit` is as it was written."""

    id: str
    run: str
    provider: str
    region: str
    offering: str
    tool: str
    measure: str
    metric: str
    value: float
    unit: str
    settings: str
    time: float | None


def looks_like(line: str) -> bool:
    """Whether a line is the beginning of such samples."""
    return line.startswith("{") and all(f'"{key}"' in line for key in ("metric", "run_uri", "labels", "value", "unit"))


def sample(line: str) -> Sample | str:
    """The sample of a line, or why it is left out: its unit does not say what is better.

    Raises Unsure where the line is cut or broken, or says not which machine was measured.
    """
    try:
        told = json.loads(line, object_pairs_hook=once, parse_constant=_no_number)
    except ValueError:
        raise Unsure("this is no JSON object: the line is cut or broken") from None
    except RecursionError:
        raise Unsure("this is no sample") from None
    if not isinstance(told, dict):
        raise Unsure("this is no JSON object")
    metric, unit = _text(told, "metric"), _text(told, "unit")
    value = told.get("value")
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise Unsure(f"the value of {shown(metric)} is {shown(str(value))}, which is no number")
    known = _UNITS.get(unit.replace(" ", "").lower())
    if known is None:
        return f"{word(_text(told, 'test'))} {word(metric)} in {unit[:40] or 'no unit'}"
    if value <= 0:
        return f"{word(_text(told, 'test'))} {word(metric)} of zero or less"
    labels = _labels(_text(told, "labels"))
    return Sample(
        id=_text(told, "sample_uri") if "sample_uri" in told else "",
        run=_text(told, "run_uri"),
        provider=word(labels.get("cloud", "imported")).lower(),
        region=_pair(labels, "zone") or "",
        offering=_machine(labels),
        tool=word(_text(told, "test")),
        measure=word(metric),
        metric=known[0],
        value=value * known[1],
        unit=unit,
        settings=_settings(labels),
        time=_time(told),
    )


def _no_number(text: str) -> float:
    raise ValueError(text)


def _text(told: Mapping[str, Any], key: str) -> str:
    if not isinstance(told.get(key), str):
        raise Unsure(f"the sample has no {key}")
    return str(told[key])


def _labels(text: str) -> dict[str, str]:
    """The labels `|key:value||key:value|`; a `[` before a key, which some versions wrote, is no part of it."""
    found: dict[str, str] = {}
    for key, value in _LABEL.findall(text):
        if found.setdefault(key.strip(), value.strip()) != value.strip():
            raise Unsure(f"the label {shown(key)} is there twice")
    return found


def _pair(labels: Mapping[str, str], what: str) -> str | None:
    """What both ends of a transfer are, or one machine; `a-to-b` where they differ."""
    if labels.get(what):
        return word(labels[what])
    ends = [word(labels[f"{end}_{what}"]) for end in ("sending", "receiving") if labels.get(f"{end}_{what}")]
    if not ends:
        return None
    return ends[0] if len(set(ends)) == 1 else "-to-".join(ends)


def _machine(labels: Mapping[str, str]) -> str:
    found = _pair(labels, "machine_type")
    if found is None:
        raise Unsure("no label says the machine type")
    return found


def _settings(labels: Mapping[str, str]) -> str:
    """The labels that do not say where it ran or which run it was, as one word of a cell."""
    kept = [
        f"{word(key)}:{word(value)}"
        for key, value in sorted(labels.items())
        if key != "cloud" and not key.endswith(_ENDS) and not _PER_RUN.fullmatch(key)
    ]
    return ",".join(kept) or "untold"


def _time(told: Mapping[str, Any]) -> float | None:
    at = told.get("timestamp")
    known = isinstance(at, int | float) and not isinstance(at, bool) and 0 < at < 253402300800
    return float(at) if known and at is not None else None
