"""What the launches of a plan use of a service: requests, and bytes moved out of it."""

import math
from collections.abc import Sequence

from cloudcmp.catalog import METRICS, PROBES
from cloudcmp.model.metric import Reduce
from cloudcmp.model.plan import Candidate, ServiceUse
from cloudcmp.model.price import Item
from cloudcmp.plan.tasks import Task

MOST = 10
"""A service is taken to answer at most so many times as fast as it typically does."""
_OUT = frozenset({"download"})  # what is moved in is not billed by any cloud


def service_use(candidate: Candidate, tasks: Sequence[Task]) -> tuple[ServiceUse, ...]:
    """The use of one launch of a service candidate, as expected and at most; empty for a machine.

    Expected: requests of a trial's length, one after another in each of its lanes, each as long as is typical for the
    metric. At most: `MOST` times as many, until the trial's deadline. Does not count what filling a data set takes.
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
