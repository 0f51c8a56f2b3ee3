"""The trials that disturb a machine: what the controller does to it, and how it is found again."""

from dataclasses import dataclass

from cloudcmp.agent.host import host_command
from cloudcmp.errors import ProviderFault
from cloudcmp.measure import LOST_WHY, OVER_WHY, TAKEN_WHY, Hands, Visit, record_all, run_last
from cloudcmp.model.plan import PlannedTrial
from cloudcmp.model.protocol import Remote
from cloudcmp.model.trial import Outcome
from cloudcmp.pipeline.crew import Stay
from cloudcmp.pipeline.links import boot_id_of, gone_of
from cloudcmp.provision import change_type, come_back

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
    )
    return await run_last(stay.crew.bench, stay.candidate, todo, hands)


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
    """The launch's first machine as it is disturbed; `boot_id` is of the boot that answered last."""

    stay: Stay
    provider: Remote
    boot_id: str

    async def resize(self, offering: str) -> None:
        """Make it another type."""
        await change_type(self.stay.crew.office.ledger, self.provider, self.stay.machines[0].lease, offering)

    async def die(self) -> None:
        """Have it kill itself."""
        shell = self.stay.machines[0].shell
        if shell is not None:
            try:
                await shell.run(host_command("die"), deadline_s=_DIE_S)
            except ProviderFault:
                return  # it is gone before it can say so

    async def back(self, within_s: float) -> str:
        """The id of its next boot, once its agent answers; that of the same one at the end of the time."""
        stay, ways = self.stay, self.stay.crew.office.ways
        began = ways.time.monotonic()
        while True:
            left_s = within_s - (ways.time.monotonic() - began)
            again = await come_back(ways, self.provider, stay.machines[0], stay.candidate, stay.ttl_s, left_s)
            stay.machines = (again, *stay.machines[1:])
            boot_id = await boot_id_of(again)
            # A machine that was told to die may answer for a moment longer.
            if boot_id != self.boot_id or ways.time.monotonic() - began >= within_s:
                self.boot_id = boot_id
                return boot_id
