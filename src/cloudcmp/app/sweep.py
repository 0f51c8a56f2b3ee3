"""Leftovers found by their tags alone, from any machine, and destroyed only on a positive match.

Nothing here reads a study's folder or anything else of this machine, but for its clock.
"""

import asyncio
import random
import re
from collections.abc import Callable, Collection, Coroutine, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, NoReturn, TypeVar

from cloudcmp.app.concurrent import Say, side_by_side
from cloudcmp.app.leftovers import Fate, Leftover, Swept, judge
from cloudcmp.app.provider_clients import UnavailableProvider, brief
from cloudcmp.cost.offering_prices import with_prices
from cloudcmp.errors import BadCredentials, CloudcmpError, IncompleteListing, NoCredentials, UserMistake
from cloudcmp.execute.interruption import Stopping
from cloudcmp.model.lease import FIREWALL, INSTANCE, VOLUME, Found, Listing
from cloudcmp.model.offering import Price
from cloudcmp.model.protocol import HasServerTime, Provider
from cloudcmp.provider.aside import aside
from cloudcmp.provider.time import Time
from cloudcmp.provision import Patience, patience_with
from cloudcmp.provision.pace import Pace

LIST_S = 180.0
"""How long a provider may take to list all that bears our tags, in all its regions."""
_ASIDE_S = 120.0  # for its clock and its prices, which nothing waits for any longer
_ORDER = (INSTANCE, VOLUME, FIREWALL)
"""What stands on what: a machine holds its volumes and its firewall, so it goes first."""
_ROUNDS = 10
_LONGEST_PAUSE_S = 60.0
_AGAIN_S = 1.0  # until something that seems gone is looked at once more
_SKEW_S = 60.0
_ELSEWHERE = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)+:")
"""How a line begins that names a region: `eu-west-9: instances: ...`."""

T = TypeVar("T")
Key = tuple[str, str, str]
Leave = Callable[[Swept], NoReturn]
"""Tells what a sweep came to until now and ends the process, whatever its threads still wait for."""


async def sweep(
    providers: Mapping[str, Provider],
    time: Time,
    *,
    study: str | None = None,
    delete: bool = False,
    patience: Patience | None = None,
    pace: Pace | None = None,
    unavailable: Sequence[UnavailableProvider] = (),
    named: bool = False,
    leave: Leave | None = None,
    within_s: float = LIST_S,
    say: Say | None = None,
) -> Swept:
    """Ask each provider for whatever bears our tags, and destroy what is due where `delete` is set.

    With `study` only that study's resources are looked at, and are due before they expire. `unavailable` are providers
    that could not be made; `named` says that the user named them all. Deletes keep to `pace`, by default that of
    studies. With `leave` the first signal ends it. Never raises for a provider that fails.

    A dry sweep asks all at once. What a provider does not list `within_s` seconds is a place that was not listed;
    `say` is told who is waited for.
    """
    pace = pace or Pace(time, random.random)
    unmade = Swept(
        skipped=tuple(one.line for one in unavailable), faults=tuple(one.line for one in unavailable if named)
    )
    sweepers = [
        _Sweeper(one, time, study, patience or patience_with(one), pace, within_s, delete=delete, named=named)
        for one in providers.values()
    ]

    work = _in_turn(sweepers) if delete else _at_once(sweepers, within_s + _ASIDE_S, say)
    if leave is None:
        await work
    else:
        stop = asyncio.Event()
        stop.set()  # nothing is begun that a first signal could let come to its end
        stopping = Stopping(stop, lambda _: None)
        with stopping.heeding():
            if not await stopping.unless_hurried(work):
                leave(_together(unmade, sweepers))
    return _together(unmade, sweepers)


async def _in_turn(sweepers: Iterable["_Sweeper"]) -> None:
    for one in sweepers:
        await one.run()


async def _at_once(sweepers: Iterable["_Sweeper"], within_s: float, say: Say | None) -> None:
    await side_by_side({one.name: one.run() for one in sweepers}, within_s, say)


def _together(total: Swept, sweepers: Iterable["_Sweeper"]) -> Swept:
    for one in (each.so_far() for each in sweepers):
        total = Swept(
            (*total.leftovers, *one.leftovers),
            (*total.unlisted, *one.unlisted),
            (*total.skipped, *one.skipped),
            (*total.faults, *one.faults),
            total.elsewhere + one.elsewhere,
        )
    return total


