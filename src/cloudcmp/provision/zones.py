"""The zone that all machines of a launch share: that of the first one, wherever its provider put it."""

import asyncio
from collections.abc import Iterable, Sequence

from cloudcmp.errors import ProviderFault
from cloudcmp.model.lease import ZONE, Lease
from cloudcmp.model.protocol import Provider, Zoned
from cloudcmp.provision.arrival import Ways

_TELLS_S = 60.0  # a machine that nobody tells the zone of by then is no leader: what follows it goes anywhere


class Together:
    """Has the machines 2 to n of a launch wait for the first one's zone; where there are no zones nobody waits."""

    def __init__(self, ways: Ways, provider: Provider | None) -> None:
        self._ways = ways
        self._provider = provider if isinstance(provider, Zoned) else None
        self._zone: asyncio.Future[str | None] = asyncio.get_running_loop().create_future()

    async def options(self, number: int) -> Sequence[tuple[str, str]]:
        """What a machine is asked for with, so that it stands where the first one does."""
        if number == 1 or self._provider is None:
            return ()
        zone = await asyncio.shield(self._zone)
        return ((ZONE, zone),) if zone else ()

    async def lead(self, number: int, lease: Lease) -> None:
        """Tell the others where the first machine is, once that is known; bounded in time."""
        if number == 1 and self._provider is not None:
            self._zone.set_result(await _told(self._ways, self._provider, lease))

    def fail(self, number: int) -> None:
        """The first machine is not to be had: those that wait for it are not asked for."""
        if number == 1 and not self._zone.done():
            self._zone.cancel()


async def zones_of(ways: Ways, provider: Provider, leases: Iterable[Lease]) -> tuple[str, ...]:
    """The zone of each machine, none where there are no zones; `unknown` for one that nobody tells."""
    if not isinstance(provider, Zoned):
        return ()
    return tuple([await _told(ways, provider, lease) or "unknown" for lease in leases])


async def _told(ways: Ways, provider: Zoned, lease: Lease) -> str | None:
    handle, began = lease.handle(), ways.time.monotonic()
    while handle is not None and ways.time.monotonic() - began <= _TELLS_S:
        try:
            if zone := await provider.zone(handle):
                return zone
        except ProviderFault:
            pass  # no word on where it is: the next look tells
        await ways.time.sleep(ways.poll_s)
    return None
