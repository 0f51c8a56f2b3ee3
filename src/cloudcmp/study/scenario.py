"""Reads a scenario file: a world-wide service to simulate."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cloudcmp.catalog.cloudanalyst import GROUPING
from cloudcmp.errors import UserMistake
from cloudcmp.model.scenario import (
    Arrivals,
    DataCentre,
    Deployment,
    LatencyChange,
    Matrix,
    Mode,
    PublishedTable,
    Scenario,
    Search,
    Service,
    UserBase,
    Variant,
)
from cloudcmp.model.wide_area import WideArea
from cloudcmp.study import scenario_matrix as matrices
from cloudcmp.study.faults import Faults, shown
from cloudcmp.study.faults import Path as Way
from cloudcmp.study.scenario_checks import check
from cloudcmp.study.scenario_shape import (
    BaseShape,
    CentreShape,
    MatrixShape,
    MeasuredShape,
    ScenarioShape,
    SearchShape,
    VariantShape,
    WorkShape,
)
from cloudcmp.study.shape import fit
from cloudcmp.study.tree import Tree, read_tree
from cloudcmp.units import parse_rate, parse_seconds


@dataclass(frozen=True, slots=True)
class MeasuredSources:
    """How values of other files are read: the wide area of a file, and a mean time of a study's cell with its n.

    Both raise UserMistake, whose `where` may be empty; the scenario's line is added.
    """

    wide_area: Callable[[Path], WideArea]
    service: Callable[[Path, str, str | None], Service]


def read_scenario(content: bytes, path: Path, sources: MeasuredSources) -> Scenario:
    """The scenario of a file's content; `path` names it in faults, and files in it are beside it.

    Raises UserMistake with all faults, one line each, `file:line:column: what; what next`.
    """
    faults = Faults(str(path))
    tree = read_tree(content, faults, "the folder studies has examples")
    shape = None
    if isinstance(tree.data, dict):
        shape = fit(ScenarioShape, tree, tree.data, (), faults)
    elif tree.data is not None:
        faults.add((1, 1), "a scenario is made of key: value lines", "the folder studies has examples")
    if shape is None:
        faults.raise_any()
    assert shape is not None  # else there was a fault
    return _Reader(shape, tree, faults, path, sources).read()


@dataclass(frozen=True, slots=True)
class _Reader:
    """Builds a scenario from a file's shape, and collects its faults."""

    shape: ScenarioShape
    tree: Tree
    faults: Faults
    path: Path
    sources: MeasuredSources

    def read(self) -> Scenario:
        """The scenario; raises UserMistake with every fault."""
        latency, service = self._latency(), self._service()
        bandwidth = self._bandwidth(latency) if latency else None
        self.faults.raise_any()
        assert latency is not None
        assert bandwidth is not None
        assert service is not None
        check(self.shape, latency, bandwidth, self.tree, self.faults)
        self.faults.raise_any()
        return self._scenario(latency, bandwidth, service)

    def _scenario(self, latency: Matrix, bandwidth: Matrix, service: Service) -> Scenario:
        shape = self.shape
        compat = shape.compat == "cloudanalyst"
        work = shape.service if isinstance(shape.service, dict) and "mips" in shape.service else None
        grouping = (shape.grouping.users, shape.grouping.requests) if shape.grouping else GROUPING if compat else (1, 1)
        together = compat or shape.arrivals is Arrivals.TOGETHER
        return Scenario(
            name=shape.name or self.path.stem,
            question=shape.question,
            bases=tuple(map(_base, shape.user_bases)),
            centres=tuple(map(_centre, shape.data_centres)),
            latency=latency, bandwidth=bandwidth, service=service,
            deployments=tuple(_deployments(shape)),
            duration_s=shape.duration, runs=shape.runs, seed=shape.seed, mode=shape.mode,
            arrivals=Arrivals.TOGETHER if together else Arrivals.SPREAD,
            grouping=grouping if shape.mode is Mode.MESSAGES else (1, 1),
            broker=shape.broker, balancing=shape.balancing, discipline=shape.serving, cloudanalyst=compat,
            work=(float(work["instructions"]), float(work["mips"])) if work else None,
            search=_search(shape.search) if shape.search else None,
            variants=tuple(_variant(name, one) for name, one in shape.variants.items()),
            published=PublishedTable(shape.published.document, shape.published.table,
                                     tuple(shape.published.rows.items())) if shape.published else None,
        )  # fmt: skip

    def _latency(self) -> Matrix | None:
        """The latencies with their changes; None after a fault."""
        value, place = self.shape.latency, self.tree.place(("latency",))
        if value == matrices.BUILT_IN:
            return matrices.built_in_latency()
        shape = self._fit(
            MatrixShape, value, ("latency",), "write latency: cloudanalyst, or {csv: FILE} or {wan: FILE}"
        )
        if shape is None:
            return None
        if shape.csv and shape.wan:
            self.faults.add(place, "latency has both csv and wan", "keep one")
            return None
        try:
            if shape.wan:
                found = matrices.of_wide_area(self.sources.wide_area(self._beside(shape.wan)))
            elif shape.csv:
                found = matrices.latency_table(self._beside(shape.csv))
            else:
                found = matrices.built_in_latency()
        except UserMistake as error:
            self._take(error, ("latency",))
            return None
        return found.changed(tuple(LatencyChange(places, seconds) for places, seconds in shape.change or ()))

    def _bandwidth(self, latency: Matrix) -> Matrix | None:
        """The bandwidths; None after a fault."""
        value, way = self.shape.bandwidth, ("bandwidth",)
        advice = "write bandwidth: 100 Mbit/s, or {csv: FILE}"
        if value == matrices.BUILT_IN or (value is None and latency.rows == matrices.built_in_latency().rows):
            return matrices.built_in_bandwidth()
        try:
            if isinstance(value, str):
                return matrices.uniform(_rate(value), latency)
            if isinstance(value, dict) and set(value) == {"csv"}:
                return matrices.bandwidth_table(self._beside(str(value["csv"])))
        except UserMistake as error:
            self._take(error, way)
        except ValueError as error:
            self.faults.add_text(self.tree.place(way), f"bandwidth: {error}", advice)
        else:
            what = f"{shown(value)} is no bandwidth" if value else "missing; CloudAnalyst's is of other places"
            self.faults.add(self.tree.place(way), f"bandwidth: {what}", advice)
        return None

    def _service(self) -> Service | None:
        """The mean processor time of a request: given, from its work, or measured."""
        value, times = self.shape.service, self.shape.service_times
        advice = "write service: 25 ms, {instructions: 250, mips: 10000} or {study: DIR, cell: CELL}"
        if isinstance(value, str):
            try:
                seconds = parse_seconds(value)
            except ValueError as error:
                self.faults.add_text(self.tree.place(("service",)), f"service: {error}", advice)
                return None
            if not 0 < seconds <= 3600:
                what = f"service: {shown(value)} is not between 0 and an hour"
                self.faults.add(self.tree.place(("service",)), what, advice)
                return None
            return Service(seconds, "as given", times=times)
        if isinstance(value, dict) and "study" in value:
            return self._measured(value)
        work = self._fit(WorkShape, value, ("service",), advice)
        if work is None:
            return None
        # CloudAnalyst takes a machine of so many MIPS to do that many instructions in a millisecond.
        per_s = work.mips * (1e3 if self.shape.compat == "cloudanalyst" else 1e6)
        return Service(
            work.instructions / per_s, f"{work.instructions:g} instructions at {work.mips:g} MIPS", times=times
        )

    def _measured(self, value: Any) -> Service | None:
        shape = fit(MeasuredShape, self.tree, value, ("service",), self.faults)
        if shape is None:
            return None
        try:
            found = self.sources.service(self._beside(shape.study), shape.cell, shape.candidate)
        except UserMistake as error:
            self._take(error, ("service",))
            return None
        return Service(found.seconds, found.source, found.n, self.shape.service_times)

    def _fit(self, shape: type[Any], value: Any, way: Way, advice: str) -> Any:
        """A mapping in a shape; None after a fault."""
        if isinstance(value, dict):
            return fit(shape, self.tree, value, way, self.faults)
        self.faults.add(self.tree.place(way), f"{way[-1]}: {shown(value)} is not known", advice)
        return None

    def _take(self, error: UserMistake, way: Way) -> None:
        """Add the first fault of another file at the line that names it."""
        first = error.faults[0]
        more = f" (and {len(error.faults) - 1} more faults)" if len(error.faults) > 1 else ""
        where = f"{first.where}: " if first.where else ""
        self.faults.add(self.tree.place(way), f"{where}{first.what}{more}", first.next)

    def _beside(self, name: str) -> Path:
        return self.path.parent / name


