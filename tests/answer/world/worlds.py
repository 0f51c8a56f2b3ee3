"""Small worlds to simulate."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from cloudcmp.catalog.cloudanalyst import BANDWIDTH, LATENCY
from cloudcmp.model.scenario import DataCentre, Deployment, Matrix, Scenario, Service, ServiceTimes, UserBase
from cloudcmp.model.wide_area import WideArea
from cloudcmp.study.scenario import MeasuredSources, read_scenario

SCENARIOS = Path(__file__).parents[3] / "studies" / "scenarios"
NEAR = Matrix(("here",), ("here",), ((0.010,),), "test")
WIDE = Matrix(("here",), ("here",), ((1e9,),), "test")


def no_wide_area(path: Path) -> WideArea:
    raise AssertionError(path)


def no_study(path: Path, cell: str, candidate: str | None) -> Service:
    raise AssertionError(path)


NOTHING_MEASURED = MeasuredSources(no_wide_area, no_study)


def shipped(name: str) -> Scenario:
    """A scenario of the folder studies."""
    path = SCENARIOS / f"{name}.yaml"
    return read_scenario(path.read_bytes(), path, NOTHING_MEASURED)


def queue(load: float, machines: int, **more: Any) -> Scenario:
    """Requests at random times for machines that need a second for each on average; `load` of their time is used."""
    base = UserBase("all", "here", 1000, 1000, (0.0, 0.0), load * machines * 3.6, 0, 0)
    return Scenario(
        "queue", "", (base,), (DataCentre("one", "here", machines),), NEAR, WIDE,
        Service(1.0, "test", times=ServiceTimes.EXPONENTIAL), (Deployment("one", (("one", machines),)),), **more,
    )  # fmt: skip


def twitter(**more: Any) -> Scenario:
    """Two bases and two data centres, with groups, for an hour."""
    bases = tuple(
        UserBase(name, region, peak, peak // 2, (600.0, 1800.0), 60.0, 100, 200)
        for name, region, peak in (("west", "NA", 4200), ("east", "EU", 1850))
    )
    centres = (DataCentre("US", "NA", 4), DataCentre("EU", "EU", 3))
    one = Scenario(
        "small", "", bases, centres, LATENCY, BANDWIDTH, Service(25e-5, "test"),
        (Deployment("both", (("US", 4), ("EU", 3))),), duration_s=3600.0, grouping=(250, 25),
    )  # fmt: skip
    return replace(one, **more)
