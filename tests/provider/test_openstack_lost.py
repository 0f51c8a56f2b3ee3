"""Leases at the emulated OpenStack while answers are lost: written down, found again, ended, never doubled."""

import asyncio
import random

import pytest
from tests.emulated.nova import Faults
from tests.emulated.nova_requests import REGION, candidate, instance, provider
from tests.provider.losing import Losing
from tests.provider.openstacks import pointed
from tests.slices import some

from cloudcmp.errors import ProviderFault

_LOSES = ("lost", "reset", "5xx", "truncated", "part", "drop", "empty", "error:503", "error:429")
_ACTIONS = ("CreateServer", "CreateSecurityGroup", "CreateFloatingIp", "ListServers", "ListFloatingIps", "DeleteServer",
            "DeleteFloatingIp", "ShowServer")  # fmt: skip


async def looked(driver, machine):
    """The machine as a launch looks at it: again and again, whatever the answers come to."""
    for _ in range(4):
        try:
            if (await driver.look(instance(machine))).address:
                return
        except ProviderFault:
            pass


async def history(losing, seed):
    """One launch with a floating address, of which answers may be lost, and its end; what is wrong."""
    draw, cloud = random.Random(seed), losing.cloud
    cloud.faults = Faults(
        seed=seed, network=draw.choice(["tenant", "tenant", "provider"]), read_lag_s=draw.choice([0.0, 0.0, 0.2]),
        deletes=draw.choice(["ends", "ends", "soft"]), delete_s=draw.choice([0.0, 0.1]),
    )  # fmt: skip
    for action in _ACTIONS:
        if draw.random() < 0.6:
            cloud.inject(action, draw.choice(_LOSES), draw.choice([1, 1, 2]))
    servers = cloud.regions[REGION].servers
    return await losing.history(seed, lambda id: servers[id].metadata["cloudcmp:token"], looked)


def lost_answers(n, seed):
    """So many histories; returns what is wrong with any, foreign resources that were touched among it."""
    with pointed() as cloud:
        kinds = ("instance", "firewall", "volume", "address")
        losing = Losing(cloud, candidate(), lambda: provider(settle_s=0.5), kinds, strays=True)
        return [line for k in range(n) for line in asyncio.run(history(losing, seed + k))] + losing.gone()


@pytest.mark.parametrize("seed", some([1, 101], 1, 0))
def test_p02_lost_answers_leave_nothing_and_double_nothing(seed):
    assert lost_answers(3, seed) == []
