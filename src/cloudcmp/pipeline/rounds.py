"""The rounds of a study: each candidate's launch, side by side where they share no host."""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from cloudcmp.errors import ProviderFault
from cloudcmp.measure import TAKEN_WHY, Bench, Visit, record_all, run_launch, was_taken
from cloudcmp.model.plan import LEASE_MARGIN_S, Candidate, Launch, Plan, PlannedTrial
from cloudcmp.model.protocol import Provider
from cloudcmp.model.trial import Outcome
from cloudcmp.pipeline.windows import until_open
from cloudcmp.provision import Machine, Office, set_up, slot_of, tear_down
from cloudcmp.store import StudyStore


@dataclass(frozen=True, slots=True)
class Crew:
    """All that works on a study together; `wait` sleeps until the next session opens."""

    plan: Plan
    store: StudyStore
    providers: Mapping[str, Provider]
    office: Office
    bench: Bench
    wait: bool = False


async def run_rounds(crew: Crew) -> str:
    """Run every launch that has trials left, round by round; why it ended early, empty when it did not.

    Raises what the store raises, and AgentMissing.
    """
    trials = {index: tuple(some) for index, some in _by_launch(crew.plan)}
    before = {attempt.trial: attempt.outcome for attempt in crew.store.attempts() if not attempt.interrupted}
    for launches in _rounds(crew.plan):
        todo = [one for one in launches if any(trial.index not in before for trial in trials.get(one.index, ()))]
        if not todo:
            continue
        reason = await until_open(crew.plan, todo[0], crew.office.ledger.time, crew.bench.stop, wait=crew.wait)
        if reason:
            return reason
        await _side_by_side(crew, todo, trials, before)
        if crew.bench.stop.is_set():
            return "stopped on request, after the trial that ran"
    return ""


def _by_launch(plan: Plan) -> Iterator[tuple[int, Iterator[PlannedTrial]]]:
    return groupby(sorted(plan.trials, key=lambda trial: (trial.launch, trial.index)), key=lambda trial: trial.launch)


def _rounds(plan: Plan) -> Iterator[Sequence[Launch]]:
    for _, some in groupby(plan.launches, key=lambda launch: (launch.session, launch.round)):
        yield tuple(some)


async def _side_by_side(
    crew: Crew,
    launches: Sequence[Launch],
    trials: Mapping[int, Sequence[PlannedTrial]],
    before: Mapping[int, Outcome],
) -> None:
    """The launches of one round at once, but those that share a host one after another."""
    hosts: dict[str, list[Launch]] = {}
    for launch in launches:
        candidate = crew.plan.candidates[launch.candidate]
        hosts.setdefault(crew.providers[candidate.runner].host(candidate), []).append(launch)

    async def on_one_host(some: Sequence[Launch]) -> None:
        for launch in some:
            if not crew.bench.stop.is_set():
                await _one(crew, launch, trials[launch.index], before)

    async with asyncio.TaskGroup() as group:
        for some in hosts.values():
            group.create_task(on_one_host(some))


async def _one(crew: Crew, launch: Launch, trials: Sequence[PlannedTrial], before: Mapping[int, Outcome]) -> None:
    """One launch from lease to evidence that it is gone, with an outcome for each of its trials."""
    candidate = crew.plan.candidates[launch.candidate]
    provider = crew.providers[candidate.runner]
    todo = [trial for trial in trials if trial.index not in before]
    if was_taken(trials, before):
        record_all(crew.bench, candidate, todo, Outcome.PREEMPTED, TAKEN_WHY)
        return
    crew.store.begin_launch(launch.index, crew.bench.clock.at(launch.start_s), slot_of(launch))
    ttl_s = sum(trial.deadline_s for trial in todo) + LEASE_MARGIN_S
    machines: tuple[Machine, ...] = ()
    try:
        machines = await set_up(crew.office, provider, candidate, launch, ttl_s)
    except ProviderFault as fault:
        visit = record_all(crew.bench, candidate, todo, Outcome.FAILED, str(fault))
    else:
        visit = await _visit(crew, machines, candidate, launch, trials, before)
    finally:
        await _hang_up(machines)
        await tear_down(crew.office, provider, launch)
    crew.store.end_launch(launch.index, crew.bench.clock.at(launch.start_s), visit.outcome.value, visit.why)


async def _visit(
    crew: Crew,
    machines: Sequence[Machine],
    candidate: Candidate,
    launch: Launch,
    trials: Sequence[PlannedTrial],
    before: Mapping[int, Outcome],
) -> Visit:
    """The launch's trials on its first machine; the second is the other end where a trial has one."""
    provider, first = crew.providers[candidate.runner], machines[0]
    handle = first.lease.handle()

    async def gone() -> str | None:
        return None if handle is None else await provider.gone(handle)

    return await run_launch(crew.bench, candidate, launch, trials, first.instance, gone, before)


async def _hang_up(machines: Sequence[Machine]) -> None:
    for machine in machines:
        if machine.shell is not None:
            await machine.shell.close()
