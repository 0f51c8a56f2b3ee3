"""Clouds' own libraries: none is loaded before a call needs it, and without it the way to it is told."""

import os
import subprocess
import sys

import pytest
from tests.provider.every import pointed

# Where a driver is, what makes it, and the libraries that it needs.
DRIVERS = {
    "aws": ("aws", "Ec2Provider()", ("botocore",)),
    "azure": ("azure", "AzureProvider()", ("azure", "msal")),
    "gcp": ("gcp", "GcpProvider()", ("google",)),
    "openstack": ("openstack", "OpenStackProvider('openstack')", ("keystoneauth1", "openstack")),
    "vultr": ("longtail", "cloud.LongTailProvider('vultr')", ("libcloud",)),
}
WAYS = {
    "aws": "botocore is not installed; pip install 'cloudcmp[aws]'",
    "azure": "a library of Azure's is not installed; pip install 'cloudcmp[azure]'",
    "gcp": "google-cloud-compute is not installed; pip install 'cloudcmp[gcp]'",
    "openstack": "openstacksdk is not installed; pip install 'cloudcmp[openstack]'",
    "vultr": "apache-libcloud is not installed; pip install 'cloudcmp[libcloud]'",
}
_WITHOUT = """
import sys
sys.modules.update(dict.fromkeys({libraries!r}))  # Python takes them for not installed
import asyncio
from cloudcmp.errors import UserMistake
import cloudcmp.provider.{room}.cloud
from cloudcmp.provider import {room}
driver = {room}.{made}
{policy}
def later(call):
    return lambda: asyncio.run(call())
for ask in (driver.offerings, later(lambda: driver.find('s')), later(lambda: driver.check(()))):
    try:
        ask()
    except UserMistake as mistake:
        print(mistake)
"""
_UNASKED = """
import sys
import cloudcmp.provider.{room}.cloud
from cloudcmp.provider import {room}
{room}.{made}
print([name for name in sys.modules if name.partition('.')[0] in {libraries!r}])
"""


def said(code: str, name: str) -> list[str]:
    """What a process of its own prints of a driver."""
    room, made, libraries = DRIVERS[name]
    policy = "" if room == "longtail" else f"{room}.policy()"  # it is told without the library, too
    filled = code.format(room=room, made=made, libraries=libraries, policy=policy)
    command = [sys.executable, "-c", filled]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True, env=dict(os.environ))
    return done.stdout.splitlines()


@pytest.mark.parametrize("name", ["aws", "gcp"])
def test_without_the_extra_the_way_to_it_is_told(name: str) -> None:
    assert said(_WITHOUT, name) == [f"{name}: {WAYS[name]}"] * 3


@pytest.mark.parametrize("name", WAYS)
def test_without_the_extra_the_way_to_it_is_told_to_who_has_credentials(name: str) -> None:
    with pointed(name):
        assert said(_WITHOUT, name) == [f"{name}: {WAYS[name]}"] * 3


@pytest.mark.parametrize("name", DRIVERS)
def test_no_library_is_loaded_before_the_first_call(name: str) -> None:
    assert said(_UNASKED, name) == ["[]"]
