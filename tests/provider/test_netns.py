"""Namespaces of this host as machines, made and removed for real where this user may."""

import asyncio
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from tests.app.namespaces import needs_namespaces

from cloudcmp.errors import NotOurs, Refused
from cloudcmp.owned_folder import OwnedPath
from cloudcmp.provider.local import Machine
from cloudcmp.provider.netns import NamespaceProvider, cloud, network, types

FOUR = Machine((0, 2, 4, 6), None, 2**33, None)


@pytest.fixture
def study() -> Iterator[str]:
    """The tag of a study of this test's own, of which nothing is left afterwards."""
    name = f"study-{uuid.uuid4()}"
    yield name
    with network.locked():
        for one in network.machines():
            if one.tags.get(network.STUDY) == name:
                network.remove(one.name)
        network.remove_unfinished()


def provider(folder: Path, study: str) -> NamespaceProvider:
    return NamespaceProvider(OwnedPath(folder), Path(sys.executable), study, machine=lambda: FOUR)


def request(plans, study, number=1, offering="1cpu", region="local"):
    own = plans.request(f"token-{uuid.uuid4()}", offering=offering)
    tags = (("cloudcmp:attempt", "1"), ("cloudcmp:schema", "1"), ("cloudcmp:study", study))
    return replace(own, slot="launch-0" if number == 1 else f"launch-0.{number}", region=region, tags=tags)


def names(study: str) -> set[str]:
    """The namespaces of a study, with those that nobody has finished: others are made under the same lock."""
    switches = {network.switch_of(study, region) for region in types.REGIONS}
    with network.locked():
        own = {one.name for one in network.machines() if one.tags.get(network.STUDY, study) == study}
        return own | {name for name in switches if (Path("/run/netns") / name).exists()}


def inside(instance, code: str) -> str:
    command = [*network.enter(instance.namespace), sys.executable, "-c", code]
    return subprocess.run(command, capture_output=True, text=True, timeout=20, check=True).stdout.strip()


def test_types_and_regions_are_told_with_what_they_promise():
    found = {(one.region, one.name): dict(one.attributes) for one in types.offerings("netns", None, FOUR)}
    assert ("local", "1cpu") in found
    assert ("link-1gbit", "4cpu") in found
    assert "network_bytes_per_s" not in found["local", "1cpu"]
    assert found["local", "1cpu-htb-100mbit"]["network_bytes_per_s"] == "12500000"
    assert found["link-1gbit", "1cpu"]["network_bytes_per_s"] == "125000000"
    assert types.offerings("netns", "mars", FOUR) == ()
    with pytest.raises(Refused, match="2cpu-htb"):
        types.machine_type("2cpu-htb", FOUR)
    with pytest.raises(Refused, match="link-9bit"):
        types.link_bytes_per_s("link-9bit")


def test_without_the_rights_a_check_says_which_are_missing(tmp_path, monkeypatch, plans):
    status = tmp_path / "status"
    status.write_text("Name:\tx\nCapEff:\t0000000000001000\n")
    monkeypatch.setattr(cloud, "_STATUS", status)
    (found,) = asyncio.run(provider(tmp_path, "s").check([plans.candidate()]))
    assert (found.ok, found.text) == (False, "this user has no CAP_SYS_ADMIN, which network namespaces need")
    assert "root" in found.next


def refusing(folder: Path, **programs: str) -> Path:
    """A folder of programs, each of which prints a line and fails."""
    folder.mkdir()
    for name, line in programs.items():
        (folder / name).write_text(f"#!/bin/sh\necho '{line}' >&2\nexit 1\n")
        (folder / name).chmod(0o755)
    return folder


@pytest.mark.parametrize(
    ("programs", "what"),
    [
        ({}, "it is not installed"),
        (
            {"ip": "", "unshare": "unshare: unshare failed: Operation not permitted"},
            "no network namespace can be made here: unshare: unshare failed: Operation not permitted",
        ),
    ],
)
def test_a_host_without_namespaces_or_their_tools_is_a_finding(tmp_path, monkeypatch, plans, programs, what):
    monkeypatch.setattr(cloud, "missing_rights", lambda: "")
    folder = refusing(tmp_path / "bin", **programs)
    monkeypatch.setattr(network, "search_path", lambda: str(folder))
    monkeypatch.setattr(network, "_FOLDERS", ())
    (found,) = asyncio.run(provider(tmp_path, "s").check([plans.candidate()]))
    assert (found.what, found.ok, found.text) == ("host", False, what)
    assert found.next


def test_a_host_without_tc_says_so_of_the_shaped_machines_only(tmp_path, monkeypatch, plans):
    monkeypatch.setattr(cloud, "missing_rights", lambda: "")
    monkeypatch.setattr(network, "try_namespace", lambda: None)
    monkeypatch.setattr(network, "search_path", lambda: str(tmp_path))
    monkeypatch.setattr(network, "_FOLDERS", ())
    plain, shaped = (
        replace(plans.candidate(), offering=replace(plans.candidate().offering, name=name))
        for name in ("1cpu", "1cpu-htb-100mbit")
    )
    host, shaper = asyncio.run(provider(tmp_path, "s").check([plain, shaped]))
    assert host.ok
    assert (shaper.what, shaper.ok, shaper.text) == ("capability", False, "it is not installed")
    assert "iproute2" in shaper.next


