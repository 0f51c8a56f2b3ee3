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
    """A part of the time of a request from afar.

    `rtt` is a round trip of the network by itself, `first_byte` the time from a request that is sent to the first byte
    of its answer, `page` the whole of a page from its name to its last byte.
    """

    DNS = "dns"
    RTT = "rtt"
    CONNECT = "connect"
    TLS = "tls"
    FIRST_BYTE = "first_byte"
    TRANSFER = "transfer"
    PAGE = "page"


@dataclass(frozen=True, slots=True)
class VantagePoint:
    """A place from which data centres are seen, and how many people or users it stands for (`weight`).

    `country` is a code of ISO 3166; empty, and `at` and `continent` None, where nothing tells. `network` is the network
    that it is in, such as `AS3320`, or the provider in whose data centre it stands, such as `aws`.
    """

    name: str
    at: Position | None = None
    country: str = ""
    continent: Continent | None = None
    weight: float = 1.0
    network: str = ""


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
    `started` attempts came back. `size_bytes` is the body's size, for first byte, transfer and page only. `least_s` is
    the shortest time that was seen, None if nothing tells.
    """

    vantage: int
    site: int
    phase: Phase
    median_s: float | None
    n: int
    started: int
    size_bytes: int | None = None
    least_s: float | None = None


@dataclass(frozen=True, slots=True)
class AddressTime:
    """The round-trip time from a vantage point to an address of a name, in seconds; None if nothing came back.

    `vantage` and `address` are places in the tuples of their `WideArea` and `NameAnswers`.
    """

    vantage: int
    address: int
    median_s: float | None
    n: int
    started: int


@dataclass(frozen=True, slots=True)
class NameAnswers:
    """A name of a provider: the addresses that its name servers give to vantage points, and the times to them.

    `answers` holds pairs of a vantage and an address that was given to it, as places in the tuples.
    """

    provider: str
    name: str
    addresses: tuple[str, ...]
    answers: tuple[tuple[int, int], ...]
    times: tuple[AddressTime, ...]


@dataclass(frozen=True, slots=True)
class WideArea:
    """Vantage points, sites and the times between them, with the source of the numbers.

    `kind` says what the numbers are: `measured`, `imported`, `simulated`, or `modelled` from distances. `names` are
    those of providers with addresses in many places. `notes` say what a source held that is not here.
    """

    vantages: tuple[VantagePoint, ...]
    sites: tuple[Site, ...]
    paths: tuple[PathTime, ...]
    source: str
    kind: str = "measured"
    names: tuple[NameAnswers, ...] = ()
    notes: tuple[str, ...] = ()

    def matrix(self, phase: Phase, size_bytes: int | None = None) -> "NDArray[np.float64]":
        """The medians of a phase in seconds, shape (vantages, sites); not a number where nothing came back."""
        import numpy as np

        times = np.full((len(self.vantages), len(self.sites)), np.nan)
        for one in self.paths:
            if one.phase is phase and one.size_bytes == size_bytes and one.median_s is not None:
                times[one.vantage, one.site] = one.median_s
        return times
