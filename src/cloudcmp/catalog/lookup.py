"""Questions to the tables: what a probe's parameters mean, and which cells it gives."""

import difflib
import itertools
from collections.abc import Iterable, Iterator, Mapping

from cloudcmp.catalog.metrics import METRICS, PERCENTILES
from cloudcmp.catalog.probes import PROBES
from cloudcmp.catalog.suites import SUITES
from cloudcmp.errors import UserMistake
from cloudcmp.model.cell import Cell
from cloudcmp.model.metric import Param, ParamKind, Probe
from cloudcmp.units import parse_bytes, parse_rate, parse_seconds

# Start of the agent's process, its wait for a quiet machine and its own clean-up, for each trial.
_OVERHEAD_S = 0.05

# A guest whose uptime can not be read has no split: when its kernel started is not known.
_OF_UPTIME = ("provisioning_latency_s", "booting_latency_s")

# A datagram carries its number and time of sending in so many bytes; a smaller one has no jitter.
_STAMPED_BYTES = 20


def nearest(word: str, words: Iterable[str]) -> str | None:
    """The known word that looks most like a mistyped one, None where none does."""
    found = difflib.get_close_matches(word, list(words), n=1, cutoff=0.5)
    return found[0] if found else None


def hint(word: str, words: Iterable[str], listing: str) -> str:
    """What to do about an unknown word: the nearest one, and where all are listed."""
    close = nearest(word, words)
    return f"nearest: {close}; see '{listing}'" if close else f"see '{listing}'"


def probe_of(name: str) -> Probe:
    """The probe of a name; raises UserMistake that names the nearest."""
    if name not in PROBES:
        raise UserMistake.at("probe", f"unknown probe {name!r}", hint(name, PROBES, "cloudcmp list probes"))
    return PROBES[name]


def suite_of(name: str) -> tuple[tuple[str, dict[str, tuple[str, ...]]], ...]:
    """The probes of a suite, each with its parameters' values; raises UserMistake that names the nearest."""
    if name not in SUITES:
        raise UserMistake.at("suite", f"unknown suite {name!r}", hint(name, SUITES, "cloudcmp list suites"))
    return tuple((probe, dict(params)) for probe, params in SUITES[name].probes)


def _number(text: str) -> str:
    """A number in its shortest decimal form, so that equal values are equal text."""
    value = float(text)
    return str(int(value)) if value == int(value) else repr(value)


def _base_units(param: Param, text: str) -> str:
    """A parameter's value as text in base units; raises ValueError where it is not of the parameter's kind."""
    bare = text.replace(".", "", 1).isdigit() and text.isascii()
    match param.kind:
        case ParamKind.COUNT | ParamKind.THREADS:
            if not bare or float(text) != int(float(text)) or float(text) < 1:
                raise ValueError(f"{text!r} is not a whole number of at least 1")
            return _number(text)
        case ParamKind.BYTES:
            size = _number(text) if bare else str(parse_bytes(text))
            if not size.isdigit() or size == "0":
                raise ValueError(f"{text!r} is not a whole number of bytes above 0")
            return size
        case ParamKind.SECONDS:
            return _number(text) if bare else _number(repr(parse_seconds(text)))
        case ParamKind.RATE:
            return _number(text) if bare else _number(repr(parse_rate(text)))
        case ParamKind.TEXT:
            Cell.of("x", {param.name: text})
            return text
        case ParamKind.CHOICE:
            raise ValueError(f"{text!r} is none of {', '.join(param.words)}")


def canonical(probe: Probe, key: str, text: str) -> str:
    """One parameter's value as canonical text in base units; raises UserMistake with the kind that is expected."""
    params = {param.name: param for param in probe.params}
    if key not in params:
        raise UserMistake.at(
            f"probe {probe.name}", f"unknown parameter {key!r}", hint(key, params, f"cloudcmp list probes {probe.name}")
        )
    param = params[key]
    if text in param.words:
        return text
    try:
        return _base_units(param, text)
    except (ValueError, OverflowError) as error:
        words = f"; or {', '.join(param.words)}" if param.words and param.kind is not ParamKind.CHOICE else ""
        raise UserMistake.at(f"probe {probe.name}", f"{key}: {error}{words}", f"it is {param.doc}") from error
    except UserMistake as error:
        raise UserMistake.at(f"probe {probe.name}", f"{key}: {error}", f"it is {param.doc}") from error


def fill(name: str, params: Mapping[str, str]) -> dict[str, str]:
    """All parameters of a probe as canonical text in base units, sorted by name, defaults filled in.

    Raises UserMistake for an unknown probe, an unknown parameter or a value of another kind.
    """
    probe = probe_of(name)
    written = {key: canonical(probe, key, text) for key, text in params.items()}
    return {param.name: written.get(param.name, param.default) for param in sorted(probe.params, key=lambda p: p.name)}


def cells_of(name: str, params: Mapping[str, str]) -> tuple[Cell, ...]:
    """The cells that a probe gives with these parameters; a percentile metric gives one for each of 50, 95, 99."""
    return tuple(_cells(probe_of(name), fill(name, params)))


def _cells(probe: Probe, filled: Mapping[str, str]) -> Iterator[Cell]:
    for metric in map(METRICS.__getitem__, probe.metrics):
        if metric.name == "udp_jitter_s" and int(filled["size_bytes"]) < _STAMPED_BYTES:
            continue
        if metric.name in _OF_UPTIME and filled["os"] == "windows":
            continue
        known = {key: filled[key] for key in metric.params if key in filled}
        named = dict(metric.free)
        free = [key for key in metric.params if key not in filled]
        for values in itertools.product(*(named.get(key, PERCENTILES) for key in free)):
            yield Cell.of(metric.name, known | dict(zip(free, values, strict=True)))


def expected_s(name: str, filled: Mapping[str, str]) -> float:
    """Seconds that one trial is expected to take, with start and clean-up."""
    probe = probe_of(name)
    if probe.by_controller:
        return probe.typical_s
    measured = float(filled["duration_s"]) if "duration_s" in filled else probe.typical_s
    return measured + float(filled.get("warmup_s", "0")) + _OVERHEAD_S * len(probe.roles)


def once_a_launch(metric: str) -> bool:
    """Whether a metric has one value a launch by its nature: what the controller times happens once to a machine."""
    return any(probe.by_controller for probe in PROBES.values() if metric in probe.metrics)
