"""Tools of other people: what they are asked, and what their output says."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from cloudcmp.model.metric import Param

Settings = Mapping[str, str]
"""The parameters of one run of a tool as canonical text, defaults filled in."""


class Unsure(Exception):
    """An output of which a reader can not be sure what it says; one line tells where in it, and what is wrong."""


@dataclass(frozen=True, slots=True)
class Measure:
    """One thing that a tool tells of a run: its name, and the metric (`tool_bytes_per_s`, ...) that says its unit."""

    name: str
    metric: str


@dataclass(frozen=True, slots=True)
class Reading:
    """The value of a measure, in the metric's SI unit."""

    measure: str
    value: float


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool that runs on the measured machine, and how its output is read.

    `packages` names its package in Debian's, Fedora's and Alpine's own lists, where there is one. `command` is the line
    for a shell, `measures` what a run with these settings tells, `read` what its standard output said: exactly those
    measures, each once, or Unsure. `typical_s` is what a run is expected to take.
    """

    name: str
    doc: str
    excludes: str
    packages: tuple[tuple[str, str], ...]
    params: tuple[Param, ...]
    command: Callable[[Settings], str]
    measures: Callable[[Settings], tuple[Measure, ...]]
    read: Callable[[str, Settings], tuple[Reading, ...]]
    typical_s: Callable[[Settings], float]
