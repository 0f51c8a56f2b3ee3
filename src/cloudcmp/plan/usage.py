"""What the launches of a plan take, in quantities: machines, seconds, starts, bytes. Money is another room's."""

from collections.abc import Sequence

from cloudcmp.model.plan import LEASE_MARGIN_S, Candidate, LaunchUsage, Traffic
from cloudcmp.model.study import Caps
from cloudcmp.plan.cast import LOOPBACK
from cloudcmp.plan.expected_traffic import caps_of, expected_bytes, most_bytes
from cloudcmp.plan.service_use import service_use
from cloudcmp.plan.tasks import Task
from cloudcmp.plan.traffic import machines
from cloudcmp.plan.trials import RoundTasks

TIMER_S = 60.0
"""A machine's own timer ends it within a minute of its time to live."""


def usage_of(round_tasks: RoundTasks, rounds: int, caps: Caps) -> tuple[LaunchUsage, ...]:
    """The stays of all candidates.

    A lease is what a run asks for: all deadlines of a launch's trials and `LEASE_MARGIN_S`. Without what a resumed
    study takes anew: its interrupted launch gets a second machine.
    """
    return tuple(_stay(round_tasks, one, rounds, caps) for one in round_tasks.candidates)


def _stay(round_tasks: RoundTasks, candidate: Candidate, rounds: int, caps: Caps) -> LaunchUsage:
    tasks = round_tasks.of(candidate)
    resized = [task for task in tasks if task.becomes]
    return LaunchUsage(
        candidate=candidate.index,
        launches=rounds,
        machines=machines(candidate, tasks),
        expected_s=round_tasks.launch_s(candidate),
        worst_s=sum(task.deadline_s * task.runs for task in tasks) + LEASE_MARGIN_S + TIMER_S,
        starts=sum(task.runs for task in resized),
        becomes=tuple(task.becomes for task in resized if task.becomes),
        after_s=sum(task.expected_s * task.runs for task in resized),
        traffic=_traffic(candidate, tasks, caps),
        service=service_use(candidate, tasks),
    )


def _traffic(candidate: Candidate, tasks: Sequence[Task], caps: Caps) -> tuple[Traffic, ...]:
    """What goes between the machines of a launch, by path; nothing where they are simulated."""
    if candidate.simulated:
        return ()
    found: dict[str, Traffic] = {}
    allowed = caps_of(caps, candidate.runner)
    for task in tasks:
        params = dict(task.params)
        path = params.get("path", LOOPBACK)
        if path == LOOPBACK or task.by_controller:
            continue
        had = found.get(path, Traffic(path, 0, 0))
        expected = expected_bytes(allowed, task.probe, params, candidate) * task.runs
        most = most_bytes(allowed, task.probe, params) * task.runs
        if caps.bytes is not None:
            expected, most = min(expected, caps.bytes), min(most, caps.bytes)
        found[path] = Traffic(path, had.expected_bytes + expected, had.most_bytes + most)
    return tuple(found.values())
