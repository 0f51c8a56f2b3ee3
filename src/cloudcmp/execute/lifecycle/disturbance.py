"""Trials that disturb a launch's machine, after all others: it is resized, or crashes, and comes back."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace

from cloudcmp.agent.host import host_command
from cloudcmp.errors import ACCOUNT_FAULTS, CONTROLLER_FAULTS, ConnectionLost, Preempted, ProviderFault, WrongHost
from cloudcmp.execute.attempts import begin, finish, interrupt, record_all
from cloudcmp.execute.cast import Gone
from cloudcmp.execute.connections import boot_id_of, gone_of
from cloudcmp.execute.context import SLEPT_S, LaunchContext, LaunchResult, TrialContext
from cloudcmp.execute.lifecycle.machine_times import facts_of, result_of
from cloudcmp.model.plan import Candidate, PlannedTrial
from cloudcmp.model.protocol import Remote
from cloudcmp.model.trial import LaunchReason, Outcome, TrialResult
from cloudcmp.model.untrusted_text import one_line
from cloudcmp.provision import Stopwatch, change_type, reconnect

_GRACE_S = 5.0  # the most that a wait may overrun its limit
_SYNC_S = 120.0
_CRASH_S = 1.0  # a machine never confirms its crash; a longer wait would be part of the measured time


async def disturb(launch: LaunchContext) -> LaunchResult:
    """Runs the remaining trials that disturb the launch's first machine."""
    run, todo = launch.run, launch.left(launch.turns.last)
    machine, provider = launch.machines[0], launch.provider
    if not todo or machine.shell is None or machine.lease.handle() is None or not isinstance(provider, Remote):
        return LaunchResult(Outcome.OK, True)
    if launch.left_s() < sum(trial.deadline_s for trial in todo):
        reason = LaunchReason.TIME_TO_LIVE
        return run.stop_all(f"{launch.candidate.id}: {reason.text}", reason)
    try:
        # Data written since its arrival, including its host key, must survive a crash that writes nothing back.
        await machine.shell.run(["sync"], deadline_s=_SYNC_S)
        boot_id = await boot_id_of(launch.machines[0])
    except ProviderFault as fault:
        return await _silent(launch, todo, fault)
    guest, connector = _Guest(launch, provider, boot_id), run.provisioning.connector
    actions = MachineActions(
        now=connector.time.monotonic,
        poll_s=connector.poll_s,
        boot_id=boot_id,
        resize=guest.resize,
        crash=guest.crash,
        back=guest.back,
        gone=gone_of(launch),
        blind=guest.blind,
    )
    result = await run_last(run.trials, launch.candidate, todo, actions)
    if result.finished or result.reason is LaunchReason.STOPPED or result.reason is None:
        return result
    return run.postpone(f"{launch.candidate.id}: {result.why}", result.reason)


async def _silent(launch: LaunchContext, todo: list[PlannedTrial], fault: ProviderFault) -> LaunchResult:
    """Handles a machine that does not answer before anything was done to it: preempted, or unreachable."""
    try:
        evidence = await gone_of(launch, stopped_too=True)()
    except ProviderFault:
        evidence = None
    if evidence is not None:
        lost = LaunchReason.MACHINE_LOST
        return record_all(launch.run.trials, launch.candidate, todo, Outcome.PREEMPTED, lost.text, lost)
    reason = LaunchReason.MACHINE_UNREACHABLE
    return launch.run.postpone(f"{launch.candidate.id}: {reason.text} ({fault.faults[0].what})", reason)


@dataclass(frozen=True, slots=True)
class MachineActions:
    """The controller's actions on a machine, and a monotonic clock (s).

    `resize` requests another type and returns when the provider has started it; `crash` has the guest kill itself;
    `back` returns the boot id of the guest once its agent answers, or raises TimeoutError after this many seconds. They
    raise ProviderFault if the provider or the machine refuses. `blind` is true if the provider was unreachable for a
    while since the last `resize` or `crash`: then no time counts.
    """

    now: Callable[[], float]
    poll_s: float
    boot_id: str
    resize: Callable[[str], Awaitable[None]]
    crash: Callable[[], Awaitable[None]]
    back: Callable[[float], Awaitable[str]]
    gone: Gone
    blind: Callable[[], bool] = lambda: False


