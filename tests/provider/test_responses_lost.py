"""A create whose answer is lost or late, at the clouds that take a token with each: it never makes a second machine."""

import asyncio

import pytest
from tests.provider.every import EVERY, pointed
from tests.slices import some

from cloudcmp.errors import LostAnswer

CREATES = {"aws": "RunInstances", "gcp": "instances.insert"}


def machines(cloud) -> int:
    """How many there are."""
    return [thing.kind for thing in cloud.alive()].count("instance")


LOSSES = ["lost", "reset", "5xx", "truncated", "part"]


@pytest.mark.parametrize(
    ("name", "what"), [(name, what) for at, name in enumerate(CREATES) for what in some(LOSSES, 2, at)]
)
def test_p02_a_lost_answer_is_never_a_second_machine(name, what):
    request = EVERY[name].request

    async def walk():
        driver = EVERY[name].provider()
        cloud.inject(CREATES[name], what)
        with pytest.raises(LostAnswer):
            await driver.create(request())
        found = await driver.find("study-a", "token-1", region=request().region)
        assert [item.token for item in found] == ["token-1"]
        again = await driver.create(request())
        assert [item.cloud_id for item in found] == [again]

    with pointed(name) as cloud:
        asyncio.run(walk())
        assert machines(cloud) == 1


@pytest.mark.parametrize("name", CREATES)
def test_p02_an_answer_later_than_the_deadline_is_lost(name):
    request = EVERY[name].request

    async def walk():
        driver = EVERY[name].provider()
        await driver.create(request(token="warm"))
        driver._sdk.deadline_s = 0.7
        cloud.inject(CREATES[name], "late", seconds=3)
        began = asyncio.get_running_loop().time()
        with pytest.raises(LostAnswer):
            await driver.create(request())
        assert asyncio.get_running_loop().time() - began < 2.5

    with pointed(name) as cloud:
        asyncio.run(walk())
        assert machines(cloud) == 2
