import asyncio
import subprocess
import sys

import pytest

from cloudcmp.errors import UserMistake
from cloudcmp.owned_folder import OwnedPath
from cloudcmp.provider import ProviderOptions, VirtualTime, WallTime, make, names
from cloudcmp.provider.credential_signs import signs_of
from cloudcmp.provider.longtail import CLOUDS
from cloudcmp.provider.registry import stores_of


def test_each_name_makes_a_provider_of_that_name():
    own = {"aws", "azure", "ec2", "gcp", "local", "netns", "openstack", "qemu", "rackspace", "simulated", "ssh"}
    assert names() == tuple(sorted(own | set(CLOUDS)))
    for name in names():
        assert make(name).name == name


@pytest.mark.parametrize("name", ["local", "qemu", "simulated"])
def test_what_needs_no_account_has_offerings(name):
    assert make(name).offerings()


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("simulate", "did you mean simulated?"),
        ("locla", "did you mean local?"),
        ("xyz", f"known are {', '.join(names())}."),
    ],
)
def test_an_unknown_provider_names_the_nearest(name, hint):
    with pytest.raises(UserMistake, match=f"unknown provider '{name}'; {hint[:-1]}"):
        make(name)


def test_simulated_state_and_local_launches_stay_in_the_given_folder(tmp_path, plans):
    means = ProviderOptions(work=OwnedPath(tmp_path), candidates=(plans.candidate(),))
    for name in ("local", "simulated"):
        asyncio.run(make(name, means).create(plans.request()))
        assert asyncio.run(make(name, means).find("study-a"))
    assert {path.name for path in tmp_path.iterdir()} == {"launches", "simulated-clouds.ndjson"}


@pytest.mark.parametrize("store", stores_of("gcp"))
def test_where_no_google_credentials_are_no_store_of_google_looks_for_them(store, tmp_path):
    assert signs_of(store, {"PATH": "/bin"}, tmp_path, tmp_path) is False
    variables = ("STORAGE_EMULATOR_HOST", "FIRESTORE_EMULATOR_HOST", "PUBSUB_EMULATOR_HOST", "BIGTABLE_EMULATOR_HOST")
    assert sum(signs_of(store, {name: "127.0.0.1:1"}, tmp_path, tmp_path) for name in variables) == 1


def test_the_table_of_names_loads_no_library():
    code = "import sys, cloudcmp.provider as p; p.names(); print('numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"


def test_wall_time_is_the_walls_and_virtual_time_the_plans():
    wall = WallTime()
    assert wall.now() == pytest.approx(wall.at(1e9), abs=5)
    asyncio.run(wall.sleep(0.0))
    virtual = VirtualTime(100.0)
    assert virtual.now() == 100.0
    assert virtual.at(50.0) == 150.0
    assert virtual.at(20.0) == 120.0
    assert virtual.now() == 150.0
    asyncio.run(virtual.sleep(1e6))
    assert virtual.now() == 1_000_150.0
