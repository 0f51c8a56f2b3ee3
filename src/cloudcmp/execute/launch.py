"""One launch, from its lease to the evidence that it is gone, with an outcome for each of its trials."""

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import replace

from cloudcmp.agent.addresses import both_ends
from cloudcmp.catalog import PROBES
from cloudcmp.errors import (
    ACCOUNT_FAULTS,
    CONTROLLER_FAULTS,
    AgentMissing,
    BudgetSpent,
    ConnectionLost,
    Preempted,
    ProviderFault,
    TooLate,
)
from cloudcmp.execute.attempts import Begun, begin, finish_in_thread, interrupt, interrupt_all, next_of, record_all
from cloudcmp.execute.cast import LaunchTargets, ServedAt, has_several_agents
from cloudcmp.execute.commands import command_job
from cloudcmp.execute.connections import gone_of, reconnect_of
from cloudcmp.execute.context import SLEPT_S, LaunchContext, LaunchResult, RunContext, TrialContext, TrialsByTurn
from cloudcmp.execute.lifecycle.disturbance import disturb
from cloudcmp.execute.lifecycle.machine_times import give_up_s, record_arrival, record_release
from cloudcmp.execute.lost_connection import Unreachable
from cloudcmp.execute.service import data_set_of
from cloudcmp.execute.spending import dearest_candidate, request_for, restarts_s
from cloudcmp.execute.traffic import allowance
from cloudcmp.execute.trial import TrialTask, lease_s, run_trial
from cloudcmp.execute.vantages import meet_own_host, set_up_vantages
from cloudcmp.model.firewall import SERVED_PORT, AdmitsPeers
from cloudcmp.model.lease import INSTANCE
from cloudcmp.model.plan import Candidate, Launch, PlannedTrial
from cloudcmp.model.trial import LaunchReason, Outcome, TrialResult
from cloudcmp.plan import machines
from cloudcmp.provision import (
    Part,
    Release,
    end_earlier,
    patience_with,
    public_addresses,
    set_up,
    slot_of,
    tear_down,
    zones_of,
)


async def run_launch(
    run: RunContext, launch: Launch, trials: Sequence[PlannedTrial], before: Mapping[int, Outcome]
) -> None:
    """Sets a launch up, runs its trials, and always tears it down.

    Raises the errors of the store, and cancellation.
    """
    candidate = run.plan.candidates[launch.candidate]
    todo = [trial for trial in trials if trial.index not in before]
    if was_preempted(trials, before):
        lost = LaunchReason.MACHINE_LOST
        record_all(run.trials, candidate, todo, Outcome.PREEMPTED, lost.text, lost)
        return
    provider = run.providers[candidate.runner]
    count = machines(candidate, todo)
    slots = tuple(slot_of(launch, Part(INSTANCE, number + 1)) for number in range(count))
    try:
        paid = await asyncio.to_thread(dearest_candidate, provider, candidate, todo, run.plan.candidates)
        ttl_s = run.guard.allow(request_for(provider, paid, todo, slots)) - restarts_s(provider, paid, todo)
    except BudgetSpent as fault:
        # A skipped launch is not a failure of the candidate: it can be run once there is money for it.
        run.launch_no_more(str(fault))
        return
    except ProviderFault as fault:
        run.stop_all(str(fault), LaunchReason.ACCOUNT_FAULT)  # a price is not available
        return
    run.store.begin_launch(launch.index, run.trials.clock.at(launch.start_s), slots[0])
    now_s, slept_s = run.provisioning.connector.time.monotonic(), run.trials.slept_s()
    turns = TrialsByTurn.of(PROBES, candidate, trials)
    context = LaunchContext(run, provider, paid, launch, turns, before, ttl_s, count, [], now_s, slept_s)
    releases: tuple[Release, ...] = ()
    try:
        result = await _set_up_and_run(context)
    finally:
        for machine in context.machines:
            if machine.shell is not None:
                await machine.shell.close()
        await context.vantages.aclose()
        context.slept_s = run.trials.slept_s()
        releases = await tear_down(run.provisioning, run.providers, launch)
        run.guard.withdraw(slots)
    if result.finished:
        _record_release(context, releases, result)
    reason = None if result.reason is None else result.reason.value
    ended_at = run.trials.clock.at(launch.start_s)
    run.store.end_launch(launch.index, ended_at, result.outcome.value, result.why, reason)


