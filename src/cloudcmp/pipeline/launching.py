"""One launch from lease to evidence that it is gone, with an outcome for each of its trials."""

import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from cloudcmp.agent.host import host_command
from cloudcmp.catalog import PROBES
from cloudcmp.errors import OUR_OWN, AgentMissing, BudgetSpent, ProviderFault
from cloudcmp.measure import (
    ASLEEP_WHY,
    OVER_WHY,
    SLEPT_S,
    TAKEN_WHY,
    Again,
    Bench,
    Gone,
    Hands,
    Link,
    Staged,
    Visit,
    give_up_s,
    record_all,
    record_arrival,
    record_release,
    run_last,
    run_launch,
    staged,
    was_taken,
)
from cloudcmp.model.lease import INSTANCE
from cloudcmp.model.plan import Candidate, Launch, Plan, PlannedTrial
from cloudcmp.model.protocol import Provider, Remote
from cloudcmp.model.trial import Outcome
from cloudcmp.pipeline.spending import asked, paid_for, sent_bytes
from cloudcmp.plan import OWN_GUESTS, machines
from cloudcmp.provision import (
    Guard,
    Machine,
    Office,
    Part,
    Release,
    Stopwatch,
    come_back,
    set_up,
    slot_of,
    tear_down,
)
from cloudcmp.store import StudyStore

_AGAIN_S = 20.0
_WIDE = 1e9  # no cap on rates: nobody else shares the network of guests of our own
_LONG_S = 604800.0  # nor on bursts: a week is the most that an agent takes
_DIE_S = 1.0  # it never says that it is gone; waiting longer would be part of what is timed


@dataclass(slots=True)
class Halt:
    """Why nothing new is launched any more, where it is not a signal that says so."""

    why: str = ""


@dataclass(frozen=True, slots=True)
class Crew:
    """All that works on a study together; `wait` sleeps until the next session opens."""

    plan: Plan
    store: StudyStore
    providers: Mapping[str, Provider]
    office: Office
    bench: Bench
    guard: Guard
    halt: Halt
    wait: bool = False


@dataclass(slots=True)
class _Stay:
    """A launch while it is carried out: its machines, as they are now, and how far those came that did not.

    `began_s` and `slept_s` are what the clock and the count of sleep said when its time to live was allowed; sleep is
    counted anew while it is torn down.
    """

    crew: Crew
    provider: Provider
    candidate: Candidate
    launch: Launch
    turns: Staged
    before: Mapping[int, Outcome]
    ttl_s: float
    count: int
    watches: list[Stopwatch]
    began_s: float
    slept_s: float
    machines: tuple[Machine, ...] = ()

    def asleep_s(self) -> float:
        """How long this machine has slept since the launch, or its end, began."""
        return self.crew.bench.slept_s() - self.slept_s

    def left_s(self) -> float:
        """How long the machines live at least; without end where nobody sees to it that they die."""
        if self.candidate.simulated:
            return math.inf
        return self.ttl_s - (self.crew.office.ways.time.monotonic() - self.began_s) - self.asleep_s()

    def left(self, trials: Sequence[PlannedTrial]) -> list[PlannedTrial]:
        """The trials that have not ended by themselves in an earlier run."""
        return [trial for trial in trials if trial.index not in self.before]


async def carry_out(crew: Crew, launch: Launch, trials: Sequence[PlannedTrial], before: Mapping[int, Outcome]) -> None:
    """Set a launch up, run its trials, and tear it down whatever happens.

    Raises what the store raises, and our own cancellation.
    """
    candidate = crew.plan.candidates[launch.candidate]
    todo = [trial for trial in trials if trial.index not in before]
    if was_taken(trials, before):
        record_all(crew.bench, candidate, todo, Outcome.PREEMPTED, TAKEN_WHY)
        return
    provider = crew.providers[candidate.runner]
    count = machines(candidate, (dict(trial.params) for trial in todo))
    slots = tuple(slot_of(launch, Part(INSTANCE, number + 1)) for number in range(count))
    try:
        paying = paid_for(provider, candidate, todo)
        ttl_s = crew.guard.allow(asked(provider, paying, todo, slots))
    except (BudgetSpent, ProviderFault) as fault:
        # What was not launched is not a failure of the candidate: it can be run when there is money for it.
        crew.halt.why = str(fault)
        crew.bench.stop.set()
        return
    crew.store.begin_launch(launch.index, crew.bench.clock.at(launch.start_s), slots[0])
    now_s, slept_s = crew.office.ways.time.monotonic(), crew.bench.slept_s()
    turns = staged(PROBES, candidate, trials)
    stay = _Stay(crew, provider, paying, launch, turns, before, ttl_s, count, [], now_s, slept_s)
    releases: tuple[Release, ...] = ()
    try:
        visit = await _come_and_work(stay)
    finally:
        for machine in stay.machines:
            if machine.shell is not None:
                await machine.shell.close()
        stay.slept_s = crew.bench.slept_s()
        releases = await tear_down(crew.office, provider, launch)
        crew.guard.let_go(slots)
    if visit.finished:
        _record_going(stay, releases, visit)
    crew.store.end_launch(launch.index, crew.bench.clock.at(launch.start_s), visit.outcome.value, visit.why)


