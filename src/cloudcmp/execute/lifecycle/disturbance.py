"""The trials that disturb a machine: what the controller does to it, and how it is found again."""

from dataclasses import dataclass, field

from cloudcmp.agent.host import host_command
from cloudcmp.errors import ACCOUNT_FAULTS, CONTROLLER_FAULTS, Preempted, ProviderFault, WrongHost
from cloudcmp.execute.connections import boot_id_of, gone_of
from cloudcmp.execute.context import Visit
from cloudcmp.execute.crew import Stay
from cloudcmp.execute.lifecycle.timing import Hands, run_last
from cloudcmp.execute.trials import LOST_WHY, OVER_WHY, STOPPED_WHY, TAKEN_WHY, record_all
from cloudcmp.model.plan import PlannedTrial
from cloudcmp.model.protocol import Remote
from cloudcmp.model.trial import Outcome
from cloudcmp.provision import Stopwatch, change_type, come_back

_SYNC_S = 120.0
_DIE_S = 1.0  # it never says that it is gone; waiting longer would be part of what is timed


async def disturb(stay: Stay) -> Visit:
    """Run what is left of the trials that disturb the launch's first machine, after all others."""
    todo = stay.left(stay.turns.last)
    machine, provider = stay.machines[0], stay.provider
    if not todo or machine.shell is None or machine.lease.handle() is None or not isinstance(provider, Remote):
        return Visit(Outcome.OK, True)
    if stay.left_s() < sum(trial.deadline_s for trial in todo):
        return stay.crew.stopped(f"{stay.candidate.id}: {OVER_WHY}")
    try:
        # What it wrote since it came, its host key too, must outlast a death that writes nothing back.
        await machine.shell.run(["sync"], deadline_s=_SYNC_S)
        boot_id = await boot_id_of(stay.machines[0])
    except ProviderFault as fault:
        return await _unheard(stay, todo, fault)
    guest, ways = _Guest(stay, provider, boot_id), stay.crew.office.ways
    hands = Hands(
        now=ways.time.monotonic,
        poll_s=ways.poll_s,
        boot_id=boot_id,
        resize=guest.resize,
        die=guest.die,
        back=guest.back,
        gone=gone_of(stay),
        blind=guest.blind,
    )
    visit = await run_last(stay.crew.bench, stay.candidate, todo, hands)
    if visit.finished or visit.why == STOPPED_WHY:
        return visit
    return stay.crew.put_off(f"{stay.candidate.id}: {visit.why}")


async def _unheard(stay: Stay, todo: list[PlannedTrial], fault: ProviderFault) -> Visit:
    """A machine that does not answer before anything was done to it: taken away, or out of reach."""
    try:
        taken = await gone_of(stay, stopped_too=True)()
    except ProviderFault:
        taken = None
    if taken is not None:
        return record_all(stay.crew.bench, stay.candidate, todo, Outcome.PREEMPTED, TAKEN_WHY)
    return stay.crew.put_off(f"{stay.candidate.id}: {LOST_WHY} ({fault.faults[0].what})")


@dataclass(slots=True)
class _Guest:
    """The launch's first machine as it is disturbed; `boot_id` is of the boot that answered last, `watches` are of its
    way back.
    """

    stay: Stay
    provider: Remote
    boot_id: str
    watches: list[Stopwatch] = field(default_factory=list)

    def blind(self) -> bool:
        """Whether there was no way to its provider for a while."""
        return any(watch.blind for watch in self.watches)

    async def resize(self, offering: str) -> None:
        """Make it another type."""
        self.watches.clear()
        await change_type(self.stay.crew.office.ledger, self.provider, self.stay.machines[0].lease, offering)

    async def die(self) -> None:
        """Have it kill itself."""
        self.watches.clear()
        shell = self.stay.machines[0].shell
        if shell is not None:
            try:
                await shell.run(host_command("die"), deadline_s=_DIE_S)
            except ProviderFault:
                return  # it is gone before it can say so

    async def back(self, within_s: float) -> str:
        """The id of its next boot, once its agent answers; that of the same one at the end of the time."""
        time = self.stay.crew.office.ways.time
        ends = time.monotonic() + within_s
        while True:
            boot_id = await self._again(ends - time.monotonic())
            # A machine that was told to die may answer for a moment longer.
            if boot_id and (boot_id != self.boot_id or time.monotonic() >= ends):
                self.boot_id = boot_id
                return boot_id

    async def _again(self, left_s: float) -> str:
        """The id of the boot that answers; nothing where it broke off, as one does that is about to die."""
        stay, ways = self.stay, self.stay.crew.office.ways
        self.watches.append(Stopwatch(ways.time))
        try:
            again = await come_back(
                ways, self.provider, stay.machines[0], stay.candidate, stay.ttl_s, left_s, self.watches[-1]
            )
            stay.machines = (again, *stay.machines[1:])
            return await boot_id_of(again)
        except (WrongHost, Preempted, *CONTROLLER_FAULTS, *ACCOUNT_FAULTS):
            raise
        except ProviderFault as fault:
            if self.watches[-1].elapsed_s() >= left_s:
                raise TimeoutError from fault
            if await gone_of(stay, stopped_too=True)() is not None:
                raise
            await ways.time.sleep(ways.poll_s)
            return ""
