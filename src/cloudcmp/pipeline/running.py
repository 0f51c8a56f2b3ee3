"""From a plan to a measured study: the one place where provisioning, measuring and storing are joined."""

import asyncio
import hashlib
import os
import platform
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import NoReturn

from cloudcmp import __version__, agent
from cloudcmp.agent.ssh import dial
from cloudcmp.catalog import METRICS, PROBES
from cloudcmp.errors import CloudcmpError, Fault, StorageFault, UserMistake
from cloudcmp.measure import Bench
from cloudcmp.model.codec import to_json
from cloudcmp.model.lease import Lease, LeaseState
from cloudcmp.model.plan import Plan
from cloudcmp.model.protocol import Progress, Provider
from cloudcmp.pipeline.checking import check_plan, refuse
from cloudcmp.pipeline.crew import Crew, Halt
from cloudcmp.pipeline.office import open_office
from cloudcmp.pipeline.rounds import run_rounds
from cloudcmp.pipeline.spending import BUDGET, budget_of, sent_bytes, watch_money
from cloudcmp.pipeline.stopping import Stopping
from cloudcmp.plan import check_runnable
from cloudcmp.provider.registry import Means, make, names
from cloudcmp.provider.time import Time, VirtualTime, WallTime
from cloudcmp.provision import Guard, Ledger, Limits, Release, ask_all, release_all, terms_of
from cloudcmp.stats.histogram import encode, from_base64
from cloudcmp.store import StudyStore
from cloudcmp.units import Money

STUDIES = Path("cloudcmp-studies")
HURRY_S = 1.0
"""How long leaving at once waits for requests to destroy to be sent."""

_WORK = "work_folder"
MACHINES = 100
"""The most machines at once unless the study says more: a slip of the pen must not launch thousands."""


@dataclass(frozen=True, slots=True)
class Ending:
    """How a run ended: whether all trials were run, else why not; `left` are machines that could not be seen gone."""

    folder: Path
    finished: bool
    reason: str = ""
    interrupted: bool = False
    left: tuple[str, ...] = ()


Leave = Callable[[Ending], NoReturn]
"""Tells how it ended and ends the process, whatever its threads still wait for."""


def new_folder(plan: Plan, out: Path | None) -> Path:
    """Where a new study goes: `out`, else a folder of the study's name and the time in UTC."""
    if out is not None:
        return out
    stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
    folder = STUDIES / f"{plan.name}-{stamp}"
    again = (STUDIES / f"{plan.name}-{stamp}-{count}" for count in range(2, 1000))
    return next(path for path in (folder, *again) if not path.exists())


def start(
    plan: Plan, text: str, folder: Path, *, work: Path | None, wait: bool, progress: Progress, leave: Leave
) -> Ending:
    """Measure a new study in `folder`; test files of `local` go under `work`, by default beside the samples.

    Raises UserMistake where the folder is not empty or the plan can only be quoted, AgentMissing, StorageFault.
    """
    check_runnable(plan, names(), [name for name in names() if make(name).billed])
    _time(plan)  # refuses a mixture
    binary = _agent(plan)
    _look_first(plan, progress)
    if work is not None:
        _make_folder(work)
    created_at = plan.start_at if _simulated(plan) else time.time()
    with StudyStore.create(
        folder, plan, study_text=text, provenance=_provenance(plan, binary), created_at=created_at
    ) as store:
        if work is not None:
            store.set_meta(_WORK, str(work.absolute()))
        return _drive(store, binary, work, wait, progress, leave)


def _look_first(plan: Plan, progress: Progress) -> None:
    """Refuse a study whose providers would refuse it, before anything is created; raises what `refuse` raises."""
    runners = {candidate.runner for candidate in plan.candidates} - {"simulated", "local"}
    if runners:
        progress.note(f"looking first: {', '.join(sorted(runners))}")
        refuse([one.finding for one in asyncio.run(check_plan(plan))])


def resume(
    folder: Path,
    *,
    work: Path | None,
    wait: bool,
    progress: Progress,
    leave: Leave,
    budget: Money | None = None,
) -> Ending:
    """Go on with a study: attempts that were cut short are marked and run again, all others stay as they are.

    Test files are made where the study made them so far: another folder may be another disk. Raises UserMistake where
    `work` names another one, or where it is gone, and for a `budget` in another currency than the study's own.
    """
    with StudyStore.open(folder, write=True) as store:
        plan = store.plan
        if plan.imported:
            raise UserMistake.at(str(folder), "an imported table has nothing to run", "use compare or report")
        work = _same_work(store, work)
        if budget is not None:
            _raise_budget(store, budget)
        try:
            _look_first(plan, progress)
        except CloudcmpError as error:
            error.faults = (*error.faults, *_faults_of(folder, _untouched(store)))
            raise
        except KeyboardInterrupt:
            lines = _untouched(store)
            leave(Ending(folder, False, "interrupted before it went on", True, lines))
        moment = _time(plan)
        store.interrupt_open(lambda trial: moment.at(plan.trials[trial].start_s))
        return _drive(store, _agent(plan), work, wait, progress, leave)


