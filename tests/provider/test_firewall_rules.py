"""What the rules of a firewall come to, and that each driver reads back whom its cloud admits."""

import asyncio

import pytest
from tests.provider.every import EVERY, pointed

from cloudcmp.model.firewall import Admission, ReadsFirewall
from cloudcmp.model.lease import FIREWALL, Handle
from cloudcmp.provider.common.firewall_rules import ANY, MEMBERS, Rule, admission, ports_in
from cloudcmp.provider.longtail import CLOUDS

DOOR = Rule("192.0.2.7/32", "tcp", (22, 22))
INSIDE = Rule(MEMBERS, ANY)
OPEN = {name for name, cloud in CLOUDS.items() if cloud.open_to}


@pytest.mark.parametrize(
    ("rules", "found"),
    [
        ([DOOR, INSIDE], Admission(("192.0.2.7/32",), True)),
        ([DOOR, *(Rule(MEMBERS, kind) for kind in ("tcp", "udp", "icmp"))], Admission(("192.0.2.7/32",), True)),
        ([DOOR, Rule(MEMBERS, "tcp"), Rule(MEMBERS, "udp")], Admission(("192.0.2.7/32",), False)),
        ([DOOR, Rule(MEMBERS, ANY, (1, 100))], Admission(("192.0.2.7/32",), False)),
        ([INSIDE, Rule("0.0.0.0/0", "tcp", (80, 80))], Admission((), True, ("0.0.0.0/0 to tcp 80-80",))),
        ([INSIDE, Rule("192.0.2.7/32", ANY)], Admission((), True, ("192.0.2.7/32 to any 0-65535",))),
        ([INSIDE, Rule("192.0.2.7/32", "tcp", (22, 23))], Admission((), True, ("192.0.2.7/32 to tcp 22-23",))),
        ([INSIDE, Rule("sg-another", "tcp", (22, 22))], Admission((), True, ("sg-another to tcp 22-22",))),
        ([], Admission()),
    ],
)
def test_who_is_admitted(rules: list[Rule], found: Admission) -> None:
    assert admission(rules) == found


@pytest.mark.parametrize(
    ("text", "ports"),
    [("22", (22, 22)), ("1-65535", (1, 65535)), ("", None), ("all", None), ("*", None), ("0", (0, 0))],
)
def test_ports_are_read(text: str, ports: tuple[int, int] | None) -> None:
    assert ports_in(text) == ports


@pytest.mark.parametrize("name", EVERY)
def test_each_driver_reads_back_the_controller_and_the_launchs_own_machines(name: str) -> None:
    async def walk() -> tuple[Admission, Admission]:
        driver, request = EVERY[name].provider(), EVERY[name].request(FIREWALL)
        assert isinstance(driver, ReadsFirewall)
        handle = Handle(FIREWALL, request.region, await driver.create(request))
        there = await driver.admitted(handle)
        await driver.destroy(handle)
        while await driver.gone(handle) is None:
            await asyncio.sleep(0.05)
        return there, await driver.admitted(handle)

    with pointed(name):
        there, gone = asyncio.run(walk())
    assert (there.controllers, there.members, bool(there.others)) == (("192.0.2.7/32",), True, name in OPEN)
    assert gone == Admission()
