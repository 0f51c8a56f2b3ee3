"""Whom a launch's firewall lets in, and from where the controller is seen."""

import asyncio
import ipaddress
import socket
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.emulated.ec2_requests import request
from tests.provider.every import EVERY, pointed
from tests.slices import spread

from cloudcmp.errors import Refused
from cloudcmp.model.lease import FIREWALL, CreateRequest
from cloudcmp.provider.common import address
from cloudcmp.provider.common.address import (
    allowed_nets,
    allowed_v4_nets,
    controller_address,
    local_address,
    login_ports,
)

NOBODY = ("", " , ")
WIDE = (
    "0.0.0.0/0", "::/0", "0.0.0.0/1", "10.0.0.0/8", "192.0.0.0/16", "192.0.2.0/23", "2001:db8::/48", "2001:db8::/63",
    "192.0.2.0/255.255.254.0", "192.0.2.7/32, 0.0.0.0/0",
)  # fmt: skip
UNREAD = ("everyone", "192.0.2.7/33", "192.0.2.7/24", "192.0.2.7/32;", "2001:db8::7/129", "192.0.2.07", "1.2.3/24")
NOWHERE = ("0.0.0.0/32", "0.0.0.0/24", "::/128", "224.0.0.1/32", "ff02::1/128", "::ffff:0:0/96", "fe80::1%eth0/128")
REFUSED = NOBODY + WIDE + UNREAD + NOWHERE
V4_ONLY = ("azure", "gcp")


def _asked(allow: str, **more: str) -> CreateRequest:
    return request(FIREWALL, options={"allow": allow, **more})


@pytest.mark.parametrize(
    ("some", "says"),
    [(NOBODY, "nobody could log in"), (WIDE, "is too wide"), (UNREAD, "CIDR"), (NOWHERE, "is no address")],
)
def test_whom_no_firewall_lets_in(some: tuple[str, ...], says: str) -> None:
    for allow in some:
        with pytest.raises(Refused, match=says) as raised:
            allowed_nets(_asked(allow))
        assert raised.value.faults[0].next


@pytest.mark.parametrize("name", spread(list(EVERY), 3))
def test_no_driver_makes_a_firewall_that_is_wide_open_or_shut(name: str) -> None:
    kind = EVERY[name]
    with pointed(name) as cloud:
        driver = kind.provider()
        for index, allow in enumerate(REFUSED + (("192.0.2.7/32, 2001:db8::7/128",) if name in V4_ONLY else ())):
            with pytest.raises(Refused):
                asyncio.run(driver.create(kind.request(FIREWALL, f"t{index}", options={"allow": allow})))
        assert cloud.alive() == []
        made = kind.request(FIREWALL, "fine", options={"allow": "192.0.2.7, 198.51.100.0/24,192.0.2.7/32"})
        assert asyncio.run(driver.create(made))
        assert cloud.alive() != []


def test_addresses_are_told_each_once_in_the_form_that_clouds_read() -> None:
    nets = allowed_nets(_asked(" 192.0.2.7,198.51.100.0/255.255.255.0, 2001:DB8:0::/64,192.0.2.7/32,"))
    assert [str(net) for net in nets] == ["192.0.2.7/32", "198.51.100.0/24", "2001:db8::/64"]


def test_where_there_is_no_ipv6_an_address_of_it_is_refused() -> None:
    assert [str(net) for net in allowed_v4_nets(_asked("192.0.2.7/32"))] == ["192.0.2.7/32"]
    for allow in ("2001:db8::7/128", "192.0.2.7/32,2001:db8::7/128"):
        with pytest.raises(Refused, match="IPv4 addresses only"):
            allowed_v4_nets(_asked(allow))


@given(st.ip_addresses(), st.integers(0, 128))
def test_no_net_is_let_in_that_is_wider_than_what_a_study_may_name(
    one: ipaddress.IPv4Address | ipaddress.IPv6Address, length: int
) -> None:
    net = ipaddress.ip_network((one, min(length, one.max_prefixlen)), strict=False)
    try:
        (found,) = allowed_nets(_asked(str(net)))
    except Refused:
        first = net.network_address
        nobodys = first.is_unspecified or first.is_multicast or getattr(first, "ipv4_mapped", None) is not None
        assert net.prefixlen < (24 if net.version == 4 else 64) or nobodys
        return
    assert found == net
    assert net.prefixlen >= (24 if net.version == 4 else 64)


def test_doors_are_those_of_the_system() -> None:
    assert login_ports(_asked("192.0.2.7/32")) == (22,)
    assert login_ports(_asked("192.0.2.7/32", os="windows")) == (3389, 5985)


# -- from where the controller is seen


@pytest.mark.parametrize(
    ("endpoint", "seen"), [("http://127.0.0.1:5000", "127.0.0.1/32"), ("http://[::1]:5000", "::1/128")]
)
def test_the_way_to_an_endpoint_tells_our_own_address(endpoint: str, seen: str) -> None:
    assert controller_address(endpoint) == seen
    assert local_address(endpoint) == seen


@pytest.mark.parametrize(
    "endpoint", ["http://no-such-host.invalid:1", "http://127.0.0.1:99999", "", "nowhere", "http://["]
)
def test_an_endpoint_without_a_way_is_refused_with_what_to_write(endpoint: str) -> None:
    with pytest.raises(Refused, match="allow: 203"):
        local_address(endpoint)


@pytest.mark.parametrize(
    ("here", "there", "seen"),
    [
        ("192.168.1.7", "1.1.1.1", None),
        ("10.0.0.7", "10.0.0.1", "10.0.0.7/32"),
        ("9.9.9.9", "1.1.1.1", "9.9.9.9/32"),
    ],
)
def test_a_private_address_on_the_way_to_a_public_cloud_is_not_let_in(
    here: str, there: str, seen: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Way:
        """A socket without a network."""

        def __init__(self, *_: object) -> None:
            pass

        def __enter__(self) -> "Way":
            return self

        def __exit__(self, *_: object) -> None:
            pass

        def connect(self, to: tuple[str, int]) -> None:
            assert to == (there, 443)

        def getsockname(self) -> tuple[str, int]:
            return here, 1

    def found(*_: object, **__: object) -> list[Any]:
        return [(socket.AF_INET, socket.SOCK_DGRAM, 17, "", (there, 443))]

    monkeypatch.setattr(address.socket, "getaddrinfo", found)
    monkeypatch.setattr(address.socket, "socket", Way)
    if seen:
        assert controller_address("https://cloud.example") == seen
        return
    with pytest.raises(Refused, match="is a private one"):
        controller_address("https://cloud.example")
