"""Finds leftovers by their tags, from any machine, and destroys them only on a positive match.

Nothing here reads a study's folder or anything else of this machine except its clock.
"""

import asyncio
import random
import re
from collections.abc import Callable, Collection, Coroutine, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, NoReturn, TypeVar

from cloudcmp.app import provider_clients
from cloudcmp.app.concurrent import Say, run_concurrently
from cloudcmp.app.provider_clients import UnavailableProvider, brief
from cloudcmp.cost.offering_prices import with_prices
from cloudcmp.errors import BadCredentials, CloudcmpError, IncompleteListing, NoCredentials, UserMistake
from cloudcmp.execute.interruption import StopSignals, run_interruptible
from cloudcmp.model.lease import FIREWALL, INSTANCE, VOLUME, Listing, TaggedResource
from cloudcmp.model.leftover import Fate, Leftover, SweepResult, judge, named_by
from cloudcmp.model.offering import Price
from cloudcmp.model.protocol import HasServerTime, Provider
from cloudcmp.provider.common.blocking_calls import run_in_thread
from cloudcmp.provider.time import Time, WallTime
from cloudcmp.provision import Patience, patience_with
from cloudcmp.provision.pace import Pace

LIST_S = 180.0
"""Deadline of a provider for listing everything with cloudcmp's tags in all its regions."""
_EXTRAS_S = 120.0  # its clock and its prices
_ORDER = (INSTANCE, VOLUME, FIREWALL)
"""Order of deletion: a machine uses its volumes and its firewall, so it goes first."""
_ROUNDS = 10
_LONGEST_PAUSE_S = 60.0
_AGAIN_S = 1.0  # before the second look at a resource that seems gone
_SKEW_S = 60.0
_NAMES_REGION = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)+:")
"""Start of a line that names a region: `eu-west-9: instances: ...`."""

T = TypeVar("T")
Key = tuple[str, str, str]
Leave = Callable[[SweepResult], NoReturn]
"""Shows the sweep's result so far and ends the process without waiting for its threads."""


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
    along: Collection[str] = (),
    leave: Leave | None = None,
    within_s: float = LIST_S,
    say: Say | None = None,
) -> SweepResult:
    """List everything with cloudcmp's tags at each provider, and destroy what is due if `delete` is set.

    With `study`, only that study's resources count, and they are due before they expire. `unavailable` are providers
    that could not be created; `named` if the user named all of them but those `along`, which make data sets in services
    of the others: what cannot be listed there is skipped, because most users only rent machines. Deletions are paced by
    `pace`, by default as in studies. With `leave`, the first signal ends the sweep. Never raises for a provider that
    fails.

    A dry run asks all providers at once. A provider that does not answer within `within_s` seconds is reported as not
    listed; `say` reports which ones are still awaited.
    """
    pace = pace or Pace(time, random.random)
    unmade = SweepResult(
        skipped=tuple(one.line for one in unavailable), faults=tuple(one.line for one in unavailable if named)
    )
    sweepers = [
        _Sweeper(
            one, time, study, patience or patience_with(one), pace, within_s, delete=delete,
            named=named and one.name not in along,
        )
        for one in providers.values()
    ]  # fmt: skip

    work = _in_turn(sweepers) if delete else _at_once(sweepers, within_s + _EXTRAS_S, say)
    if leave is None:
        await work
    else:
        stop = asyncio.Event()
        stop.set()  # there is no work that a first signal should let finish
        stopping = StopSignals(stop, lambda _: None)
        with stopping.handled():
            if not await stopping.run_unless_hurried(work):
                leave(_together(unmade, sweepers, along))
    return _together(unmade, sweepers, along)


def _skipping(result: SweepResult) -> SweepResult:
    """The result of a provider that was not asked for by name: what it did not list is skipped."""
    return replace(result, unlisted=(), skipped=(*result.skipped, *result.unlisted))


def sweep_providers(
    named: Sequence[str], *, study: str | None, delete: bool, leave: Leave, say: Say | None = None
) -> SweepResult:
    """Sweep the named providers, or all; if interrupted, pass the result so far to `leave`.

    Raises UserMistake for an unknown provider.
    """
    results = [SweepResult(unlisted=("interrupted before any provider was queried",))]

    async def run(providers: Mapping[str, Provider], unavailable: Sequence[UnavailableProvider]) -> None:
        results.append(await sweep(providers, WallTime(), study=study, delete=delete, unavailable=unavailable,
                                   named=bool(named), along={*swept} - {*chosen}, leave=leave, say=say))  # fmt: skip

    chosen = provider_clients.select(named)
    swept = provider_clients.with_stores(chosen)
    try:
        run_interruptible(run(*provider_clients.open_clients(swept)))
    except KeyboardInterrupt:
        leave(results[-1])
    return results[-1]


