"""A pair of machines in two regions, from a study's file to its report and to its end, on emulated clouds."""

import contextlib
import fcntl
import sqlite3
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.app.clouds import Sky, clouds, unable
from tests.app.test_zones import attempts
from tests.emulated import boot as booting
from tests.emulated.kinds import kind
from tests.slices import some

pytestmark = pytest.mark.skipif(bool(unable()), reason=unable() or "studies can run")

REGIONS = {"aws": ("us-east-1", "eu-central-1"), "gcp": ("us-central1", "europe-west4")}
STUDY = """\
schema: 1
question: How far is the next region?
candidates:
  - provider: %s
    region: %s
    offering: %s
    price: 0.0104 USD/h
    far: {region: %s, price: 0.012 USD/h, traffic: 0.02 USD/GB}
probes:
  - {probe: rtt, params: {path: regions, duration_s: 0.1}}
  - {probe: tcp, params: {path: regions, duration_s: 0.1}}
launches: 1
runs: 1
budget: 1 USD
caps: {duty: 100 %%, bytes: 2 GB}
"""


def written(sky: Sky, cloud: str) -> None:
    near, far = REGIONS[cloud]
    (sky.folder / "study.yaml").write_text(STUDY % (cloud, near, kind(cloud).offering, far))


@contextmanager
def known_by_public_addresses(sky: Sky, cloud: str) -> Iterator[None]:
    """Inside, each machine of EC2 listens at its public address, and that of the first region is this host's own.

    A machine of that cloud is known to those of another region by its public address only, and whatever leaves this
    host for one of its own addresses comes from 127.0.0.1.
    """
    if cloud != "aws":  # both ends of a machine are inside of one network
        yield
        return
    with (Path(tempfile.gettempdir()) / "cloudcmp-tests-port-22.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # one test at a time has that port
        yield from _public_addresses(sky, cloud)


def _public_addresses(sky: Sky, cloud: str) -> Iterator[None]:
    lives, here, address = sky.cloud.state.lives, threading.local(), booting._address
    plain = lives._boots._boot
    assert plain is not None

    def boot(user_data: str, id: str) -> Any:
        here.near = lives.all[id].region == REGIONS[cloud][0]
        machine = plain(user_data, id)
        machine.inside = machine.address  # type: ignore[attr-defined]
        return machine

    lives._boots._boot = boot
    booting._address = lambda: "127.0.0.1" if getattr(here, "near", False) else address()
    try:
        yield
    finally:
        booting._address = address


def leased(sky: Sky) -> list[tuple[str, str, str]]:
    """The kind, the region and the price of each lease, as it was intended."""
    with contextlib.closing(sqlite3.connect(f"file:{sky.folder / 'out' / 'study.db'}?mode=ro", uri=True)) as database:
        rows = database.execute("SELECT kind, region, price_per_hour FROM lease WHERE event = 'INTENT'").fetchall()
    return sorted((kind_, region, price or "") for kind_, region, price in rows)


def admitted(sky: Sky) -> dict[str, str]:
    """The one address that each region's security group admits to all ports."""
    prefix, opened = "IpPermissions.1.", {}
    for call in sky.cloud.calls("AuthorizeSecurityGroupIngress"):
        address = call.params.get(f"{prefix}IpRanges.1.CidrIp")
        if address and call.params[f"{prefix}IpProtocol"] == "-1":
            assert call.region not in opened
            assert f"{prefix}IpRanges.2.CidrIp" not in call.params
            opened[call.region] = address
    return opened


@pytest.mark.parametrize("cloud", some(tuple(REGIONS), 1, 0))
def test_p01_a_pair_between_two_regions_is_measured_and_leaves_nothing(cloud: str, tmp_path: Path) -> None:
    near, far = REGIONS[cloud]
    with clouds(tmp_path / "sky", (cloud,), cheap=True) as sky, known_by_public_addresses(sky, cloud):
        written(sky, cloud)
        ran = sky.shortly("run", "study.yaml", "--out", "out", "--json")
        assert ran.code == 0, ran.out + ran.err
        assert {outcome for outcome, _, _ in attempts(sky)} == {"ok"}, attempts(sky)
        for _, _, facts in attempts(sky):
            assert all(map(str.startswith, facts["zones"], (near, far))), facts["zones"]
        measured = {one["cell"] for one in ran.json["data"]["estimates"] if one["n_ok"]}
        assert {one.split()[0] for one in measured} >= {"rtt_s", "tcp_bytes_per_s"}
        assert all("path=regions" in one for one in measured if one.startswith("rtt_s"))
        machines = [one[:2] for one in leased(sky) if one[0] == "instance"]
        assert machines == [("instance", far), ("instance", near)]
        firewalls = [region for what, region, _ in leased(sky) if what == "firewall"]
        if cloud == "aws":
            assert firewalls == [far, near]
            opened = admitted(sky)
            assert sorted(opened) == [far, near]
            assert opened[far] == "127.0.0.1/32"
            assert opened[near].endswith("/32")
            assert opened[near] != opened[far]
        else:
            assert firewalls == [near]
        assert [*sky.left(), *sky.harm(), *sky.bodies(), *sky.unwritten] == []


@pytest.mark.parametrize("cloud", some(tuple(REGIONS), 1, 1))
def test_p01_what_a_dead_controller_left_in_two_regions_is_found_and_ended(cloud: str, tmp_path: Path) -> None:
    with clouds(tmp_path / "sky", (cloud,), cheap=True) as sky, known_by_public_addresses(sky, cloud):
        written(sky, cloud)
        last = 4 if cloud == "aws" else 3  # the last machine is made, and its answer has come
        died = sky.shortly("run", "study.yaml", "--out", "out", CLOUDCMP_CRASH_AT=f"cloud.after_create:{last}")
        assert died.code < 0 or died.code == 137, died.out
        assert len([one for one in sky.left() if " instance " in one]) == 2
        ended = sky.shortly("cleanup", "out")
        assert ended.code == 0, ended.out
        assert [*sky.left(), *sky.harm()] == []
