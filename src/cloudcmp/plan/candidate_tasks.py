"""Selects the tasks of each candidate; an unavailable task is `not offered`, never failed."""

from collections.abc import Collection, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace

from cloudcmp.catalog import PROBES
from cloudcmp.errors import UserMistake
from cloudcmp.model.cast import Role, ServiceKind, path_key
from cloudcmp.model.plan import Candidate
from cloudcmp.plan.candidates import LOCAL, OfferingsOf
from cloudcmp.plan.cast import kinds_of
from cloudcmp.plan.published_offerings import published_offerings
from cloudcmp.plan.resize_target import NEXT, target_of
from cloudcmp.plan.tasks import Task
from cloudcmp.plan.traffic import ALONE, between_machines

# Machines that exist before a study and stay after it do not arrive, end or grow, and must not be crashed.
_LACKS = dict.fromkeys((LOCAL, "netns", "ssh"), frozenset({"scaling", "scale_in", "resize", "recovery"}))


def tasks_by_candidate(
    candidates: Sequence[Candidate], tasks: Sequence[Task], offerings_of: OfferingsOf
) -> tuple[tuple[Task, ...], ...]:
    """The available tasks of each candidate, with the target of `resize` resolved.

    A machine measures its provider's services only if the study has no candidate that is such a service.

    Agents do not run on Windows. `scaling` and `scale_in` are for the candidates of their guest system and count;
    `resize` to `next` is to the cheapest larger offering of the candidate's region. Raises UserMistake for a task that
    is available to no candidate, and for a candidate without tasks.
    """
    selected = tuple(
        tuple(filter(None, (_offered(candidate, task, offerings_of, candidates) for task in tasks)))
        for candidate in candidates
    )
    had = {task.cells for some in selected for task in some}
    for task in tasks:
        if task.cells not in had:
            raise UserMistake.at(
                f"probe {task.probe}",
                f"no candidate can have {task.cells[0]}",
                _service_missing(candidates, task) or _advice(candidates, task),
            )
    for candidate, some in zip(candidates, selected, strict=True):
        if not some:
            raise UserMistake.at(candidate.id, "it can have none of the probes", "add a probe for it, or leave it out")
    return selected


def local_tasks(tasks: Sequence[Task]) -> tuple[tuple[Task, ...], tuple[str, ...]]:
    """The tasks available on this machine, and the unavailable probes; raises UserMistake if no task is left."""
    lacks = _LACKS[LOCAL]
    gone = tuple(dict.fromkeys(task.probe for task in tasks if task.probe in lacks))
    left = tuple(task for task in tasks if task.probe not in lacks)
    if not left:
        what = f"this machine can do none of it to itself: {', '.join(gone)}"
        raise UserMistake.at("--on local", what, "use --on simulated")
    return left, gone


def _offered(
    candidate: Candidate, task: Task, offerings_of: OfferingsOf, candidates: Sequence[Candidate]
) -> Task | None:
    """The task as this candidate runs it; None if it is not available."""
    if not _measures(candidate, task, {one.service.kind for one in candidates if one.service}):
        return None
    if task.probe in _lacks(candidate) or (task.probe == "resize" and _is_spot(candidate)):
        return None
    if between_machines(task) and candidate.runner in ALONE:
        return None
    params = dict(task.params)
    if not task.by_controller or task.probe == "recovery":
        return task if system_of(candidate) == "linux" else None
    if any(params.get(key, had) != had for key, had in (("os", system_of(candidate)), ("count", str(candidate.count)))):
        return None
    return _resized(candidate, task, offerings_of, candidates) if task.probe == "resize" else task


def _measures(candidate: Candidate, task: Task, services: AbstractSet[ServiceKind]) -> bool:
    """True if a task measures the candidate: a service is measured by the probes of its kind only.

    An endpoint is measured from afar; a machine, which serves pages for a trial, only in a study without endpoints.
    """
    from_afar = Role.ENDPOINT in PROBES[task.probe].roles
    if candidate.service is not None and candidate.service.kind is ServiceKind.HTTP:
        return from_afar
    if from_afar and candidate.service is None:
        return ServiceKind.HTTP not in services
    kinds = kinds_of(task.probe, dict(task.params))
    return services.isdisjoint(kinds) if candidate.service is None else candidate.service.kind in kinds


def system_of(candidate: Candidate) -> str:
    """The guest system of a candidate's machines."""
    return dict(candidate.options).get("os", "linux")


def _is_spot(candidate: Candidate) -> bool:
    """True for spot machines, which cannot be stopped and started again."""
    return dict(candidate.options).get("market") == "spot"


def _lacks(candidate: Candidate) -> Collection[str]:
    return _LACKS.get(candidate.runner, ())


def _resized(
    candidate: Candidate, task: Task, offerings_of: OfferingsOf, candidates: Sequence[Candidate]
) -> Task | None:
    """The task with the offering to which the machine is resized; its cell keeps the study's own parameter."""
    params, sold = dict(task.params), candidate.offering
    if system_of(candidate) != "linux" or params["to"] == sold.name:
        return None
    known = offerings_of(sold.provider, sold.region) or published_offerings(sold.provider, sold.region)
    target = target_of(candidate, params["to"], known, candidates)
    if target.name == NEXT and candidate.simulated:
        return task
    if target.name == NEXT and known:
        return None
    return replace(task, params=tuple(sorted({**params, "to": target.name}.items())), becomes=target)


def _service_missing(candidates: Sequence[Candidate], task: Task) -> str:
    """The advice for a task that measures a kind of service that no candidate is; empty for any other."""
    kinds = kinds_of(task.probe, dict(task.params))
    had = {one.service.kind for one in candidates if one.service}
    return f"add a candidate of service: {' or '.join(kinds)}" if kinds and had and had.isdisjoint(kinds) else ""


def _advice(candidates: Sequence[Candidate], task: Task) -> str:
    """The advice for a task that is available to no candidate."""
    able = [one for one in candidates if task.probe not in _lacks(one)]
    if between_machines(task):
        return f"take a provider that launches machines, or write {path_key(dict(task.params))}: loopback"
    if not able:
        return "leave it out, or take a provider that launches machines"
    if task.probe == "resize" and all(map(_is_spot, able)):
        return "add a candidate of market: on-demand: a spot machine cannot be stopped"
    if task.probe == "resize":
        return "name an offering of their region with to:"
    systems, counts = sorted({system_of(one) for one in able}), sorted({one.count for one in able})
    if not task.by_controller:
        return "no agent runs on Windows: add a candidate of os: linux"
    return f"the candidates have os: {', '.join(systems)} and count: {', '.join(map(str, counts))}"
