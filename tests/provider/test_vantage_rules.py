"""Whom the firewall of a launch lets in besides the controller: its vantage points, to its pages, and nothing wider."""

import asyncio
from collections.abc import Mapping

import pytest
from tests.emulated.asks import ALLOW
from tests.provider.every import EVERY, pointed

from cloudcmp.errors import Refused
from cloudcmp.model.firewall import SERVED_PORT, Admission, AdmitsVantages, ReadsFirewall
from cloudcmp.model.lease import FIREWALL, VANTAGES, Handle
from cloudcmp.provider.common.firewall_rules import MEMBERS, Rule, admission
from cloudcmp.provider.longtail import CLOUDS

V4, V6 = ("198.51.100.5", "203.0.113.9"), "2001:db8::9"
ONLY_V4 = ("azure", "gcp")
OPEN = {name for name, cloud in CLOUDS.items() if cloud.open_to}
WIDER = (
    ("198.51.100.0/24", "198.51.100.0/24 is more than the one address of a vantage point"),
    ("198.51.100.4/31", "198.51.100.4/31 is more than the one address"),
    ("2001:db8::/64", "2001:db8::/64 is more than the one address"),
    ("0.0.0.0/0", "0.0.0.0/0 is too wide"),
    ("0.0.0.0", "0.0.0.0/32 is no address from which a cloud is reached"),
    ("lab.example.org", "'lab.example.org' is no address"),
)


def allowing(vantages: str) -> dict[str, str]:
    """The options of a launch's firewall with these vantage points."""
    return {**dict([ALLOW]), VANTAGES: vantages}


def admitted(name: str, vantages: str) -> tuple[Admission, Admission]:
    """Whom a firewall admits while its launch lasts, and after its deletion."""

    async def walk() -> tuple[Admission, Admission]:
        driver, request = EVERY[name].provider(), EVERY[name].request(FIREWALL, options=allowing(vantages))
        assert isinstance(driver, ReadsFirewall)
        assert isinstance(driver, AdmitsVantages)
        assert await driver.controller() == "127.0.0.1/32"
        handle = Handle(FIREWALL, request.region, await driver.create(request))
        there = await driver.admitted(handle)
        await driver.destroy(handle)
        while await driver.gone(handle) is None:
            await asyncio.sleep(0.05)
        return there, await driver.admitted(handle)

    with pointed(name):
        return asyncio.run(walk())


@pytest.mark.parametrize("name", EVERY)
def test_exactly_the_vantage_points_are_let_in_and_the_rules_go_with_the_launch(name: str) -> None:
    asked = V4 if name in ONLY_V4 else (*V4, V6)
    there, gone = admitted(name, ",".join((*asked, V4[0])))
    wanted = [f"{one}/{128 if ':' in one else 32}" for one in asked]
    assert (there.controllers, there.members) == (("192.0.2.7/32",), True)
    assert sorted(there.vantages) == sorted(wanted)
    assert bool(there.others) is (name in OPEN), there.others
    assert gone == Admission()


@pytest.mark.parametrize("name", EVERY)
def test_anything_wider_is_refused_before_a_firewall_is_made(name: str) -> None:
    driver = EVERY[name].provider()
    with pointed(name) as cloud:
        for vantages, why in WIDER:
            request = EVERY[name].request(FIREWALL, options=allowing(f"{V4[0]},{vantages}"))
            with pytest.raises(Refused, match=why) as refused:
                asyncio.run(driver.create(request))
            assert len(refused.value.faults) == 1
        assert cloud.alive() == []
        assert not any("firewall" in call.action.lower() or "Security" in call.action for call in cloud.journal)


@pytest.mark.parametrize("name", ONLY_V4)
def test_an_ipv6_address_is_refused_where_machines_have_none(name: str) -> None:
    driver, request = EVERY[name].provider(), EVERY[name].request(FIREWALL, options=allowing(V6))
    with pointed(name), pytest.raises(Refused, match=f"vantage point {V6}: machines have IPv4 addresses only here"):
        asyncio.run(driver.create(request))


def test_the_request_to_ec2_names_the_vantage_points_at_one_port_and_their_echoes_only() -> None:
    with pointed("aws") as cloud:
        asyncio.run(
            EVERY["aws"].provider().create(EVERY["aws"].request(FIREWALL, options=allowing(f"{V4[0]},{V4[1]},{V6}")))
        )
        (sent,) = cloud.calls("AuthorizeSecurityGroupIngress")
    page = {"IpProtocol": "tcp", "FromPort": "28080", "ToPort": "28080"}
    v4 = {f"IpRanges.{at}.CidrIp": f"{one}/32" for at, one in enumerate(V4, start=1)}
    v6 = {"Ipv6Ranges.1.CidrIpv6": f"{V6}/128"}
    assert permissions(sent.params)[1:4] == [
        {**page, **v4, **v6},
        {"IpProtocol": "icmp", "FromPort": "8", "ToPort": "-1", **v4},
        {"IpProtocol": "icmpv6", "FromPort": "128", "ToPort": "-1", **v6},
    ]
    assert len(permissions(sent.params)) == 5
    assert SERVED_PORT == 28080


def permissions(params: Mapping[str, str]) -> list[dict[str, str]]:
    """The permissions of a request to EC2, in their order."""
    found: dict[int, dict[str, str]] = {}
    for key, value in params.items():
        if key.startswith("IpPermissions."):
            _, number, field = key.split(".", 2)
            found.setdefault(int(number), {})[field] = value
    return [found[number] for number in sorted(found)]


def test_the_request_to_compute_engine_names_the_vantage_points_and_no_one_else() -> None:
    request = EVERY["gcp"].request(FIREWALL, options=allowing(",".join(V4)))
    with pointed("gcp") as cloud:
        asyncio.run(EVERY["gcp"].provider().create(request))
        rules = {name: rule for name, rule in cloud.state.firewalls.items() if name.endswith("-afar")}
    (rule,) = rules.values()
    assert sorted(rule["sourceRanges"]) == [f"{one}/32" for one in V4]
    assert rule["allowed"] == [{"IPProtocol": "tcp", "ports": ["28080"]}, {"IPProtocol": "icmp"}]
    assert (rule["targetTags"], rule["direction"]) == ([request.name], "INGRESS")


PAGES = Rule("198.51.100.5/32", "tcp", (28080, 28080))


@pytest.mark.parametrize(
    ("rule", "vantages", "others"),
    [
        (Rule("198.51.100.5/32", "icmp"), 1, 0),
        (Rule("198.51.100.6/32", "icmp"), 1, 1),
        (Rule("198.51.100.0/24", "tcp", (28080, 28080)), 1, 1),
        (Rule("198.51.100.5/32", "tcp", (28080, 28081)), 1, 1),
        (Rule("198.51.100.5/32", "udp", (28080, 28080)), 1, 1),
        (Rule("everybody", "tcp", (28080, 28080)), 1, 1),
    ],
)
def test_a_rule_that_admits_more_than_a_vantage_point_is_seen(rule: Rule, vantages: int, others: int) -> None:
    found = admission([PAGES, Rule(MEMBERS, "any"), rule])
    assert (len(found.vantages), len(found.others)) == (vantages, others)
