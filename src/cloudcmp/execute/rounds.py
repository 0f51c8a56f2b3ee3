"""The rounds of a study: each candidate's launch, side by side where they share no host."""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby

from cloudcmp.execute.crew import RunContext
from cloudcmp.execute.launch import carry_out
from cloudcmp.execute.machine_limit import Berths
from cloudcmp.execute.windows import until_open
from cloudcmp.model.plan import Launch, Plan, PlannedTrial
from cloudcmp.model.trial import Outcome
from cloudcmp.plan import at_once, machines


async def run_rounds(crew: RunContext) -> str:
    """Run every launch that has trials left, round by round; why it ended early, empty when it did not.

    Raises what the store raises.
    """
    trials = {index: tuple(some) for index, some in _by_launch(crew.plan)}
    before = {attempt.trial: attempt.outcome for attempt in crew.store.attempts() if not attempt.interrupted}
    for launches in _rounds(crew.plan):
        todo = [one for one in launches if any(trial.index not in before for trial in trials.get(one.index, ()))]
        if not todo:
            continue
        if crew.halt.why:  # it was said while the round before came to its end
            return crew.halt.told()
        reason = await until_open(crew.plan, todo[0], crew.office.ledger.time, crew.over, wait=crew.wait)
        if reason:
            return reason
        await _side_by_side(crew, todo, trials, before)
        if crew.bench.stop.is_set():
            return crew.halt.told() or "stopped on request, after the trial that ran"
    return crew.halt.told() if _undone(crew) else ""


def _undone(crew: RunContext) -> bool:
    """Whether any trial is left: a study that was to launch nothing new may have had nothing new to launch."""
    return bool({trial.index for trial in crew.plan.trials} - crew.store.done())


def _by_launch(plan: Plan) -> Iterator[tuple[int, Iterator[PlannedTrial]]]:
    return groupby(sorted(plan.trials, key=lambda trial: (trial.launch, trial.index)), key=lambda trial: trial.launch)


def _rounds(plan: Plan) -> Iterator[Sequence[Launch]]:
    for _, some in groupby(plan.launches, key=lambda launch: (launch.session, launch.round)):
        yield tuple(some)


async def _side_by_side(
    crew: RunContext,
    launches: Sequence[Launch],
    trials: Mapping[int, Sequence[PlannedTrial]],
    before: Mapping[int, Outcome],
) -> None:
    """The launches of one round at once, but those that share a host one after another.

    They wait for one another where they would be more machines than the study may have at once.
    """
    berths = Berths(at_once(crew.plan))
    hosts: dict[str, list[Launch]] = {}
    for launch in launches:
        candidate = crew.plan.candidates[launch.candidate]
        hosts.setdefault(crew.providers[candidate.runner].host(candidate), []).append(launch)

    async def on_one_host(some: Sequence[Launch]) -> None:
        for launch in some:
            left = (dict(trial.params) for trial in trials[launch.index] if trial.index not in before)
            async with berths.taken(machines(crew.plan.candidates[launch.candidate], left)):
                if not crew.bench.stop.is_set() and not crew.halt.why:
                    await carry_out(crew, launch, trials[launch.index], before)

    try:
        async with asyncio.TaskGroup() as group:
            for some in hosts.values():
                group.create_task(on_one_host(some))
    except BaseExceptionGroup as several:
        raise several.exceptions[0] from several  # the first that failed; the others were ended for it
