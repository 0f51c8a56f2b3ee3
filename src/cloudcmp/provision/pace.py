"""The pace of changes at a provider: slow enough not to look like abuse, without retries if there is no capacity.

At most one resource a second and account is created or deleted, with growing pauses if the provider throttles, and no
sixth create of an offering after five refusals in a row (a provider warned an account for such retries: ubicloud#4743).
A driver's calls for one resource, such as a group and its rules, are not delayed.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar

from cloudcmp.errors import NoCapacity, ProviderFault, QuotaReached, Throttled
from cloudcmp.model.lease import CreateRequest, Handle
from cloudcmp.model.protocol import Provider
from cloudcmp.provider.time import Time

T = TypeVar("T")
Offer = tuple[str, str, str]


@dataclass(frozen=True, slots=True)
class Tempo:
    """The interval between changes (s), how throttled ones are repeated, and when creates stop.

    The k-th repetition waits between half of and all of `first_s` x 2^k, at most `longest_s`. After `in_a_row` refusals
    for capacity, one create is allowed each `rest_s`.
    """

    interval_s: float = 1.0
    first_s: float = 2.0
    longest_s: float = 60.0
    repeats: int = 6
    in_a_row: int = 5
    rest_s: float = 3600.0


@dataclass(slots=True)
class _Breaker:
    """The refusals of one offering in a row, with the time and the kind of the last one."""

    count: int = 0
    at: float = 0.0
    kind: type[ProviderFault] = NoCapacity


@dataclass(slots=True)
class _Account:
    """When the next change may be made, and how many deletes wait for it."""

    free_at: float
    deletes: int = 0


class Pace:
    """Creates and destroys at the pace of an account; providers that bill nothing are not delayed.

    `draw` returns numbers between 0 and 1, for the pauses. Deletes go before creates and are never refused here.
    """

    def __init__(self, time: Time, draw: Callable[[], float], tempo: Tempo = Tempo()) -> None:
        self._time = time
        self._draw = draw
        self._tempo = tempo
        self._accounts: dict[str, _Account] = {}
        self._breakers: dict[Offer, _Breaker] = {}

    async def create(
        self, provider: Provider, request: CreateRequest, on_request: Callable[[], None] = lambda: None
    ) -> str:
        """Calls `provider.create` in its turn, and `on_request` just before each call.

        Raises what it raises: Throttled only after the last repetition, NoCapacity or QuotaReached at once after too
        many refusals in a row.
        """
        if not provider.billed:
            on_request()
            return await provider.create(request)

        async def ask() -> str:
            on_request()
            return await provider.create(request)

        offer = (provider.name, request.region, request.offering)
        breaker = self._breakers.setdefault(offer, _Breaker())
        self._check_room(offer, breaker)
        try:
            cloud_id = await self._at_pace(provider.name, ask, delete=False)
        except (NoCapacity, QuotaReached) as fault:
            breaker.count += 1
            breaker.at, breaker.kind = self._time.monotonic(), type(fault)
            raise
        breaker.count = 0
        return cloud_id

    async def destroy(self, provider: Provider, handle: Handle) -> None:
        """Calls `provider.destroy`, before any waiting create; raises what it raises."""
        if not provider.billed:
            await provider.destroy(handle)
        else:
            await self._at_pace(provider.name, lambda: provider.destroy(handle), delete=True)

    def _check_room(self, offer: Offer, breaker: _Breaker) -> None:
        if breaker.count < self._tempo.in_a_row:
            return
        waited_s = self._time.monotonic() - breaker.at
        if waited_s < self._tempo.rest_s:
            raise breaker.kind.at(
                "/".join(offer),
                f"there was no room {breaker.count} times in a row: there is no further attempt now",
                f"try another region or offering, or again in {self._tempo.rest_s - waited_s:.0f} s",
            )
        breaker.at = self._time.monotonic()

    async def _at_pace(self, account: str, call: Callable[[], Awaitable[T]], *, delete: bool) -> T:
        repeat = 0
        while True:
            await self._wait_turn(account, delete=delete)
            try:
                return await call()
            except Throttled:
                if repeat >= self._tempo.repeats:
                    raise
                self._back_off(account, repeat)
                repeat += 1

    async def _wait_turn(self, account: str, *, delete: bool) -> None:
        """Waits until a change may be made; a cancelled wait takes no turn."""
        one = self._accounts.setdefault(account, _Account(self._time.monotonic()))
        one.deletes += delete
        try:
            while True:
                wait_s = one.free_at - self._time.monotonic()
                if wait_s <= 0 and (delete or not one.deletes):
                    break
                await self._time.sleep(wait_s if wait_s > 0 else self._tempo.interval_s)
        finally:
            one.deletes -= delete
        one.free_at = self._time.monotonic() + self._tempo.interval_s

    def _back_off(self, account: str, repeat: int) -> None:
        """Delays all requests of the account after the provider throttled one."""
        most_s = min(self._tempo.longest_s, self._tempo.first_s * 2.0**repeat)
        pause_s = most_s * (0.5 + 0.5 * self._draw())
        one = self._accounts[account]
        one.free_at = max(one.free_at, self._time.monotonic() + pause_s)
