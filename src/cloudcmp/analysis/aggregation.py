"""The plan's order of aggregation: runs to a launch, launches to a session, sessions to the candidate."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from cloudcmp.model.plan import Plan, steps_of
from cloudcmp.stats import describe

_STEPS = {"median": describe.median, "mean": describe.mean}


def value_in_order(plan: Plan, launch_values: npt.NDArray[np.float64], sessions: Sequence[str | None]) -> float:
    """The candidate's value: each session's launches reduced by the plan's step, then the sessions by theirs.

    `launch_values` has shape (n,), n >= 1, `sessions` names each one's session (None: all are one session).
    """
    _, launch, session = steps_of(plan)
    names = dict.fromkeys(sessions)
    if len(names) == 1:
        return _STEPS[launch](launch_values)
    owner = np.array([list(names).index(name) for name in sessions])
    return _STEPS[session]([_STEPS[launch](launch_values[owner == at]) for at in range(len(names))])