async def _in_turn(sweepers: Iterable["_Sweeper"]) -> None:
    for one in sweepers:
        await one.run()


async def _at_once(sweepers: Iterable["_Sweeper"], within_s: float, say: Say | None) -> None:
    await run_concurrently({one.name: one.run() for one in sweepers}, within_s, say)


def _together(total: SweepResult, sweepers: Iterable["_Sweeper"], along: Collection[str]) -> SweepResult:
    for each in sweepers:
        one = _skipping(each.so_far()) if each.name in along else each.so_far()
        total = SweepResult(
            (*total.leftovers, *one.leftovers),
            (*total.unlisted, *one.unlisted),
            (*total.skipped, *one.skipped),
            (*total.faults, *one.faults),
            total.elsewhere + one.elsewhere,
        )
    return total


class _Sweeper:
    """The sweep of one provider; `_gone` are resources confirmed gone, even if a stale list still names them."""

    def __init__(
        self, provider: Provider, time: Time, study: str | None, patience: Patience, pace: Pace, within_s: float, *,
        delete: bool, named: bool,
    ) -> None:  # fmt: skip
        self._provider, self.name = provider, provider.name
        self._within_s = within_s
        self._time = time
        # One moment decides for all: what expires meanwhile was not due when the user asked.
        self._moment = time.now()
        self._clock: str | None = None  # why the moment cannot be trusted; None: not checked yet
        self._study = study
        self._patience = patience
        self._pace = pace
        self._delete, self._named = delete, named
        self._last = SweepResult(unlisted=(f"{provider.name}: it was not queried",))
        self._over = False
        self._agree: dict[Key, int] = {}
        self._gone: dict[Key, Leftover] = {}
        self._failed: dict[Key, str] = {}

    async def run(self) -> None:
        """List, then destroy in rounds until nothing is due or nothing more goes."""
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

    def so_far(self) -> SweepResult:
        """The result so far, also while it runs."""
        if not self._delete:
            return self._last
        rest = [self._final(one) for one in self._last.leftovers if _key(one.found) not in self._gone]
        return replace(self._last, leftovers=(*self._gone.values(), *rest))

    async def _look(self) -> SweepResult:
        name = self._provider.name
        unseen = [one.how for one in self._provider.safeguards if one.name == "sweep" and not one.holds]
        if unseen:
            line = f"{name}: not swept: {unseen[0]}"
            return SweepResult(skipped=(line,), faults=(line,) if self._named else ())
        try:
            listing = await _within(self._provider.leftovers(), self._within_s, name)
        except BadCredentials as fault:
            return SweepResult(unlisted=(_line(name, fault),))
        except (NoCredentials, UserMistake, ImportError) as fault:
            line = _line(name, fault, "skipped: ")
            return SweepResult(skipped=(line,), faults=(line,) if self._named else ())
        except (CloudcmpError, OSError) as fault:
            return SweepResult(unlisted=(_line(name, fault),))
        return await self._judged(listing)

    async def _judged(self, listing: Listing) -> SweepResult:
        if listing.found and self._study is None and self._clock is None:
            self._clock = await self._check_clock()
        prices = await _prices_within(self._provider, {one.region for one in listing.found}, _EXTRAS_S / 2)
        fates = [self._leftover(one, listing, prices) for one in listing.found if _key(one) not in self._gone]
        mine = [one for one in fates if self._study in {None, one.study}]
        doubt = (f"{self._provider.name}: {self._clock}",) if self._clock else ()
        return SweepResult(
            tuple(sorted(mine, key=_place)), tuple(f"{self._provider.name}: {line}" for line in listing.unlisted),
            doubt, doubt if self._delete else (), len(fates) - len(mine),
        )  # fmt: skip

    async def _check_clock(self) -> str:
        """Take the earlier of two clocks, ours and the provider's; returns why neither can be trusted, or "".

        A clock that is ahead would take running studies for expired ones.
        """
        if not isinstance(self._provider, HasServerTime):
            return ""
        refused = "nothing is destroyed except by --study"
        before = self._time.now()
        try:
            there = await _within(self._provider.date(), _EXTRAS_S / 2, self.name)
        except (CloudcmpError, OSError) as fault:
            return f"its clock is unknown ({brief(fault)}): {refused}"
        if there is None:
            return f"its clock is unknown: {refused}"
        self._moment = min(self._moment, there)
        ahead_s, behind_s = before - there, there - self._time.now()
        if max(ahead_s, behind_s) <= _SKEW_S:
            return ""
        how = f"{ahead_s:.0f} s ahead of" if ahead_s > 0 else f"{behind_s:.0f} s behind"
        return f"this machine's clock is {how} the provider's: {refused}; set the clock"

    def _leftover(self, found: TaggedResource, listing: Listing, prices: Mapping[tuple[str, str], Price]) -> Leftover:
        found = named_by(found, self._study)
        fate, why = judge(found, self._study, self._moment)
        if fate is Fate.DUE and self._clock:
            fate, why = Fate.KEPT, "unknown whether it has expired: no clock can be trusted"
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
        """Request each deletion until the resource is seen gone or patience ends, at growing intervals."""
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
        """Return evidence that it is gone, once enough consecutive checks agree, because one answer may be stale."""
        handle = one.found.handle()
        try:
            if not self._agree.get(key):
                self._failed[key] = "its deletion was requested, and not checked since"
                await self._pace.destroy(self._provider, handle)
            evidence = await self._provider.gone(handle)
        except (CloudcmpError, OSError) as fault:
            self._failed[key] = brief(fault)
            return None
        self._agree[key] = 0 if evidence is None else self._agree.get(key, 0) + 1
        if self._agree[key] >= self._patience.sightings:
            return evidence
        self._failed[key] = (
            "its deletion was requested, but it still exists" if evidence is None else "it was seen gone only once"
        )
        return None

    def _final(self, one: Leftover) -> Leftover:
        """Return a leftover at the end: a due resource that did not go is left."""
        if one.fate is not Fate.DUE:
            return one
        never = "it reappeared after each deletion" if self._over else "its deletion was not requested"
        return replace(one, fate=Fate.LEFT, why=self._failed.get(_key(one.found), never))


