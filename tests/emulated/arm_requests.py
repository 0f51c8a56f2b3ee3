"""What a study asks of Azure, in the smallest form, for tests of the driver and of the emulation."""

from typing import Any

from cloudcmp.provider.azure import AzureProvider
from cloudcmp.provider.azure.sdk import Sdk
from tests.emulated.asks import ALLOW, STUDY, Asks, Clock, tags

__all__ = [
    "ALLOW",
    "REGION",
    "SIZE",
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

REGION = "eastus"
SIZE = "Standard_B1s"
_ASKS = Asks("azure", REGION, SIZE)
request, candidate, launched = _ASKS.request, _ASKS.candidate, _ASKS.launched
instance, firewall = _ASKS.instance, _ASKS.firewall


def provider(*, deadline_s: float = 20.0, attempts: int = 1, **more: Any) -> AzureProvider:
    """A driver that tries once and pauses hardly at all."""
    given = {"pause_s": 0.01, "decide_s": 5.0, **more}
    return AzureProvider(sdk=Sdk(attempts=attempts, deadline_s=deadline_s), **given)