async def run_last(
    context: TrialContext, candidate: Candidate, todo: Sequence[PlannedTrial], actions: MachineActions
) -> LaunchResult:
    """Runs and records the trials that disturb a machine, in plan order; `todo` are the rest of `TrialsByTurn.last`.

    Trials after one from which the machine did not come back are recorded with it. A trial that does not count for or
    against the candidate is kept as interrupted, and the rest is left. Raises nothing for faults of the candidate.
    """
    for place, trial in enumerate(todo):
        if context.stop.is_set():
            return LaunchResult(Outcome.ABORTED, False, LaunchReason.STOPPED.text, LaunchReason.STOPPED)
        rest = todo[place + 1 :]
        disturbed = await _disturbed(context, candidate, trial, actions)
        result = disturbed.result
        if disturbed.reason is not None:
            return LaunchResult(Outcome.ABORTED, False, f"{trial.probe}: {result.why}", disturbed.reason)
        if result.outcome is Outcome.PREEMPTED:
            lost = LaunchReason.MACHINE_LOST
            record_all(context, candidate, rest, Outcome.PREEMPTED, lost.text, lost)
            return LaunchResult(Outcome.PREEMPTED, True, result.why, lost)
        if result.outcome in {Outcome.FAILED, Outcome.TIMEOUT}:
            why = f"after {trial.probe}: {result.why}"
            return record_all(context, candidate, rest, Outcome.FAILED, why, LaunchReason.MACHINE_FAILED)
        actions = replace(actions, boot_id=disturbed.boot_id)
    return LaunchResult(Outcome.OK, True)


@dataclass(frozen=True, slots=True)
class _Disturbed:
    """The result of one trial, the machine's boot id after it, and the reason if it does not count."""

    result: TrialResult
    boot_id: str
    reason: LaunchReason | None = None


async def _disturbed(
    context: TrialContext, candidate: Candidate, trial: PlannedTrial, actions: MachineActions
) -> _Disturbed:
    """Resizes or crashes a machine, times it until it is usable again, and records the attempt."""
    begun = begin(context, trial)
    began, boot_id, slept_s = actions.now(), actions.boot_id, context.slept_s()
    reason: LaunchReason | None = None
    try:
        async with asyncio.timeout(trial.deadline_s + _GRACE_S):
            await (actions.resize(dict(trial.params)["to"]) if trial.probe == "resize" else actions.crash())
            boot_id = await actions.back(max(0.0, trial.deadline_s - (actions.now() - began)))
    except TimeoutError:
        result = await _lost(actions, Outcome.TIMEOUT, f"not usable again within {trial.deadline_s:g} s")
    except ProviderFault as fault:
        reason = _reason_of(fault)
        result = await _lost(actions, Outcome.ABORTED if reason else Outcome.FAILED, str(fault))
    else:
        result = _back(trial, actions, actions.now() - began, boot_id)
    if result.outcome is Outcome.PREEMPTED:
        reason = None
    elif (slept_s := context.slept_s() - slept_s) >= SLEPT_S:
        reason = LaunchReason.CONTROLLER_SLEPT
        result = TrialResult(Outcome.ABORTED, (), f"this machine slept for {slept_s:.0f} s during it", result.facts)
    elif actions.blind():
        reason = LaunchReason.PROVIDER_UNREACHABLE
        result = TrialResult(Outcome.ABORTED, (), reason.text, result.facts)
    if reason is not None:
        interrupt(context, candidate, trial, begun, result.why, result.facts, reason)
        return _Disturbed(result, boot_id, reason)
    ended_at = context.clock.at(trial.start_s + trial.expected_s)
    finish(context, candidate, trial, begun, ended_at, result)
    return _Disturbed(result, boot_id)


