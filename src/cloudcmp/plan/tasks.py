"""The tasks of one launch: probes with all their parameters, their cells and expected times."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from cloudcmp.catalog import (
    METRICS,
    PROBES,
    TOOL,
    TOOLS,
    cells_of,
    command_cells,
    expected_s,
    fill,
    settings_of,
    settings_text,
)
from cloudcmp.errors import UserMistake
from cloudcmp.model.cast import BESIDE, LOOPBACK, path_key, path_of
from cloudcmp.model.command import Command
from cloudcmp.model.metric import When
from cloudcmp.model.offering import Offering
from cloudcmp.model.study import ProbeSpec

# Parameters for the amount of data or work in a cell: of several values, a short study takes the smallest.
_SIZES = ("size_bytes", "block_bytes", "record_bytes", "file_bytes", "n", "entries", "digits", "files", "transactions")
_SHORT_S = {"duration_s": 0.2, "interval_s": 0.1, "warmup_s": 0.05}
_SHORT_BYTES = {"file_bytes": 16 * 2**20, "array_bytes": 16 * 2**20}
_TOOL_STARTS_S, _INSTALL_S = 60.0, 600.0
_EMPTIES_S = 120.0
"""The longest time in which a queue is emptied before it is measured, twice: SQS refuses a second purge for 60 s."""
_BLOCKS = 4  # the least number of blocks in a short test file


@dataclass(frozen=True, slots=True)
class Task:
    """One probe with one set of parameters, run `runs` times on each launch. Seconds are those of one run.

    `becomes` is the offering to which the machine is resized, and billed as from then on.
    """

    probe: str
    params: tuple[tuple[str, str], ...]
    cells: tuple[str, ...]
    expected_s: float
    runs: int
    becomes: Offering | None = None
    own: Command | None = None

    @property
    def deadline_s(self) -> float:
        """The deadline of a run: twice the expected time, and 20 s for a machine that is slow to start it.

        One of pages has the patience that each of them has.
        One that needs an empty queue has more, because half of what its measurement leaves is for emptying it.
        A probe of the controller has the study's own deadline, and a command its own limits.
        """
        if self.own:
            return self.own.deadline_s
        params = dict(self.params)
        if self.probe == TOOL:
            return 3 * self.expected_s + _TOOL_STARTS_S + (_INSTALL_S if params["install"] == "yes" else 0.0)
        if patience_s := float(params.get("patience_s", 0)):
            return int(params["count"]) * max(float(params["interval_s"]), patience_s) + 20
        given = params.get("give_up_s")
        asks_queue = self.probe in {"queue", "propagation"} or params.get("service") == "queue"
        if asks_queue and given is None:
            return 2 * self.expected_s + 20 + _EMPTIES_S
        return 2 * self.expected_s + 20 if given is None else float(given)

    @property
    def when(self) -> When:
        """The phase of the launch in which it runs."""
        return PROBES[self.probe].when

    @property
    def by_controller(self) -> bool:
        """True if the controller measures it, without an agent."""
        return PROBES[self.probe].by_controller


def tasks_of(specs: Sequence[ProbeSpec], runs: int) -> tuple[Task, ...]:
    """The tasks of a study on one launch; raises UserMistake for several runs of a probe that runs once a launch."""
    return tuple(_task_of(spec, _runs(spec, runs)) for spec in specs)


def _task_of(spec: ProbeSpec, runs: int) -> Task:
    task = _task(spec.probe, fill(spec.probe, dict(spec.params)), runs)
    if spec.own is None:
        return task
    cells = (*task.cells, *map(str, command_cells(spec.own)))
    return replace(task, cells=cells, expected_s=spec.own.expected_s, own=spec.own)


def _runs(spec: ProbeSpec, runs: int) -> int:
    if not PROBES[spec.probe].by_controller:
        return spec.runs or runs
    if spec.runs not in {None, 1}:
        raise UserMistake.at(spec.where, f"{spec.probe} happens once a launch", "leave runs out, and raise launches")
    return 1


def _task(probe: str, filled: dict[str, str], runs: int) -> Task:
    cells = tuple(str(cell) for cell in cells_of(probe, filled))
    return Task(probe, tuple(filled.items()), cells, expected_s(probe, filled), runs)


def work_s(tasks: Sequence[Task]) -> float:
    """The expected seconds of all runs of all tasks, after the machine's arrival."""
    return sum(task.expected_s * task.runs for task in tasks if task.when is not When.ARRIVAL)


def loopback_tasks(tasks: Sequence[Task]) -> tuple[Task, ...]:
    """The tasks for a single machine: traffic between machines goes over loopback, as its cells show."""
    moved = (
        _task(task.probe, params | {path_key(params): LOOPBACK}, task.runs)
        if path_of(params := dict(task.params)) != LOOPBACK
        else task
        for task in tasks
    )
    return tuple({task.cells: task for task in moved}.values())


def short_tasks(tasks: Sequence[Task]) -> tuple[Task, ...]:
    """One short run of each task at the smallest of its sizes.

    The cells of larger sizes are left out. A parameter that is not part of a cell is reduced; one that is part of a
    cell only if it has a `short` value, which the cell then shows.
    """
    smallest: dict[tuple[object, ...], Task] = {}
    for task in tasks:
        params = dict(task.params)
        family = (task.probe, *((key, value) for key, value in _canonical(task) if not _is_size(key, value)))
        known = smallest.get(family)
        if known is None or _size(params) < _size(dict(known.params)):
            smallest[family] = task
    return tuple({task.cells: task for task in map(_short, smallest.values())}.values())


def _canonical(task: Task) -> list[tuple[str, str]]:
    """The parameters that are part of a task's cells."""
    keys = {*BESIDE, *(key for metric in PROBES[task.probe].metrics for key in METRICS[metric].params)}
    return [(key, value) for key, value in task.params if key in keys]


def _is_size(key: str, value: str) -> bool:
    return key in _SIZES and value.isdigit()


def _size(params: dict[str, str]) -> tuple[int, ...]:
    return tuple(int(params[key]) for key in _SIZES if params.get(key, "").isdigit())


def _short(task: Task) -> Task:
    """The task with less time and smaller files, if these are not part of its cells, and with its short values."""
    if task.own:
        return replace(task, runs=1)
    params = dict(task.params)
    if task.probe == TOOL:
        return _task(TOOL, params | {"settings": _short_settings(params[TOOL], params["settings"])}, 1)
    for param in PROBES[task.probe].params:
        if param.short is not None:
            params[param.name] = _shorter(params[param.name], param.short)
    fixed = {key for key, _ in _canonical(task)}
    for key, seconds in _SHORT_S.items():
        if key in params and key not in fixed:
            params[key] = f"{min(float(params[key]), seconds):g}"
    for key, size in _SHORT_BYTES.items():
        if key in params and key not in fixed:
            least = max(size, _BLOCKS * int(params.get("block_bytes", "1")))
            params[key] = str(min(least, int(params[key])) if params[key].isdigit() else least)
    return _task(task.probe, params, 1)


def _short_settings(name: str, text: str) -> str:
    """The settings of a tool, with the short value of each parameter that has one."""
    settings = settings_of(name, text)
    short = {one.name: _shorter(settings[one.name], one.short) for one in TOOLS[name].params if one.short is not None}
    return settings_text(name, settings | short)


def _shorter(value: str, short: str) -> str:
    """The smaller of two numbers; else the short value."""
    if value.isdigit() and short.isdigit():
        return str(min(int(value), int(short)))
    return short
