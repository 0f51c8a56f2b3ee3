"""The planted truth of simulated candidates: the study's own values, and plausible ones for the rest."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

from cloudcmp.catalog import METRICS
from cloudcmp.model.cast import BESIDE
from cloudcmp.model.cell import Cell
from cloudcmp.model.metric import Better, Group, Metric, Reduce
from cloudcmp.model.offering import CellTruth, Truth
from cloudcmp.model.plan import Candidate
from cloudcmp.model.wide_area import VantagePoint
from cloudcmp.plan.candidate_tasks import system_of
from cloudcmp.plan.service_truth import of_a_service
from cloudcmp.plan.trials import generator
from cloudcmp.plan.truth_draws import APART, PlantedCell, best, drawn_spreads, planted, tail, without
from cloudcmp.plan.wide_area_truth import Ways

_BOOT_S = (20.0, 90.0)
SCALING = "scaling_latency_s"
_SPLIT = ("provisioning_latency_s", "booting_latency_s")
# Ranges of shares: provisioning of the wait, the API's answer and "running" of provisioning, reachable of the boot.
_SHARES = ((0.35, 0.75), (0.02, 0.1), (0.8, 1.0), (0.5, 0.95))
_STEPS = (*_SPLIT, "api_latency_s", "running_latency_s", "reachable_latency_s")
# The speedup of n threads on n processors, as a power of n: efficiency stays below 1.
_SCALING = (0.88, 0.98)
# Ratios that are never above, or never below, one: their distance from it is drawn.
_UP_TO_ONE, _FROM_ONE = "fairness_ratio", "straggler_ratio"
_DISK_OPS, _DISK_BYTES, _DISK_LATENCY = "disk_op_per_s", "disk_bytes_per_s", "disk_latency_s"


def with_truth(
    candidates: Sequence[Candidate], cells: Sequence[str], seed: int, metrics: Mapping[str, Metric] = METRICS,
    vantages: Sequence[VantagePoint] = (),
) -> tuple[Candidate, ...]:  # fmt: skip
    """The candidates; simulated ones get a boot time, and a truth in every cell of the plan that they can have.

    The study's own values are kept; the text with most of a cell's parameters counts. For a percentile metric, a text
    without `percentile` plants the median, and the tail is drawn once for all candidates, so that equal planted values
    give equal truths. All other draws depend on (seed, candidate, cell) only; times of the wide area follow from the
    distance to one of `vantages`.
    """
    parsed = [Cell.parse(text) for text in cells]
    return tuple(
        _with_truth(candidate, parsed, seed, metrics, vantages) if candidate.simulated else candidate
        for candidate in candidates
    )


def _with_truth(
    candidate: Candidate, cells: Sequence[Cell], seed: int, metrics: Mapping[str, Metric],
    vantages: Sequence[VantagePoint],
) -> Candidate:  # fmt: skip
    given = candidate.truth or Truth()
    # By its index, not by its id: a study on another stand-in plants equal values.
    written = [PlantedCell(Cell.parse(text), truth) for text, truth in given.cells]
    boot_s = given.boot_s if given.boot_s is not None else _boot_s(candidate, cells, written, seed)
    afar = Ways(candidate, vantages, written, seed)
    drawn = tuple(
        (str(cell), afar.truth(cell) or _truth(candidate, metrics[cell.metric], cell, written, boot_s, seed))
        for cell in cells
        if not afar.lacks(cell)
    )
    return replace(candidate, truth=Truth(drawn, boot_s, given.faults))


def _boot_s(candidate: Candidate, cells: Sequence[Cell], written: Sequence[PlantedCell], seed: int) -> float:
    """The boot time of the candidate's machines: the planted scaling latency, else a drawn one."""
    own = {"count": str(candidate.count), "os": system_of(candidate)}
    wholes = (_whole(cell, written) for cell in cells if cell.metric == SCALING and dict(cell.params) == own)
    drawn = round(generator(seed, "boot", candidate.index).uniform(*_BOOT_S), 1)
    return next((truth.mean for truth in wholes if truth is not None), drawn)


def _truth(
    candidate: Candidate, metric: Metric, cell: Cell, written: Sequence[PlantedCell], boot_s: float, seed: int
) -> CellTruth:
    """The truth of one cell; a neighbour takes nothing from its victim unless the study plants it."""
    known = best(cell, written)
    if known is None:
        cell = without(cell, *BESIDE)
    if known is None and cell.metric in (SCALING, *_STEPS):
        return _step(candidate, cell, written, boot_s, seed)
    if known is None:
        return (
            _of_the_same_disk(candidate, cell, written, seed)
            or of_a_service(candidate.index, cell, written, seed)
            or _beside_one(candidate, metric, cell, seed)
            or _drawn(candidate, metric, cell, written, seed)
        )
    if metric.reduce is Reduce.PERCENTILE and known.cell.get("percentile") is None:
        return replace(known.truth, mean=known.truth.mean * tail("all", cell, seed))
    return known.truth


