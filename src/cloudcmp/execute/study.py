"""A running study: its remaining rounds, then the release of all its resources."""

import asyncio
import math
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path

from cloudcmp.catalog import PROBES, metrics_with
from cloudcmp.errors import CloudcmpError
from cloudcmp.execute.connections import open_provisioning
from cloudcmp.execute.context import Halt, Replan, RunContext, TrialContext
from cloudcmp.execute.environment import is_simulated, ledger_of, limits_of, make_folder, providers_of, time_of, work_of
from cloudcmp.execute.interruption import StopSignals, run_interruptible
from cloudcmp.execute.launch import run_launch
from cloudcmp.execute.spending import budget_of, extra_costs_of, watch_money
from cloudcmp.execute.teardown import Leave, RunEnd, faults_of, leave_at_once, lines_left, reporting_leftovers
from cloudcmp.execute.traffic import sent_in_all
from cloudcmp.model.plan import Launch, Plan, PlannedTrial
from cloudcmp.model.protocol import Progress
from cloudcmp.model.trial import Outcome
from cloudcmp.plan import machine_limit, machines, next_opening
from cloudcmp.provider.time import Time, VirtualTime
from cloudcmp.provision import Guard, RowLog, release_all, terms_of
from cloudcmp.provision.progress import run_with_progress
from cloudcmp.stats.histogram import from_base64
from cloudcmp.store import StudyStore
from cloudcmp.store.ledger import LaunchRecord


def trials_left(store: StudyStore) -> list[PlannedTrial]:
    """The trials of a study that have not ended by themselves yet."""
    done = store.done()
    return [trial for trial in store.plan.trials if trial.index not in done]


def run_study(
    store: StudyStore,
    binary: Path | None,
    wait: bool,
    progress: Progress,
    leave: Leave,
    replan: Replan,
    until: float = math.inf,
) -> RunEnd:
    """Runs the remaining trials of a study and releases all its resources; returns how the run ended.

    With `wait`, sleeps until the next round may start; from `until` (Unix time) none does. If interrupted, reports
    leftovers through `leave`. `replan` is called after each number of rounds in the plan's `checks`.
    """
    run, todo = _open_run(store, binary, wait, progress, replan, until), trials_left(store)
    # Virtual time does not predict real time: the rest is then estimated from the trials so far.
    progress.begin(len(todo), 0.0 if is_simulated(run.plan) else sum(trial.expected_s for trial in todo))
    ends: list[RunEnd] = []

    async def measure() -> None:
        ends.append(await _measure(run, leave))

    with reporting_leftovers(store.folder, store, leave, ends):
        try:
            run_interruptible(measure())
        finally:
            progress.end()
        if ends[0].finished:
            store.compact()
    return ends[0]


def _open_run(
    store: StudyStore, binary: Path | None, wait: bool, progress: Progress, replan: Replan, until: float
) -> RunContext:
    """The context of a run: providers, ledger, budget and the tables for its trials."""
    plan, moment = store.plan, time_of(store.plan)
    here = any(candidate.runner in {"local", "netns"} for candidate in plan.leased)
    # Before anything starts: a link in place of the launches' folder is not the candidate's fault.
    make_folder(work_of(store).below("launches") if here else work_of(store))
    providers = providers_of(store, binary, moment)
    rows = RowLog(store, store.lease_rows())
    ledger = ledger_of(store, moment, rows)
    trials = TrialContext(
        store, metrics_with(plan.commands), PROBES, moment, progress, from_base64, commands=plan.commands
    )
    guard = Guard(budget_of(store), terms_of(providers), rows.rows_from, moment, limits_of(plan), extra_costs_of(plan))
    guard.traffic_bytes = sent_in_all(plan, store.attempts())
    return RunContext(
        plan,
        store,
        providers,
        open_provisioning(ledger, providers.values()),
        trials,
        guard,
        Halt(),
        replan,
        wait,
        until,
    )


