"""From a plan to a measured study: the one place where provisioning, measuring and storing are joined."""

import asyncio
import time
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path

from cloudcmp.catalog import PROBES, metrics_with
from cloudcmp.errors import CloudcmpError, UserMistake
from cloudcmp.measure import Bench, check_unchanged
from cloudcmp.model.plan import Plan, PlannedTrial
from cloudcmp.model.protocol import Progress
from cloudcmp.owned_folder import OwnedPath
from cloudcmp.pipeline.adoption import check_maker, runs
from cloudcmp.pipeline.asking import ask, unheld
from cloudcmp.pipeline.checking import check_plan, refuse
from cloudcmp.pipeline.cleaning import Ending, Leave, faults_of, leave_at_once, left_told, lines_left, untouched
from cloudcmp.pipeline.confirmation import Confirm, confirm_commands
from cloudcmp.pipeline.confirmation import refuse as refuse_commands
from cloudcmp.pipeline.crew import Crew, Halt
from cloudcmp.pipeline.office import open_office
from cloudcmp.pipeline.preparing import prepare
from cloudcmp.pipeline.rounds import run_rounds
from cloudcmp.pipeline.spending import BUDGET, beside_of, budget_of, watch_money
from cloudcmp.pipeline.stopping import Stopping
from cloudcmp.pipeline.tools import (
    WORK,
    agent_of,
    is_simulated,
    ledger_of,
    limits_of,
    make_folder,
    provenance_of,
    providers_of,
    time_of,
    work_of,
)
from cloudcmp.pipeline.traffic import sent_in_all
from cloudcmp.plan import check_runnable
from cloudcmp.provider.registry import make, names
from cloudcmp.provision import Guard, Release, RowLog, release_all, terms_of
from cloudcmp.provision.waiting import told_while
from cloudcmp.stats.histogram import from_base64
from cloudcmp.store import StudyStore
from cloudcmp.units import Money

STUDIES = Path("cloudcmp-studies")


def new_folder(plan: Plan, out: Path | None) -> Path:
    """Where a new study goes: `out`, else a folder of the study's name and the time in UTC."""
    if out is not None:
        return out
    stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
    folder = STUDIES / f"{plan.name}-{stamp}"
    again = (STUDIES / f"{plan.name}-{stamp}-{count}" for count in range(2, 1000))
    return next(path for path in (folder, *again) if not path.exists())


def start(
    plan: Plan, text: str, folder: Path, *, work: Path | None, wait: bool, progress: Progress, leave: Leave,
    confirm: Confirm = refuse_commands, study: str = "",
) -> Ending:  # fmt: skip
    """Measure a new study in `folder`; test files of `local` go under `work`, by default beside the samples.

    `confirm` shows the lines that a study of its own text has machines of the user's own run, and says whether they may
    be; `study` is the file that it came from.

    Raises UserMistake where the folder is not empty, the plan can only be quoted, or its commands are not confirmed;
    AgentMissing, StorageFault.
    """
    check_runnable(plan, names(), [name for name in names() if make(name).billed])
    time_of(plan)  # refuses a mixture
    check_unchanged(plan)
    binary = agent_of(plan)
    confirm_commands(plan, study or plan.name, confirm, progress.note)
    _look_first(plan, progress)
    if work is not None:
        make_folder(OwnedPath(work))
    created_at = plan.start_at if is_simulated(plan) else time.time()
    with StudyStore.create(
        folder, plan, study_text=text, provenance=provenance_of(plan, binary), created_at=created_at
    ) as store:
        if work is not None:
            store.set_meta(WORK, str(work.absolute()))
        return _drive(store, binary, wait, progress, leave)


def _look_first(plan: Plan, progress: Progress) -> None:
    """Refuse a study whose providers would refuse it, before anything is created; raises what `refuse` raises."""
    runners = {candidate.runner for candidate in plan.candidates} - {"simulated", "local"}
    if runners:
        progress.note(f"looking first: {', '.join(sorted(runners))}")
        refuse([one.finding for one in ask(check_plan(plan, progress.note))])
        ask(prepare(plan, progress.note))


def resume(
    folder: Path,
    *,
    work: Path | None,
    wait: bool,
    progress: Progress,
    leave: Leave,
    budget: Money | None = None,
    adopt: bool = False,
    confirm: Confirm = refuse_commands,
) -> Ending:
    """Go on with a study: attempts that were cut short are marked and run again, all others stay as they are.

    A folder that was made elsewhere is refused, or adopted with `adopt`.

    Test files are made where the study made them so far: another folder may be another disk. Raises UserMistake where
    `work` names another one, or where it is gone, for a `budget` in another currency than the study's own, and where
    `confirm` does not let the commands of the stored plan be run.
    """
    check_maker(folder, runs, adopt=adopt, say=progress.note)
    with StudyStore.open(folder, write=True) as store:
        plan = store.plan
        store.verify()
        for name in store.moved_aside:
            progress.note(f"samples/{name} has no row: kept as {name}.unacknowledged, and its trial is run again")
        if plan.imported:
            raise UserMistake.at(str(folder), "an imported table has nothing to run", "use compare or report")
        _check_work(store, work)
        check_unchanged(plan)
        if left_of(store):
            confirm_commands(plan, str(folder), confirm, progress.note)
        if budget is not None:
            _raise_budget(store, budget)
        try:
            _look_first(plan, progress)
        except CloudcmpError as error:
            error.faults = (*error.faults, *faults_of(folder, untouched(store)))
            raise
        except KeyboardInterrupt:
            lines = untouched(store)
            leave(Ending(folder, False, "interrupted before it went on", True, lines))
        with left_told(folder, store, leave):
            moment = time_of(plan)
            store.interrupt_open(lambda trial: moment.at(plan.trials[trial].start_s))
            return _drive(store, agent_of(plan), wait, progress, leave)


