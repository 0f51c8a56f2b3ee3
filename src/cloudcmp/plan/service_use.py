"""The service usage of launches: requests, and bytes moved out."""

import math
from collections.abc import Sequence

from cloudcmp.catalog import METRICS, PROBES
from cloudcmp.model.metric import Reduce
from cloudcmp.model.plan import Candidate, ServiceUse
from cloudcmp.model.price import Item
from cloudcmp.plan.tasks import Task

MOST = 10
"""The assumed ratio between a service's highest and its typical speed."""
_OUT = frozenset({"download"})  # no cloud bills bytes moved in


def service_use(candidate: Candidate, tasks: Sequence[Task]) -> tuple[ServiceUse, ...]:
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
