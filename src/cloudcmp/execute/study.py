"""A study while it runs: its remaining rounds, then the release of everything it made."""

import asyncio
from collections.abc import Iterable
from pathlib import Path

from cloudcmp.catalog import PROBES, metrics_with
from cloudcmp.errors import CloudcmpError
from cloudcmp.execute.connections import open_provisioning
from cloudcmp.execute.context import Halt, RunContext, TrialContext
from cloudcmp.execute.environment import is_simulated, ledger_of, limits_of, make_folder, providers_of, time_of, work_of
from cloudcmp.execute.interruption import StopSignals, run_interruptible
from cloudcmp.execute.rounds import run_rounds
from cloudcmp.execute.spending import beside_of, budget_of, watch_money
from cloudcmp.execute.teardown import Leave, RunEnd, faults_of, leave_at_once, lines_left, reporting_leftovers
from cloudcmp.execute.traffic import sent_in_all
from cloudcmp.model.plan import PlannedTrial
from cloudcmp.model.protocol import Progress
from cloudcmp.provision import Guard, RowLog, release_all, terms_of
from cloudcmp.provision.progress import run_with_progress
from cloudcmp.stats.histogram import from_base64
from cloudcmp.store import StudyStore


def trials_left(store: StudyStore) -> list[PlannedTrial]:
    """The trials of a study that have not ended by themselves yet."""
    done = store.done()
    return [trial for trial in store.plan.trials if trial.index not in done]


def run_study(store: StudyStore, binary: Path | None, wait: bool, progress: Progress, leave: Leave) -> RunEnd:
    """Run the remaining trials of a study and release everything it made; returns how the run ended.

    With `wait`, sleeps until the next session opens. If interrupted, reports leftovers through `leave`.
    """
    run, todo = _open_run(store, binary, wait, progress), trials_left(store)
    # Virtual time says nothing of real time: the rest is then estimated from the trials so far.
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


def _open_run(store: StudyStore, binary: Path | None, wait: bool, progress: Progress) -> RunContext:
    """The context of a run: providers, ledger, budget and the tables for its trials."""
    plan, moment = store.plan, time_of(store.plan)
    here = any(candidate.runner == "local" for candidate in plan.candidates)
    # Before anything starts: a link in place of the launches' folder is not the candidate's fault.
    make_folder(work_of(store).below("launches") if here else work_of(store))
    providers = providers_of(store, binary, moment)
    rows = RowLog(store, store.lease_rows())
    ledger = ledger_of(store, moment, rows)
    trials = TrialContext(
        store, metrics_with(plan.commands), PROBES, moment, progress, from_base64, commands=plan.commands
    )
    guard = Guard(budget_of(store), terms_of(providers), rows.rows_from, moment, limits_of(plan), beside_of(plan))
    guard.traffic_bytes = sent_in_all(plan, store.attempts())
    return RunContext(
        plan, store, providers, open_provisioning(ledger, providers.values()), trials, guard, Halt(), wait=wait
    )


async def _measure(run: RunContext, leave: Leave) -> RunEnd:
    """Run the remaining rounds, then release everything. The second signal requests all deletions and leaves."""
    note, ledger = run.trials.progress.note, run.provisioning.ledger
    signals = StopSignals(run.trials.stop, note)
    ends: list[tuple[str, tuple[str, ...]]] = []

    async def release() -> tuple[str, ...]:
        return lines_left(await run_with_progress(release_all(ledger, run.providers), ledger, run.providers, note))

    def end(why: str) -> None:
        run.halt.why = why
        signals.end(why)

    async def work() -> None:
        reason = ""
        try:
            # Leftovers of a killed controller are released before anything new is requested.
            await release()
            watching = asyncio.create_task(watch_money(run.guard, run.trials.progress, run.launch_no_more, end))
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
    return RunEnd(run.store.folder, not reason, reason, signals.asked, left, fault=run.halt.fault)


def _summary(halt: Halt, reason: str) -> str:
    """Why a study ended early: its halt, then the reason that cut short running work; empty if all is done."""
    summary = halt.summary()
    if not reason or not summary:
        return reason
    return summary if reason in summary else f"{summary}; {reason}"


def _add_leftovers(run: RunContext, error: BaseException, left: Iterable[str]) -> None:
    """Report leftovers with the error that ends the study, because no `RunEnd` will."""
    faults = faults_of(run.store.folder, left)
    if isinstance(error, CloudcmpError):
        error.faults = (*error.faults, *faults)
        return
    for fault in faults:
        run.trials.progress.note(fault.line())
