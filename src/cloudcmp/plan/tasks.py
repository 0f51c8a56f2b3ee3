"""What is done on one launch: probes with all their parameters, the cells that they give, and how long they take."""

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
from cloudcmp.model.command import Command
from cloudcmp.model.metric import When
from cloudcmp.model.offering import Offering
from cloudcmp.model.study import ProbeSpec

# Parameters that set how much data or work a cell is about: of several values, a short study takes the smallest.
_SIZES = ("size_bytes", "block_bytes", "record_bytes", "file_bytes", "n", "entries", "digits", "files", "transactions")
_SHORT_S = {"duration_s": 0.2, "interval_s": 0.1, "warmup_s": 0.05}
_SHORT_BYTES = {"file_bytes": 16 * 2**20, "array_bytes": 16 * 2**20}
_TOOL_STARTS_S, _INSTALL_S = 60.0, 600.0
_BLOCKS = 4  # that a short test file holds at least


@dataclass(frozen=True, slots=True)
class Task:
    """One probe with one set of parameters, run `runs` times on each launch. Seconds are those of one run.

    `becomes` is what a machine is resized to, which it costs from then on.
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
        """When a run is given up: twice what is expected, and 20 s for a machine that is slow to start it.

        What the controller waits for is given up when the study says, and a command at its own limits.
        """
        if self.own:
            return self.own.deadline_s
        params = dict(self.params)
        if self.probe == TOOL:
            return 3 * self.expected_s + _TOOL_STARTS_S + (_INSTALL_S if params["install"] == "yes" else 0.0)
        given = params.get("give_up_s")
        return 2 * self.expected_s + 20 if given is None else float(given)

    @property
    def when(self) -> When:
        """When in a launch it has its turn."""
        return PROBES[self.probe].when

    @property
    def by_controller(self) -> bool:
        """Whether no agent runs it."""
        return PROBES[self.probe].by_controller


def tasks_of(specs: Sequence[ProbeSpec], runs: int) -> tuple[Task, ...]:
    """All that a study measures on one launch; raises UserMistake for several runs of what happens once a launch."""
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
    """Seconds that all runs of all tasks are expected to take, once the machine is there."""
    return sum(task.expected_s * task.runs for task in tasks if task.when is not When.ARRIVAL)


def unbuilt(tasks: Sequence[Task]) -> tuple[str, ...]:
    """The probes that only the simulated provider can answer so far, each once."""
    return tuple(dict.fromkeys(task.probe for task in tasks if not PROBES[task.probe].built))


def only_built(tasks: Sequence[Task]) -> tuple[Task, ...]:
    """The tasks that the agent can do; raises UserMistake where none is left."""
    left = tuple(task for task in tasks if PROBES[task.probe].built)
    if not left:
        what = f"the agent has none of the probes yet: {', '.join(unbuilt(tasks))}"
        raise UserMistake.at("--on local", what, "use --on simulated")
    return left


def over_loopback(tasks: Sequence[Task]) -> tuple[Task, ...]:
    """The tasks as one machine can do them: what goes between machines goes over loopback, and its cells say so."""
    moved = (
        _task(task.probe, dict(task.params) | {"path": "loopback"}, task.runs) if "path" in dict(task.params) else task
        for task in tasks
    )
    return tuple({task.cells: task for task in moved}.values())


def shortened(tasks: Sequence[Task]) -> tuple[Task, ...]:
    """One short run of each task at the smallest of its sizes.

    The cells of larger sizes are left out. What is no part of a cell's parameters is made smaller; what is, only where
    the parameter says what a short study takes, and then the cell says so.
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
    keys = {key for metric in PROBES[task.probe].metrics for key in METRICS[metric].params}
    return [(key, value) for key, value in task.params if key in keys]


def _is_size(key: str, value: str) -> bool:
    return key in _SIZES and value.isdigit()


def _size(params: dict[str, str]) -> tuple[int, ...]:
    return tuple(int(params[key]) for key in _SIZES if params.get(key, "").isdigit())


def _short(task: Task) -> Task:
    """The task with less time and smaller files, where these are no part of its cells, and with its short values."""
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


def _shorter(asked: str, short: str) -> str:
    """The smaller of two numbers; else the short value."""
    if asked.isdigit() and short.isdigit():
        return str(min(int(asked), int(short)))
    return short
