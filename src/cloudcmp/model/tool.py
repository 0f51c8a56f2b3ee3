"""Tools of other people: what they are asked, and what their output says."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from cloudcmp.model.metric import Param
from cloudcmp.model.untrusted_text import visible

Settings = Mapping[str, str]
"""The parameters of one run of a tool as canonical text, defaults filled in."""


class Unsure(Exception):
    """An output of which a reader cannot be sure what it says; one line tells where in it, and what is wrong.

    What an output holds is untrusted: letters that do not print are shown as a mark.
    """

    def __init__(self, line: str) -> None:
        super().__init__(visible(line, instead="\ufffd"))


@dataclass(frozen=True, slots=True)
class Measure:
    """One thing that a tool tells of a run: its name, and the metric (`tool_bytes_per_s`, ...) that says its unit."""

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
    """What an output says of one run of a tool.

    `told` are the settings that the output itself names, as canonical text: some of the tool's parameters, and
    perhaps others. `left` says, a line each, what is in the output and was not read.
    """

    tool: str
    version: str
    told: Settings
    readings: tuple[Reading, ...]
    left: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Reader:
    """How the output of a tool, or of several that write alike, is known and read.

    `looks_like` says whether a text is such an output, whole or not. `reports` is what it says of each run in it, in
    its order, at least one; it raises Unsure.
    """

    name: str
    doc: str
    looks_like: Callable[[str], bool]
    reports: Callable[[str], tuple[Report, ...]]


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool that runs on the measured machine, and how its output is read.

    `packages` names its package in Debian's, Fedora's and Alpine's own lists, where there is one. `command` is the line
    for a shell, run in an empty folder that is the run's own; `measures` what a run with these settings tells.
    `typical_s` is what a run is expected to take.
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

    def read(self, text: str, settings: Settings) -> tuple[Reading, ...]:
        """What the standard output of a run with these settings said: exactly its measures, each once.

        Raises Unsure where the output is not whole, names other settings, or tells of no such run or of two.
        """
        found = [one for one in self.reader.reports(text) if one.tool == self.name]
        fits = [one for one in found if not _other(one.told, settings)]
        if not found:
            raise Unsure(f"the output tells of no run of {self.name}")
        if not fits:
            raise Unsure(_other(found[0].told, settings))
        if len(fits) > 1:
            raise Unsure(f"the output tells of {len(fits)} runs of {self.name}, one was asked for")
        return tuple(_one(fits[0], measure) for measure in self.measures(settings))


def _other(told: Settings, asked: Settings) -> str:
    """The first setting that an output names otherwise than it was asked; empty where all agree."""
    for key in sorted(told.keys() & asked.keys()):
        if asked[key] not in (told[key], "all"):
            return f"the output says {key} {told[key]}, {asked[key]} was asked for"
    return ""


def _one(report: Report, measure: Measure) -> Reading:
    found = [one for one in report.readings if one.measure == measure.name]
    if len(found) != 1 or found[0].metric != measure.metric:
        times = f"{len(found)} times" if found else "nowhere"
        raise Unsure(f"the output tells {measure.name} {times}")
    return found[0]