async def _come_and_work(stay: _Stay) -> Visit:
    """The machines' coming, timed, then the trials on them; a machine that never comes fails them all."""
    crew, turns = stay.crew, stay.turns
    ways = replace(crew.office.ways, give_up_s=give_up_s(turns.arrival, crew.office.ways.give_up_s))
    office = replace(crew.office, ways=ways)
    coming, why = stay.left(turns.arrival), ""
    try:
        stay.machines = await set_up(
            office, stay.provider, stay.candidate, stay.launch, stay.ttl_s, stay.watches, stay.count
        )
    except (*OUR_OWN, AgentMissing) as fault:
        return _halted(crew, str(fault))
    except ProviderFault as fault:
        why = str(fault)
    asleep = _slept(stay)
    if asleep and why:
        return _halted(crew, f"{asleep} ({why})")
    if asleep:
        # No clock that times it went on, and some that are in it did.
        record_all(crew.bench, stay.candidate, coming, Outcome.ABORTED, asleep)
        return await _work(stay)
    lines = [machine.timeline for machine in stay.machines] or [watch.timeline() for watch in stay.watches]
    record_arrival(crew.bench, stay.candidate, coming, lines[: stay.candidate.count], ways.poll_s, why)
    if why:
        todo = stay.left([*turns.visit, *turns.last])
        return record_all(crew.bench, stay.candidate, todo, Outcome.FAILED, why)
    return await _work(stay)


def _halted(crew: Crew, why: str) -> Visit:
    """Whatever the candidate, launches would fail so: all that are left wait until this is mended."""
    crew.halt.why = why
    crew.bench.stop.set()
    return Visit(Outcome.ABORTED, False, why)


def _slept(stay: _Stay) -> str:
    """That this machine slept since the launch, or its end, began; nothing where it did not."""
    asleep_s = stay.asleep_s()
    return (
        "" if asleep_s < SLEPT_S or stay.candidate.simulated else f"this machine slept for {asleep_s:.0f} s during it"
    )


async def _work(stay: _Stay) -> Visit:
    """The trials on machines that came; those that their time to live is too short for wait for another launch."""
    visit = await _visit(stay)
    if visit.why == OVER_WHY:
        return _halted(stay.crew, f"{stay.candidate.id}: {visit.why}")
    return await _disturb(stay) if visit.finished and visit.outcome is Outcome.OK else visit


async def _visit(stay: _Stay) -> Visit:
    """The trials of agents, on the launch's first machine; the second is the other end where a trial has one."""
    first, *others = (machine.instance for machine in stay.machines)
    if first is None:
        return Visit(Outcome.OK, True)
    other = others[0] if others else None
    bench, visit = stay.crew.bench, stay.turns.visit
    gone, again = _gone(stay, stopped_too=True), await _again(stay)
    while True:
        done = await run_launch(
            bench,
            stay.candidate,
            stay.launch,
            visit,
            first,
            gone,
            stay.before,
            other,
            again,
            lambda: _caps(stay),
            stay.left_s,
        )
        if done.why != ASLEEP_WHY:
            return done
        # The trial that was slept through is run again; those before it are done.
        stay.before = {one.trial: one.outcome for one in stay.crew.store.attempts() if not one.interrupted}


