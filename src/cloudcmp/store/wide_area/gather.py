"""Gathers single times of many rows into one value for each vantage point, site and phase."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from cloudcmp.errors import Fault, UserMistake
from cloudcmp.model.wide_area import AddressTime, NameAnswers, PathTime, Phase, Site, VantagePoint, WideArea

MOST_FAULTS = 20
MOST_SECONDS = 86_400.0
"""A time of more than a day is no latency."""


@dataclass(slots=True)
class _Times:
    values: list[float] = field(default_factory=list)
    least: list[float] = field(default_factory=list)
    n: int = 0
    started: int = 0

    def add(self, values: Sequence[float], n: int, started: int, least: float | None) -> None:
        self.values += values
        self.n += n
        self.started += started
        known = [*values, *([] if least is None else [least])]
        if known:
            self.least.append(min(known))

    def median(self) -> float | None:
        return statistics.median(self.values) if self.values else None


@dataclass(slots=True)
class Faults:
    """The faults of a file in the order in which they were found; only the first 20 are kept."""

    found: list[Fault] = field(default_factory=list)

    def add(self, where: str, what: str, next: str) -> None:
        """Add a fault; raises UserMistake with all of them when there are 20."""
        self.found.append(Fault(where, what, next))
        if len(self.found) >= MOST_FAULTS:
            self.check()

    def check(self) -> None:
        """Raise UserMistake if there is any fault."""
        if self.found:
            raise UserMistake(*self.found)


class Gatherer:
    """Collects the times of a source by vantage point, site and phase; a path has the median of all its times."""

    def __init__(self) -> None:
        self._vantages: dict[str, VantagePoint] = {}
        self._sites: dict[tuple[str, str], Site] = {}
        self._times: dict[tuple[str, tuple[str, str], Phase, int | None], _Times] = {}
        self._answers: dict[tuple[str, str], dict[tuple[str, str], None]] = {}
        self._addresses: dict[tuple[str, str], dict[tuple[str, str], _Times]] = {}
        self.notes: list[str] = []

    def vantage(self, one: VantagePoint) -> VantagePoint:
        """Keep a vantage point, and return it as it was first seen; what was unknown of it then is added."""
        known = self._vantages.setdefault(one.name, one)
        if known != one:
            known = replace(
                known,
                at=known.at or one.at,
                country=known.country or one.country,
                continent=known.continent or one.continent,
                network=known.network or one.network,
            )
            self._vantages[one.name] = known
        return known

    def site(self, one: Site) -> Site:
        """Keep a site, and return it as it was first seen; what was unknown of it then is added."""
        key = one.provider, one.region
        known = self._sites.setdefault(key, one)
        if known != one:
            known = replace(
                known, at=known.at or one.at, country=known.country or one.country,
                continent=known.continent or one.continent,
            )  # fmt: skip
            self._sites[key] = known
        return known

    def add(
        self, vantage: str, site: tuple[str, str], phase: Phase, values: Sequence[float], *, started: int,
        n: int | None = None, size_bytes: int | None = None, least: float | None = None,
    ) -> None:  # fmt: skip
        """Add times of `started` attempts in seconds, `n` of which came back: as many as there are values if None."""
        times = self._times.setdefault((vantage, site, phase, size_bytes), _Times())
        times.add(values, len(values) if n is None else n, started, least)

    def answer(self, vantage: str, provider: str, name: str, address: str) -> None:
        """Add an address that a name server gave to a vantage point for a name of a provider."""
        self._answers.setdefault((provider, name), {})[vantage, address] = None

    def add_address(
        self, vantage: str, provider: str, name: str, address: str, values: Sequence[float], started: int
    ) -> None:
        """Add round-trip times in seconds from a vantage point to an address of a name."""
        times = self._addresses.setdefault((provider, name), {}).setdefault((vantage, address), _Times())
        times.add(values, len(values), started, None)

    def area(self, source: str) -> WideArea:
        """Return what was gathered, in the order in which it was first seen."""
        vantage_at = {name: at for at, name in enumerate(self._vantages)}
        site_at = {key: at for at, key in enumerate(self._sites)}
        paths = tuple(
            PathTime(vantage_at[vantage], site_at[site], phase, times.median(), times.n, times.started, size,
                     min(times.least, default=None))
            for (vantage, site, phase, size), times in self._times.items()
        )  # fmt: skip
        names = tuple(self._name(key, vantage_at) for key in dict.fromkeys((*self._answers, *self._addresses)))
        return WideArea(tuple(self._vantages.values()), tuple(self._sites.values()), paths, source, "imported", names,
                        tuple(self.notes))  # fmt: skip

    def _name(self, key: tuple[str, str], vantage_at: dict[str, int]) -> NameAnswers:
        answers, timed = self._answers.get(key, {}), self._addresses.get(key, {})
        address_at = {one: at for at, one in enumerate(dict.fromkeys(address for _, address in (*answers, *timed)))}
        times = tuple(
            AddressTime(vantage_at[vantage], address_at[address], one.median(), one.n, one.started)
            for (vantage, address), one in timed.items()
        )
        given = tuple((vantage_at[vantage], address_at[address]) for vantage, address in answers)
        return NameAnswers(*key, tuple(address_at), given, times)
