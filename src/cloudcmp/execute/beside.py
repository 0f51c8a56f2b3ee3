"""The neighbour of a trial: its job, and the evidence that it worked while the victim was measured."""

import json
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from statistics import median

from cloudcmp.catalog import cells_of
from cloudcmp.execute.cast import Agent
from cloudcmp.model.cast import INTENSITY, NEIGHBOUR, Role
from cloudcmp.model.plan import PlannedTrial
from cloudcmp.model.trial import Outcome, Sample, TrialResult

LOAD_READY_S = 20.0
"""The longest time that a neighbour may take to begin its load."""
_INTERVAL_S = 0.1
_IDLE_SHARE_MAX = 0.5  # of the victim's time; a flush of a slow disk may take this long
_LATE_S = 0.3  # an interval is reported after its end, and the controller may be busy


def load_trial(trial: PlannedTrial) -> PlannedTrial:
    """The trial of the neighbour, which is not in the plan: its load for longer than the victim can take."""
    params = dict(trial.params)
    longest_s = LOAD_READY_S + trial.deadline_s
    own = {
        "load": params[NEIGHBOUR], "threads": params[INTENSITY], "duration_s": f"{longest_s:g}",
        "interval_s": f"{_INTERVAL_S:g}",
    }  # fmt: skip
    cells = tuple(map(str, cells_of("neighbour", own)))
    return replace(
        trial, probe="neighbour", params=tuple(sorted(own.items())), cells=cells, deadline_s=longest_s + LOAD_READY_S
    )


def processors(agent: Agent, alone: bool) -> Sequence[int]:
    """The processors of an agent: on one machine, the victim has the first half and the neighbour the second.

    `alone` is true if there is no second machine. The halves are the same where the neighbour does nothing, and both
    agents share a single processor.
    """
    cpus = agent.instance.cpus
    if not alone or agent.role not in {Role.VICTIM, Role.NEIGHBOUR} or len(cpus) < 2:
        return cpus
    half = len(cpus) // 2
    return cpus[:half] if agent.role is Role.VICTIM else cpus[half:]


def with_load(result: TrialResult, load: PlannedTrial, samples: Sequence[Sample], took_s: float) -> TrialResult:
    """The victim's result, with what the neighbour did; invalid if the neighbour did not work all the time.

    `samples` are the neighbour's rates; the first of them came just before the victim began, which took `took_s`.
    """
    if result.outcome is not Outcome.OK:
        return result
    params, began_s = dict(load.params), samples[0].t_s
    until_s = began_s + took_s
    ends = [began_s, *(one.t_s for one in samples[1:] if one.t_s < until_s), until_s]
    reached_s = samples[-1].t_s
    idle_s = max(until_s - reached_s, *(after - before for before, after in pairwise(ends)))
    if idle_s > max(_LATE_S, _IDLE_SHARE_MAX * took_s):
        what = f"neighbour: its load of {params['load']} stood still for {idle_s:.1f} of {took_s:.1f} s"
        return TrialResult(Outcome.INVALID, (), what, result.facts)
    facts = json.loads(result.facts or "{}")
    rates = [one.value for one in samples[1:] if one.value is not None] or [samples[0].value or 0.0]
    facts[NEIGHBOUR] = {
        "load": params["load"], "threads": params["threads"], "op_per_s": round(median(rates), 3),
        "longest_step_s": round(idle_s, 3),
    }  # fmt: skip
    return replace(result, facts=json.dumps(facts, sort_keys=True, separators=(",", ":")))
