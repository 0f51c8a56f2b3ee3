"""The launches and trials of a plan, in the order in which they are run."""

import hashlib
import random
from collections.abc import Sequence
from dataclasses import dataclass, replace

from cloudcmp.model.metric import When
from cloudcmp.model.plan import Candidate, Launch, PlannedTrial
from cloudcmp.plan.schedule import Round
from cloudcmp.plan.tasks import Task, work_s
from cloudcmp.plan.traffic import cast_for

_AFTERWARDS = (When.LAST, When.RELEASE)
# The seconds before a launch's first trial without a planted boot time: of a process on this machine, of an instance.
LOCAL_BOOT_S = 0.2
CLOUD_BOOT_S = 60.0


@dataclass(frozen=True, slots=True)
class RoundTasks:
    """The tasks of every round, on a launch of each candidate; launches on one host follow one another."""

    candidates: Sequence[Candidate]
    hosts: Sequence[str]
    tasks: Sequence[Sequence[Task]]

    @property
    def all_tasks(self) -> tuple[Task, ...]:
        """The tasks of all candidates, each set of cells once."""
        return tuple({task.cells: task for some in self.tasks for task in some}.values())

    def of(self, candidate: Candidate) -> Sequence[Task]:
        """The tasks of one candidate."""
        return self.tasks[candidate.index]

    @property
    def trials(self) -> int:
        """The number of trials in a round."""
        return sum(task.runs for some in self.tasks for task in some)

    def launch_s(self, candidate: Candidate) -> float:
        """The expected life of a candidate's launch."""
        return boot_s(candidate) + work_s(self.of(candidate))

    def round_s(self) -> float:
        """The length of a round: that of its busiest host."""
        busy: dict[str, float] = {}
        for candidate, host in zip(self.candidates, self.hosts, strict=True):
            busy[host] = busy.get(host, 0.0) + self.launch_s(candidate)
        return max(busy.values(), default=0.0)


def boot_s(candidate: Candidate) -> float:
    """Seconds from a launch's first request to its first trial."""
    if candidate.simulated and candidate.truth and candidate.truth.boot_s is not None:
        return candidate.truth.boot_s
    return LOCAL_BOOT_S if candidate.runner in {"local", "netns"} else CLOUD_BOOT_S


def launches_of(round_tasks: RoundTasks, rounds: Sequence[Round], seed: int) -> tuple[Launch, ...]:
    """One launch of each candidate in each round, in an order shuffled for each round."""
    launches: list[Launch] = []
    for one in rounds:
        order = list(range(len(round_tasks.candidates)))
        generator(seed, "order", one.number).shuffle(order)
        free: dict[str, float] = {}
        for number in order:
            candidate, host = round_tasks.candidates[number], round_tasks.hosts[number]
            start = free.get(host, one.start_s)
            free[host] = start + round_tasks.launch_s(candidate)
            own = seed_of(seed, "launch", candidate.index, one.number)
            launches.append(Launch(len(launches), candidate.index, one.number, one.session, start, own))
    return tuple(launches)


def trials_of(launches: Sequence[Launch], round_tasks: RoundTasks, seed: int) -> tuple[PlannedTrial, ...]:
    """Every run of every task on every launch, shuffled within the launch.

    Trials of arrival come first, those that disturb the machine after all others, those of release last.
    """
    trials: list[PlannedTrial] = []
    for launch in launches:
        candidate = round_tasks.candidates[launch.candidate]
        turns = [(task, run) for task in round_tasks.of(candidate) for run in range(task.runs)]
        order = [turn for turn in turns if turn[0].when is When.DURING]
        generator(seed, "trials", launch.index).shuffle(order)
        boots = boot_s(candidate)
        for task, run in (turn for turn in turns if turn[0].when is When.ARRIVAL):
            arriving = replace(task, expected_s=boots)
            trials.append(_trial(len(trials), candidate, launch.index, arriving, run, launch.start_s, seed))
        start = launch.start_s + boots
        for task, run in (*order, *(turn for when in _AFTERWARDS for turn in turns if turn[0].when is when)):
            trials.append(_trial(len(trials), candidate, launch.index, task, run, start, seed))
            start += task.expected_s
    return tuple(trials)


def _trial(
    index: int, candidate: Candidate, launch: int, task: Task, run: int, start_s: float, seed: int
) -> PlannedTrial:
    own = seed_of(seed, "trial", index)
    deadline_s = task.deadline_s
    return PlannedTrial(
        index,
        launch,
        task.probe,
        task.params,
        task.cells,
        run,
        start_s,
        task.expected_s,
        deadline_s,
        own,
        cast_for(candidate, task),
    )


def seed_of(*names: object) -> int:
    """A whole number below 2^48 derived from the names; JSON and SQLite keep it exactly."""
    text = "/".join(map(str, names))
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:6], "big")


def generator(*names: object) -> random.Random:
    """A random number generator seeded with the names."""
    return random.Random(seed_of(*names))
