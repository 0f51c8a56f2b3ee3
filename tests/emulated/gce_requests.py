"""What a study asks of Compute Engine, in the smallest form, for tests of the driver and of the emulation."""

from typing import Any

from cloudcmp.provider.gcp import GcpProvider
from cloudcmp.provider.gcp.sdk import Sdk
from tests.emulated.asks import ALLOW, STUDY, Asks, tags

__all__ = [
    "ALLOW",
    "REGION",
    "STUDY",
    "ZONE",
    "candidate",
    "firewall",
    "instance",
    "launched",
    "provider",
    "request",
    "tags",
]

REGION, ZONE = "us-central1", "us-central1-a"
_ASKS = Asks("gcp", REGION, "e2-micro", vcpus=2.0, seed=0)
request, candidate, launched = _ASKS.request, _ASKS.candidate, _ASKS.launched
instance, firewall = _ASKS.instance, _ASKS.firewall


def provider(*, deadline_s: float = 20.0, attempts: int = 1, **more: Any) -> GcpProvider:
    """A driver that tries once and pauses hardly at all."""
    return GcpProvider(sdk=Sdk(attempts=attempts, deadline_s=deadline_s, pause_s=0.01), **more)