def _reason_of(fault: ProviderFault) -> LaunchReason | None:
    """Why a fault is unrelated to the candidate; None if it is related."""
    if isinstance(fault, CONTROLLER_FAULTS):
        return LaunchReason.CONTROLLER_FAULT
    if isinstance(fault, ConnectionLost):
        return LaunchReason.MACHINE_UNREACHABLE
    return LaunchReason.ACCOUNT_FAULT if isinstance(fault, ACCOUNT_FAULTS) else None


def _back(trial: PlannedTrial, actions: MachineActions, took_s: float, boot_id: str) -> TrialResult:
    """The result for a machine that answers again: ok after another boot within the trial's deadline."""
    facts = facts_of(actions.poll_s)
    if boot_id == actions.boot_id:
        return TrialResult(Outcome.INVALID, (), "it answered without another boot: nothing was disturbed", facts)
    if took_s > trial.deadline_s:
        return TrialResult(Outcome.TIMEOUT, (), f"usable again only after {took_s:g} s", facts)
    return result_of(trial, {f"{trial.probe}_latency_s": took_s}, facts)


async def _lost(actions: MachineActions, outcome: Outcome, why: str) -> TrialResult:
    """The result for a machine that did not come back: preempted if its provider says so, else `outcome`."""
    try:
        evidence = await actions.gone()
    except ProviderFault:
        evidence = None
    facts = facts_of(actions.poll_s)
    if evidence is not None:
        return TrialResult(Outcome.PREEMPTED, (), f"the machine was taken away: {one_line(evidence)}", facts)
    return TrialResult(outcome, (), one_line(why), facts)


@dataclass(slots=True)
class _Guest:
    """The launch's first machine while it is disturbed; `boot_id` is of the boot that answered last."""

    launch: LaunchContext
    provider: Remote
    boot_id: str
    watches: list[Stopwatch] = field(default_factory=list)

    def blind(self) -> bool:
        """True if its provider was unreachable for a while."""
        return any(watch.blind for watch in self.watches)

    async def resize(self, offering: str) -> None:
        """Resizes it to another type."""
        self.watches.clear()
        ledger = self.launch.run.provisioning.ledger
        await change_type(ledger, self.provider, self.launch.machines[0].lease, offering)

    async def crash(self) -> None:
        """Makes it kill itself."""
        self.watches.clear()
        shell = self.launch.machines[0].shell
        if shell is not None:
            try:
                await shell.run(host_command("die"), deadline_s=_CRASH_S)
            except ProviderFault:
                return  # it is gone before it can answer

    async def back(self, within_s: float) -> str:
        """The id of its next boot, once its agent answers; after the time limit, of any boot that answers."""
        time = self.launch.run.provisioning.connector.time
        ends = time.monotonic() + within_s
        while True:
            boot_id = await self._connect(ends - time.monotonic())
            # A machine that is about to crash may answer for a moment longer.
            if boot_id and (boot_id != self.boot_id or time.monotonic() >= ends):
                self.boot_id = boot_id
                return boot_id

    async def _connect(self, left_s: float) -> str:
        """The id of the boot that answers; empty if the connection broke, as with a machine that is about to crash."""
        launch, connector = self.launch, self.launch.run.provisioning.connector
        self.watches.append(Stopwatch(connector.time))
        try:
            again = await reconnect(
                connector, self.provider, launch.machines[0], launch.candidate, launch.ttl_s, left_s, self.watches[-1]
            )
            launch.machines = (again, *launch.machines[1:])
            return await boot_id_of(again)
        except (WrongHost, Preempted, *CONTROLLER_FAULTS, *ACCOUNT_FAULTS):
            raise
        except ProviderFault as fault:
            if self.watches[-1].elapsed_s() >= left_s:
                raise TimeoutError from fault
            if await gone_of(launch, stopped_too=True)() is not None:
                raise
            await connector.time.sleep(connector.poll_s)
            return ""
