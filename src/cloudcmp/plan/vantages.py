"""The vantage points of a plan: the machines that they are, and what keeps endpoints from being seen from them."""

from collections.abc import Sequence

from cloudcmp.catalog import PROBES
from cloudcmp.errors import Fault
from cloudcmp.model.cast import Machine, Role, Vantage
from cloudcmp.model.firewall import SERVED_PORT
from cloudcmp.model.plan import Candidate, Plan, PlannedTrial, PlannedVantage
from cloudcmp.model.study import CandidateSpec, VantageSpec
from cloudcmp.model.wide_area import VantagePoint
from cloudcmp.plan.candidates import LOCAL, SIMULATED, OfferingsOf, resolve
from cloudcmp.plan.tasks import Task
from cloudcmp.provider.common.address import is_single
from cloudcmp.provider.registry import is_rented
from cloudcmp.units import format_quantity

HERE = "here"
"""The name of this machine as a vantage point, which no study needs to describe."""
_REGIONS = {LOCAL: "local", "netns": "local", "ssh": "ssh"}
_SERVING = frozenset({LOCAL, "netns", "ssh"})
"""Providers whose machines a vantage point may reach without a firewall that we would have to open."""


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
    return tuple(PlannedVantage(one.point, known.get(one.point.name), one.address) for one in points)


def vantage_in(work: Task | PlannedTrial) -> str:
    """The name of the vantage point that a task or trial looks from; empty for any other."""
    seen = Role.VANTAGE in PROBES[work.probe].roles
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
    return faults + [fault for one, names in served_to(plan) for fault in _unseen(plan, one, names)]


def _unseen(plan: Plan, endpoint: Candidate, names: Sequence[str]) -> list[Fault]:
    """Faults for a machine that vantage points cannot reach: no firewall can let them in, or nobody knows whom."""
    if endpoint.runner in _SERVING:
        return []
    if not is_rented(endpoint.runner):
        next_ = "write service: http and the URL at which it answers"
        return [Fault(endpoint.id, f"no vantage point can reach a machine of {endpoint.runner}", next_)]
    points = {one.point.name: one for one in plan.vantages}
    return [
        Fault(
            f"vantage {name}", f"its public address is unknown, which the firewall of {endpoint.id} would let in",
            "write address: 203.0.113.7 in the vantage point",
        )
        for name in names
        if name in points and not _may_tell_address(points[name], endpoint)
    ]  # fmt: skip


def _may_tell_address(one: PlannedVantage, endpoint: Candidate) -> bool:
    """True if a vantage point's address is stated, or can be learned before a machine is rented."""
    if one.address or one.machine is None:
        return True
    if one.machine.runner == LOCAL:  # it is the controller
        allowed = [part for part in dict(endpoint.options).get("allow", "").split(",") if part.strip()]
        return not allowed or (len(allowed) == 1 and is_single(allowed[0]))
    return one.machine.runner == "ssh"


def served_to(plan: Plan) -> list[tuple[Candidate, tuple[str, ...]]]:
    """The candidates whose machines are themselves endpoints, each with the vantage points that look at them."""
    named = {launch.index: plan.candidates[launch.candidate] for launch in plan.launches}
    found: dict[int, dict[str, None]] = {}
    for trial in plan.trials:
        candidate = named[trial.launch]
        if not candidate.simulated and serves(trial):
            found.setdefault(candidate.index, {}).setdefault(vantage_of(trial))
    return [(one, tuple(found[one.index])) for one in plan.candidates if one.index in found]


def admission_notes(
    candidates: Sequence[Candidate], tasks: Sequence[Sequence[Task]], vantages: Sequence[PlannedVantage]
) -> list[str]:
    """A line for each rented endpoint: whom its firewall lets in, and the bytes that leave its cloud in a launch."""
    points, notes = {one.point.name: one for one in vantages}, []
    for one, some in zip(candidates, tasks, strict=True):
        seen = [task for task in some if vantage_in(task)]
        if one.simulated or one.service is not None or not seen or not is_rented(one.runner):
            continue
        named = (points[name] for name in dict.fromkeys(map(vantage_in, seen)) if name in points)
        who = ", ".join(f"{it.point.name} ({it.address})" if it.address else it.point.name for it in named)
        sent = format_quantity(sum(map(_page_bytes, seen)), "B")
        notes.append(
            f"{one.id}: its firewall lets in {who} at port {SERVED_PORT} and by ICMP, each by its one address; pages "
            f"of {sent} a launch leave the cloud, which the cost does not count"
        )
    return notes


def _page_bytes(task: Task) -> float:
    params = dict(task.params)
    return task.runs * float(params.get("count", 1)) * float(params.get("size_bytes", 0))


def serves(trial: PlannedTrial) -> bool:
    """True if a machine of the launch is itself the endpoint of a trial."""
    return any(one.role is Role.ENDPOINT and isinstance(one.target, Machine) for one in trial.cast)


def vantage_of(trial: PlannedTrial) -> str:
    """The vantage point in the cast of a trial; empty if it has none."""
    return next((one.target.name for one in trial.cast if isinstance(one.target, Vantage)), "")
