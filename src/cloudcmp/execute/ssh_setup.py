"""The ways to machines that a study uses: its keys, which are in memory only, and the agent put in place by SSH."""

from collections.abc import Iterable
from dataclasses import replace

from cloudcmp.agent.ssh import dial
from cloudcmp.model.protocol import Provider, Remote
from cloudcmp.model.remote import KeyPair, Shell
from cloudcmp.provision import Connector, Keys, Ledger, ProvisionContext, Ready

_POLL_S = 0.25
_POLL_BILLED_S = 2.0  # a cloud counts how often it is asked


def open_provisioning(ledger: Ledger, providers: Iterable[Provider]) -> ProvisionContext:
    """What setting up launches takes. A study whose machines need no SSH has no key."""
    some = tuple(providers)
    ways = Connector(ledger.time, dial, _deploy, KeyPair("", ""))
    if not any(isinstance(one, Remote) for one in some):
        return ProvisionContext(ledger, ways, Keys(lambda: KeyPair("", ""), lambda *_: ""))
    from cloudcmp.agent.cloud_config import cloud_config
    from cloudcmp.agent.keys import new_key

    poll_s = _POLL_BILLED_S if any(one.billed for one in some) else _POLL_S

    def user_data(host: KeyPair, client: str, ttl_s: float) -> str:
        """What a machine is told that is asked for now: the budget counts from the same moment on."""
        return cloud_config(host, client, ttl_s, ledger.time.now())

    return ProvisionContext(ledger, replace(ways, client=new_key(), poll_s=poll_s), Keys(new_key, user_data))


async def _deploy(shell: Shell, folder: str, address: str, lease_s: float) -> Ready:
    from cloudcmp.agent.deploy import deploy

    instance = await deploy(shell, folder=folder, address=address, lease_s=lease_s)
    return Ready(instance, await instance.uptime_s())