class _Sweeper:
    """The sweep of one provider; `_gone` are those that were seen gone, which a stale list may go on to name."""

    def __init__(
        self, provider: Provider, time: Time, study: str | None, patience: Patience, pace: Pace, within_s: float, *,
        delete: bool, named: bool,
    ) -> None:  # fmt: skip
        self._provider, self.name = provider, provider.name
        self._within_s = within_s
        self._time = time
        # One moment decides for all: what expires while others go was not due when the user asked.
        self._moment = time.now()
        self._clock: str | None = None  # why the moment is not to be trusted; None: it was not asked yet
        self._study = study
        self._patience = patience
        self._pace = pace
        self._delete, self._named = delete, named
        self._last = Swept(unlisted=(f"{provider.name}: it was not looked at",))
        self._over = False
        self._agree: dict[Key, int] = {}
        self._gone: dict[Key, Leftover] = {}
        self._failed: dict[Key, str] = {}

    async def run(self) -> None:
        """List, and destroy round by round until nothing is due any more or nothing more goes."""
        self._last = await self._look()
        if self._delete and not self._last.skipped:
            for _ in range(_ROUNDS):
                due = self._last.of(Fate.DUE)
                before = len(self._gone)
                await self._end(due)
                if not due or len(self._gone) == before:
                    break
                self._last = await self._look()
        self._over = True

    def so_far(self) -> Swept:
        """What it came to, also in the midst of it."""
        if not self._delete:
            return self._last
        rest = [self._settled(one) for one in self._last.leftovers if _key(one.found) not in self._gone]
        return replace(self._last, leftovers=(*self._gone.values(), *rest))

    async def _look(self) -> Swept:
        name = self._provider.name
        unseen = [one.how for one in self._provider.safeguards if one.name == "sweep" and not one.holds]
        if unseen:
            line = f"{name}: not swept: {unseen[0]}"
            return Swept(skipped=(line,), faults=(line,) if self._named else ())
        try:
            listing = await _within(self._provider.leftovers(), self._within_s, name)
        except BadCredentials as fault:
            return Swept(unlisted=(_line(name, fault),))
        except (NoCredentials, UserMistake, ImportError) as fault:
            line = _line(name, fault, "skipped: ")
            return Swept(skipped=(line,), faults=(line,) if self._named else ())
        except (CloudcmpError, OSError) as fault:
            return Swept(unlisted=(_line(name, fault),))
        return await self._judged(listing)

    async def _judged(self, listing: Listing) -> Swept:
        if listing.found and self._study is None and self._clock is None:
            self._clock = await self._tell_the_time()
        prices = await _prices_within(self._provider, {one.region for one in listing.found}, _ASIDE_S / 2)
        fates = [self._leftover(one, listing, prices) for one in listing.found if _key(one) not in self._gone]
        mine = [one for one in fates if self._study in {None, one.study}]
        doubt = (f"{self._provider.name}: {self._clock}",) if self._clock else ()
        return Swept(
            tuple(sorted(mine, key=_place)), tuple(f"{self._provider.name}: {line}" for line in listing.unlisted),
            doubt, doubt if self._delete else (), len(fates) - len(mine),
        )  # fmt: skip

    async def _tell_the_time(self) -> str:
        """Take the earlier of two clocks, ours and the provider's; why neither is to be trusted, empty where they are.

        A clock that is ahead would take studies that run for expired ones.
        """
        if not isinstance(self._provider, HasServerTime):
            return ""
        refused = "nothing is destroyed but by --study"
        before = self._time.now()
        try:
            there = await _within(self._provider.date(), _ASIDE_S / 2, self.name)
        except (CloudcmpError, OSError) as fault:
            return f"its clock cannot be told ({brief(fault)}): {refused}"
        if there is None:
            return f"its clock cannot be told: {refused}"
        self._moment = min(self._moment, there)
        ahead_s, behind_s = before - there, there - self._time.now()
        if max(ahead_s, behind_s) <= _SKEW_S:
            return ""
        how = f"{ahead_s:.0f} s ahead of" if ahead_s > 0 else f"{behind_s:.0f} s behind"
        return f"this machine's clock is {how} the provider's: {refused}; set the clock"

    def _leftover(self, found: Found, listing: Listing, prices: Mapping[tuple[str, str], Price]) -> Leftover:
        fate, why = judge(found, self._study, self._moment)
        if fate is Fate.DUE and self._clock:
            fate, why = Fate.KEPT, "whether it has expired is not known: no clock can be trusted"
        if fate is Fate.DUE and _doubtful(found.region, listing):
            fate, why = Fate.KEPT, "its region could not be listed in full: nothing is destroyed there"
        return Leftover(self._provider.name, found, fate, why, prices.get((found.region, found.offering or "")))

    async def _end(self, due: Iterable[Leftover]) -> None:
        """Destroy what is due, kind by kind, machines first."""
        kinds: dict[str, list[Leftover]] = {}
        for one in sorted(due, key=_place):
            kinds.setdefault(one.found.kind, []).append(one)
        for some in kinds.values():
            await self._end_kind({_key(one.found): one for one in some})

    async def _end_kind(self, pending: dict[Key, Leftover]) -> None:
        """Ask for each to be destroyed until it is seen gone or patience ends, ever more rarely."""
        began, pause_s = self._time.monotonic(), self._patience.poll_s
        while True:
            nearly = False
            for key, one in tuple(pending.items()):
                before = self._agree.get(key, 0)
                evidence = await self._try(key, one)
                nearly |= self._agree.get(key, 0) > before
                if evidence is not None:
                    self._gone[key] = replace(one, fate=Fate.DELETED, why=evidence)
                    del pending[key]
            patient = self._time.monotonic() - began < self._patience.give_up_s
            if not pending or not (patient or nearly):
                return
            if nearly:
                await self._time.sleep(min(_AGAIN_S, self._patience.poll_s))
                continue
            await self._time.sleep(pause_s)
            pause_s = min(_LONGEST_PAUSE_S, 2 * pause_s)

    async def _try(self, key: Key, one: Leftover) -> str | None:
        """Evidence that it is gone, once so many looks in a row agree: one answer may come from a server that lies."""
        handle = one.found.handle()
        try:
            if not self._agree.get(key):
                self._failed[key] = "it was asked to go, and not looked at since"
                await self._pace.destroy(self._provider, handle)
            evidence = await self._provider.gone(handle)
        except (CloudcmpError, OSError) as fault:
            self._failed[key] = brief(fault)
            return None
        self._agree[key] = 0 if evidence is None else self._agree.get(key, 0) + 1
        if self._agree[key] >= self._patience.sightings:
            return evidence
        self._failed[key] = (
            "it was asked to go and is still there" if evidence is None else "it was seen gone only once"
        )
        return None

    def _settled(self, one: Leftover) -> Leftover:
        """What was due and did not go is left."""
        if one.fate is not Fate.DUE:
            return one
        never = "it came up again and again" if self._over else "it was not asked to go"
        return replace(one, fate=Fate.LEFT, why=self._failed.get(_key(one.found), never))


