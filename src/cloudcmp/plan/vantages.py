"""The vantage points of a plan: the machines that they are, and what keeps endpoints from being seen from them."""

from collections.abc import Sequence

from cloudcmp.catalog import PROBES
from cloudcmp.errors import Fault
from cloudcmp.model.cast import Machine, Role, Vantage
from cloudcmp.model.plan import Candidate, Plan, PlannedTrial, PlannedVantage
from cloudcmp.model.study import CandidateSpec, VantageSpec
from cloudcmp.model.wide_area import VantagePoint
from cloudcmp.plan.candidates import LOCAL, SIMULATED, OfferingsOf, resolve
from cloudcmp.plan.tasks import Task

HERE = "here"
"""The name of this machine as a vantage point, which no study needs to describe."""
_REGIONS = {LOCAL: "local", "netns": "local", "ssh": "ssh"}
_SERVING = frozenset({LOCAL, "netns", "ssh"})
"""Providers whose machines a vantage point may reach: no firewall stands before them that we would have to open."""


def vantages_of(
    specs: Sequence[VantageSpec], tasks: Sequence[Task], candidates: Sequence[Candidate], offerings_of: OfferingsOf
) -> tuple[PlannedVantage, ...]:
    """The vantage points of a study, with this machine if a task looks from `here`.

    Raises UserMistake for a machine that its provider does not have. A study whose candidates are all simulated, and
    each vantage point that is itself simulated, needs no machine.
    """
    points = list(specs)
    if HERE in map(vantage_in, tasks) and HERE not in [one.point.name for one in specs]:
        points.append(VantageSpec("", VantagePoint(HERE), LOCAL))
    if all(one.simulated for one in candidates):
        return tuple(PlannedVantage(one.point) for one in points)
    real = [one for one in points if one.provider != SIMULATED]
    machines = resolve([_machine(one, offerings_of) for one in real], offerings_of, None)
    known = {one.point.name: machine for one, machine in zip(real, machines, strict=True)}
    return tuple(PlannedVantage(one.point, known.get(one.point.name)) for one in points)


def vantage_in(work: Task | PlannedTrial) -> str:
    """The name of the vantage point that a task or trial looks from; empty for any other."""
    seen = PROBES[work.probe].built and Role.VANTAGE in PROBES[work.probe].roles
    return dict(work.params)["vantage"] if seen else ""


def _machine(one: VantageSpec, offerings_of: OfferingsOf) -> CandidateSpec:
    region = _REGIONS[one.provider]
    listed = offerings_of(one.provider, region)
    name = one.offering or (listed[0].name if one.provider == "netns" and listed else None)
    return CandidateSpec(one.where, one.provider, region, name, None)


def vantage_faults(plan: Plan) -> list[Fault]:
    """Faults for trials from a place that the study does not have, and for endpoints that nobody can reach."""
    if all(one.simulated for one in plan.candidates):
        return []
    machines = {one.point.name: one.machine for one in plan.vantages}
    next_ = "name it under wan: vantages:, or use --on simulated"
    asked = dict.fromkeys(filter(None, map(vantage_in, plan.trials)))
    faults = [
        Fault(f"vantage {name}", "the study has no machine there", next_) for name in asked if not machines.get(name)
    ]
    launches = {launch.index: plan.candidates[launch.candidate] for launch in plan.launches}
    served = {launches[trial.launch].index for trial in plan.trials if _serves(trial)}
    return faults + [
        Fault(
            one.id, "no vantage point is let in by its firewall", "write service: http and the URL at which it answers"
        )
        for one in plan.candidates
        if one.index in served and not one.simulated and one.runner not in _SERVING
    ]


def _serves(trial: PlannedTrial) -> bool:
    """True if a machine of the launch is itself the endpoint of a trial."""
    return any(one.role is Role.ENDPOINT and isinstance(one.target, Machine) for one in trial.cast)


def vantage_of(trial: PlannedTrial) -> str:
    """The vantage point in the cast of a trial; empty if it has none."""
    return next((one.target.name for one in trial.cast if isinstance(one.target, Vantage)), "")
