"""Starts a study and resumes one."""

import math
import time
from dataclasses import replace
from pathlib import Path

from cloudcmp.app.adoption import check_maker, resume_actions
from cloudcmp.app.check.preflight import check_plan, prepare, refuse
from cloudcmp.app.confirmation import Confirm, confirm_commands
from cloudcmp.app.confirmation import refuse as refuse_commands
from cloudcmp.app.enough import replan
from cloudcmp.app.plan import host_of, quoted
from cloudcmp.app.study_folder import remember_folder
from cloudcmp.errors import CloudcmpError, UserMistake
from cloudcmp.execute.commands import check_unchanged
from cloudcmp.execute.environment import WORK, agent_of, is_simulated, make_folder, provenance_of, time_of
from cloudcmp.execute.interruption import run_interruptible
from cloudcmp.execute.spending import BUDGET, budget_of
from cloudcmp.execute.study import run_study, trials_left
from cloudcmp.execute.teardown import Leave, RunEnd, faults_of, open_lease_lines, reporting_leftovers
from cloudcmp.model.plan import Plan
from cloudcmp.model.protocol import Progress
from cloudcmp.model.timer import Timer
from cloudcmp.owned_folder import OwnedPath
from cloudcmp.plan import check_runnable, with_more_rounds
from cloudcmp.provider.registry import billed_names, names
from cloudcmp.store import StudyStore
from cloudcmp.units import Money

_LONGEST_LOOK_S = 600.0
"""A timer looks at least so often whether a round is due: so late one may begin."""


def start(
    plan: Plan, text: str, folder: Path, *, work: Path | None, wait: bool, progress: Progress, leave: Leave,
    confirm: Confirm = refuse_commands, study: str = "", until: float = math.inf,
) -> RunEnd:  # fmt: skip
    """Measure a new study in `folder`; test files of `local` go under `work`, by default next to the samples.

    `confirm` shows the commands that the study runs on the user's own machines, and returns whether they may run;
    `study` is the study's file. From `until` (Unix time) no round starts; with `wait` it sleeps until the next one may.

    Raises UserMistake if the folder is not empty, the plan can only be quoted, or its commands are not confirmed;
    AgentMissing, StorageFault.
    """
    check_runnable(plan, names(), billed_names(plan.candidates))
    time_of(plan)  # refuses a mixture
    check_unchanged(plan)
    binary = agent_of(plan)
    confirm_commands(plan, study or plan.name, confirm, progress.note)
    _preflight(plan, progress)
    if work is not None:
        make_folder(OwnedPath(work))
    created_at = plan.start_at if is_simulated(plan) else time.time()
    with StudyStore.create(
        folder, plan, study_text=text, provenance=provenance_of(plan, binary), created_at=created_at
    ) as store:
        if work is not None:
            store.set_meta(WORK, str(work.absolute()))
        _remember(folder, progress)
        return run_study(store, binary, wait, progress, leave, replan(progress.note), until)


def _remember(folder: Path, progress: Progress) -> None:
    """Have `list studies` find a study's folder, wherever it is."""
    if warning := remember_folder(folder):
        progress.note(warning)


def _preflight(plan: Plan, progress: Progress) -> None:
    """Check and prepare the providers before anything is created; raises what `refuse` raises."""
    runners = {*plan.drivers} - {"simulated", "local"}
    if runners:
        progress.step(f"checking first: {', '.join(sorted(runners))}")
        refuse([one.finding for one in run_interruptible(check_plan(plan, progress.step))])
        run_interruptible(prepare(plan, progress.step))