async def _set_up_and_run(context: LaunchContext) -> LaunchResult:
    """Leases the machines, timed, then runs the trials; if the machines never arrive, all trials fail.

    Vantage points come first: a firewall must know their addresses, and nothing that they need is timed or billed.
    """
    run, turns = context.run, context.turns
    connector = run.provisioning.connector
    connector = replace(connector, give_up_s=give_up_s(turns.arrival, connector.give_up_s))
    provisioning, missing = replace(run.provisioning, connector=connector), None
    try:
        await end_earlier(provisioning, run.providers, context.launch)
        context.vantages = await set_up_vantages(context, context.left(turns.during))
        context.machines = await set_up(
            provisioning, context.provider, context.candidate, context.launch, context.ttl_s, context.watches,
            context.count, placement=context.placement(),
            paid_s=restarts_s(context.provider, context.candidate, context.left(turns.last)),
            vantages=context.vantages.admitted(),
        )  # fmt: skip
    except (*CONTROLLER_FAULTS, AgentMissing) as fault:
        return run.stop_all(str(fault), LaunchReason.CONTROLLER_FAULT)
    except (*ACCOUNT_FAULTS, ConnectionLost) as fault:
        return run.postpone(str(fault), LaunchReason.ACCOUNT_FAULT)
    except ProviderFault as fault:
        missing = fault
    if missing is not None:
        return _record_missing(context, connector.poll_s, missing)
    _record_arrival(context, connector.poll_s)
    return await _run_trials(context)


def _record_missing(context: LaunchContext, poll_s: float, missing: ProviderFault) -> LaunchResult:
    """Records the trials of machines that did not all arrive."""
    run, turns, candidate = context.run, context.turns, context.candidate
    if context.sleep_note():
        return run.stop_all(f"{context.sleep_note()} ({missing})", LaunchReason.CONTROLLER_SLEPT)
    late = isinstance(missing, TooLate)
    if late and context.blind():
        reason = LaunchReason.PROVIDER_UNREACHABLE
        return run.postpone(f"{missing} ({reason.text})", reason)
    if isinstance(missing, Preempted):
        todo = context.left([*turns.arrival, *turns.during, *turns.last])
        return record_all(run.trials, candidate, todo, Outcome.PREEMPTED, str(missing), LaunchReason.MACHINE_LOST)
    lines = [watch.timeline() for watch in context.watches][: candidate.count]
    record_arrival(run.trials, candidate, context.left(turns.arrival), lines, poll_s, str(missing), late=late)
    todo = context.left([*turns.during, *turns.last])
    return record_all(run.trials, candidate, todo, Outcome.FAILED, str(missing), LaunchReason.MACHINE_FAILED)


def _record_arrival(context: LaunchContext, poll_s: float) -> None:
    """Records the trials that time the arrival of the machines, if it was observed."""
    todo, run = context.left(context.turns.arrival), context.run
    reason, why = _unobserved_arrival(context)
    if reason and todo:
        interrupt_all(run.trials, context.candidate, todo, why, reason)
        run.postpone(f"{context.candidate.id}: {why}", reason)  # all other trials continue
    else:
        lines = [machine.timeline for machine in context.machines][: context.candidate.count]
        record_arrival(run.trials, context.candidate, todo, lines, poll_s)


def _unobserved_arrival(context: LaunchContext) -> tuple[LaunchReason | None, str]:
    """Why the arrival times are unknown; None if they were observed."""
    if context.sleep_note():
        return LaunchReason.CONTROLLER_SLEPT, context.sleep_note()  # no clock that times an arrival continued
    if context.blind():
        return LaunchReason.PROVIDER_UNREACHABLE, LaunchReason.PROVIDER_UNREACHABLE.text
    if any(watch.timeline().answered_s is None for watch in context.watches):
        return LaunchReason.PROVIDER_UNREACHABLE, "an answer of its provider was lost"
    return None, ""


async def _run_trials(context: LaunchContext) -> LaunchResult:
    """Runs the trials of agents, then those that disturb the machine.

    Trials for which the time to live is too short wait for another launch, and so do those of an unreachable machine.
    """
    run, candidate = context.run, context.candidate
    result = await _run_with_service(context)
    if result.reason is LaunchReason.TIME_TO_LIVE:
        return run.stop_all(f"{candidate.id}: {result.why}", result.reason)
    if result.reason is LaunchReason.MACHINE_UNREACHABLE:
        return run.postpone(f"{candidate.id}: {result.why}", result.reason)
    if result.finished and result.outcome is Outcome.PREEMPTED:
        lost = LaunchReason.MACHINE_LOST
        record_all(run.trials, candidate, context.left(context.turns.last), Outcome.PREEMPTED, lost.text, lost)
    return await disturb(context) if result.finished and result.outcome is Outcome.OK else result