def _untouched(store: StudyStore) -> tuple[str, ...]:
    """A line for each thing that may be there and was not asked to go."""
    left = [one for one in store.leases() if one.state is not LeaseState.GONE]
    return tuple(_line(Release(one, None, "not asked to go")) for one in left)


def _same_work(store: StudyStore, work: Path | None) -> Path | None:
    """The folder for test files that the study was begun with, None for its own."""
    kept = store.meta(_WORK)
    before = Path(kept) if kept else None
    if work is not None and work.absolute() != (before or store.folder / "work").absolute():
        raise UserMistake.at("--dir", f"the study makes its test files in {before or 'its own folder'}", "leave it out")
    if before is not None and not before.is_dir():
        raise UserMistake.at(str(before), "the folder for the study's test files is gone", "make it, on the same disk")
    return before


def cleanup(folder: Path, leave: Leave | None = None) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Destroy all that a study still owns; returns a line for each thing destroyed and for each thing left.

    With `leave` the first signal ends it: all is asked to go, and `leave` ends the process.
    """
    with StudyStore.open(folder, write=True, reserve=True) as store:
        providers, ledger = tools(store, None, None)
        releases = asyncio.run(_end_all(ledger, providers, folder, leave))
    return tuple(_line(one) for one in releases if one.evidence), _left(releases)


async def _end_all(
    ledger: Ledger, providers: Mapping[str, Provider], folder: Path, leave: Leave | None
) -> tuple[Release, ...]:
    if leave is None:
        return await release_all(ledger, providers)
    stop, releases = asyncio.Event(), list[Release]()
    stop.set()  # it is the end already: there is nothing to wait for
    stopping = Stopping(stop, lambda _: None)

    async def work() -> None:
        releases.extend(await release_all(ledger, providers))

    with stopping.heeding():
        if not await stopping.unless_hurried(work()):
            await _leave_at_once(ledger, providers, folder, leave)
    return tuple(releases)


async def _leave_at_once(ledger: Ledger, providers: Mapping[str, Provider], folder: Path, leave: Leave) -> NoReturn:
    """Ask all that is open to go, tell it, and end the process."""
    lines = tuple(_line(Release(one, None, _unseen(one))) for one in await ask_all(ledger, providers, HURRY_S))
    leave(Ending(folder, False, "left at once", True, lines))


def _unseen(lease: Lease) -> str:
    if lease.handle() is None:
        return "it may have been made: there was no answer yet"
    return "asked to go, not seen gone"


def tools(store: StudyStore, binary: Path | None, work: Path | None) -> tuple[dict[str, Provider], Ledger]:
    """A study's providers and its ledger, which keep the same time."""
    moment = _time(store.plan)
    return _providers(store, binary, work, moment), Ledger(store, _study_id(store), moment, owner=_owner())


def _drive(
    store: StudyStore, binary: Path | None, work: Path | None, wait: bool, progress: Progress, leave: Leave
) -> Ending:
    plan = store.plan
    moment = _time(plan)
    providers = _providers(store, binary, work, moment)
    ledger = Ledger(store, _study_id(store), moment, owner=_owner())
    bench = Bench(store, METRICS, PROBES, moment, progress, from_base64)
    guard = Guard(budget_of(store), terms_of(providers), store.lease_rows, moment, _limits(plan))
    guard.traffic_bytes = sum(sent_bytes(attempt.facts) for attempt in store.attempts())
    office = open_office(ledger, providers.values())
    crew = Crew(plan, store, providers, office, bench, guard, Halt(), wait=wait)
    done = store.done()
    todo = [trial for trial in plan.trials if trial.index not in done]
    # Virtual time is none of the reader's: how long the rest takes is then told from the trials so far.
    progress.begin(len(todo), 0.0 if _simulated(plan) else sum(trial.expected_s for trial in todo))
    try:
        reason, left = asyncio.run(_measure(crew, leave))
    finally:
        progress.end()
    finished = not reason
    if finished:
        store.compact()
    return Ending(store.folder, finished, reason, bench.stop.is_set() and not crew.halt.why, left)