async def _measure(run: RunContext, leave: Leave) -> RunEnd:
    """Runs the remaining rounds, then releases everything. The second signal requests all deletions and leaves."""
    progress, ledger = run.trials.progress, run.provisioning.ledger
    signals = StopSignals(run.trials.stop, progress.note)
    ends: list[tuple[str, tuple[str, ...]]] = []

    async def release() -> tuple[str, ...]:
        released = await run_with_progress(release_all(ledger, run.providers), ledger, run.providers, progress.step)
        return lines_left(released)

    def end(why: str) -> None:
        run.halt.why = why
        signals.end(why)

    async def work() -> None:
        reason = ""
        try:
            # Leftovers of a killed controller are released before anything new is requested.
            await release()
            watching = asyncio.create_task(watch_money(run.guard, progress, run.launch_no_more, end))
            try:
                reason = await signals.drain(run_rounds(run))
            finally:
                watching.cancel()
        except BaseException as error:
            _add_leftovers(run, error, await release())
            raise
        ends.append((_summary(run.halt, reason), await release()))

    with signals.handled():
        if not await signals.run_unless_hurried(work()):
            await leave_at_once(ledger, run.providers, run.store.folder, leave)
    ((reason, left),) = ends
    return RunEnd(run.store.folder, not reason, reason, signals.interrupted, left, fault=run.halt.fault)


def _summary(halt: Halt, reason: str) -> str:
    """Why a study ended early: its halt, then the reason that interrupted running work; empty if all is done."""
    summary = halt.summary()
    if not reason or not summary:
        return reason
    return summary if reason in summary else f"{summary}; {reason}"


def _add_leftovers(run: RunContext, error: BaseException, left: Iterable[str]) -> None:
    """Reports leftovers with the error that ends the study, because no `RunEnd` will."""
    faults = faults_of(run.store.folder, left)
    if isinstance(error, CloudcmpError):
        error.faults = (*error.faults, *faults)
        return
    for fault in faults:
        run.trials.progress.note(fault.line())


_POLL_S = 1.0  # the interval at which a wait for a session checks for a stop


async def run_rounds(run: RunContext) -> str:
    """Runs every launch that has trials left, round by round; returns why it ended early, or an empty text.

    Raises the errors of the store.
    """
    before = {attempt.trial: attempt.outcome for attempt in run.store.attempts() if not attempt.interrupted}
    plan, number, asked = run.store.plan, 0, -1
    rounds, trials = _rounds(plan), _by_launch(plan)
    while number < len(rounds):
        launches = rounds[number]
        todo = [one for one in launches if any(trial.index not in before for trial in trials.get(one.index, ()))]
        if todo and run.halt.why:  # set while the round before ended
            return run.halt.summary()
        if todo and number != asked and launches[0].round in plan.checks and _is_next(run, launches[0]):
            asked = number
            run.replan(run.store, launches[0].round)
            if run.store.plan is not plan:  # the round may measure others now, or be gone
                plan = run.store.plan
                rounds, trials = _rounds(plan), _by_launch(plan)
                _tell_left(run)
                continue
        number += 1
        if not todo:
            continue
        clock = run.provisioning.ledger.time
        # Virtual time waits for no round, and reading all launches before each takes the longer the more there are.
        begun = None if isinstance(clock, VirtualTime) else before_round(plan, run.store.launches(), todo[0])
        reason = await until_open(plan, todo[0], clock, run.over, wait=run.wait, until=run.until, begun=begun)
        if reason:
            return reason
        await _run_round(run, todo, trials, before)
        if run.trials.stop.is_set():
            return run.halt.summary() or "stopped on request, after the trial that ran"
    if _has_trials_left(run):
        return run.halt.summary()
    if plan.rounds in plan.checks:
        run.replan(run.store, plan.rounds)
    return ""


def _tell_left(run: RunContext) -> None:
    left = trials_left(run.store)
    expected_s = 0.0 if is_simulated(run.plan) else sum(trial.expected_s for trial in left)
    run.trials.progress.replan(len(left), expected_s)


