"""The connections of a study: its SSH key, the deployment of agents, and reconnection."""

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace

from cloudcmp.agent.ssh import dial
from cloudcmp.errors import ProviderFault
from cloudcmp.execute.cast import Gone, Link, Reconnect
from cloudcmp.execute.context import LaunchContext
from cloudcmp.model.lease import Handle
from cloudcmp.model.protocol import Provider, Remote
from cloudcmp.model.remote import KeyPair, Shell
from cloudcmp.provision import Connector, Keys, Ledger, Machine, ProvisionContext, Ready

_POLL_S = 0.25
_POLL_BILLED_S = 2.0  # a cloud counts polls
_RECONNECT_S = 20.0


def open_provisioning(ledger: Ledger, providers: Iterable[Provider]) -> ProvisionContext:
    """The context for setting up launches. Its SSH key is in memory only; a study without SSH has none."""
    some = tuple(providers)
    connector = Connector(ledger.time, dial, _deploy, KeyPair("", ""))
    if not any(isinstance(one, Remote) for one in some):
        return ProvisionContext(ledger, connector, Keys(lambda: KeyPair("", ""), lambda *_: ""))
    from cloudcmp.agent.cloud_config import cloud_config
    from cloudcmp.agent.host import new_key

    poll_s = _POLL_BILLED_S if any(one.billed for one in some) else _POLL_S

    def user_data(host: KeyPair, client: str, ttl_s: float) -> str:
        """The user data of a machine that is requested now: the budget counts from the same moment."""
        return cloud_config(host, client, ttl_s, ledger.time.now())

    return ProvisionContext(ledger, replace(connector, client=new_key(), poll_s=poll_s), Keys(new_key, user_data))


async def _deploy(shell: Shell, folder: str, address: str, lease_s: float) -> Ready:
    from cloudcmp.agent.deploy import deploy

    instance = await deploy(shell, folder=folder, address=address, lease_s=lease_s)
    return Ready(instance, await instance.uptime_s())


async def boot_id_of(machine: Machine) -> str:
    """The boot id of a machine that answers; empty if it has no shell."""
    if machine.shell is None:
        return ""
    output = await machine.shell.run(["cat", "/proc/sys/kernel/random/boot_id"], most_bytes=64)
    return output.out.decode("ascii", errors="replace").strip()


def gone_of(launch: LaunchContext, *, stopped_too: bool = False) -> Gone:
    """Looks for evidence that a machine of the launch is gone, or with `stopped_too` that it is stopped."""

    async def one(handle: Handle) -> str | None:
        evidence = await launch.provider.gone(handle)
        if evidence is None and stopped_too and isinstance(launch.provider, Remote):
            status = await launch.provider.look(handle)
            if status.state in {"stopped", "gone"}:
                return f"it is {status.state} ({status.why})" if status.why else f"it is {status.state}"
        return evidence

    async def gone() -> str | None:
        for machine in launch.machines:
            handle = machine.lease.handle()
            evidence = None if handle is None else await one(handle)
            if evidence is not None:
                return evidence
        return None

    return gone


async def reconnect_of(launch: LaunchContext) -> Reconnect | None:
    """Reconnects to the launch's machines; None if they need no connection."""
    shells = [machine.shell for machine in launch.machines if machine.shell is not None]
    if not shells:
        return None
    boots: list[str] = []
    with suppress(ProviderFault):
        boots = [await boot_id_of(machine) for machine in launch.machines]

    async def reconnect() -> Link:
        if not any([await shell.again(_RECONNECT_S) for shell in shells]):
            return Link.HELD
        now = [await boot_id_of(machine) for machine in launch.machines]
        same = not boots or now == boots
        boots[:] = now
        return Link.BACK if same else Link.RESTARTED

    return reconnect