def _line(name: str, fault: BaseException, word: str = "") -> str:
    """A fault preceded by the provider's name, once."""
    return f"{name}: {word}{brief(fault).removeprefix(f'{name}: ')}"


def _key(found: TaggedResource) -> tuple[str, str, str]:
    return found.region, found.kind, found.cloud_id


def _place(one: Leftover) -> tuple[int, str, str, str]:
    kind = one.found.kind
    return _ORDER.index(kind) if kind in _ORDER else len(_ORDER), one.found.region, kind, one.found.cloud_id


def _doubtful(region: str, listing: Listing) -> bool:
    """True if the list may be incomplete in a region: a line of what is unlisted names it, or names no region."""
    known = {one.region for one in listing.found if one.region}
    for line in listing.unlisted:
        named = {one for one in known if re.search(rf"(?<![\w-]){re.escape(one)}(?![\w-])", line)}
        if region in named or not (named or _NAMES_REGION.match(line)):
            return True
    return False


async def _within(call: Coroutine[Any, Any, T], within_s: float, where: str) -> T:
    """The call's result; raises IncompleteListing if it does not arrive in time."""
    try:
        async with asyncio.timeout(within_s) as limit:
            return await call
    except TimeoutError:
        if not limit.expired():
            raise
        raise IncompleteListing.at(
            where, f"it did not answer within {within_s:g} s", "check the network, sweep again"
        ) from None


async def _prices_within(provider: Provider, regions: Collection[str], within_s: float) -> dict[tuple[str, str], Price]:
    """Prices of the machines that arrived in time; a missing price is unknown and stops nothing."""
    prices: dict[tuple[str, str], Price] = {}

    def fetch() -> None:
        for region in sorted(regions):
            with suppress(CloudcmpError, ImportError, OSError):
                offerings = with_prices(provider.offerings(region or None))
                prices.update({(region, one.name): one.price for one in offerings if one.price is not None})

    if regions:  # in a thread, so that slow prices do not delay a signal
        with suppress(IncompleteListing):
            await run_in_thread(fetch, provider.name, within_s)
    return dict(prices)
