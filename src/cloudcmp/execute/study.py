"""A study while it runs: what is left of its rounds, then the release of everything it made."""

import asyncio
from collections.abc import Iterable
from pathlib import Path

from cloudcmp.catalog import PROBES, metrics_with
from cloudcmp.errors import CloudcmpError
from cloudcmp.execute.connections import open_provisioning
from cloudcmp.execute.context import Halt, RunContext, TrialContext
from cloudcmp.execute.environment import is_simulated, ledger_of, limits_of, make_folder, providers_of, time_of, work_of
from cloudcmp.execute.interruptible import unheld
from cloudcmp.execute.interruption import Stopping
from cloudcmp.execute.rounds import run_rounds
from cloudcmp.execute.spending import beside_of, budget_of, watch_money
from cloudcmp.execute.teardown import Leave, RunEnd, faults_of, leave_at_once, left_told, lines_left
from cloudcmp.execute.traffic import sent_in_all
from cloudcmp.model.plan import PlannedTrial
from cloudcmp.model.protocol import Progress
from cloudcmp.provision import Guard, Release, RowLog, release_all, terms_of
from cloudcmp.provision.progress import run_with_progress
from cloudcmp.stats.histogram import from_base64
from cloudcmp.store import StudyStore


def left_of(store: StudyStore) -> list[PlannedTrial]:
    """The trials of a study that have not ended by themselves yet."""
    done = store.done()
    return [trial for trial in store.plan.trials if trial.index not in done]


def drive(store: StudyStore, binary: Path | None, wait: bool, progress: Progress, leave: Leave) -> RunEnd:
    plan = store.plan
    moment = time_of(plan)
    here = any(candidate.runner == "local" for candidate in plan.candidates)
    # A link in the place of the launches' folder is no fault of a candidate: nothing is begun.
    make_folder(work_of(store).below("launches") if here else work_of(store))
    providers = providers_of(store, binary, moment)
    rows = RowLog(store, store.lease_rows())
    ledger = ledger_of(store, moment, rows)
    trials = TrialContext(
        store, metrics_with(plan.commands), PROBES, moment, progress, from_base64, commands=plan.commands
    )
    guard = Guard(budget_of(store), terms_of(providers), rows.rows_from, moment, limits_of(plan), beside_of(plan))
    guard.traffic_bytes = sent_in_all(plan, store.attempts())
    provisioning = open_provisioning(ledger, providers.values())
    run = RunContext(plan, store, providers, provisioning, trials, guard, Halt(), wait=wait)
    todo = left_of(store)
    # Virtual time is none of the reader's: how long the rest takes is then told from the trials so far.
    progress.begin(len(todo), 0.0 if is_simulated(plan) else sum(trial.expected_s for trial in todo))
    came: list[RunEnd] = []

    async def measure() -> None:
        reason, left, asked = await _measure(run, leave)
        came.append(RunEnd(store.folder, not reason, reason, asked, left, fault=run.halt.fault))

    with left_told(store.folder, store, leave, came):
        try:
            unheld(measure())
        finally:
            progress.end()
        if came[0].finished:
            store.compact()
    return came[0]


async def _measure(run: RunContext, leave: Leave) -> tuple[str, tuple[str, ...], bool]:
    """Run what is left of the study, then make sure that nothing is; why it ended early, what is left, and whether a
    signal asked for the end.

    At the second signal everything is asked to go, and `leave` ends the process.
    """
    stopping = Stopping(run.trials.stop, run.trials.progress.note)
    came: list[tuple[str, tuple[str, ...]]] = []
    ledger = run.provisioning.ledger

    async def release() -> tuple[Release, ...]:
        note = run.trials.progress.note
        return await run_with_progress(release_all(ledger, run.providers), ledger, run.providers, note)

    def end(why: str) -> None:
        run.halt.why = why
        stopping.end(why)

    async def work() -> None:
        reason = ""
        try:
            # What a killed controller left behind is ended before anything new is asked for.
            await release()
            watching = asyncio.create_task(watch_money(run.guard, run.trials.progress, run.launch_no_more, end))
            try:
                reason = await stopping.draining(run_rounds(run))
            finally:
                watching.cancel()
        except BaseException as error:
            _tell_left(run, error, lines_left(await release()))
            raise
        came.append((_told(run.halt, reason), lines_left(await release())))

    with stopping.heeding():
        if not await stopping.unless_hurried(work()):
            await leave_at_once(ledger, run.providers, run.store.folder, leave)
    return *came[0], stopping.asked


def _told(halt: Halt, reason: str) -> str:
    """Why a study ended early: first what halted it, then what cut short what still ran; nothing where all is done."""
    told = halt.summary()
    if not reason or not told:
        return reason
    return told if reason in told else f"{told}; {reason}"


def _tell_left(run: RunContext, error: BaseException, left: Iterable[str]) -> None:
    """What is left of a study that ends by a fault is told with the fault: no ending will tell it."""
    faults = faults_of(run.store.folder, left)
    if isinstance(error, CloudcmpError):
        error.faults = (*error.faults, *faults)
        return
    for fault in faults:
        run.trials.progress.note(fault.line())