def left_of(store: StudyStore) -> list[PlannedTrial]:
    """The trials of a study that have not ended by themselves yet."""
    done = store.done()
    return [trial for trial in store.plan.trials if trial.index not in done]


def _check_work(store: StudyStore, work: Path | None) -> None:
    """Raise UserMistake unless the folder for test files is the one that the study was begun with, and is there."""
    kept = store.meta(WORK)
    before = Path(kept) if kept else None
    if work is not None and work.absolute() != (before or store.folder / "work").absolute():
        raise UserMistake.at("--dir", f"the study makes its test files in {before or 'its own folder'}", "leave it out")
    if before is not None and not before.is_dir():
        raise UserMistake.at(str(before), "the folder for the study's test files is gone", "make it, on the same disk")


def _drive(store: StudyStore, binary: Path | None, wait: bool, progress: Progress, leave: Leave) -> Ending:
    plan = store.plan
    moment = time_of(plan)
    here = any(candidate.runner == "local" for candidate in plan.candidates)
    # A link in the place of the launches' folder is no fault of a candidate: nothing is begun.
    make_folder(work_of(store).below("launches") if here else work_of(store))
    providers = providers_of(store, binary, moment)
    rows = RowLog(store, store.lease_rows())
    ledger = ledger_of(store, moment, rows)
    bench = Bench(store, metrics_with(plan.commands), PROBES, moment, progress, from_base64, commands=plan.commands)
    guard = Guard(budget_of(store), terms_of(providers), rows.rows_from, moment, limits_of(plan), beside_of(plan))
    guard.traffic_bytes = sent_in_all(plan, store.attempts())
    office = open_office(ledger, providers.values())
    crew = Crew(plan, store, providers, office, bench, guard, Halt(), wait=wait)
    todo = left_of(store)
    # Virtual time is none of the reader's: how long the rest takes is then told from the trials so far.
    progress.begin(len(todo), 0.0 if is_simulated(plan) else sum(trial.expected_s for trial in todo))
    came: list[Ending] = []

    async def measure() -> None:
        reason, left, asked = await _measure(crew, leave)
        came.append(Ending(store.folder, not reason, reason, asked, left, fault=crew.halt.fault))

    with left_told(store.folder, store, leave, came):
        try:
            unheld(measure())
        finally:
            progress.end()
        if came[0].finished:
            store.compact()
    return came[0]


async def _measure(crew: Crew, leave: Leave) -> tuple[str, tuple[str, ...], bool]:
    """Run what is left of the study, then make sure that nothing is; why it ended early, what is left, and whether a
    signal asked for the end.

    At the second signal everything is asked to go, and `leave` ends the process.
    """
    stopping = Stopping(crew.bench.stop, crew.bench.progress.note)
    came: list[tuple[str, tuple[str, ...]]] = []
    ledger = crew.office.ledger

    async def release() -> tuple[Release, ...]:
        return await told_while(release_all(ledger, crew.providers), ledger, crew.providers, crew.bench.progress.note)

    def end(why: str) -> None:
        crew.halt.why = why
        stopping.end(why)

    async def work() -> None:
        reason = ""
        try:
            # What a killed controller left behind is ended before anything new is asked for.
            await release()
            watching = asyncio.create_task(watch_money(crew.guard, crew.bench.progress, crew.spent, end))
            try:
                reason = await stopping.draining(run_rounds(crew))
            finally:
                watching.cancel()
        except BaseException as error:
            _tell_left(crew, error, lines_left(await release()))
            raise
        came.append((_told(crew.halt, reason), lines_left(await release())))

    with stopping.heeding():
        if not await stopping.unless_hurried(work()):
            await leave_at_once(ledger, crew.providers, crew.store.folder, leave)
    return *came[0], stopping.asked


def _told(halt: Halt, reason: str) -> str:
    """Why a study ended early: first what halted it, then what cut short what still ran; nothing where all is done."""
    told = halt.told()
    if not reason or not told:
        return reason
    return told if reason in told else f"{told}; {reason}"


def _tell_left(crew: Crew, error: BaseException, left: Iterable[str]) -> None:
    """What is left of a study that ends by a fault is told with the fault: no ending will tell it."""
    faults = faults_of(crew.store.folder, left)
    if isinstance(error, CloudcmpError):
        error.faults = (*error.faults, *faults)
        return
    for fault in faults:
        crew.bench.progress.note(fault.line())


def _raise_budget(store: StudyStore, budget: Money) -> None:
    own = store.plan.budget
    if own is None or own.currency != budget.currency:
        told = f"the study's is in {own.currency}" if own else "the study has none, for nothing of it is billed"
        raise UserMistake.at("--budget", told, "leave it out" if own is None else f"write e.g. 10 {own.currency}")
    store.set_meta(BUDGET, f"{budget.amount} {budget.currency}")