def _rate(text: str) -> float:
    """Bytes per second, above zero; raises ValueError."""
    rate = parse_rate(text)
    if rate <= 0:
        raise ValueError(f"{shown(text)} is not more than zero")
    return rate


def _base(one: BaseShape) -> UserBase:
    peak, off_peak = one.users
    response = one.request if one.response is None else one.response
    hours = one.peak or (0.0, 0.0)
    return UserBase(one.name, one.region, peak, off_peak, hours, one.requests_per_hour, one.request, response)


def _centre(one: CentreShape) -> DataCentre:
    return DataCentre(one.name, one.region, one.machines, one.hosts, one.processors, one.price, one.transfer)


def _deployments(shape: ScenarioShape) -> Iterator[Deployment]:
    """Yield the deployments of a file; without any, one of all data centres."""
    if shape.deployments is None:
        yield Deployment("all", tuple((one.name, one.machines) for one in shape.data_centres))
    for name, machines in (shape.deployments or {}).items():
        yield Deployment(name, tuple(machines.items()))


def _search(one: SearchShape) -> Search:
    return Search(one.choose, one.target, one.share, one.at == "each base", one.budget)


def _variant(name: str, one: VariantShape) -> Variant:
    changes = tuple(LatencyChange(places, seconds) for places, seconds in one.latency or ())
    return Variant(name, one.why, changes, tuple(one.peak.items()), one.compat == "none",
                   tuple(one.deployments))  # fmt: skip
