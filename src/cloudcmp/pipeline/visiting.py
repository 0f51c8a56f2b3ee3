"""The trials of a launch on its machines, from the first to those that disturb a machine."""

from contextlib import suppress

from cloudcmp.agent.host import host_command
from cloudcmp.errors import ProviderFault
from cloudcmp.measure import (
    ASLEEP_WHY,
    OVER_WHY,
    Again,
    Gone,
    Hands,
    Link,
    Place,
    Visit,
    record_all,
    run_last,
    run_launch,
)
from cloudcmp.model.protocol import Remote
from cloudcmp.model.trial import Outcome
from cloudcmp.pipeline.crew import Stay
from cloudcmp.pipeline.spending import sent_bytes
from cloudcmp.plan import OWN_GUESTS
from cloudcmp.provision import Machine, change_type, come_back

_AGAIN_S = 20.0
WIDE = 1e9  # no cap on rates: nobody else shares the network of guests of our own
LONG_S = 604800.0  # nor on bursts: a week is the most that an agent takes
_DIE_S = 1.0  # it never says that it is gone; waiting longer would be part of what is timed


async def work(stay: Stay) -> Visit:
    """The trials on machines that came; those that their time to live is too short for wait for another launch."""
    visit = await _visit(stay)
    if visit.why == OVER_WHY:
        return stay.crew.stopped(f"{stay.candidate.id}: {visit.why}")
    return await _disturb(stay) if visit.finished and visit.outcome is Outcome.OK else visit


async def _visit(stay: Stay) -> Visit:
    """The trials of agents, on the launch's first machine; the second is the other end where a trial has one."""
    first, *others = (machine.instance for machine in stay.machines)
    if first is None:
        return Visit(Outcome.OK, True)
    bench, visit = stay.crew.bench, stay.turns.visit
    place = Place(
        instance=first,
        gone=_gone(stay, stopped_too=True),
        other=others[0] if others else None,
        again=await _again(stay),
        caps=lambda: _caps(stay),
        left_s=stay.left_s,
    )
    while True:
        done = await run_launch(bench, stay.candidate, stay.launch, visit, place, stay.before)
        if done.why != ASLEEP_WHY:
            return done
        # The trial that was slept through is run again; those before it are done.
        stay.before = {one.trial: one.outcome for one in stay.crew.store.attempts() if not one.interrupted}


async def _disturb(stay: Stay) -> Visit:
    """The trials that disturb a machine, after all others."""
    todo = stay.left(stay.turns.last)
    shell, handle = stay.machines[0].shell, stay.machines[0].lease.handle()
    provider = stay.provider
    if not todo or shell is None or handle is None or not isinstance(provider, Remote):
        return Visit(Outcome.OK, True)
    if stay.left_s() < sum(trial.deadline_s for trial in todo):
        return stay.crew.stopped(f"{stay.candidate.id}: {OVER_WHY}")
    ways = stay.crew.office.ways

    async def resize(offering: str) -> None:
        await change_type(provider, handle, offering)

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


def _caps(stay: Stay) -> dict[str, float]:
    """What a trial between two machines may put on the network: the study's caps, wide ones among guests of our own."""
    caps, own, guard = stay.crew.plan.caps, stay.provider.name in OWN_GUESTS, stay.crew.guard
    if caps.bytes is not None:
        guard.traffic_bytes = sum(sent_bytes(attempt.facts) for attempt in stay.crew.store.attempts())
    found = {
        "burst_s": caps.burst_s or (LONG_S if own else None),
        "bytes_per_s": caps.bytes_per_s or (WIDE if own else None),
        "packets_per_s": caps.packets_per_s or (WIDE if own else None),
        "bytes": guard.traffic_left() if caps.bytes is not None else (2**60 if own else None),
    }
    return {name: value for name, value in found.items() if value is not None}


def _gone(stay: Stay, *, stopped_too: bool = False) -> Gone:
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


async def _again(stay: Stay) -> Again | None:
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
