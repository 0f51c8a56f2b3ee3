"""What a study asks of the clouds of the long tail, in the smallest form, for tests of the driver."""

from typing import Any

from cloudcmp.model.lease import CreateRequest, Handle
from cloudcmp.model.plan import Candidate
from cloudcmp.provider.longtail import CLOUDS
from cloudcmp.provider.longtail.cloud import LongTailProvider
from cloudcmp.provider.longtail.sdk import ApiClient
from tests.emulated.asks import ALLOW, STUDY, Asks, tags
from tests.emulated.tail import NAMES, emulated

__all__ = ["ALLOW", "PLACES", "STUDY", "candidate", "firewall", "instance", "launched", "provider", "request", "tags"]

PLACES = {name: (emulated(name).region, emulated(name).offering) for name in NAMES}
"""A region and a type of each."""
_ASKS = {name: Asks(name, region, offering) for name, (region, offering) in PLACES.items()}


def provider(name: str, *, deadline_s: float = 20.0, attempts: int = 1, **more: Any) -> LongTailProvider:
    """A driver that tries once and pauses hardly at all."""
    api = ApiClient(CLOUDS[name], attempts=attempts, deadline_s=deadline_s, pause_s=0.01)
    return LongTailProvider(name, api=api, **more)


def request(cloud: str, *what: str, **more: Any) -> CreateRequest:
    """A request for one resource of a cloud: see `Asks.request`."""
    return _ASKS[cloud].request(*what, **more)


def candidate(cloud: str, *what: str, **more: Any) -> Candidate:
    """A candidate of a cloud: see `Asks.candidate`."""
    return _ASKS[cloud].candidate(*what, **more)


def instance(cloud: str, id: str) -> Handle:
    """The handle of a machine."""
    return _ASKS[cloud].instance(id)


def firewall(cloud: str, id: str) -> Handle:
    """The handle of a firewall."""
    return _ASKS[cloud].firewall(id)


async def launched(cloud: str, driver: LongTailProvider, token: str = "token-1", **more: Any) -> tuple[str, str]:
    """The ids of a firewall and of a machine behind it."""
    return await _ASKS[cloud].launched(driver, token, **more)