def _is_next(run: RunContext, first: Launch) -> bool:
    """True if nothing of the round of `first`, its first launch, or of a later one has begun."""
    launched = max((one.launch for one in run.store.launches()), default=-1)
    tried = max((run.store.plan.trials[one.trial].launch for one in run.store.attempts()), default=-1)
    return max(launched, tried) < first.index


def _has_trials_left(run: RunContext) -> bool:
    """True if any trial is left: a study that must launch nothing new may have had nothing new to launch."""
    return bool({trial.index for trial in run.store.plan.trials} - run.store.done())


def _by_launch(plan: Plan) -> dict[int, tuple[PlannedTrial, ...]]:
    ordered = sorted(plan.trials, key=lambda trial: (trial.launch, trial.index))
    return {launch: tuple(some) for launch, some in groupby(ordered, key=lambda trial: trial.launch)}


def _rounds(plan: Plan) -> list[tuple[Launch, ...]]:
    return [tuple(some) for _, some in groupby(plan.launches, key=lambda launch: (launch.session, launch.round))]


async def _run_round(
    run: RunContext,
    launches: Sequence[Launch],
    trials: Mapping[int, Sequence[PlannedTrial]],
    before: Mapping[int, Outcome],
) -> None:
    """Runs the launches of one round at once, those that share a host one after another.

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
        raise several.exceptions[0] from several  # the first that failed; it cancelled the others


class MachineLimit:
    """The number of machines that a study may have at once."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._reserved = 0
        self._freed = asyncio.Event()

    @asynccontextmanager
    async def reserved(self, count: int) -> AsyncIterator[None]:
        """Reserves this many machines, after a wait if too few are free; a count above the limit runs alone."""
        while self._reserved and self._reserved + count > self._most:
            self._freed.clear()
            await self._freed.wait()
        self._reserved += count
        try:
            yield
        finally:
            self._reserved -= count
            self._freed.set()


def before_round(plan: Plan, launches: Sequence[LaunchRecord], first: Launch) -> float | None:
    """The time (Unix, s) at which the last round before that of the launch `first` began; None without one."""
    own = first.session, first.round
    return max(
        (
            one.begun_at
            for one in launches
            if (plan.launches[one.launch].session, plan.launches[one.launch].round) != own
        ),
        default=None,
    )


async def until_open(
    plan: Plan, launch: Launch, time: Time, over: Callable[[], str], *, wait: bool, until: float = math.inf,
    begun: float | None = None,
) -> str:  # fmt: skip
    """Why the round of `launch` cannot start now, empty if it can; with `wait` sleeps until it can.

    From `until` (Unix time) no round starts. `begun` is the time at which the round before it began. `over` returns why
    the wait is pointless, empty as long as it is not. Virtual time follows the plan, so a simulated study never waits.
    """
    if isinstance(time, VirtualTime):
        return ""
    while (opens_at := _opens_at(plan, launch, time.now(), begun)) > time.now() or opens_at >= until:
        what = f"session {launch.session}" if launch.session else "the next round"
        at = f"{datetime.fromtimestamp(opens_at, UTC):%Y-%m-%d %H:%M UTC}"
        if opens_at >= until:
            return (
                f"no round starts from {datetime.fromtimestamp(until, UTC):%Y-%m-%d %H:%M UTC} on; {what} is due {at}"
            )
        if not wait:
            return f"{what} starts at {at}"
        if why := over():
            return why
        await time.sleep(min(_POLL_S, opens_at - time.now()))
    return ""


def _opens_at(plan: Plan, launch: Launch, now: float, begun: float | None) -> float:
    """The Unix time from which the round may start.

    With `every`, at most one round starts in each step: one whose own step has passed takes the next free one, so that
    late rounds do not follow each other.
    """
    timed = plan.sessions or plan.every_s is not None
    due = max(now, plan.start_at + launch.start_s) if timed else now
    if plan.every_s is not None and begun is not None:
        steps = math.floor((begun - plan.start_at) / plan.every_s + 1e-9) + 1
        due = max(due, plan.start_at + steps * plan.every_s)
    opening = next_opening([session for session in plan.sessions if session.name == launch.session], due)
    return due if opening is None else opening[1]
