"""The usage of a plan's launches in quantities: machines, seconds, starts, bytes, requests; `cost` adds the money."""

import math
from collections.abc import Sequence

from cloudcmp.catalog import METRICS, PROBES
from cloudcmp.model.metric import Reduce
from cloudcmp.model.plan import LEASE_MARGIN_S, Candidate, LaunchUsage, ServiceUse, Traffic
from cloudcmp.model.price import Item
from cloudcmp.model.study import Caps
from cloudcmp.plan.cast import LOOPBACK
from cloudcmp.plan.expected_traffic import caps_of, expected_bytes, most_bytes
from cloudcmp.plan.tasks import Task
from cloudcmp.plan.traffic import machines
from cloudcmp.plan.trials import RoundTasks

TIMER_S = 60.0
"""The longest delay of a machine's own timer after its time to live."""
MOST = 10
"""The assumed ratio between a service's highest and its typical speed."""
_OUT = frozenset({"download"})  # no cloud bills bytes moved in


def usage_of(round_tasks: RoundTasks, rounds: int, caps: Caps) -> tuple[LaunchUsage, ...]:
    """The usage of each candidate's launches.

    A lease is the one that a run requests: all deadlines of a launch's trials and `LEASE_MARGIN_S`. Does not count the
    second machine of an interrupted launch when a study is resumed.
    """
    return tuple(_launch_usage(round_tasks, one, rounds, caps) for one in round_tasks.candidates)


def _launch_usage(round_tasks: RoundTasks, candidate: Candidate, rounds: int, caps: Caps) -> LaunchUsage:
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
        service=_service_use(candidate, tasks),
    )


def _traffic(candidate: Candidate, tasks: Sequence[Task], caps: Caps) -> tuple[Traffic, ...]:
    """The traffic between the machines of a launch, by path; empty if they are simulated."""
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


def _service_use(candidate: Candidate, tasks: Sequence[Task]) -> tuple[ServiceUse, ...]:
    """The use of one launch of a service candidate, as expected and at most; empty for a machine.

    Expected: requests during a trial, one after another in each of its lanes, each with the metric's typical latency.
    At most: `MOST` times as many, until the trial's deadline. Does not count the requests that fill a data set.
    """
    if candidate.service is None:
        return ()
    requests = [(task, _requests(task)) for task in tasks]
    moved = [(task, count) for task, count in requests if dict(task.params).get("op") in _OUT]
    found = [
        ServiceUse(
            item, sum(_whole(task, count) for task, count in some), sum(_most(task, count) for task, count in some)
        )
        for item, some in (
            (Item.REQUEST, requests),
            (Item.EGRESS, [(task, count * int(dict(task.params)["size_bytes"])) for task, count in moved]),
        )
    ]
    return tuple(one for one in found if one.most)


def _requests(task: Task) -> float:
    """Requests a second of a trial, at the typical latency of its metric."""
    latency = next(METRICS[name] for name in PROBES[task.probe].metrics if METRICS[name].reduce is not Reduce.TOTAL)
    return int(dict(task.params).get("concurrency", "1")) / latency.typical


def _whole(task: Task, per_s: float) -> int:
    return math.ceil(per_s * task.expected_s * task.runs)


def _most(task: Task, per_s: float) -> int:
    return math.ceil(MOST * per_s * task.deadline_s * task.runs)
