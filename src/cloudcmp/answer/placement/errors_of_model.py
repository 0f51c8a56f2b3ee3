"""How far modelled round trips are off, by holding out vantage points; and draws of times with such errors."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from cloudcmp.answer.placement.geometry import FIBRE_S_PER_KM, distances_km

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from cloudcmp.stats.check import Floats

RADII_KM = (300.0, 1000.0, 2500.0)
"""People are from their vantage point at up to these distances; the last class holds those beyond, too."""
_FEWEST = 5


@dataclass(frozen=True, slots=True, eq=False)
class Errors:
    """Measured over modelled times of held-out vantage points, for each class of distance; shape (held out, sites).

    Row r of `ratios[c]` belongs to a vantage point that was modelled from others at least `RADII_KM[c]` away. Its
    columns are in the order of its modelled times, because near sites are modelled with larger errors than far ones.
    """

    ratios: tuple["Floats", ...]

    def class_of(self, distance_km: "Floats") -> "NDArray[np.intp]":
        """The class of each distance."""
        return np.minimum(np.searchsorted(RADII_KM, distance_km), len(RADII_KM) - 1)

    def drawn(self, model: "ModelledTimes", random: np.random.Generator) -> "Floats":
        """Times with errors: all people of a vantage point share those of one held-out vantage point of their class.

        Errors of people at different vantage points are independent.
        """
        found = model.times.copy()
        chance = random.random(int(model.cluster.max()) + 1)
        for number, ratios in enumerate(self.ratios):
            rows = np.flatnonzero(model.modelled & (model.classes == number))
            donors = (chance[model.cluster[rows]] * len(ratios)).astype(np.intp)
            # One flat index is read much faster than a pair of them.
            found[rows] *= ratios.ravel().take(model.rank[rows] + (donors * ratios.shape[1])[:, None])
        return found


@dataclass(frozen=True, slots=True, eq=False)
class ModelledTimes:
    """Times (s) of groups to sites, shape (groups, sites), with what an error of them depends on.

    `rank` is the place of each time among all times of its group, also those of sites that are not here; `cluster` the
    vantage point of a group, and `classes` its class of distance.
    """

    times: "Floats"
    rank: "NDArray[np.intp]"
    modelled: "NDArray[np.bool_]"
    cluster: "NDArray[np.intp]"
    classes: "NDArray[np.intp]"


def held_out_errors(at: "Floats", places: "Floats", times: "Floats", s_per_km: float) -> Errors | None:
    """Model each vantage point from those beyond each radius; None if too few can be modelled.

    `at` and `places` are degrees of vantage points and sites, `times` (s) of shape (vantages, sites). The slope
    `s_per_km` is that of all vantage points, held out or not: one number of thousands of pairs.
    """
    apart, to_sites = distances_km(at, at), distances_km(at, places)
    found = []
    for radius in RADII_KM:
        rows = []
        for one in range(len(at)):
            others = np.flatnonzero(apart[one] > radius)
            if not len(others):
                continue
            order = others[np.argsort(apart[one, others], kind="stable")]
            known = np.isfinite(times[order])
            first = order[np.argmax(known, axis=0)]
            sites = np.arange(len(places))
            guess = times[first, sites] + s_per_km * (to_sites[one] - to_sites[first, sites])
            guess = np.maximum(np.maximum(guess, FIBRE_S_PER_KM * to_sites[one]), 1e-4)
            by_time = np.argsort(guess, kind="stable")
            rows.append((times[one] / guess)[by_time])
        usable = [row for row in rows if np.isfinite(row).sum() > len(row) / 2]
        if len(usable) < _FEWEST:
            return None
        found.append(np.array([_without_gaps(row) for row in usable]))
    return Errors(tuple(found))


def _without_gaps(row: "Floats") -> "Floats":
    """A row in which an unknown value is that of its neighbour in order."""
    known = np.flatnonzero(np.isfinite(row))
    nearest = known[np.argmin(np.abs(np.arange(len(row))[:, None] - known[None, :]), axis=1)]
    return np.asarray(row[nearest])
