"""How providers reach vantage points: the answer of `cloudcmp wan`."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from cloudcmp.model.result import Bounds, Verdict
from cloudcmp.model.wide_area import Continent, Phase, Site, WideArea

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

PAGE_BYTES = (1_000, 100_000, 320_000, 2_000_000)
"""The sizes of the pages that are timed."""


@dataclass(frozen=True, slots=True)
class ImpossibleTime:
    """A round trip that is shorter than light in fibre needs between the two stated places, times in seconds."""

    vantage: str
    site: str
    measured_s: float
    light_s: float


@dataclass(frozen=True, slots=True)
class Quantile:
    """A weighted quantile (`p` from 0 to 1) in seconds, with its interval; None for fewer than six effective clusters.

    Clusters of very unequal weight count as fewer effective ones, which are of equal weight.
    """

    p: float
    value_s: float
    bounds: Bounds | None


@dataclass(frozen=True, slots=True)
class Share:
    """A share from 0 to 1 with its interval; None for fewer than six effective clusters."""

    value: float
    bounds: Bounds | None


@dataclass(frozen=True, slots=True)
class Reached:
    """The lowest round-trip times of a provider to the vantage points of a continent, or to all (`continent` None).

    `n` vantage points in `clusters` got a reply from one of its sites, of `started`; those inside its own network do
    not count. `within` is the share of them, by weight, at or below the limit; unreached ones are above it.
    """

    provider: str
    continent: Continent | None
    n: int
    started: int
    clusters: int
    quantiles: tuple[Quantile, ...]
    within: Share


@dataclass(frozen=True, slots=True)
class ReachCurve:
    """The cumulative distribution of a provider's times over the vantage points, with a 95 % band.

    `kind` is `optimal` for the lowest time over all sites, `given` for the address that a name server gave, or
    `modelled` and `measured` for the times of pages. A band of None could not be drawn.
    """

    provider: str
    kind: str
    x_s: tuple[float, ...]
    share: tuple[float, ...]
    low: tuple[float, ...] | None
    high: tuple[float, ...] | None
    n: int
    size_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class ReachPair:
    """Two providers, paired by the vantage points that both were measured from and that stand in neither.

    `ratio` is the geometric mean of a/b of their lowest times, `difference_s` the mean of a - b; None for fewer than
    two clusters. `effective` clusters of equal weight tell as much as the `clusters` do; with fewer than six of them
    there are no intervals, p values, `detectable` or `needed`. `unreached` of the common vantage points got a reply
    from one of the two only. `a_lower` counts those where a is lower. `detectable` is the smallest true ratio that as
    many effective clusters find with 80 % power, `needed` the effective clusters that find the measured one, both as
    one of all pairs.
    """

    a: str
    b: str
    n: int
    clusters: int
    effective: float
    unreached: int
    a_lower: int
    ratio: float | None
    ratio_bounds: Bounds | None
    difference_s: float | None
    difference_bounds: Bounds | None
    p_value: float | None
    p_adjusted: float | None
    p_same: float | None
    detectable: float | None
    needed: int | None
    verdict: Verdict
    reason: str = ""


@dataclass(frozen=True, slots=True)
class MissingRegion:
    """A continent in which a provider has vantage points above the limit, and the site of another one that would help.

    `over` of `n` vantage points are above the limit; `countries` are theirs. `helps` of them get a reply from `instead`
    within the limit; `instead` is empty if no measured site of another provider helps any. `own` is the provider's own
    region in the place of `instead`, empty if none is known: if `own_measured`, it is slow or unreachable from there.
    """

    provider: str
    continent: Continent | None
    over: int
    n: int
    countries: tuple[str, ...]
    vantages: tuple[str, ...]
    instead: str
    place: str
    helps: int
    own: str = ""
    own_measured: bool = False


@dataclass(frozen=True, slots=True)
class NameMapping:
    """How far the addresses that a provider's name servers give are from the best ones that were measured.

    Over `n` vantage points with an answer and with times to the given and to other addresses. `best` is the share that
    was given an address within a tenth, or one millisecond, of the best. `anycast` are the addresses that must be in
    more than one place, each with the least number of them.
    """

    provider: str
    name: str
    addresses: int
    n: int
    best: Share | None
    excess: tuple[Quantile, ...]
    anycast: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class PageFigure:
    """The time of a page of `size_bytes` from a provider's nearest site, over `n` vantage points.

    `modelled` is what slow start takes at the measured round-trip times; `measured` are whole pages, None without any;
    `off` is the median of measured / modelled where both are known. `has_dns` is true if the model has the measured
    lookups of the name, else it has none; `has_tls` if it has a handshake of TLS.
    """

    provider: str
    size_bytes: int
    n: int
    modelled: Quantile
    measured: Quantile | None
    n_measured: int
    off: float | None
    has_dns: bool = False
    has_tls: bool = True


@dataclass(frozen=True, slots=True, eq=False)
class BestTimes:
    """The lowest round-trip time of each provider from each vantage point, and its site.

    Arrays have shape (providers, vantages): `time_s` is NaN where nothing came back or the vantage point is inside the
    provider's network, which `own` says; `site` counts the area's sites, -1 for none.
    """

    providers: tuple[str, ...]
    time_s: "NDArray[np.float64]"
    site: "NDArray[np.int64]"
    own: "NDArray[np.bool_]"


@dataclass(frozen=True, slots=True)
class LookTime:
    """The median of a phase over `n` values of one look, in seconds; `bounds` is None if they are too few for any.

    The values follow each other within seconds, so the interval says nothing of other hours.
    """

    phase: Phase
    median_s: float
    least_s: float
    n: int
    bounds: Bounds | None


@dataclass(frozen=True, slots=True)
class Look:
    """What one look at a URL found: `pages` came, of so many `started`; `why` says why none did.

    `rtt_by` says how round trips were measured, `icmp` or `tcp connect`; empty if none was.
    """

    url: str
    site: Site
    pages: int
    started: int
    times: tuple[LookTime, ...] = ()
    rtt_by: str = ""
    why: str = ""

    def time(self, phase: Phase) -> LookTime | None:
        """The time of a phase; None if there is none."""
        return next((one for one in self.times if one.phase is phase), None)


@dataclass(frozen=True, slots=True)
class WideAreaAnswer:
    """Which provider reaches the vantage points best, and how surely.

    `best` are the providers that no other one is better than, as far as can be told: one if it is better than every
    other one. `area` is what the answer rests on, without impossible times. `looks` are those of this machine at URLs,
    if the answer rests on them.
    """

    area: WideArea
    best_times: BestTimes
    limit_s: float
    best: tuple[str, ...]
    decided: bool
    reached: tuple[Reached, ...]
    pairs: tuple[ReachPair, ...]
    missing: tuple[MissingRegion, ...]
    names: tuple[NameMapping, ...]
    pages: tuple[PageFigure, ...]
    impossible: tuple[ImpossibleTime, ...]
    curves: tuple[ReachCurve, ...]
    page_curves: tuple[ReachCurve, ...]
    cautions: tuple[str, ...]
    looks: tuple[Look, ...] = ()
