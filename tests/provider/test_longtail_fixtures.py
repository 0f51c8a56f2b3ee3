"""Witnesses: apache-libcloud's own drivers read our emulations, and our driver reads what its own tests recorded."""

import asyncio
import json
import re
from datetime import date
from decimal import Decimal
from pathlib import Path

import libcloud
import pytest
from libcloud.compute.providers import get_driver
from libcloud.compute.types import NodeState
from tests.emulated.longtail_requests import PLACES, instance, launched, provider
from tests.emulated.pointed import pointed
from tests.emulated.tail import NAMES, emulated, recorded

from cloudcmp.provider.longtail import CLOUDS

FIXTURES = Path(libcloud.__file__).parent / "test" / "compute" / "fixtures"
RECORDED = [name for name in NAMES if emulated(name).recorded is not None]
TODAY = date(2026, 11, 22)

run = asyncio.run


@pytest.fixture(params=RECORDED)
def cloud(request, monkeypatch):
    """Each of these emulated clouds in turn."""
    with pointed(emulated(request.param).make(), monkeypatch) as one:
        yield one


def recording(name, file):
    return json.loads((FIXTURES / recorded(name).folder / f"{file}.json").read_text())


def theirs(cloud):
    """apache-libcloud's own driver as it comes, pointed to an emulation."""
    driver = get_driver(cloud.name)(cloud.token)
    connection = driver.connection
    connection.host, connection.port, connection.secure = "127.0.0.1", int(cloud.url.rpartition(":")[2]), 0
    connection.connect()
    return driver


def listed(driver, cloud, what):
    more = recorded(cloud.name).lists if what in {"nodes", "sizes"} else {}
    return getattr(driver, f"list_{what}")(**more)


def test_apache_libclouds_own_driver_reads_the_emulation(cloud):
    run(launched(cloud.name, provider(cloud.name)))
    driver = theirs(cloud)
    (node,) = listed(driver, cloud, "nodes")
    made = cloud.lives.there()[0]
    assert (str(node.id), node.name, node.state) == (made.id, made.name, NodeState.RUNNING)
    assert made.address in node.public_ips
    region, offering = PLACES[cloud.name]
    sizes = {size.id: size for size in listed(driver, cloud, "sizes")}
    assert {size.id for size in sizes.values()} >= {one.name for one in provider(cloud.name).offerings(region)}
    assert sizes[offering].ram == emulated(cloud.name).holds[1] * 1024
    assert listed(driver, cloud, "images")
    assert region in {one.id for one in listed(driver, cloud, "locations")}
    assert driver.destroy_node(node) is True
    assert cloud.lives.there() == []


def test_apache_libclouds_own_driver_makes_what_ours_reads(cloud):
    driver, (region, offering) = theirs(cloud), PLACES[cloud.name]
    size = next(one for one in listed(driver, cloud, "sizes") if one.id == offering)
    place = next(one for one in driver.list_locations() if one.id == region)
    image = next(one for one in driver.list_images() if re.search(r"(?i)24.04", f"{one.id} {one.name}"))
    more = recorded(cloud.name).creates
    node = driver.create_node(name="theirs", size=size, image=image, location=place, **more)
    sight = run(provider(cloud.name).look(instance(cloud.name, str(node.id))))
    assert (sight.state, sight.address) == ("running", cloud.lives.there()[0].address)


@pytest.mark.parametrize("name", RECORDED)
def test_recorded_types_become_offerings(name):
    file, key = recorded(name).sizes
    dialect, said = CLOUDS[name].dialect, recording(name, file)[key]
    region, (first, price) = recorded(name).region, recorded(name).first
    sold = [one for each in said if (one := dialect.offering(CLOUDS[name], region, each, TODAY))]
    assert len(sold) > 1
    for one in sold:
        assert one.vcpus
        assert one.memory_gib
        assert one.price is None or one.price.amount_per_hour > 0
    named = {one.name: one.price for one in sold}
    assert named[first].amount_per_hour == Decimal(price)
    assert CLOUDS[name].paging.total(recording(name, file)) == len(said)


@pytest.mark.parametrize("name", RECORDED)
def test_recorded_machines_are_seen_as_apache_libcloud_sees_them(name):
    file, key = recorded(name).nodes
    driver, dialect = get_driver(name)("none"), CLOUDS[name].dialect
    states = {NodeState.RUNNING: "running", NodeState.STOPPED: "stopped"}
    said = recording(name, file)[key]
    assert said
    for one in said:
        node, seen = driver._to_node(one), dialect.machine(one)
        assert (seen.id, seen.name) == (str(node.id), node.name)
        assert seen.state == states.get(node.state, "pending")
        assert seen.public is None or seen.public in node.public_ips
        assert (seen.public is None) == (not [ip for ip in node.public_ips if "." in ip and ip != "0.0.0.0"])
        assert seen.inside is None or seen.inside in node.private_ips


@pytest.mark.parametrize("name", RECORDED)
def test_recorded_regions_are_named_as_apache_libcloud_names_them(name):
    driver, dialect = get_driver(name)("none"), CLOUDS[name].dialect
    for one in recording(name, "list_locations")[recorded(name).locations]:
        assert dialect.region(one)[0] == driver._to_location(one).id


def test_the_emulation_tells_every_field_that_was_recorded_of_a_machine_and_that_we_read(cloud):
    name = cloud.name
    file, key = recorded(name).nodes
    run(launched(name, provider(name)))
    shown = getattr(cloud, recorded(name).shows)(cloud.lives.there()[0])
    old = set(recording(name, file)[key][0])
    # What newer answers have, and what these recordings, some from 2014, have and no answer has any more.
    lacking = {"next_backup_window", "backups_active", "networks"} | {"locked", "kernel"}
    assert old - set(shown) <= lacking
