"""One launch from lease to evidence that it is gone, with an outcome for each of its trials."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace

from cloudcmp.catalog import PROBES
from cloudcmp.errors import (
    ACCOUNT_FAULTS,
    CONTROLLER_FAULTS,
    AgentMissing,
    BudgetSpent,
    ConnectionLost,
    Preempted,
    ProviderFault,
    TooLate,
)
from cloudcmp.execute.context import Visit
from cloudcmp.execute.crew import RunContext, Stay
from cloudcmp.execute.lifecycle.timing import BLIND_WHY, give_up_s, record_arrival, record_release, staged
from cloudcmp.execute.spending import asked, paid_for, restarts_s
from cloudcmp.execute.trials import TAKEN_WHY, record_all, set_aside, was_taken
from cloudcmp.execute.visit import work
from cloudcmp.model.lease import INSTANCE
from cloudcmp.model.plan import Launch, PlannedTrial
from cloudcmp.model.trial import Outcome
from cloudcmp.plan import machines
from cloudcmp.provision import Part, Release, patience_with, set_up, slot_of, tear_down


async def carry_out(
    crew: RunContext, launch: Launch, trials: Sequence[PlannedTrial], before: Mapping[int, Outcome]
) -> None:
    """Set a launch up, run its trials, and tear it down whatever happens.

    Raises what the store raises, and our own cancellation.
    """
    candidate = crew.plan.candidates[launch.candidate]
    todo = [trial for trial in trials if trial.index not in before]
    if was_taken(trials, before):
        record_all(crew.bench, candidate, todo, Outcome.PREEMPTED, TAKEN_WHY)
        return
    provider = crew.providers[candidate.runner]
    count = machines(candidate, (dict(trial.params) for trial in todo))
    slots = tuple(slot_of(launch, Part(INSTANCE, number + 1)) for number in range(count))
    try:
        paying = await asyncio.to_thread(paid_for, provider, candidate, todo, crew.plan.candidates)
        ttl_s = crew.guard.allow(asked(provider, paying, todo, slots)) - restarts_s(provider, paying, todo)
    except BudgetSpent as fault:
        # What was not launched is not a failure of the candidate: it can be run when there is money for it.
        crew.spent(str(fault))
        return
    except ProviderFault as fault:
        crew.stopped(str(fault))  # a price is not to be had
        return
    crew.store.begin_launch(launch.index, crew.bench.clock.at(launch.start_s), slots[0])
    now_s, slept_s = crew.office.ways.time.monotonic(), crew.bench.slept_s()
    turns = staged(PROBES, candidate, trials)
    stay = Stay(crew, provider, paying, launch, turns, before, ttl_s, count, [], now_s, slept_s)
    releases: tuple[Release, ...] = ()
    try:
        visit = await _come_and_work(stay)
    finally:
        for machine in stay.machines:
            if machine.shell is not None:
                await machine.shell.close()
        stay.slept_s = crew.bench.slept_s()
        releases = await tear_down(crew.office, provider, launch)
        crew.guard.let_go(slots)
    if visit.finished:
        _record_going(stay, releases, visit)
    crew.store.end_launch(launch.index, crew.bench.clock.at(launch.start_s), visit.outcome.value, visit.why)


async def _come_and_work(stay: Stay) -> Visit:
    """The machines' coming, timed, then the trials on them; a machine that never comes fails them all, and one that its
    provider takes back on its way preempts them.
    """
    crew, turns = stay.crew, stay.turns
    ways = replace(crew.office.ways, give_up_s=give_up_s(turns.arrival, crew.office.ways.give_up_s))
    office, missing = replace(crew.office, ways=ways), None
    try:
        stay.machines = await set_up(
            office, stay.provider, stay.candidate, stay.launch, stay.ttl_s, stay.watches, stay.count,
            one_zone=stay.one_zone(),
            paid_s=restarts_s(stay.provider, stay.candidate, stay.left(turns.last)),
        )  # fmt: skip
    except (*CONTROLLER_FAULTS, AgentMissing) as fault:
        return crew.stopped(str(fault))
    except (*ACCOUNT_FAULTS, ConnectionLost) as fault:
        return crew.put_off(str(fault))
    except ProviderFault as fault:
        missing = fault
    if missing is None:
        return await _came(stay, ways.poll_s)
    return _lost(stay, ways.poll_s, missing)


def _lost(stay: Stay, poll_s: float, missing: ProviderFault) -> Visit:
    """Machines that did not all come, and why."""
    crew, turns = stay.crew, stay.turns
    if stay.slept():
        return crew.stopped(f"{stay.slept()} ({missing})")
    late = isinstance(missing, TooLate)
    if late and _blind(stay):
        return crew.put_off(f"{missing} ({BLIND_WHY})")
    if isinstance(missing, Preempted):
        todo = stay.left([*turns.arrival, *turns.visit, *turns.last])
        return record_all(crew.bench, stay.candidate, todo, Outcome.PREEMPTED, str(missing))
    lines = [watch.timeline() for watch in stay.watches][: stay.candidate.count]
    record_arrival(crew.bench, stay.candidate, stay.left(turns.arrival), lines, poll_s, str(missing), late=late)
    return record_all(crew.bench, stay.candidate, stay.left([*turns.visit, *turns.last]), Outcome.FAILED, str(missing))


async def _came(stay: Stay, poll_s: float) -> Visit:
    """How the machines came, timed, and the trials on them."""
    todo, why = stay.left(stay.turns.arrival), _unseen(stay)
    if why and todo:
        set_aside(stay.crew.bench, stay.candidate, todo, why)
        stay.crew.put_off(f"{stay.candidate.id}: {why}")  # all else of it goes on
    else:
        lines = [machine.timeline for machine in stay.machines][: stay.candidate.count]
        record_arrival(stay.crew.bench, stay.candidate, todo, lines, poll_s)
    return await work(stay)


def _blind(stay: Stay) -> bool:
    return any(watch.blind for watch in stay.watches)


def _unseen(stay: Stay) -> str:
    """Why nobody knows how long machines took that came; nothing where it was seen."""
    if stay.slept():
        return stay.slept()  # no clock that times their coming went on, and some that are in it did
    if _blind(stay):
        return BLIND_WHY
    lost = any(watch.timeline().answered_s is None for watch in stay.watches)
    return "an answer of its provider was lost" if lost else ""


def _record_going(stay: Stay, releases: Sequence[Release], visit: Visit) -> None:
    """The trials that time a launch's going: until the last of its machines was seen gone.

    Only machines that were well are timed: one that never came, or was taken, is gone sooner than any other.
    """
    bench, todo = stay.crew.bench, stay.left(stay.turns.release)
    machines = [one for one in releases if one.lease.kind == INSTANCE]
    unseen = next((one for one in machines if one.evidence is None), None)
    if visit.outcome is not Outcome.OK:
        record_all(bench, stay.candidate, todo, visit.outcome, visit.why)
    elif any(one.evidence and one.took_s is None for one in machines):
        record_all(bench, stay.candidate, todo, Outcome.PREEMPTED, "a machine was gone before it was asked to go")
    elif todo and (why := stay.slept() or _not_its_own(unseen)):
        set_aside(bench, stay.candidate, todo, why)
        stay.crew.put_off(f"{stay.candidate.id}: {why}")
    else:
        took = [one.took_s for one in machines if one.took_s is not None]
        gone_s = None if unseen or not took else max(took)
        why = unseen.why if unseen else "" if took else "no machine was there to go"
        late = unseen is not None and unseen.fault is None
        record_release(bench, stay.candidate, todo, gone_s, patience_with(stay.provider).poll_s, why, late=late)


def _not_its_own(unseen: Release | None) -> str:
    """Why it is not known whether a machine is gone, where that is not its provider's doing."""
    ours = unseen is not None and isinstance(unseen.fault, (*CONTROLLER_FAULTS, *ACCOUNT_FAULTS))
    return unseen.why if unseen and ours else ""
