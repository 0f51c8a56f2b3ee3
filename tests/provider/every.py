"""Each driver of a cloud with its emulation, for what they have in common."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import pytest
from tests.emulated import arm_requests, ec2_requests, gce_requests, longtail_requests, nova_requests
from tests.emulated.arm import arm
from tests.emulated.droplets import droplets
from tests.emulated.ec2 import ec2
from tests.emulated.gce import gce
from tests.emulated.linode import linode
from tests.emulated.nova import nova
from tests.emulated.vultr import vultr

from cloudcmp.model.lease import CreateRequest
from cloudcmp.model.protocol import Provider


@dataclass(frozen=True, slots=True)
class Driven:
    """An emulation, a driver for it that tries once, and requests to it."""

    make: Callable[[], Any]
    provider: Callable[[], Provider]
    request: Callable[..., CreateRequest]


def _tail(make: Callable[[], Any], name: str) -> Driven:
    return Driven(make, partial(longtail_requests.provider, name), partial(longtail_requests.request, name))


EVERY = {
    "aws": Driven(ec2, ec2_requests.provider, ec2_requests.request),
    "azure": Driven(arm, arm_requests.provider, arm_requests.request),
    "gcp": Driven(gce, gce_requests.provider, gce_requests.request),
    "openstack": Driven(nova, nova_requests.provider, nova_requests.request),
    "digitalocean": _tail(droplets, "digitalocean"),
    "linode": _tail(linode, "linode"),
    "vultr": _tail(vultr, "vultr"),
}


@contextmanager
def pointed(name: str) -> Iterator[Any]:
    """The emulated cloud of a name, that this process's environment points to while the context lasts."""
    with pytest.MonkeyPatch.context() as patch, EVERY[name].make() as cloud:
        for variable, value in cloud.environ.items():
            patch.setenv(variable, value)
        yield cloud