async def _run_with_service(context: LaunchContext) -> LaunchResult:
    """Runs the trials of agents; if the service that they measure cannot be had, all of them fail."""
    run, turns = context.run, context.turns
    try:
        return await _run_agents(context)
    except BudgetSpent as fault:
        return run.stop_all(str(fault), LaunchReason.BUDGET_SPENT)
    except CONTROLLER_FAULTS as fault:
        return run.stop_all(str(fault), LaunchReason.CONTROLLER_FAULT)
    except ACCOUNT_FAULTS as fault:
        return run.postpone(str(fault), LaunchReason.ACCOUNT_FAULT)
    except ProviderFault as fault:
        todo, reason = context.left([*turns.during, *turns.last]), LaunchReason.SERVICE_FAILED
        return record_all(run.trials, context.candidate, todo, Outcome.FAILED, str(fault), reason)


async def _run_agents(context: LaunchContext) -> LaunchResult:
    """Runs the trials of agents on the launch's machines; none if no agent can run."""
    run = context.run
    instances = [machine.instance for machine in context.machines if machine.instance is not None]
    if context.machines[0].instance is None:
        return LaunchResult(Outcome.OK, True)
    leases = [machine.lease for machine in context.machines]
    apart = context.candidate.far is not None and isinstance(context.provider, AdmitsPeers)
    targets = LaunchTargets(
        machines=instances,
        gone=gone_of(context, stopped_too=True),
        reconnect=await reconnect_of(context),
        caps=lambda trial: allowance(context, trial),
        left_s=context.left_s,
        zones=await zones_of(run.provisioning.connector, context.provider, leases, needed=bool(context.placement())),
        regions=[lease.region for lease in leases],
        addresses=public_addresses(context.machines) if apart else (),
        vantages=context.vantages,
        served=await _served_at(context),
    )
    async with data_set_of(context) as data_set:
        targets = replace(targets, data_set=data_set)
        while True:
            result = await run_trials(
                run.trials, context.candidate, context.launch, context.turns.during, targets, context.before
            )
            if result.reason is not LaunchReason.CONTROLLER_SLEPT:
                return result
            # The trial during the sleep is run again; those before it are done.
            context.before = {one.trial: one.outcome for one in run.store.attempts() if not one.interrupted}


async def _served_at(context: LaunchContext) -> ServedAt | None:
    """Where the first machine serves its pages, if it is rented or reached over SSH; else None."""
    first, vantages = context.machines[0], context.vantages
    if first.shell is None or first.endpoint is None or first.instance is None or not vantages.machines:
        return None
    host, own = first.endpoint.address, ""
    with suppress(ProviderFault):  # a lost connection is the next trial's fault
        if first.endpoint.alias:
            host = await meet_own_host(context, first.shell)
        own = (await both_ends(first.shell))[1]
    if not vantages.public:
        return None
    vantages.require(host)
    return ServedAt(host, own or first.instance.address, SERVED_PORT)


def _record_release(context: LaunchContext, releases: Sequence[Release], result: LaunchResult) -> None:
    """Records the trials that time the release of the machines, until the last one was gone.

    Only machines that worked are timed: one that never arrived, or was preempted, is gone sooner than any other.
    """
    trials, candidate, todo = context.run.trials, context.candidate, context.left(context.turns.release)
    released = [one for one in releases if one.lease.kind == INSTANCE]
    unseen = next((one for one in released if one.evidence is None), None)
    if result.outcome is not Outcome.OK:
        reason = result.reason or LaunchReason.MACHINE_FAILED
        record_all(trials, candidate, todo, result.outcome, result.why, reason)
    elif any(one.evidence and one.took_s is None for one in released):
        why = "a machine was gone before it was asked to go"
        record_all(trials, candidate, todo, Outcome.PREEMPTED, why, LaunchReason.MACHINE_LOST)
    elif todo and (why := context.sleep_note() or _account_fault(unseen)):
        reason = LaunchReason.CONTROLLER_SLEPT if context.sleep_note() else LaunchReason.ACCOUNT_FAULT
        interrupt_all(trials, candidate, todo, why, reason)
        context.run.postpone(f"{candidate.id}: {why}", reason)
    else:
        took = [one.took_s for one in released if one.took_s is not None]
        gone_s = None if unseen or not took else max(took)
        why = unseen.why if unseen else "" if took else "no machine was there to go"
        late = unseen is not None and unseen.fault is None
        record_release(trials, candidate, todo, gone_s, patience_with(context.provider).poll_s, why, late=late)


def _account_fault(unseen: Release | None) -> str:
    """Why it is unknown whether a machine is gone, if that is not its provider's fault; else empty."""
    ours = unseen is not None and isinstance(unseen.fault, (*CONTROLLER_FAULTS, *ACCOUNT_FAULTS))
    return unseen.why if unseen and ours else ""


