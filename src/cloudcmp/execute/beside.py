"""The neighbour of a trial: its jobs, and the evidence that it worked while the victim was measured."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from statistics import median

from cloudcmp.catalog import cells_of
from cloudcmp.execute.cast import Agent
from cloudcmp.model.cast import FULL_RATE, INTENSITY, LOOPBACK, NEIGHBOUR, Role, is_network_load
from cloudcmp.model.plan import PlannedTrial
from cloudcmp.model.trial import Outcome, Sample, TrialResult
from cloudcmp.plan import longest_load_s

LOAD_READY_S = 20.0
"""The longest time that a neighbour may take to begin its load."""
_INTERVAL_S = 0.1
_IDLE_SHARE_MAX = 0.5  # of the victim's time; a flush of a slow disk may take this long
_LATE_S = 0.3  # an interval is reported after its end, and the controller may be busy


def load_trial(trial: PlannedTrial, caps: Mapping[str, float], *, single: bool) -> PlannedTrial:
    """The trial of the neighbour, which is not in the plan: its load for longer than the victim can take.

    A load on the network lasts no longer than a cap on bursts allows; on a `single` machine it stays there.
    """
    params = dict(trial.params)
    longest_s = LOAD_READY_S + trial.deadline_s
    if is_network_load(params):
        probe, longest_s = "traffic", min(longest_s, longest_load_s(caps, params))
        own = {
            "rate_bytes_per_s": params[INTENSITY], "path": LOOPBACK if single else params.get("path", "zone"),
        }  # fmt: skip
    else:
        probe, own = "neighbour", {"load": params[NEIGHBOUR], "threads": params[INTENSITY]}
    own |= {"duration_s": f"{longest_s:g}", "interval_s": f"{_INTERVAL_S:g}"}
    cells = tuple(map(str, cells_of(probe, own)))
    return replace(
        trial, probe=probe, params=tuple(sorted(own.items())), cells=cells, deadline_s=longest_s + LOAD_READY_S
    )


def ends_of(load: Sequence[Agent], params: Mapping[str, str]) -> tuple[Agent, Agent]:
    """The receiving and the sending agent of a load on the network, as a server and a client."""
    neighbour, remote = sorted(load, key=lambda one: one.role is Role.REMOTE)
    receives, sends = (remote, neighbour) if params[NEIGHBOUR] == "net_out" else (neighbour, remote)
    return replace(receives, role=Role.SERVER), replace(sends, role=Role.CLIENT)


def processors(agent: Agent, alone: bool) -> Sequence[int]:
    """The processors of an agent: on one machine, the victim has the first half and the neighbour the second.

    `alone` is true if there is no second machine. The halves are the same where the neighbour does nothing, and both
    agents share a single processor.
    """
    cpus = agent.instance.cpus
    if not alone or not agent.isolated or len(cpus) < 2:
        return cpus
    half = len(cpus) // 2
    return cpus[half:] if agent.loads else cpus[:half]


def with_load(
    result: TrialResult, name: str, load: PlannedTrial, samples: Sequence[Sample], took_s: float
) -> TrialResult:
    """The victim's result, with what the neighbour did; invalid if the neighbour did not work all the time.

    `name` is the load's, `load` the neighbour's trial; `samples` are its rates, of which the first came just before the
    victim began, which took `took_s`.
    """
    if result.outcome is not Outcome.OK:
        return result
    params, began_s = dict(load.params), samples[0].t_s
    until_s = began_s + took_s
    ends = [began_s, *(one.t_s for one in samples[1:] if one.t_s < until_s and one.value), until_s]
    reached_s = samples[-1].t_s
    idle_s = max(until_s - reached_s, *(after - before for before, after in pairwise(ends)))
    if idle_s > max(_LATE_S, _IDLE_SHARE_MAX * took_s):
        what = f"neighbour: its load of {name} stood still for {idle_s:.1f} of {took_s:.1f} s"
        return TrialResult(Outcome.INVALID, (), what, result.facts)
    facts = json.loads(result.facts or "{}")
    rates = [one.value for one in samples[1:] if one.value is not None] or [samples[0].value or 0.0]
    facts[NEIGHBOUR] = {"load": name, "longest_step_s": round(idle_s, 3)}
    if load.probe == "traffic":
        asked = params["rate_bytes_per_s"]
        facts[NEIGHBOUR] |= {"rate_bytes_per_s": asked if asked == FULL_RATE else float(asked)}
        facts[NEIGHBOUR] |= {"received_bytes_per_s": round(median(rates))}
    else:
        facts[NEIGHBOUR] |= {"threads": params["threads"], "op_per_s": round(median(rates), 3)}
    return replace(result, facts=json.dumps(facts, sort_keys=True, separators=(",", ":")))
