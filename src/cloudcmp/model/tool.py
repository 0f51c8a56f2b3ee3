"""Third-party tools: how each is run, and how its output is read."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from cloudcmp.model.metric import Param
from cloudcmp.model.untrusted_text import visible

Settings = Mapping[str, str]
"""The parameters of one run of a tool as canonical text, defaults filled in."""


class UnclearOutput(Exception):
    """An output cannot be read with certainty; one line gives the place in it and the fault.

    Outputs are untrusted: characters that do not print are replaced by a mark.
    """

    def __init__(self, line: str) -> None:
        super().__init__(visible(line, instead="\ufffd"))


@dataclass(frozen=True, slots=True)
class Measure:
    """A figure that a tool reports of a run: its name, and the metric (`tool_bytes_per_s`, ...) with its unit."""

    name: str
    metric: str


@dataclass(frozen=True, slots=True)
class Reading:
    """The value of a measure, in the metric's SI unit; always finite."""

    measure: str
    value: float
    metric: str


@dataclass(frozen=True, slots=True)
class Report:
    """The contents of an output about one run of a tool.

    `settings` are those that the output itself states, as canonical text: some of the tool's parameters, and perhaps
    others. `unread` has a line for each part of the output that was not read. `failed` are the figures that the run has
    no value of because it failed. `offering` is the machine that the output itself names, empty if it names none.
    """

    tool: str
    version: str
    settings: Settings
    readings: tuple[Reading, ...]
    unread: tuple[str, ...] = ()
    failed: tuple[Measure, ...] = ()
    offering: str = ""


@dataclass(frozen=True, slots=True)
class Reader:
    """How the output of a tool, or of several with one format, is recognised and read.

    `looks_like` returns whether a text is such an output, whole or cut. `reports` returns a report of each run in it,
    in order, at least one; raises UnclearOutput.
    """

    name: str
    doc: str
    looks_like: Callable[[str], bool]
    reports: Callable[[str], tuple[Report, ...]]


@dataclass(frozen=True, slots=True)
class PairRun:
    """What a run of a tool between two machines needs besides its line, and the traffic that it makes.

    `serve` is the shell line of the second machine, which listens for the first; empty if none is needed. A run sends
    `bulk_s` seconds without a break, at `rate_bytes_per_s` or as fast as it goes; or it sends `packets`, each of which
    is answered, every `spacing_s` seconds. `packet_bytes` is the payload of one packet or datagram, 0 for a stream.
    """

    serve: str = ""
    bulk_s: float = 0.0
    rate_bytes_per_s: float = math.inf
    packet_bytes: int = 0
    packets: int = 0
    spacing_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool that runs on the measured machine, and the reader of its output.

    `packages` maps Debian, Fedora and Alpine to the name of its package there. `command` returns the shell line, which
    runs in an empty folder of its own; `measures` the figures that a run with these settings reports; `typical_s` the
    expected seconds of a run. `pair` is set for a tool between two machines: its line runs on the first, and finds the
    second one's address in `CLOUDCMP_PEER`, the port to use in `CLOUDCMP_PORT`, and the rate that the caps allow or the
    settings ask for in `CLOUDCMP_BITS_PER_S`, 0 without one.
    """

    name: str
    doc: str
    excludes: str
    packages: tuple[tuple[str, str], ...]
    params: tuple[Param, ...]
    command: Callable[[Settings], str]
    measures: Callable[[Settings], tuple[Measure, ...]]
    reader: Reader
    typical_s: Callable[[Settings], float]
    pair: Callable[[Settings], PairRun] | None = None

    def read(self, text: str, settings: Settings) -> tuple[Reading, ...]:
        """The readings in the standard output of a run with these settings: exactly its measures, each once.

        Raises UnclearOutput if the output is cut, names other settings, or reports no such run or two.
        """
        reports = [one for one in self.reader.reports(text) if one.tool == self.name]
        fits = [one for one in reports if not _difference(one.settings, settings)]
        if not reports:
            raise UnclearOutput(f"the output tells of no run of {self.name}")
        if not fits:
            raise UnclearOutput(_difference(reports[0].settings, settings))
        if len(fits) > 1:
            raise UnclearOutput(f"the output tells of {len(fits)} runs of {self.name}, one was asked for")
        return tuple(_one(fits[0], measure) for measure in self.measures(settings))


def _difference(reported: Settings, requested: Settings) -> str:
    """The first setting whose value in the output differs from the requested one, as a line; empty if all agree."""
    for key in sorted(reported.keys() & requested.keys()):
        if requested[key] not in (reported[key], "all"):
            return f"the output says {key} {reported[key]}, {requested[key]} was asked for"
    return ""


def _one(report: Report, measure: Measure) -> Reading:
    readings = [one for one in report.readings if one.measure == measure.name]
    if len(readings) != 1 or readings[0].metric != measure.metric:
        times = f"{len(readings)} times" if readings else "nowhere"
        raise UnclearOutput(f"the output tells {measure.name} {times}")
    return readings[0]
