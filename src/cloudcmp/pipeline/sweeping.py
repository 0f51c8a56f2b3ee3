"""Leftovers found by their tags alone, from any machine, and destroyed only on a positive match.

Nothing here reads a study's folder or anything else of this machine.
"""

import random
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from enum import StrEnum

from cloudcmp.errors import BadCredentials, CloudcmpError, NoCredentials, UserMistake
from cloudcmp.model.lease import FIREWALL, INSTANCE, VOLUME, Found, Listing
from cloudcmp.model.offering import Price
from cloudcmp.model.protocol import Provider
from cloudcmp.pipeline.opening import Unopened, brief
from cloudcmp.provider.time import Time
from cloudcmp.provision import Patience
from cloudcmp.provision.pacing import Pace
from cloudcmp.report.text import clean
from cloudcmp.units import Money, format_money

SCHEMA = "1"
_ORDER = (INSTANCE, VOLUME, FIREWALL)
"""What stands on what: a machine holds its volumes and its firewall, so it goes first."""
_ROUNDS = 10
_LONGEST = 500
_LONGEST_PAUSE_S = 60.0
_ELSEWHERE = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)+:")
"""How a line begins that names a region: `eu-west-9: instances: ...`."""
# The one form in which we write it. Whatever else stands there was not written by us.
_EXPIRES = re.compile(r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z")


class Fate(StrEnum):
    """What is done with a leftover: nothing, it would be destroyed, it was seen gone, or it is still there."""

    KEPT = "kept"
    DUE = "due"
    DELETED = "deleted"
    LEFT = "left"


_WORDS = {Fate.KEPT: "kept", Fate.DUE: "would go", Fate.DELETED: "gone", Fate.LEFT: "still there"}


@dataclass(frozen=True, slots=True)
class Leftover:
    """A resource that bears our tags: whose it is, since when it should be gone, and what is done with it and why."""

    provider: str
    found: Found
    fate: Fate
    why: str
    price: Price | None = None

    @property
    def study(self) -> str:
        """The study that its tag names, empty where it names none."""
        return tag(self.found, "cloudcmp:study") or ""

    @property
    def expires(self) -> str:
        """When its tag says that it should be gone, as it stands there."""
        return tag(self.found, "cloudcmp:expires") or ""


@dataclass(frozen=True, slots=True)
class Swept:
    """What a sweep came to; `elsewhere` counts what belongs to studies that were not asked for.

    `unlisted` are places that could not be listed, `skipped` providers that were not asked; `faults` are those of them
    that were named by the user, and so count.
    """

    leftovers: tuple[Leftover, ...] = ()
    unlisted: tuple[str, ...] = ()
    skipped: tuple[str, ...] = ()
    faults: tuple[str, ...] = ()
    elsewhere: int = 0

    @property
    def complete(self) -> bool:
        """Whether everything that was asked for was listed, and nothing is left that should have gone."""
        return not (self.unlisted or self.faults or any(one.fate is Fate.LEFT for one in self.leftovers))

    def of(self, fate: Fate) -> tuple[Leftover, ...]:
        """The leftovers of one fate."""
        return tuple(one for one in self.leftovers if one.fate is fate)


async def sweep(
    providers: Mapping[str, Provider],
    time: Time,
    *,
    study: str | None = None,
    delete: bool = False,
    patience: Patience | None = None,
    pace: Pace | None = None,
    unopened: Sequence[Unopened] = (),
    named: bool = False,
) -> Swept:
    """Ask each provider for whatever bears our tags, and destroy what is due where `delete` is set.

    With `study` only that study's resources are looked at, and are due before they expire. `unopened` are providers
    that could not be made; `named` says that the user named them all. Deletes keep to `pace`, by default that of
    studies. Never raises for a provider that fails.
    """
    total = Swept(skipped=tuple(one.line for one in unopened), faults=tuple(one.line for one in unopened if named))
    pace = pace or Pace(time, random.random)
    for provider in providers.values():
        found = await _Sweeper(provider, time, study, patience or Patience(), pace).run(delete=delete, named=named)
        total = Swept(
            (*total.leftovers, *found.leftovers),
            (*total.unlisted, *found.unlisted),
            (*total.skipped, *found.skipped),
            (*total.faults, *found.faults),
            total.elsewhere + found.elsewhere,
        )
    return total


def judge(found: Found, study: str | None, now: float) -> tuple[Fate, str]:
    """Whether a resource is due, and why: only where its tags say so in the very words that we write.

    `now` in Unix seconds. Missing, doubled, misspelt and unknown tags keep it, whatever else is said.
    """
    doubt = _unreadable(found)
    if doubt:
        return Fate.KEPT, doubt
    if study is not None:
        named = tag(found, "cloudcmp:study") == study
        return (Fate.DUE, "its study was named") if named else (Fate.KEPT, "another study's")
    expires = _instant(tag(found, "cloudcmp:expires"))
    if expires is None:
        return Fate.KEPT, "it does not say when it expires; name its study with --study"
    return (
        (Fate.DUE, "it has expired") if expires < now else (Fate.KEPT, "it has not expired; its study may be running")
    )


def _unreadable(found: Found) -> str:
    """Why a resource's tags do not make it ours, empty where they do."""
    schema = tag(found, "cloudcmp:schema")
    if schema is None:
        return "it has no readable tag cloudcmp:schema: it is not ours"
    if schema != SCHEMA:
        return f"its tags are of schema {schema!r}, which this version does not know"
    if not tag(found, "cloudcmp:study"):
        return "it has no readable tag cloudcmp:study"
    said = any(key == "cloudcmp:expires" for key, _ in found.tags)
    if said and _instant(tag(found, "cloudcmp:expires")) is None:
        return "its tag cloudcmp:expires can not be read"
    return ""


def tag(found: Found, key: str) -> str | None:
    """The value of a tag, None where it is missing or stands there twice."""
    values = [value for name, value in found.tags if name == key]
    return values[0] if len(values) == 1 else None


def _instant(text: str | None) -> float | None:
    """The Unix time of a tag in our own form (UTC, RFC 3339, whole seconds), None for anything else."""
    if text is None or not _EXPIRES.fullmatch(text) or not text.isascii():
        return None
    try:
        return datetime.strptime(text, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC).timestamp()
    except ValueError:
        return None


def lines(swept: Swept) -> tuple[str, ...]:
    """A line for each that was found, machines first: what it is, and what is done with it."""
    return tuple(f"{_WORDS[one.fate]}: {line(one)}" for one in swept.leftovers)


def told(swept: Swept, *, delete: bool) -> tuple[str, ...]:
    """What a sweep came to, in sentences: what was not asked first, what comes next last."""
    due, gone = len(swept.of(Fate.DUE)), len(swept.of(Fate.DELETED))
    lines = [one for one in swept.skipped if one not in swept.faults]
    if swept.elsewhere:
        lines.append(f"{swept.elsewhere} of other studies: see them without --study.")
    if not swept.leftovers and swept.complete:
        return (*lines, "Nothing bears our tags where we could look.")
    if delete:
        return (*lines, f"{gone} destroyed and seen gone, {len(swept.of(Fate.LEFT))} left, "
                        f"{len(swept.of(Fate.KEPT))} kept.")  # fmt: skip
    return (*lines, f"DRY RUN: {due} would be destroyed, {len(swept.of(Fate.KEPT))} kept; add --delete to do it.")


def faults(swept: Swept) -> tuple[str, ...]:
    """A line for each place that could not be listed and each thing that is left."""
    return (
        *(f"not listed: {one}" for one in swept.unlisted),
        *swept.faults,
        *(f"left: {line(one)}" for one in swept.of(Fate.LEFT)),
    )


def line(one: Leftover) -> str:
    """A leftover as one line: where and what it is, whose, what it costs, and why it is still there."""
    found = one.found
    told = (f"study {one.study or 'unknown'}", f"expires {one.expires or 'unknown'}", found.state, _per_hour(one))
    return clean(f"{one.provider}/{found.region} {found.kind} {found.cloud_id}: {', '.join(told)}: {one.why}", _LONGEST)


def as_data(swept: Swept, *, delete: bool) -> dict[str, object]:
    """What was found as a JSON document's data."""
    found = [
        {
            "provider": one.provider,
            "region": one.found.region,
            "kind": one.found.kind,
            "id": one.found.cloud_id,
            "study": one.study or None,
            "expires": one.expires or None,
            "state": one.found.state,
            "price": one.price,
            "fate": one.fate,
            "why": one.why,
        }
        for one in swept.leftovers
    ]
    return {"dry_run": not delete, "found": found, "elsewhere": swept.elsewhere,
            "unlisted": swept.unlisted, "skipped": swept.skipped}  # fmt: skip


def _per_hour(one: Leftover) -> str:
    if one.price is None:
        return "price unknown"
    return f"{format_money(Money(one.price.amount_per_hour, one.price.currency))}/h"


class _Sweeper:
    """The sweep of one provider; `_gone` are those that were seen gone, which a stale list may go on to name."""

    def __init__(self, provider: Provider, time: Time, study: str | None, patience: Patience, pace: Pace) -> None:
        self._provider = provider
        self._time = time
        # One moment decides for all: what expires while others go was not due when the user asked.
        self._began_at = time.now()
        self._study = study
        self._patience = patience
        self._pace = pace
        self._gone: dict[tuple[str, str, str], Leftover] = {}
        self._failed: dict[tuple[str, str, str], str] = {}

    async def run(self, *, delete: bool, named: bool) -> Swept:
        """List, and destroy round by round until nothing is due any more or nothing more goes."""
        swept = await self._look(named=named)
        if not delete or swept.skipped:
            return swept
        for _ in range(_ROUNDS):
            due = swept.of(Fate.DUE)
            before = len(self._gone)
            await self._end(due)
            if not due or len(self._gone) == before:
                break
            swept = await self._look(named=named)
        return replace(swept, leftovers=(*self._gone.values(), *map(self._settled, swept.leftovers)))

    async def _look(self, *, named: bool) -> Swept:
        name = self._provider.name
        unseen = [one.how for one in self._provider.barriers if one.name == "sweep" and not one.holds]
        if unseen:
            line = f"{name}: not swept: {unseen[0]}"
            return Swept(skipped=(line,), faults=(line,) if named else ())
        try:
            listing = await self._provider.leftovers()
        except BadCredentials as fault:
            return Swept(unlisted=(f"{name}: {brief(fault)}",))
        except (NoCredentials, UserMistake, ImportError) as fault:
            line = f"{name}: skipped: {brief(fault)}"
            return Swept(skipped=(line,), faults=(line,) if named else ())
        except (CloudcmpError, OSError) as fault:
            return Swept(unlisted=(f"{name}: {brief(fault)}",))
        prices = _prices(self._provider, {one.region for one in listing.found})
        fates = [self._leftover(one, listing, prices) for one in listing.found if _key(one) not in self._gone]
        mine = [one for one in fates if self._study in {None, one.study}]
        return Swept(
            tuple(sorted(mine, key=_place)), tuple(f"{name}: {line}" for line in listing.unlisted),
            elsewhere=len(fates) - len(mine),
        )  # fmt: skip

    def _leftover(self, found: Found, listing: Listing, prices: Mapping[tuple[str, str], Price]) -> Leftover:
        fate, why = judge(found, self._study, self._began_at)
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

    async def _end_kind(self, pending: dict[tuple[str, str, str], Leftover]) -> None:
        """Ask for each to be destroyed until it is seen gone or patience ends, ever more rarely."""
        began, pause_s = self._time.monotonic(), self._patience.poll_s
        while True:
            for key, one in tuple(pending.items()):
                evidence = await self._try(key, one)
                if evidence is not None:
                    self._gone[key] = replace(one, fate=Fate.DELETED, why=evidence)
                    del pending[key]
            if not pending or self._time.monotonic() - began >= self._patience.give_up_s:
                return
            await self._time.sleep(pause_s)
            pause_s = min(_LONGEST_PAUSE_S, 2 * pause_s)

    async def _try(self, key: tuple[str, str, str], one: Leftover) -> str | None:
        handle = one.found.handle()
        try:
            await self._pace.destroy(self._provider, handle)
            evidence = await self._provider.gone(handle)
        except (CloudcmpError, OSError) as fault:
            self._failed[key] = brief(fault)
            return None
        if evidence is None:
            self._failed[key] = "it was asked to go and is still there"
        return evidence

    def _settled(self, one: Leftover) -> Leftover:
        """What was due and did not go is left."""
        if one.fate is not Fate.DUE:
            return one
        return replace(one, fate=Fate.LEFT, why=self._failed.get(_key(one.found), "it came up again and again"))


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


def _prices(provider: Provider, regions: Iterable[str]) -> dict[tuple[str, str], Price]:
    """What the machines cost, where that can be looked up; a price that can not be is unknown, and stops nothing."""
    found: dict[tuple[str, str], Price] = {}
    for region in sorted(regions):
        try:
            offerings = provider.offerings(region or None)
        except (CloudcmpError, ImportError, OSError):
            continue
        found |= {(region, one.name): one.price for one in offerings if one.price is not None}
    return found
