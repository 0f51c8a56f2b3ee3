"""Traffic between machines: casts and machines of a launch, and the duty of bulk transfers."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

from cloudcmp.model.cast import Cast, machines_of
from cloudcmp.model.plan import Candidate, Plan
from cloudcmp.model.study import Caps
from cloudcmp.plan.cast import LOOPBACK, cast_of
from cloudcmp.plan.expected_traffic import OWN_GUESTS
from cloudcmp.plan.tasks import Task
from cloudcmp.units import format_quantity, format_seconds

DUTY = 0.05
"""The share of a launch's time in which bulk may flow between machines, unless the study says otherwise."""
MACHINES = 100
"""The most machines at once unless the study says more: a typing error must not launch thousands."""
_BULK = frozenset({"tcp", "udp"})


def between_machines(task: Task) -> bool:
    """True if a task sends traffic from one machine to another."""
    return dict(task.params).get("path", LOOPBACK) != LOOPBACK


class Work(Protocol):
    """A task or a trial: a probe with its parameters."""

    @property
    def probe(self) -> str: ...

    @property
    def params(self) -> tuple[tuple[str, str], ...]: ...


def cast_for(candidate: Candidate, work: Work) -> Cast:
    """The cast of a task on a launch of a candidate. One simulated machine plays both ends of a transfer."""
    sold = candidate.offering
    return cast_of(
        work.probe, dict(work.params), sold.provider, sold.region, candidate.service, single=candidate.simulated
    )


def machines(candidate: Candidate, work: Iterable[Work]) -> int:
    """The number of machines in a launch of a candidate for this work: its count, or more if a cast has more."""
    return max([candidate.count, *(machines_of(cast_for(candidate, one)) for one in work)])


def machine_limit(plan: Plan) -> int:
    """The most machines that a study may have at once."""
    return plan.caps.machines or MACHINES


def duty(work: Iterable[tuple[str, Mapping[str, str], float]]) -> float:
    """The share of the time in which bulk flows between machines, of (probe, parameters, seconds)."""
    seconds = [
        (probe in _BULK and params.get("path", LOOPBACK) != LOOPBACK, spent_s) for probe, params, spent_s in work
    ]
    whole_s = sum(spent_s for _, spent_s in seconds)
    return sum(spent_s for bulk, spent_s in seconds if bulk) / whole_s if whole_s > 0 else 0.0


def traffic_notes(candidates: Sequence[Candidate], tasks: Sequence[Sequence[Task]], caps: Caps) -> list[str]:
    """The plan's notes on traffic: the study's own caps, and candidates with more bulk than allowed."""
    found = [f"caps of this study: {_caps_text(caps)}"] if caps != Caps() else []
    for one, some in zip(candidates, tasks, strict=True):
        share = duty((task.probe, dict(task.params), task.expected_s * task.runs) for task in some)
        found += _over(one, share, caps)
    return found


def extra_machine_notes(candidates: Sequence[Candidate], tasks: Sequence[Sequence[Task]]) -> list[str]:
    """A line for each candidate whose launches take more machines than its count."""
    found = []
    for one, some in zip(candidates, tasks, strict=True):
        needed = machines(one, some)
        if needed > one.count:
            found.append(
                f"{one.id}: each launch takes {needed} machines, for what goes between them; the cost counts both"
            )
    return found


def duty_excess(plan: Plan) -> list[str]:
    """A line for each candidate whose bulk transfers take more of a launch than the study allows."""
    found = []
    for one in plan.candidates:
        launches = {launch.index for launch in plan.launches if launch.candidate == one.index}
        trials = [trial for trial in plan.trials if trial.launch in launches]
        share = duty((trial.probe, dict(trial.params), trial.expected_s) for trial in trials)
        found += _over(one, share, plan.caps)
    return found


def _over(one: Candidate, share: float, caps: Caps) -> list[str]:
    allowed = DUTY if caps.duty is None else caps.duty
    if one.simulated or one.runner in OWN_GUESTS or share <= allowed:
        return []
    part, most = format_quantity(share, "ratio"), format_quantity(allowed, "ratio")
    return [f"{one.id}: bulk flows between machines for {part} of a launch, more than {most}"]


def _caps_text(caps: Caps) -> str:
    parts = (
        ("burst", caps.burst_s and format_seconds(caps.burst_s)),
        ("rate", caps.bytes_per_s and format_quantity(caps.bytes_per_s, "B/s")),
        ("packets", caps.packets_per_s and f"{caps.packets_per_s:g}/s"),
        ("duty", caps.duty and format_quantity(caps.duty, "ratio")),
        ("bytes", caps.bytes and format_quantity(caps.bytes, "B")),
        ("machines", caps.machines and str(caps.machines)),
    )
    return ", ".join(f"{name} {text}" for name, text in parts if text)
