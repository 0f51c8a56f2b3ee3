"""Samples of PerfKitBenchmarker: one JSON object per line, in its publisher's format."""

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from cloudcmp.model.tool import UnclearOutput
from cloudcmp.tools.base import BYTES, LATENCY, RATE, TIME
from cloudcmp.tools.page import once, shown, word

# A unit, as one word of small letters, that itself shows whether more or less is better.
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
    """One value with its machines, its run, its quantity and its Unix time (s); `unit` is the publisher's own text."""

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
    """True if a line is a sample or the beginning of one."""
    return line.startswith("{") and all(f'"{key}"' in line for key in ("metric", "run_uri", "labels", "value", "unit"))


def sample(line: str) -> Sample | str:
    """The sample of a line, or the reason why it is left out: its unit does not show which direction is better.

    Raises UnclearOutput if the line is cut or broken, or does not name the measured machine.
    """
    try:
        record = json.loads(line, object_pairs_hook=once, parse_constant=_no_number)
    except ValueError:
        raise UnclearOutput("this is no JSON object: the line is cut or broken") from None
    except RecursionError:
        raise UnclearOutput("this is no sample") from None
    if not isinstance(record, dict):
        raise UnclearOutput("this is no JSON object")
    metric, unit = _text(record, "metric"), _text(record, "unit")
    value = record.get("value")
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise UnclearOutput(f"the value of {shown(metric)} is {shown(str(value))}, which is no number")
    known = _UNITS.get(unit.replace(" ", "").lower())
    if known is None:
        return f"{word(_text(record, 'test'))} {word(metric)} in {unit[:40] or 'no unit'}"
    if value <= 0:
        return f"{word(_text(record, 'test'))} {word(metric)} of zero or less"
    labels = _labels(_text(record, "labels"))
    return Sample(
        id=_text(record, "sample_uri") if "sample_uri" in record else "",
        run=_text(record, "run_uri"),
        provider=word(labels.get("cloud", "imported")).lower(),
        region=_pair(labels, "zone") or "",
        offering=_machine(labels),
        tool=word(_text(record, "test")),
        measure=word(metric),
        metric=known[0],
        value=value * known[1],
        unit=unit,
        settings=_settings(labels),
        time=_time(record),
    )


def _no_number(text: str) -> float:
    raise ValueError(text)


def _text(record: Mapping[str, Any], key: str) -> str:
    if not isinstance(record.get(key), str):
        raise UnclearOutput(f"the sample has no {key}")
    return str(record[key])


def _labels(text: str) -> dict[str, str]:
    """The labels of `|key:value||key:value|`; some versions wrote a `[` before a key, which is removed."""
    labels: dict[str, str] = {}
    for key, value in _LABEL.findall(text):
        if labels.setdefault(key.strip(), value.strip()) != value.strip():
            raise UnclearOutput(f"the label {shown(key)} is there twice")
    return labels


def _pair(labels: Mapping[str, str], what: str) -> str | None:
    """The value of a label for both ends of a transfer: `a-to-b` if they differ."""
    if labels.get(what):
        return word(labels[what])
    ends = [word(labels[f"{end}_{what}"]) for end in ("sending", "receiving") if labels.get(f"{end}_{what}")]
    if not ends:
        return None
    return ends[0] if len(set(ends)) == 1 else "-to-".join(ends)


def _machine(labels: Mapping[str, str]) -> str:
    machine = _pair(labels, "machine_type")
    if machine is None:
        raise UnclearOutput("no label says the machine type")
    return machine


def _settings(labels: Mapping[str, str]) -> str:
    """The labels other than those of the place and the run, as one word of a cell."""
    kept = [
        f"{word(key)}:{word(value)}"
        for key, value in sorted(labels.items())
        if key != "cloud" and not key.endswith(_ENDS) and not _PER_RUN.fullmatch(key)
    ]
    return ",".join(kept) or "untold"


def _time(record: Mapping[str, Any]) -> float | None:
    at = record.get("timestamp")
    known = isinstance(at, int | float) and not isinstance(at, bool) and 0 < at < 253402300800
    return float(at) if known and at is not None else None
