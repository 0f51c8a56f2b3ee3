"""Each driver of a cloud with its emulation, for what they have in common."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from typing import Any

from tests.emulated import arm_requests, ec2_requests, gce_requests, longtail_requests, nova_requests
from tests.emulated import pointed as environment
from tests.emulated.arm import arm
from tests.emulated.ec2 import ec2
from tests.emulated.gce import gce
from tests.emulated.nova import nova
from tests.emulated.tail import NAMES, emulated

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
    **{name: _tail(emulated(name).make, name) for name in NAMES},
}


def pointed(name: str) -> AbstractContextManager[Any]:
    """The emulated cloud of a name, that this process's environment points to while the context lasts."""
    return environment.pointed(EVERY[name].make())