def _beside_one(candidate: Candidate, metric: Metric, cell: Cell, seed: int) -> CellTruth | None:
    """The truth of a ratio that stays on one side of 1; None for any other cell. Its spread is that of the distance."""
    if metric.name not in (_UP_TO_ONE, _FROM_ONE):
        return None
    own = generator(seed, "truth of one", candidate.index, cell)
    distance = abs(metric.typical - 1.0) * math.exp(own.gauss(0.0, APART))
    cov, between = (one * distance for one in drawn_spreads(seed, candidate.index, cell))
    mean = 1.0 - distance if metric.name == _UP_TO_ONE else 1.0 + distance
    return CellTruth(float(f"{mean:.4g}"), cov, between)


def _of_the_same_disk(candidate: Candidate, cell: Cell, written: Sequence[PlantedCell], seed: int) -> CellTruth | None:
    """The truth of a disk's bytes or latency, which follows from its operations a second; None for any other cell."""
    if cell.metric not in (_DISK_BYTES, _DISK_LATENCY):
        return None
    ops = Cell(_DISK_OPS, tuple(pair for pair in cell.params if pair[0] != "percentile"))
    known = best(ops, written)
    truth = known.truth if known else _drawn(candidate, METRICS[_DISK_OPS], ops, written, seed)
    if cell.metric == _DISK_BYTES:
        return replace(truth, mean=float(f"{truth.mean * float(cell.get('block_bytes') or 1):.4g}"))
    at_once = float(cell.get("depth") or 1) * _threads(cell, candidate.offering.vcpus)
    return replace(truth, mean=float(f"{at_once / truth.mean * tail(candidate.index, cell, seed):.4g}"))


def _whole(cell: Cell, written: Sequence[PlantedCell]) -> CellTruth | None:
    """The planted scaling latency of a machine, as a whole or as the sum of its two parts."""
    whole, first, second = (planted(Cell(name, cell.params), written) for name in (SCALING, *_SPLIT))
    if whole is None and first is not None and second is not None:
        return replace(first, mean=first.mean + second.mean)
    return whole


def _step(candidate: Candidate, cell: Cell, written: Sequence[PlantedCell], boot_s: float, seed: int) -> CellTruth:
    """The truth of one step of a machine's arrival: the whole takes the boot time, and its parts add up to it."""
    whole = _whole(cell, written)
    if whole is None:
        drawn = _drawn(candidate, METRICS[SCALING], Cell(SCALING, cell.params), (), seed)
        whole = replace(drawn, mean=boot_s)
    draw = generator(seed, "steps", candidate.index)
    share, api, running, reached = (draw.uniform(*ends) for ends in _SHARES)
    first, second = (planted(Cell(name, cell.params), written) for name in _SPLIT)
    before_s = first.mean if first else whole.mean - second.mean if second else whole.mean * share
    before_s = before_s if 0.0 < before_s < whole.mean else whole.mean * share
    means = {
        SCALING: whole.mean,
        _SPLIT[0]: before_s,
        _SPLIT[1]: whole.mean - before_s,
        "api_latency_s": before_s * api,
        "running_latency_s": before_s * running,
        "reachable_latency_s": before_s + (whole.mean - before_s) * reached,
    }
    return replace(whole, mean=means[cell.metric])


def _drawn(candidate: Candidate, metric: Metric, cell: Cell, written: Sequence[PlantedCell], seed: int) -> CellTruth:
    """A plausible truth around the metric's typical magnitude, or of other threads than those that are planted.

    One candidate has one truth for all numbers of threads: its speed-up is a power of their number.
    """
    series = without(cell, "percentile")
    own = generator(seed, "truth of one", candidate.index, without(series, "threads"))
    mean = metric.typical * math.exp(own.gauss(0.0, APART))
    cov, between = drawn_spreads(seed, candidate.index, series)
    if metric.group is Group.COMPUTE and metric.better is Better.HIGHER:
        scaling, threads = own.uniform(*_SCALING), _threads(cell, candidate.offering.vcpus)
        other = best(without(cell, "threads"), [replace(one, cell=without(one.cell, "threads")) for one in written])
        if other is not None and cell.get("threads"):
            written_cell = next(one.cell for one in written if one.truth is other.truth)
            mean, threads = other.truth.mean, threads / _threads(written_cell, candidate.offering.vcpus)
        mean *= threads**scaling
    if metric.reduce is Reduce.PERCENTILE:
        mean *= tail(candidate.index, cell, seed)
    return CellTruth(float(f"{mean:.4g}"), cov, between)


def _threads(cell: Cell, vcpus: float | None) -> float:
    """The number of processors that a cell's threads keep busy."""
    most = max(1.0, vcpus or 1.0)
    threads = cell.get("threads")
    return most if threads == "all" else min(most, float(threads)) if threads and threads.isdigit() else 1.0