@needs_namespaces
def test_two_machines_reach_each_other_and_nothing_of_them_is_left(tmp_path, plans, study):
    async def walk():
        one = provider(tmp_path, study)
        before = names(study)
        requests = [request(plans, study, number) for number in (1, 2)]
        ids = [await one.create(each) for each in requests]
        assert ids == [await one.create(each) for each in requests], "a token is one machine"
        assert len(names(study) - before) == 3, "two machines and a switch"
        assert {each.token for each in await one.find(study)} == set(ids)
        assert {each.token for each in (await one.leftovers()).found} >= set(ids)
        offering = replace(plans.candidate().offering, name="1cpu")
        candidate = replace(plans.candidate(), offering=offering)
        machines = [
            await one.connect(replace(plans.lease(each, cloud_id, "netns"), slot=each.slot), candidate, plans.launch())
            for each, cloud_id in zip(requests, ids, strict=True)
        ]
        assert [tuple(each.cpus) for each in machines] == [(0,), (2,)], "each has its own processors"
        assert machines[0].address != machines[1].address
        server = subprocess.Popen(
            [*network.enter(machines[1].namespace), sys.executable, "-c",
             f"import socket\ns = socket.create_server(('{machines[1].address}', 4000))\nprint('ready', flush=True)\n"
             "s.accept()[0].sendall(b'there')\nimport time\ntime.sleep(60)"],
            stdout=subprocess.PIPE,
        )  # fmt: skip
        assert server.stdout.readline() == b"ready\n"
        code = f"import socket\nprint(socket.create_connection(('{machines[1].address}', 4000), 5).recv(9).decode())"
        assert inside(machines[0], code) == "there"
        assert inside(machines[0], "import os\nprint(*sorted(os.listdir('/sys/class/net')))") == "eth0 lo"
        for cloud_id in reversed(ids):
            assert await one.gone(plans.handle(cloud_id)) is None
            await one.destroy(plans.handle(cloud_id))
            await one.destroy(plans.handle(cloud_id))
            assert await one.gone(plans.handle(cloud_id))
        assert server.wait(10) < 0, "what ran in a machine ended with it"
        server.stdout.close()
        assert names(study) == before

    asyncio.run(walk())


@needs_namespaces
def test_another_studys_machine_is_kept(tmp_path, plans, study):
    async def walk():
        mine = await provider(tmp_path / "a", study).create(request(plans, study))
        with pytest.raises(NotOurs, match="another study"):
            await provider(tmp_path / "b", "study-b").destroy(plans.handle(mine))
        assert await provider(tmp_path / "a", study).gone(plans.handle(mine)) is None

    asyncio.run(walk())


@needs_namespaces
def test_what_a_maker_left_that_died_goes_with_the_next_machine(tmp_path, plans, study):
    left = [network.namespace_of(uuid.uuid4().hex), f"cloudcmp-switch-{uuid.uuid4().hex[:16]}"]
    for name in left:
        network.run("ip", "netns", "add", name)
    asyncio.run(provider(tmp_path, study).create(request(plans, study)))
    assert not any((Path("/run/netns") / name).exists() for name in left)


@needs_namespaces
@pytest.mark.parametrize("region", ["local", "link-100mbit"])
def test_a_shaper_or_a_link_holds_both_directions_to_its_rate(tmp_path, plans, study, region):
    """The receiver counts over a second: this is the rate of the shaper, not the speed of this host."""
    offering = "1cpu-htb-100mbit" if region == "local" else "1cpu"

    async def walk():
        one, machines = provider(tmp_path, study), []
        for number in (1, 3):
            asked = request(plans, study, number, offering if number == 1 else "1cpu", region)
            cloud_id = await one.create(asked)
            candidate = replace(plans.candidate(), offering=replace(plans.candidate().offering, name="1cpu"))
            lease = replace(plans.lease(asked, cloud_id, "netns"), slot=asked.slot)
            machines.append(await one.connect(lease, candidate, plans.launch()))
        return machines

    near, far = asyncio.run(walk())
    for sender, receiver in ((near, far), (far, near)):
        serve = (
            f"import socket, time\ns = socket.create_server(('{receiver.address}', 4000))\nprint('ready', flush=True)\n"
            "c, _ = s.accept()\nn, begin = 0, None\n"
            "while (b := c.recv(1 << 16)):\n    begin = begin or time.monotonic()\n    n += len(b)\n"
            "    last = time.monotonic()\nprint(n / (last - begin))"
        )
        send = (
            f"import socket, time\nc = socket.create_connection(('{receiver.address}', 4000), 5)\n"
            "until = time.monotonic() + 1\nwhile time.monotonic() < until:\n    c.sendall(b'x' * 65536)"
        )
        command = [*network.enter(receiver.namespace), sys.executable, "-c", serve]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
            assert server.stdout.readline() == "ready\n"
            inside(sender, send)
            rate = float(server.stdout.read())
        # Headers are inside the rate: 1448 of 1514 bytes are payload. A busy machine may be slower, never faster.
        assert 0.5 * 12.5e6 < rate < 1.02 * 12.5e6 * 1448 / 1514, rate


@needs_namespaces
def test_a_shaper_that_this_kernel_lacks_is_a_finding_and_no_machine(tmp_path, plans, study, monkeypatch):
    monkeypatch.setattr(network, "shaper_commands", lambda *_: [["qdisc", "add", "dev", "lo", "root", "nonesuch"]])
    one = provider(tmp_path, study)
    candidate = replace(plans.candidate(), offering=replace(plans.candidate().offering, name="1cpu-htb-100mbit"))
    findings = {each.what: each for each in asyncio.run(one.check([candidate]))}
    assert findings["host"].ok
    assert "this kernel has no htb" in findings["capability"].text
    before, began = names(study), time.monotonic()
    with pytest.raises(Refused, match="nonesuch"):
        asyncio.run(one.create(request(plans, study, offering="1cpu-htb-100mbit")))
    assert names(study) == before
    assert time.monotonic() - began < 15
