"""The rounds of a study: each candidate's launch, side by side unless they share a host."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from itertools import groupby

from cloudcmp.execute.context import RunContext
from cloudcmp.execute.launch import run_launch
from cloudcmp.model.plan import Launch, Plan, PlannedTrial
from cloudcmp.model.trial import Outcome
from cloudcmp.plan import machine_limit, machines, next_opening
from cloudcmp.provider.time import Time, VirtualTime

_POLL_S = 1.0  # how often a wait for a session checks whether it should stop


async def run_rounds(run: RunContext) -> str:
    """Run every launch that has trials left, round by round; returns why it ended early, or an empty text.

    Raises what the store raises.
    """
    trials = {index: tuple(some) for index, some in _by_launch(run.plan)}
    before = {attempt.trial: attempt.outcome for attempt in run.store.attempts() if not attempt.interrupted}
    for launches in _rounds(run.plan):
        todo = [one for one in launches if any(trial.index not in before for trial in trials.get(one.index, ()))]
        if not todo:
            continue
        if run.halt.why:  # set while the round before came to its end
            return run.halt.summary()
        reason = await until_open(run.plan, todo[0], run.provisioning.ledger.time, run.over, wait=run.wait)
        if reason:
            return reason
        await _side_by_side(run, todo, trials, before)
        if run.trials.stop.is_set():
            return run.halt.summary() or "stopped on request, after the trial that ran"
    return run.halt.summary() if _undone(run) else ""


def _undone(run: RunContext) -> bool:
    """True if any trial is left: a study that must launch nothing new may have had nothing new to launch."""
    return bool({trial.index for trial in run.plan.trials} - run.store.done())


def _by_launch(plan: Plan) -> Iterator[tuple[int, Iterator[PlannedTrial]]]:
    return groupby(sorted(plan.trials, key=lambda trial: (trial.launch, trial.index)), key=lambda trial: trial.launch)


def _rounds(plan: Plan) -> Iterator[Sequence[Launch]]:
    for _, some in groupby(plan.launches, key=lambda launch: (launch.session, launch.round)):
        yield tuple(some)


async def _side_by_side(
    run: RunContext,
    launches: Sequence[Launch],
    trials: Mapping[int, Sequence[PlannedTrial]],
    before: Mapping[int, Outcome],
) -> None:
    """Run the launches of one round at once, those that share a host one after another.

    A launch waits if it would take the study above the number of machines that it may have at once.
    """
    limit = MachineLimit(machine_limit(run.plan))
    hosts: dict[str, list[Launch]] = {}
    for launch in launches:
        candidate = run.plan.candidates[launch.candidate]
        hosts.setdefault(run.providers[candidate.runner].host(candidate), []).append(launch)

    async def on_one_host(some: Sequence[Launch]) -> None:
        for launch in some:
            left = [trial for trial in trials[launch.index] if trial.index not in before]
            async with limit.reserved(machines(run.plan.candidates[launch.candidate], left)):
                if not run.trials.stop.is_set() and not run.halt.why:
                    await run_launch(run, launch, trials[launch.index], before)

    try:
        async with asyncio.TaskGroup() as group:
            for some in hosts.values():
                group.create_task(on_one_host(some))
    except BaseExceptionGroup as several:
        raise several.exceptions[0] from several  # the first that failed; the others were cancelled for it


class MachineLimit:
    """The number of machines that a study may have at once."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._reserved = 0
        self._freed = asyncio.Event()

    @asynccontextmanager
    async def reserved(self, count: int) -> AsyncIterator[None]:
        """Reserve so many machines, after a wait if too few are free; a count above the limit runs alone."""
        while self._reserved and self._reserved + count > self._most:
            self._freed.clear()
            await self._freed.wait()
        self._reserved += count
        try:
            yield
        finally:
            self._reserved -= count
            self._freed.set()


async def until_open(plan: Plan, launch: Launch, time: Time, over: Callable[[], str], *, wait: bool) -> str:
    """Why the round of `launch` cannot start now, empty if it can; with `wait` sleeps until it can.

    `over` returns why the wait is pointless, empty as long as it is not. Virtual time is where the plan puts it, so a
    simulated study never waits.
    """
    if isinstance(time, VirtualTime):
        return ""
    while (opens_at := _opens_at(plan, launch, time.now())) > time.now():
        if not wait:
            what = f"session {launch.session}" if launch.session else "the next round"
            return f"{what} starts at {datetime.fromtimestamp(opens_at, UTC):%Y-%m-%d %H:%M UTC}"
        if why := over():
            return why
        await time.sleep(min(_POLL_S, opens_at - time.now()))
    return ""


def _opens_at(plan: Plan, launch: Launch, now: float) -> float:
    """The Unix time from which the round may start."""
    timed = plan.sessions or plan.every_s is not None
    due = max(now, plan.start_at + launch.start_s) if timed else now
    opening = next_opening([session for session in plan.sessions if session.name == launch.session], due)
    return due if opening is None else opening[1]