async def run_trials(
    context: TrialContext,
    candidate: Candidate,
    launch: Launch,
    trials: Sequence[PlannedTrial],
    targets: LaunchTargets,
    before: Mapping[int, Outcome],
) -> LaunchResult:
    """Runs the trials of a launch that have not ended yet, on its targets.

    `trials` are all of the launch's, in order; `before` holds the outcomes of those that ended in an earlier run. Once
    the machine is preempted, the rest is recorded as preempted. On a request to stop, the current trial is the last. No
    trial begins that the machine may not live to finish: its end would be ours, not its provider's. A trial whose
    machine is unreachable is kept as interrupted, and the rest is left.
    Raises the errors of `targets.caps`, `run_trial` and the store; an attempt that has begun then stays open.
    """
    context.progress.launch(candidate.id, launch.round)
    todo = [trial for trial in trials if trial.index not in before]
    lost = LaunchReason.MACHINE_LOST
    if was_preempted(trials, before):
        return record_all(context, candidate, todo, Outcome.PREEMPTED, lost.text, lost)
    begun: Begun | None = None
    uploaded: set[str] = set()
    for place, trial in enumerate(todo):
        rest = todo[place + 1 :]
        capped = candidate.service is not None or has_several_agents(trial)
        async with targets.caps(trial) if capped else nullcontext() as caps:
            # An attempt that has begun by now is interrupted, as by the end of the process.
            refusal = None if begun else _refusal(context, targets, trial)
            if refusal or context.stop.is_set():
                reason = refusal or LaunchReason.STOPPED
                return LaunchResult(Outcome.ABORTED, False, reason.text, reason)
            begun = begun or begin(context, trial)
            command = None if candidate.simulated else command_job(trial, context.commands)
            access = await targets.data_set(trial)
            task = TrialTask(trial, context.records.earlier(trial.index), targets, caps, command, uploaded, access)
            result = await _run_awake(context, candidate, task, begun)
            if isinstance(result, LaunchResult):
                return result
            begun = await _finish(context, candidate, targets, trial, begun, result, rest)
        if result.outcome is Outcome.PREEMPTED:
            record_all(context, candidate, rest, Outcome.PREEMPTED, lost.text, lost)
            return LaunchResult(Outcome.PREEMPTED, True, result.why, lost)
    return LaunchResult(Outcome.OK, True)


def was_preempted(trials: Sequence[PlannedTrial], before: Mapping[int, Outcome]) -> bool:
    """True if an earlier run lost the launch's machine: then no other machine may stand in for it."""
    return any(before.get(trial.index) is Outcome.PREEMPTED for trial in trials)


def _refusal(context: TrialContext, targets: LaunchTargets, trial: PlannedTrial) -> LaunchReason | None:
    """Why a trial may not begin; None if it may."""
    if context.stop.is_set():
        return LaunchReason.STOPPED
    return LaunchReason.TIME_TO_LIVE if targets.left_s() < lease_s(context, trial) else None


async def _finish(
    context: TrialContext,
    candidate: Candidate,
    targets: LaunchTargets,
    trial: PlannedTrial,
    begun: Begun,
    result: TrialResult,
    rest: Sequence[PlannedTrial],
) -> Begun | None:
    """Writes the end of a trial; returns the attempt that begins in the same step, if one follows without a wait."""
    following = next(iter(rest), None)
    if following is not None and (
        result.outcome is Outcome.PREEMPTED or _refusal(context, targets, following) or has_several_agents(following)
    ):
        following = None
    lasted_s = trial.deadline_s if result.outcome is Outcome.TIMEOUT else trial.expected_s
    ended_at = context.clock.at(trial.start_s + lasted_s)
    begin_next = None if following is None else (following, next_of(context, following))
    await finish_in_thread(context, candidate, trial, begun, ended_at, result, begin_next)
    return begin_next[1] if begin_next else None


async def _run_awake(
    context: TrialContext, candidate: Candidate, task: TrialTask, begun: Begun
) -> TrialResult | LaunchResult:
    """The result of a trial, or the end of the launch if the trial does not count for or against the candidate.

    It does not count if it failed and this machine slept during it, or if the machine is unreachable. Such an attempt
    is kept as interrupted, like one that the end of the controller interrupted.
    """
    slept_before_s = context.slept_s()
    lost = False
    try:
        result = await run_trial(context, task)
    except Unreachable as fault:
        lost, result = True, TrialResult(Outcome.ABORTED, (), str(fault))
    slept_s = context.slept_s() - slept_before_s
    if result.outcome is not Outcome.OK and slept_s >= SLEPT_S:
        line = f"this machine slept for {slept_s:.0f} s during it ({result.why})"
        reason = LaunchReason.CONTROLLER_SLEPT
        interrupt(context, candidate, task.trial, begun, line, result.facts, reason)
        return LaunchResult(Outcome.ABORTED, False, reason.text, reason)
    if lost:
        reason = LaunchReason.MACHINE_UNREACHABLE
        interrupt(context, candidate, task.trial, begun, result.why, result.facts, reason)
        return LaunchResult(Outcome.ABORTED, False, reason.text, reason)
    return result
