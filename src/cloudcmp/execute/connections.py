"""The connections to a launch's machines, and what their provider says of them."""

from contextlib import suppress

from cloudcmp.errors import ProviderFault
from cloudcmp.execute.crew import Stay
from cloudcmp.execute.trial import Again, Gone, Link
from cloudcmp.model.lease import Handle
from cloudcmp.model.protocol import Remote
from cloudcmp.provision import Machine

_AGAIN_S = 20.0


async def boot_id_of(machine: Machine) -> str:
    """Which boot of a machine answers; nothing where it has no shell."""
    if machine.shell is None:
        return ""
    said = await machine.shell.run(["cat", "/proc/sys/kernel/random/boot_id"], most_bytes=64)
    return said.out.decode("ascii", errors="replace").strip()


def gone_of(stay: Stay, *, stopped_too: bool = False) -> Gone:
    """Asks for evidence that one of the launch's machines is gone, or with `stopped_too` of no more use."""

    async def one(handle: Handle) -> str | None:
        evidence = await stay.provider.gone(handle)
        if evidence is None and stopped_too and isinstance(stay.provider, Remote):
            sight = await stay.provider.look(handle)
            if sight.state in {"stopped", "gone"}:
                return f"it is {sight.state} ({sight.why})" if sight.why else f"it is {sight.state}"
        return evidence

    async def gone() -> str | None:
        for machine in stay.machines:
            handle = machine.lease.handle()
            evidence = None if handle is None else await one(handle)
            if evidence is not None:
                return evidence
        return None

    return gone


async def again_of(stay: Stay) -> Again | None:
    """Sees to the connections of a launch's machines; None where there are none."""
    shells = [machine.shell for machine in stay.machines if machine.shell is not None]
    if not shells:
        return None
    boots: list[str] = []
    with suppress(ProviderFault):
        boots = [await boot_id_of(machine) for machine in stay.machines]

    async def again() -> Link:
        if not any([await shell.again(_AGAIN_S) for shell in shells]):
            return Link.HELD
        now = [await boot_id_of(machine) for machine in stay.machines]
        same = not boots or now == boots
        boots[:] = now
        return Link.BACK if same else Link.RESTARTED

    return again
