"""What a set of regions costs a month: bytes to people by tiers, and a fixed amount for each region."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from cloudcmp.model.placement import Delivery, PriceTier
from cloudcmp.stats.p_median import Sites

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from cloudcmp.stats.check import Floats

Tiers = tuple[PriceTier, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Traffic:
    """The bytes a month and their prices: `gb` by group (10^9 bytes), `tiers` by site, and what a region costs itself.

    A site without tiers has an unknown price. `per_site` is a fixed amount a month for each region of a set.
    """

    gb: "Floats"
    tiers: Sequence[Tiers]
    per_site: float
    currency: str

    def known(self, site: int, delivery: Delivery | None = None) -> bool:
        """True if the price of a site is known, or nothing is sent, or a network's own price takes its place."""
        own = delivery is not None and delivery.origin_per_gb is not None
        return own or bool(self.tiers[site]) or not self.gb.any()

    def first_per_gb(self, site: int, delivery: Delivery | None = None) -> float:
        """The price of the first GB to people from a site, 0 if unknown; behind a network that of the misses in it."""
        tiers = self.tiers[site]
        if delivery is None:
            return tiers[0].per_gb if tiers else 0.0
        origin = delivery.origin_per_gb
        return (1 - delivery.hit_ratio) * (origin if origin is not None else self.first_per_gb(site))

    def of(self, rows: "Floats", sites: Sites, delivery: Delivery | None = None) -> tuple[float | None, "Floats"]:
        """The money a month of a set, and the GB that each of its sites sends; None if a price is unknown.

        `rows` has the times of each site, shape (sites, groups); people are served by the site with the least time.
        Behind a `delivery`, only misses come from the sites.
        """
        volumes = np.asarray(np.bincount(serving(rows, sites), self.gb, minlength=len(sites)), np.float64)
        if delivery is not None:
            volumes = volumes * (1 - delivery.hit_ratio)
        total = self.per_site * len(sites)
        for site, volume in zip(sites, volumes, strict=True):
            if delivery is not None and delivery.origin_per_gb is not None:
                total += float(volume) * delivery.origin_per_gb
            elif not self.known(site):
                return None, volumes
            else:
                total += tiered(self.tiers[site], float(volume))
        if delivery is not None:
            total += tiered(delivery.tiers, float(self.gb.sum()))
        return total, volumes


def behind(delivery: Delivery, times: "Floats") -> "Floats":
    """The mean times of people behind a delivery network: a miss goes on from the edge to the region.

    An edge is near its people, so that the way from it to the region takes as long as theirs.
    """
    return delivery.edge_s + (1 - delivery.hit_ratio) * times


def serving(rows: "Floats", sites: Sites) -> "NDArray[np.intp]":
    """The place in `sites` of the one that serves each group: the one with the least time of `rows` (sites, groups)."""
    return np.asarray(np.argmin(rows[list(sites)], axis=0))


def tiered(tiers: Tiers, volume: float) -> float:
    """The price of a volume by tiers, each for what lies in it; what is below the first one counts at its price."""
    total = 0.0
    for at, one in enumerate(tiers):
        begin = one.from_gb if at else 0.0
        end = tiers[at + 1].from_gb if at + 1 < len(tiers) else np.inf
        total += max(0.0, min(volume, end) - begin) * one.per_gb
    return float(total)
