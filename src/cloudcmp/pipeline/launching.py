"""One launch from lease to evidence that it is gone, with an outcome for each of its trials."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace

from cloudcmp.catalog import PROBES
from cloudcmp.errors import NOT_ITS_OWN, OUR_OWN, AgentMissing, BudgetSpent, ProviderFault, Taken
from cloudcmp.measure import TAKEN_WHY, Visit, give_up_s, record_all, record_arrival, record_release, staged, was_taken
from cloudcmp.model.lease import INSTANCE
from cloudcmp.model.plan import Launch, PlannedTrial
from cloudcmp.model.trial import Outcome
from cloudcmp.pipeline.crew import Crew, Stay
from cloudcmp.pipeline.spending import asked, paid_for, restarts_s
from cloudcmp.pipeline.visiting import work
from cloudcmp.plan import machines
from cloudcmp.provision import Part, Release, set_up, slot_of, tear_down


async def carry_out(crew: Crew, launch: Launch, trials: Sequence[PlannedTrial], before: Mapping[int, Outcome]) -> None:
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
        ttl_s = crew.guard.allow(asked(provider, paying, todo, slots)) - restarts_s(provider, todo)
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
            paid_s=restarts_s(stay.provider, stay.left(turns.last)),
        )  # fmt: skip
    except (*OUR_OWN, AgentMissing) as fault:
        return crew.stopped(str(fault))
    except NOT_ITS_OWN as fault:
        return crew.put_off(str(fault))
    except ProviderFault as fault:
        missing = fault
    if stay.slept():
        return await _slept_through(stay, missing)
    if isinstance(missing, Taken):
        todo = stay.left([*turns.arrival, *turns.visit, *turns.last])
        return record_all(crew.bench, stay.candidate, todo, Outcome.PREEMPTED, str(missing))
    return await _came(stay, ways.poll_s, str(missing or ""))


async def _slept_through(stay: Stay, missing: ProviderFault | None) -> Visit:
    """The rest of a launch whose machines came, or did not, while this machine slept."""
    if missing is not None:
        return stay.crew.stopped(f"{stay.slept()} ({missing})")
    # No clock that times their coming went on, and some that are in it did.
    record_all(stay.crew.bench, stay.candidate, stay.left(stay.turns.arrival), Outcome.ABORTED, stay.slept())
    return await work(stay)


async def _came(stay: Stay, poll_s: float, why: str) -> Visit:
    """How the machines came, timed, and the trials on them; `why` says what went wrong, if anything did."""
    bench, turns = stay.crew.bench, stay.turns
    lines = [machine.timeline for machine in stay.machines] or [watch.timeline() for watch in stay.watches]
    record_arrival(bench, stay.candidate, stay.left(turns.arrival), lines[: stay.candidate.count], poll_s, why)
    if why:
        todo = stay.left([*turns.visit, *turns.last])
        return record_all(bench, stay.candidate, todo, Outcome.FAILED, why)
    return await work(stay)


def _record_going(stay: Stay, releases: Sequence[Release], visit: Visit) -> None:
    """The trials that time a launch's going: until the last of its machines was seen gone."""
    took = [one.took_s for one in releases if one.took_s is not None]
    why = "" if took else visit.why or "no machine was there to go"
    unseen = next((one.why for one in releases if one.evidence is None), "")
    gone_s = None if unseen or not took else max(took)
    todo = stay.left(stay.turns.release)
    if stay.slept():
        record_all(stay.crew.bench, stay.candidate, todo, Outcome.ABORTED, stay.slept())
        return
    record_release(stay.crew.bench, stay.candidate, todo, gone_s, stay.crew.office.ways.poll_s, unseen or why)