def _line(name: str, fault: BaseException, word: str = "") -> str:
    """A fault with the provider's name before it, once."""
    return f"{name}: {word}{brief(fault).removeprefix(f'{name}: ')}"


def _key(found: Found) -> tuple[str, str, str]:
    return found.region, found.kind, found.cloud_id


def _place(one: Leftover) -> tuple[int, str, str, str]:
    kind = one.found.kind
    return _ORDER.index(kind) if kind in _ORDER else len(_ORDER), one.found.region, kind, one.found.cloud_id


def _doubtful(region: str, listing: Listing) -> bool:
    """Whether the list is cut short where a resource lies: its region is named, or a line does not say where it is."""
    known = {one.region for one in listing.found if one.region}
    for line in listing.unlisted:
        named = {one for one in known if re.search(rf"(?<![\w-]){re.escape(one)}(?![\w-])", line)}
        if region in named or not (named or _ELSEWHERE.match(line)):
            return True
    return False


async def _within(asked: Coroutine[Any, Any, T], within_s: float, where: str) -> T:
    """What is asked; raises IncompleteListing where it does not come in time."""
    try:
        async with asyncio.timeout(within_s) as limit:
            return await asked
    except TimeoutError:
        if not limit.expired():
            raise
        raise IncompleteListing.at(
            where, f"it did not answer within {within_s:g} s", "check the network, sweep again"
        ) from None


async def _prices_within(provider: Provider, regions: Collection[str], within_s: float) -> dict[tuple[str, str], Price]:
    """What the machines cost, as far as that was told in time; a price that was not is unknown, and stops nothing."""
    found: dict[tuple[str, str], Price] = {}

    def ask() -> None:
        for region in sorted(regions):
            with suppress(CloudcmpError, ImportError, OSError):
                offerings = with_prices(provider.offerings(region or None))
                found.update({(region, one.name): one.price for one in offerings if one.price is not None})

    if regions:  # aside: whoever is slow to tell prices must not keep a signal from being heard
        with suppress(IncompleteListing):
            await aside(ask, provider.name, within_s)
    return dict(found)
