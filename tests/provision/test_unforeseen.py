"""Providers that fail in ways that nobody foresaw: what they do to one machine is not done to the others."""

import asyncio

import pytest

from cloudcmp.errors import UserMistake
from cloudcmp.provision import Part, release_all
from cloudcmp.provision.lifecycle import acquire, release

HOUR = 3600.0
UNFORESEEN = [UserMistake.at("ec2", "no endpoint is named"), KeyError("InstanceId"), ImportError("botocore")]


def take(world, launch):
    return asyncio.run(acquire(world.ledger, world.cloud, world.candidate, launch, HOUR))


def fail_with(fault):
    def fail():
        raise fault

    return fail


@pytest.mark.parametrize("fault", UNFORESEEN, ids=lambda fault: type(fault).__name__)
@pytest.mark.parametrize("call", ["gone", "destroy", "find"])
def test_p1_a_provider_that_cannot_be_asked_does_not_keep_others_from_ending_theirs(world, fault, call):
    broken, well = world(), world()
    broken.cloud.name = "broken"
    lease = take(broken, broken.launch(0))
    well.ledger = broken.ledger
    other = take(well, well.launch(1))
    assert (broken.cloud.holds, well.cloud.holds) == ([lease.cloud_id], [other.cloud_id])
    broken.cloud.before[call] = fail_with(fault)
    done = asyncio.run(release_all(broken.ledger, {"broken": broken.cloud, "simulated": well.cloud}))
    assert well.cloud.holds == []
    left = [one for one in done if one.evidence is None]
    assert [one.lease.provider for one in left] == ["broken"]
    assert str(fault) in left[0].why or type(fault).__name__ in left[0].why


@pytest.mark.parametrize("fault", UNFORESEEN, ids=lambda fault: type(fault).__name__)
def test_ending_a_lease_tells_whatever_its_provider_raises(world, fault):
    one = world()
    lease = take(one, one.launch())
    one.cloud.before["gone"] = fail_with(fault)
    done = asyncio.run(release(one.ledger, one.cloud, lease))
    assert done.evidence is None
    assert done.why


def test_what_was_stopped_before_it_was_asked_for_was_never_there(world):
    one = world()
    one.cloud.billed = True  # so that changes take turns

    async def stopped():
        first = acquire(one.ledger, one.cloud, one.candidate, one.launch(0), HOUR)
        second = acquire(one.ledger, one.cloud, one.candidate, one.launch(0), HOUR, part=Part(number=2))
        one.cloud.time.sleep = waiting  # nobody's turn comes any more
        tasks = [asyncio.create_task(first), asyncio.create_task(second)]
        await asyncio.sleep(0.05)
        tasks[1].cancel()
        await asyncio.wait(tasks)

    async def waiting(seconds):
        await asyncio.Event().wait()

    asyncio.run(stopped())
    assert one.journal.events == ["INTENT", "CREATED", "INTENT", "REFUSED"]
    assert len(one.cloud.holds) == len(one.ledger.open_leases()) == 1


def test_what_was_stopped_once_it_was_asked_for_may_be_there(world):
    one = world()

    def stop():
        raise asyncio.CancelledError

    one.cloud.before["create"] = stop
    with pytest.raises(asyncio.CancelledError):
        take(one, one.launch())
    assert one.journal.events == ["INTENT", "INDETERMINATE"]
