"""The zone that all machines of a launch share: that of the first one, wherever its provider put it."""

import asyncio
from collections.abc import Iterable, Sequence

from cloudcmp.errors import CONTROLLER_FAULTS, ProviderFault
from cloudcmp.model.lease import ZONE, Lease
from cloudcmp.model.protocol import Provider, Zoned
from cloudcmp.provision.arrival import Connector

_TELLS_S = 60.0  # a machine that nobody tells the zone of by then is no leader: what follows it goes anywhere


class Together:
    """Has the machines 2 to n of a launch wait for the first one's zone; where there are no zones nobody waits."""

    def __init__(self, ways: Connector, provider: Provider | None) -> None:
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
            zone = None
            try:
                zone = await _zone_of(self._ways, self._provider, lease)
            finally:
                if not self._zone.done():
                    self._zone.set_result(zone)

    def fail(self, number: int) -> None:
        """The first machine is not to be had, or not to be asked about: those that wait for it are not asked for."""
        if number == 1 and not self._zone.done():
            self._zone.cancel()


async def zones_of(ways: Connector, provider: Provider, leases: Iterable[Lease], *, needed: bool) -> tuple[str, ...]:
    """The zone of each machine, none where there are no zones; `unknown` if the provider does not report it.

    It is waited for where it is `needed`, and else asked for once: the machines are paid for meanwhile.
    """
    if not isinstance(provider, Zoned):
        return ()
    patience_s = _TELLS_S if needed else 0.0
    zones = await asyncio.gather(*(_zone_of(ways, provider, lease, patience_s) for lease in leases))
    return tuple(zone or "unknown" for zone in zones)


async def _zone_of(ways: Connector, provider: Zoned, lease: Lease, patience_s: float = _TELLS_S) -> str | None:
    """The zone of a machine; None where nobody tells it in time, or not to us at all."""
    handle, began = lease.handle(), ways.time.monotonic()
    while handle is not None:
        try:
            if zone := await provider.zone(handle):
                return zone
        except CONTROLLER_FAULTS:
            return None
        except ProviderFault:
            pass  # no word on where it is: the next look tells
        if ways.time.monotonic() - began >= patience_s:
            return None
        await ways.time.sleep(ways.poll_s)
    return None
