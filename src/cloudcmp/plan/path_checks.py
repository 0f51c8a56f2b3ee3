"""Checks and notes on where the machines of a launch are: in one zone, in two, or wherever the cloud puts them."""

from collections.abc import Iterator, Sequence

from cloudcmp.catalog import PROBES
from cloudcmp.errors import Fault
from cloudcmp.model.cast import (
    LOOPBACK,
    NEIGHBOUR,
    REGION,
    REGIONS,
    SAME_ZONE,
    ZONES,
    Role,
    path_key,
    path_of,
    traffic_path,
)
from cloudcmp.model.plan import Candidate, Plan
from cloudcmp.plan.tasks import Task
from cloudcmp.plan.traffic import ALONE, OWN_GUESTS, Work

_CHECKED = frozenset({LOOPBACK, SAME_ZONE, ZONES, REGIONS})
_CONNECTED = frozenset({"aws", "gcp"})
"""Providers with a way between the machines of two regions that this product opens."""
_EXAMPLE = "write zone: us-east-1a, far: {zone: us-east-1b}"


def path_faults(plan: Plan) -> list[Fault]:
    """Faults for paths that a candidate's machines cannot have, and for a second zone that no trial needs.

    A launch has one first machine, and all others in its zone, all in another one, or all in another region: it serves
    one of these paths.
    """
    by_launch = {launch.index: launch.candidate for launch in plan.launches}
    work: dict[int, dict[tuple[str, tuple[tuple[str, str], ...]], Work]] = {}
    for trial in plan.trials:
        work.setdefault(by_launch[trial.launch], {})[trial.probe, trial.params] = trial
    faults = []
    for one in plan.candidates:
        if not one.simulated and one.runner not in ALONE:
            some = list(work.get(one.index, {}).values())
            faults += [Fault(one.id, what, next_) for what, next_ in _faults_of(one, some)]
    return faults + _timed_batches(plan, work)


def _faults_of(one: Candidate, work: Sequence[Work]) -> Iterator[tuple[str, str]]:
    """What is wrong with a candidate's paths, and what to write instead."""
    keys = {path_of(dict(some.params)): path_key(dict(some.params)) for some in work}
    if REGIONS in keys:
        yield from _region_faults(one, work, keys)
        return
    if one.far:
        yield f"far: {{region: ...}} is for path: {REGIONS}, which no trial has", f"write path: {REGIONS}, or no far"
    if ZONES not in keys:
        if one.far_zone:
            yield f"far: is for path: {ZONES}, which no trial has", f"leave far out, or write path: {ZONES}"
        return
    if one.runner in OWN_GUESTS:
        yield f"{keys[ZONES]}: {ZONES}, and {one.runner} has no zones", "take a provider that has them"
    elif not one.far_zone:
        yield f"{keys[ZONES]}: {ZONES} needs two zones, and the candidate does not name them", _EXAMPLE
    if dict(one.options).get("placement") == "cluster":
        yield f"{keys[ZONES]}: {ZONES}, and placement: cluster is within one zone", "leave placement out"
    if any(NEIGHBOUR in dict(some.params) for some in work):
        yield f"{keys[ZONES]}: {ZONES}, and a neighbour in another zone is on no common host", "write two studies"
    elif any(traffic_path(dict(some.params), single=False) == SAME_ZONE for some in work):
        what = f"paths {SAME_ZONE} and {ZONES} in one launch, whose machines are in one zone or in two"
        yield what, "write two studies"


def _region_faults(one: Candidate, work: Sequence[Work], keys: dict[str, str]) -> Iterator[tuple[str, str]]:
    """What is wrong with a candidate's pairs between two regions: each is of two machines, which only talk."""
    path, options = f"{keys[REGIONS]}: {REGIONS}", dict(one.options)
    if one.runner not in _CONNECTED:
        yield f"{path}, and it is measured on {' and '.join(sorted(_CONNECTED))}, not on {one.runner}", _ELSEWHERE
        return
    if one.far is None:
        yield f"{path} needs a second region, and the candidate does not name it", "write far: {region: eu-west-1}"
    others = [key for key in keys if key not in {REGIONS, LOOPBACK}]
    if others or any(NEIGHBOUR in dict(some.params) for some in work):
        beside = f"path: {others[0]}" if others else "a neighbour"
        yield f"{path} and {beside} in one launch, whose machines are in two regions", "write two studies"
    if group := next((some.probe for some in work if Role.PEER in PROBES[some.probe].roles), None):
        yield f"{path}, and {group} is of a group, whose machines are in one region", f"leave {group} out"
    if any(some.probe == "resize" for some in work):
        yield f"{path}, and resize is of machines in one region", "write two studies"
    for key, has in (("count", one.count > 1), ("volume", one.volume), ("placement", "placement" in options)):
        if has:
            yield f"{path}, and {key} is for machines in one region", f"leave {key} out"


_ELSEWHERE = f"take another path, such as {ZONES}, or use --on simulated"


def _timed_batches(plan: Plan, work: dict[int, dict[tuple[str, tuple[tuple[str, str], ...]], Work]]) -> list[Fault]:
    """Faults for timed batches whose machines wait for the first one's zone: the wait would be in their times."""
    what = "scaling of several machines and trials within one zone: the others wait for the first one's zone"
    return [
        Fault(one.id, what, "write two studies")
        for one in plan.candidates
        if one.count > 1 and one.runner not in OWN_GUESTS and not one.simulated
        and {path_of(dict(some.params)) for some in work.get(one.index, {}).values()} >= {SAME_ZONE}
        and any(some.probe == "scaling" for some in work.get(one.index, {}).values())
    ]  # fmt: skip


def path_notes(candidates: Sequence[Candidate], tasks: Sequence[Sequence[Task]]) -> list[str]:
    """The plan's notes on the paths of real machines: those that no launch can have, and those that nothing checks."""
    lines: dict[str, None] = {}
    for one, some in zip(candidates, tasks, strict=True):
        if not one.simulated and one.runner not in ALONE:
            refused = (f"{one.id} cannot be run: {what}; {next_}" for what, next_ in _faults_of(one, some))
            lines |= dict.fromkeys((*refused, *_notes_of(one, some)))
    return list(lines)


def _notes_of(one: Candidate, tasks: Sequence[Task]) -> Iterator[str]:
    for task in tasks:
        params = dict(task.params)
        path = path_of(params)
        if path == REGION and one.runner not in OWN_GUESTS:
            yield f"{path_key(params)}: {REGION}: the cloud chooses the zones of the machines, which may be one"
        elif path not in _CHECKED and path != REGION:
            yield f"{path_key(params)}: {path} is this study's own word: nothing checks where the machines are"