async def _disturb(stay: _Stay) -> Visit:
    """The trials that disturb a machine, after all others."""
    todo = stay.left(stay.turns.last)
    shell, handle = stay.machines[0].shell, stay.machines[0].lease.handle()
    provider = stay.provider
    if not todo or shell is None or handle is None or not isinstance(provider, Remote):
        return Visit(Outcome.OK, True)
    if stay.left_s() < sum(trial.deadline_s for trial in todo):
        return _halted(stay.crew, f"{stay.candidate.id}: {OVER_WHY}")
    ways = stay.crew.office.ways

    async def resize(offering: str) -> None:
        await provider.resize(handle, offering)

    async def die() -> None:
        shell = stay.machines[0].shell
        if shell is not None:
            try:
                await shell.run(host_command("die"), deadline_s=_DIE_S)
            except ProviderFault:
                return  # it is gone before it can say so

    async def back(within_s: float) -> str:
        began = ways.time.monotonic()
        while True:
            left_s = within_s - (ways.time.monotonic() - began)
            again = await come_back(ways, provider, stay.machines[0], stay.candidate, stay.ttl_s, left_s)
            stay.machines = (again, *stay.machines[1:])
            boot_id = await _boot_id(again)
            # A machine that was told to die may answer for a moment longer.
            if boot_id != seen[-1] or ways.time.monotonic() - began >= within_s:
                seen.append(boot_id)
                return boot_id

    try:
        seen = [await _boot_id(stay.machines[0])]
    except ProviderFault as fault:
        return record_all(stay.crew.bench, stay.candidate, todo, Outcome.FAILED, str(fault))
    hands = Hands(
        now=ways.time.monotonic,
        poll_s=ways.poll_s,
        boot_id=seen[0],
        resize=resize,
        die=die,
        back=back,
        gone=_gone(stay),
    )
    return await run_last(stay.crew.bench, stay.candidate, todo, hands)


async def _boot_id(machine: Machine) -> str:
    if machine.shell is None:
        return ""
    said = await machine.shell.run(["cat", "/proc/sys/kernel/random/boot_id"], most_bytes=64)
    return said.out.decode("ascii", errors="replace").strip()


def _caps(stay: _Stay) -> dict[str, float]:
    """What a trial between two machines may put on the network: the study's caps, wide ones among guests of our own."""
    caps, own, guard = stay.crew.plan.caps, stay.provider.name in OWN_GUESTS, stay.crew.guard
    if caps.bytes is not None:
        guard.traffic_bytes = sum(sent_bytes(attempt.facts) for attempt in stay.crew.store.attempts())
    found = {
        "burst_s": caps.burst_s or (_LONG_S if own else None),
        "bytes_per_s": caps.bytes_per_s or (_WIDE if own else None),
        "packets_per_s": caps.packets_per_s or (_WIDE if own else None),
        "bytes": guard.traffic_left() if caps.bytes is not None else (2**60 if own else None),
    }
    return {name: value for name, value in found.items() if value is not None}


def _gone(stay: _Stay, *, stopped_too: bool = False) -> Gone:
    handle = stay.machines[0].lease.handle()

    async def gone() -> str | None:
        if handle is None:
            return None
        evidence = await stay.provider.gone(handle)
        if evidence is None and stopped_too and isinstance(stay.provider, Remote):
            sight = await stay.provider.look(handle)  # still there, and of no more use
            if sight.state in {"stopped", "gone"}:
                return f"it is {sight.state} ({sight.why})" if sight.why else f"it is {sight.state}"
        return evidence

    return gone


async def _again(stay: _Stay) -> Again | None:
    """Sees to the connections of a launch's machines; once one could not be made again, none is tried any more."""
    shells = [machine.shell for machine in stay.machines if machine.shell is not None]
    if not shells:
        return None
    boots: list[str] = []
    lost: list[ProviderFault] = []
    with suppress(ProviderFault):
        boots = [await _boot_id(machine) for machine in stay.machines]

    async def again() -> Link:
        if lost:
            raise lost[0]
        try:
            if not any([await shell.again(_AGAIN_S) for shell in shells]):
                return Link.HELD
            now = [await _boot_id(machine) for machine in stay.machines]
        except ProviderFault as fault:
            lost.append(fault)
            raise
        same = not boots or now == boots
        boots[:] = now
        return Link.BACK if same else Link.RESTARTED

    return again


def _record_going(stay: _Stay, releases: Sequence[Release], visit: Visit) -> None:
    """The trials that time a launch's going: until the last of its machines was seen gone."""
    took = [one.took_s for one in releases if one.took_s is not None]
    why = "" if took else visit.why or "no machine was there to go"
    unseen = next((one.why for one in releases if one.evidence is None), "")
    gone_s = None if unseen or not took else max(took)
    todo = stay.left(stay.turns.release)
    if _slept(stay):
        record_all(stay.crew.bench, stay.candidate, todo, Outcome.ABORTED, _slept(stay))
        return
    record_release(stay.crew.bench, stay.candidate, todo, gone_s, stay.crew.office.ways.poll_s, unseen or why)
