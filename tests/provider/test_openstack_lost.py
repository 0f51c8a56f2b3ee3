"""Leases at the emulated OpenStack while answers are lost: written down, found again, ended, never doubled."""

import asyncio
import random

import pytest
from tests.emulated.nova import Faults
from tests.emulated.nova_requests import ALLOW, REGION, candidate, instance, provider, tags
from tests.provider.openstacks import pointed
from tests.provider.test_aws_lost import Journal

from cloudcmp.errors import ProviderFault
from cloudcmp.model.lease import FIREWALL
from cloudcmp.model.plan import Launch
from cloudcmp.provider.time import WallTime
from cloudcmp.provision import Ledger, Part, Patience, acquire, release, release_all
from cloudcmp.provision.ledger import in_order_of_ending

_LOSES = ("lost", "reset", "5xx", "truncated", "part", "drop", "empty", "error:503", "error:429")
_ACTIONS = ("CreateServer", "CreateSecurityGroup", "CreateFloatingIp", "ListServers", "ListFloatingIps", "DeleteServer",
            "DeleteFloatingIp", "ShowServer")  # fmt: skip
PATIENCE = Patience(grace_s=0.4, poll_s=0.05, give_up_s=10.0, listings=3, settle_s=0.5)


async def looked(driver, machine):
    """The machine as a launch looks at it: again and again, whatever the answers come to."""
    for _ in range(4):
        try:
            if (await driver.look(instance(machine))).address:
                return
        except ProviderFault:
            pass


async def history(cloud, seed):
    """One launch with its firewall and floating address, whose answers may be lost, then its end from another process.

    Returns what is wrong.
    """
    draw, study, wrong = random.Random(seed), f"study-{seed}", []
    cloud.faults = Faults(
        seed=seed, network=draw.choice(["tenant", "tenant", "provider"]), read_lag_s=draw.choice([0.0, 0.0, 0.2]),
        deletes=draw.choice(["ends", "ends", "soft"]), delete_s=draw.choice([0.0, 0.1]),
    )  # fmt: skip
    for action in _ACTIONS:
        if draw.random() < 0.6:
            cloud.inject(action, draw.choice(_LOSES), draw.choice([1, 1, 2]))
    journal, driver = Journal(), provider(settle_s=0.5)
    ledger, launch = Ledger(journal, study, WallTime()), Launch(0, 0, 0, None, 0.0, seed)
    try:
        part = Part(FIREWALL, options=(ALLOW,))
        group = await acquire(ledger, driver, candidate(), launch, 600.0, part=part, patience=PATIENCE)
        part = Part(options=(("firewall", group.cloud_id),))
        lease = await acquire(ledger, driver, candidate(), launch, 600.0, part=part, patience=PATIENCE)
        if lease.cloud_id not in {thing.id for thing in cloud.alive()}:
            wrong.append(f"{seed}: {lease.cloud_id} is live in the ledger and not in the cloud")
        await looked(driver, lease.cloud_id)
    except ProviderFault:
        pass
    made = [thing for thing in cloud.alive() if thing.id not in cloud.foreign]
    for kind in ("instance", "address"):
        wrong += [f"{seed}: two of {kind}"] if [one.kind for one in made].count(kind) > 1 else []
    known = {row.token for row in journal.rows}
    servers = cloud.regions[REGION].servers
    wrong += [
        f"{seed}: {one.id} is not written down"
        for one in made
        if one.kind == "instance" and servers[one.id].metadata["cloudcmp:token"] not in known
    ]
    again, other = Ledger(journal, study, WallTime()), provider(settle_s=0.5)
    for lease in in_order_of_ending(again.open_leases()):
        done = await release(again, other, lease, PATIENCE)
        wrong += [] if done.evidence else [f"{seed}: {lease.name} is not seen gone: {done.why}"]
    await release_all(again, {"openstack": other})
    left = [thing for thing in cloud.alive() if thing.id not in cloud.foreign]
    return wrong + [f"{seed}: {thing.kind} {thing.id} is left" for thing in left]


def lost_answers(n, seed):
    """So many histories; returns what is wrong with any, foreign resources that were touched among it."""
    with pointed() as cloud:
        theirs = {**dict(tags("study-other")), "cloudcmp:schema": "0"}
        for kind in ("instance", "firewall", "volume", "address"):
            cloud.plant(kind, REGION, f"theirs-{kind}", theirs)
        cloud.foreign = {thing.id for thing in cloud.alive()}
        wrong = [line for number in range(n) for line in asyncio.run(history(cloud, seed + number))]
        return wrong + [f"{id} is gone" for id in cloud.foreign - {thing.id for thing in cloud.alive()}]


@pytest.mark.parametrize("seed", [1, 101])
def test_p02_lost_answers_leave_nothing_and_double_nothing(seed):
    assert lost_answers(3, seed) == []