def resume(
    folder: Path,
    *,
    work: Path | None,
    wait: bool,
    progress: Progress,
    leave: Leave,
    budget: Money | None = None,
    more: int | None = None,
    adopt: bool = False,
    confirm: Confirm = refuse_commands,
    until: float = math.inf,
) -> RunEnd:
    """Resume a study: interrupted attempts are marked and run again, all others stay unchanged.

    A folder that was made elsewhere is refused, or adopted with `adopt`. `more` adds rounds to a study that has ended;
    the verdicts of before count as one look at it.

    Test files stay in their folder, because another one may be another disk. Raises UserMistake if `work` names another
    folder or it is gone, for a `budget` in another currency than the study's, and if `confirm` refuses the commands of
    the stored plan.
    """
    check_maker(folder, resume_actions, adopt=adopt, say=progress.note)
    with StudyStore.open(folder, write=True) as store:
        plan = store.plan
        store.verify()
        for name in store.moved_aside:
            progress.note(f"samples/{name} has no row: kept as {name}.unacknowledged, and its trial is run again")
        if plan.imported:
            raise UserMistake.at(str(folder), "an imported table has nothing to run", "use compare or report")
        _check_work(store, work)
        check_unchanged(plan)
        if more is not None or trials_left(store):
            confirm_commands(plan, str(folder), confirm, progress.note)
        if budget is not None:
            _raise_budget(store, budget)
        if more is not None:
            _add_rounds(store, more)
            plan = store.plan
        try:
            _preflight(plan, progress)
        except CloudcmpError as error:
            error.faults = (*error.faults, *faults_of(folder, open_lease_lines(store)))
            raise
        except KeyboardInterrupt:
            lines = open_lease_lines(store)
            leave(RunEnd(folder, False, "interrupted before it continued", True, lines))
        with reporting_leftovers(folder, store, leave):
            moment = time_of(plan)
            _remember(folder, progress)
            store.interrupt_open(lambda trial: moment.at(plan.trials[trial].start_s))
            return run_study(store, agent_of(plan), wait, progress, leave, replan(progress.note), until)


def timer(folder: Path) -> Timer:
    """The timer that continues a study of rounds at their times; raises UserMistake if it has neither `every` nor
    sessions."""
    with StudyStore.open(folder, write=False) as store:
        plan = store.plan
    if plan.every_s is None and not plan.sessions:
        raise UserMistake.at(
            str(folder), "its rounds follow each other: nothing is to be timed", "write e.g. every: 1 h"
        )
    looks = _LONGEST_LOOK_S if plan.every_s is None else min(_LONGEST_LOOK_S, max(60.0, plan.every_s / 4.0))
    return Timer(folder.resolve(), plan.name, looks)


def _check_work(store: StudyStore, work: Path | None) -> None:
    """Raise UserMistake unless the folder for test files is the study's first one and exists."""
    kept = store.meta(WORK)
    before = Path(kept) if kept else None
    if work is not None and work.absolute() != (before or store.folder / "work").absolute():
        raise UserMistake.at("--dir", f"the study makes its test files in {before or 'its own folder'}", "leave it out")
    if before is not None and not before.is_dir():
        raise UserMistake.at(str(before), "the folder for the study's test files is gone", "make it, on the same disk")


def _add_rounds(store: StudyStore, more: int) -> None:
    """Add rounds to a study that has ended; raises UserMistake if it has not, or if they do not fit its budget."""
    if trials_left(store):
        what = "the study has not ended: its own rounds come first"
        raise UserMistake.at("--more", what, f"cloudcmp run --resume {store.folder}")
    longer = quoted(with_more_rounds(store.plan, more, host_of))
    planned = longer.budget
    if planned is not None:  # the budget may have been raised since
        longer = replace(longer, budget=budget_of(store))
    check_runnable(longer, names(), billed_names(longer.candidates))
    store.replan(replace(longer, budget=planned))


def _raise_budget(store: StudyStore, budget: Money) -> None:
    own = store.plan.budget
    if own is None or own.currency != budget.currency:
        why = f"the study's is in {own.currency}" if own else "the study has none, because nothing in it is billed"
        raise UserMistake.at("--budget", why, "leave it out" if own is None else f"write e.g. 10 {own.currency}")
    store.set_meta(BUDGET, f"{budget.amount} {budget.currency}")
