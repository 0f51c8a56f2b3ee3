"""Times between vantage points and the data centres of providers: what the wide area is made of."""

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Position = tuple[float, float]
"""Latitude and longitude in degrees."""


class Continent(StrEnum):
    """A part of the world, by its code in the GeoNames data; CloudAnalyst's six regions in its own order."""

    NORTH_AMERICA = "NA"
    SOUTH_AMERICA = "SA"
    EUROPE = "EU"
    ASIA = "AS"
    AFRICA = "AF"
    OCEANIA = "OC"


class Phase(StrEnum):
    """A part of the time of a request from afar; `rtt` is a round trip of the network by itself."""

    DNS = "dns"
    RTT = "rtt"
    CONNECT = "connect"
    TLS = "tls"
    FIRST_BYTE = "first_byte"
    TRANSFER = "transfer"


@dataclass(frozen=True, slots=True)
class VantagePoint:
    """A place from which data centres are seen, and how many people or users it stands for (`weight`).

    `country` is a code of ISO 3166; empty, and `at` and `continent` None, where nothing tells.
    """

    name: str
    at: Position | None = None
    country: str = ""
    continent: Continent | None = None
    weight: float = 1.0


@dataclass(frozen=True, slots=True)
class Site:
    """A data centre of a provider, by the name of its region, with the place that the provider states."""

    provider: str
    region: str
    at: Position | None = None
    country: str = ""
    continent: Continent | None = None

    def __str__(self) -> str:
        return f"{self.provider}/{self.region}"


@dataclass(frozen=True, slots=True)
class PathTime:
    """What was measured between a vantage point and a site in one phase, in seconds.

    `vantage` and `site` are places in the tuples of their `WideArea`. `median_s` is None if nothing came back. `n` of
    `started` attempts came back. `size_bytes` is the body's size, for first byte and transfer only.
    """

    vantage: int
    site: int
    phase: Phase
    median_s: float | None
    n: int
    started: int
    size_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class WideArea:
    """Vantage points, sites and the times between them, with the source of the numbers.

    `kind` says what the numbers are: `measured`, `imported`, `simulated`, or `modelled` from distances.
    """

    vantages: tuple[VantagePoint, ...]
    sites: tuple[Site, ...]
    paths: tuple[PathTime, ...]
    source: str
    kind: str = "measured"

    def matrix(self, phase: Phase, size_bytes: int | None = None) -> "NDArray[np.float64]":
        """The medians of a phase in seconds, shape (vantages, sites); not a number where nothing came back."""
        import numpy as np

        times = np.full((len(self.vantages), len(self.sites)), np.nan)
        for one in self.paths:
            if one.phase is phase and one.size_bytes == size_bytes and one.median_s is not None:
                times[one.vantage, one.site] = one.median_s
        return times
