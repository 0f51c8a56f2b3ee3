"""What a study asks of an OpenStack, in the smallest form, for tests of the driver and of the emulation."""

from typing import Any

from cloudcmp.provider.openstack import OpenStackProvider
from cloudcmp.provider.openstack.sdk import Sdk
from tests.emulated.asks import ALLOW, STUDY, Asks, Clock, tags

__all__ = [
    "ALLOW",
    "REGION",
    "STUDY",
    "Clock",
    "candidate",
    "firewall",
    "instance",
    "launched",
    "provider",
    "request",
    "tags",
]

REGION = "RegionOne"
_ASKS = Asks("openstack", REGION, "m1.small", memory_gib=2.0, category=None)
request, candidate, launched = _ASKS.request, _ASKS.candidate, _ASKS.launched
instance, firewall = _ASKS.instance, _ASKS.firewall


def provider(name: str = "openstack", *, deadline_s: float = 20.0, attempts: int = 1, **more: Any) -> OpenStackProvider:
    """A driver that tries once and pauses hardly at all."""
    return OpenStackProvider(name, sdk=Sdk(name, attempts=attempts, deadline_s=deadline_s), pause_s=0.01, **more)