async def _measure(crew: Crew, leave: Leave) -> tuple[str, tuple[str, ...]]:
    """Run what is left of the study, then make sure that nothing is; why it ended early, and what is left.

    At the second signal everything is asked to go, and `leave` ends the process.
    """
    stopping = Stopping(crew.bench.stop, crew.bench.progress.note)
    came: list[tuple[str, tuple[str, ...]]] = []
    ledger = crew.office.ledger

    def drain(why: str) -> None:
        crew.halt.why = why
        crew.bench.stop.set()

    async def work() -> None:
        reason = ""
        try:
            # What a killed controller left behind is ended before anything new is asked for.
            await release_all(ledger, crew.providers)
            watching = asyncio.create_task(watch_money(crew.guard, crew.bench.progress, drain, stopping.end))
            try:
                reason = await stopping.draining(run_rounds(crew))
            finally:
                watching.cancel()
        except BaseException as error:
            _tell_left(crew, error, _left(await release_all(ledger, crew.providers)))
            raise
        came.append((reason, _left(await release_all(ledger, crew.providers))))

    with stopping.heeding():
        if not await stopping.unless_hurried(work()):
            await _leave_at_once(ledger, crew.providers, crew.store.folder, leave)
    return came[0]


def _tell_left(crew: Crew, error: BaseException, left: Iterable[str]) -> None:
    """What is left of a study that ends by a fault is told with the fault: no ending will tell it."""
    faults = _faults_of(crew.store.folder, left)
    if isinstance(error, CloudcmpError):
        error.faults = (*error.faults, *faults)
        return
    for fault in faults:
        crew.bench.progress.note(fault.line())


def _faults_of(folder: Path, left: Iterable[str]) -> tuple[Fault, ...]:
    return tuple(Fault("left", line, f"end it with: cloudcmp cleanup {folder}") for line in left)


def _left(releases: Iterable[Release]) -> tuple[str, ...]:
    return tuple(_line(one) for one in releases if one.evidence is None)


def _line(one: Release) -> str:
    return f"{_named(one.lease)}: {one.evidence or one.why}"


def _named(lease: Lease) -> str:
    return f"{lease.provider}/{lease.region} {lease.kind} {lease.cloud_id or lease.name}"


def _simulated(plan: Plan) -> bool:
    return all(candidate.simulated for candidate in plan.candidates)


def _time(plan: Plan) -> Time:
    """The wall's time, or virtual time when every candidate is simulated; raises UserMistake for a mixture."""
    if _simulated(plan):
        return VirtualTime(plan.start_at)
    if any(candidate.simulated for candidate in plan.candidates):
        raise UserMistake.at(plan.name, "simulated and real candidates share no clock", "use --on simulated for all")
    return WallTime()


def _agent(plan: Plan) -> Path | None:
    return None if _simulated(plan) else agent.locate()


def _providers(store: StudyStore, binary: Path | None, work: Path | None, moment: Time) -> dict[str, Provider]:
    """The plan's providers; simulated clouds must share the ledger's time, or waiting for them takes none of theirs."""
    plan = store.plan
    means = Means(
        work=work or store.folder / "work",
        agent=binary,
        metrics=METRICS,
        candidates=plan.candidates,
        time=moment if isinstance(moment, VirtualTime) else None,
        encode_histogram=encode,
        dial=dial,
    )
    if means.work is not None:
        _make_folder(means.work)
    return {name: make(name, means) for name in dict.fromkeys(one.runner for one in plan.candidates)}


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        fault = Fault(str(folder), (error.strerror or "can not be made").lower(), "name another folder with --dir")
        raise StorageFault(fault) from error


def _limits(plan: Plan) -> Limits:
    return Limits(at_once=plan.caps.machines or MACHINES, traffic_bytes=plan.caps.bytes)


def _raise_budget(store: StudyStore, budget: Money) -> None:
    own = store.plan.budget
    if own is None or own.currency != budget.currency:
        told = f"the study's is in {own.currency}" if own else "the study has none, for nothing of it is billed"
        raise UserMistake.at("--budget", told, "leave it out" if own is None else f"write e.g. 10 {own.currency}")
    store.set_meta(BUDGET, f"{budget.amount} {budget.currency}")


def _owner() -> str:
    """A hash that tells users of one account apart, never a name."""
    return hashlib.sha256(f"{os.getuid()}\n{platform.node()}\n{Path.home()}".encode()).hexdigest()[:12]


def _study_id(store: StudyStore) -> str:
    """A name for tags: alike on every machine, unlike any other study's."""
    digest = hashlib.sha256(f"{to_json(store.plan)}\n{store.created_at}".encode()).hexdigest()
    return f"{store.plan.name}-{digest[:12]}"


def _provenance(plan: Plan, binary: Path | None) -> dict[str, str]:
    found = {"cloudcmp": __version__}
    if binary is not None:
        found["agent sha256"] = hashlib.sha256(binary.read_bytes()).hexdigest()
    for candidate in plan.candidates:
        price = candidate.offering.price
        if price is not None:
            dated = f", as of {price.as_of}" if price.as_of else ", no date"
            found[f"price of {candidate.id}"] = f"{price.amount_per_hour} {price.currency}/h from {price.source}{dated}"
    return found
