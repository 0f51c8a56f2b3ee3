"""Round trips from people to regions: measured ones, or modelled from the nearest vantage point and distances."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from cloudcmp.answer.placement.errors_of_model import RADII_KM, Errors, held_out_errors
from cloudcmp.answer.placement.geometry import FIBRE_S_PER_KM, distances_km
from cloudcmp.catalog.places import distance_km
from cloudcmp.errors import UserMistake
from cloudcmp.model.placement import HeldOut, Lack, People, TimeModel
from cloudcmp.model.wide_area import Phase, Site, VantagePoint, WideArea
from cloudcmp.stats.robust import fit_linear

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from cloudcmp.stats.check import Floats

_FEWEST = 5
"""So many vantage points with positions are needed for a line, and for its error."""
_SAME_KM = 100.0


@dataclass(frozen=True, slots=True, eq=False)
class PeopleTimes:
    """Round trips (s) of groups of people to sites, and how they were obtained.

    `times` has shape (groups, sites). `near` is the vantage point of each group, and `modelled` is true for groups that
    are none themselves. `errors` is None if no time is modelled, or if the error of the model is unknown.
    """

    sites: tuple[Site, ...]
    times: "Floats"
    near: "NDArray[np.intp]"
    modelled: "NDArray[np.bool_]"
    distance_km: "Floats"
    errors: Errors | None
    model: TimeModel
    left_out: tuple[tuple[Site, Lack], ...]


def times_of(area: WideArea, people: Sequence[People], last_mile_s: float = 0.0) -> PeopleTimes:
    """The round trips from people to the sites of an area.

    A group that has the name of a vantage point, and no other place, has its measured times. Any other group takes, for
    each site, the time of the nearest vantage point that measured it, plus the slope of a robust line of time on
    distance times the difference of the two distances; never less than light in fibre, plus `last_mile_s`. `area` has
    the places that are known of sites and vantage points. Sites that nobody measured are left out, and those without a
    position if a time must be modelled.

    Raises UserMistake if nothing was measured, and if a time must be modelled from too few vantage points.
    """
    measured = area.matrix(Phase.RTT)
    if not np.isfinite(measured).any():
        raise UserMistake.at(area.source, "no round-trip time is in it", "measure some, or name another table")
    names = {one.name.casefold(): at for at, one in enumerate(area.vantages)}
    names |= {one.name: at for at, one in enumerate(area.vantages)}
    own = [names.get(one.name, names.get(one.name.casefold())) for one in people]
    known = np.array(
        [at is not None and _same_place(one, area.vantages[at]) for at, one in zip(own, people, strict=True)]
    )
    kept, left = _kept(area, measured, must_model=not known.all())
    sites, measured = tuple(area.sites[at] for at in kept), measured[:, kept]
    grid = _Grid.of(area, sites, measured)
    times = np.full((len(people), len(sites)), np.nan)
    near = np.full(len(people), -1)
    for at, vantage in enumerate(own):
        if known[at] and vantage is not None:
            near[at] = vantage
            times[at] = measured[near[at]]
    distance = np.zeros(len(people))
    line: tuple[float, float] | None = None
    needed = np.flatnonzero(~known | np.isnan(times).any(axis=1))
    filled: tuple[str, ...] = ()
    errors: Errors | None = None
    if len(needed):
        line = grid.line()
        places = _positions(people, area, near, needed)
        modelled, nearest, away = grid.model(places, line)
        missing = np.isnan(times[needed])
        gaps = np.argwhere(missing & known[needed, None])
        filled = tuple(f"{people[needed[row]].name} to {sites[site]}" for row, site in gaps)
        times[needed] = np.where(missing, modelled, times[needed])
        strangers = ~known[needed]
        near[needed[strangers]], distance[needed[strangers]] = nearest[strangers], away[strangers]
        errors = held_out_errors(grid.at, grid.places, grid.times, line[1])
    times += last_mile_s
    model = _described(people, known, grid, line, distance, errors, filled, last_mile_s)
    return PeopleTimes(sites, times, near, ~known, distance, errors, model, tuple(left))


def _same_place(group: People, vantage: VantagePoint) -> bool:
    """True if nothing says that a group is elsewhere than the vantage point of its name: cities share names."""
    return group.at is None or (vantage.at is not None and distance_km(group.at, vantage.at) <= _SAME_KM)


def _kept(area: WideArea, measured: "Floats", *, must_model: bool) -> tuple[list[int], list[tuple[Site, Lack]]]:
    """The sites that have times, and those that do not, with the reason."""
    kept, left = list[int](), list[tuple[Site, Lack]]()
    for at, site in enumerate(area.sites):
        if not np.isfinite(measured[:, at]).any():
            left.append((site, Lack.TIME))
        elif must_model and site.at is None:
            left.append((site, Lack.PLACE))
        else:
            kept.append(at)
    return kept, left


def _positions(
    people: Sequence[People], area: WideArea, near: "NDArray[np.intp]", rows: "NDArray[np.intp]"
) -> "Floats":
    """Latitude and longitude of groups, shape (rows, 2)."""
    found = []
    for at in rows:
        place = people[at].at or (area.vantages[near[at]].at if near[at] >= 0 else None)
        if place is None:
            what = f"vantage point {people[at].name!r} has no time to some sites, and no position to model them from"
            raise UserMistake.at(area.source, what, "add the missing times, or the positions of its vantage points")
        found.append(place)
    return np.array(found)


@dataclass(frozen=True, slots=True, eq=False)
class _Grid:
    """The vantage points with positions and their times to sites: `at` and `places` in degrees, `times` in seconds."""

    source: str
    index: "NDArray[np.intp]"
    at: "Floats"
    places: "Floats"
    times: "Floats"

    @classmethod
    def of(cls, area: WideArea, sites: Sequence[Site], measured: "Floats") -> "_Grid":
        placed = np.array([at for at, one in enumerate(area.vantages) if one.at is not None], dtype=np.intp)
        at = np.array([area.vantages[one].at for one in placed]).reshape(-1, 2)
        places = np.array([one.at or (np.nan, np.nan) for one in sites]).reshape(-1, 2)
        return cls(area.source, placed, at, places, measured[placed])

    def line(self) -> tuple[float, float]:
        """Intercept (s) and slope (s/km) of a robust line of round trips on great-circle distances."""
        distances = distances_km(self.at, self.places)
        known = np.isfinite(self.times) & np.isfinite(distances)
        if known.any(axis=1).sum() < _FEWEST:
            what = f"fewer than {_FEWEST} vantage points with positions have times, too few to model others from"
            raise UserMistake.at(self.source, what, "name people by vantage point, or add positions")
        columns = np.column_stack([np.ones(int(known.sum())), distances[known]])
        intercept, slope = fit_linear(columns, self.times[known]).coefficients
        if slope <= 0:
            raise UserMistake.at(self.source, "times do not grow with distance", "check the positions and the unit")
        return float(intercept), float(slope)

    def model(self, people: "Floats", line: tuple[float, float]) -> tuple["Floats", "NDArray[np.intp]", "Floats"]:
        """Modelled times of places, the nearest vantage point of each, and its distance (km)."""
        away = distances_km(people, self.at)
        to_sites = distances_km(people, self.places)
        between = distances_km(self.at, self.places)
        found = np.empty_like(to_sites)
        for site in range(len(self.places)):
            known = np.flatnonzero(np.isfinite(self.times[:, site]))
            nearest = known[np.argmin(away[:, known], axis=1)]
            detour = line[1] * (to_sites[:, site] - between[nearest, site])
            found[:, site] = np.maximum(self.times[nearest, site] + detour, FIBRE_S_PER_KM * to_sites[:, site])
        closest = np.argmin(away, axis=1)
        return np.maximum(found, 1e-4), self.index[closest], away[np.arange(len(people)), closest]


def _described(
    people: Sequence[People], known: "NDArray[np.bool_]", grid: _Grid, line: tuple[float, float] | None,
    distance: "Floats", errors: Errors | None, filled: tuple[str, ...], last_mile_s: float,
) -> TimeModel:  # fmt: skip
    strangers = np.flatnonzero(~known)
    counts = np.array([one.count for one in people])[strangers]
    middle = float(_weighted_median(distance[strangers], counts)) if len(strangers) else None
    return TimeModel(
        groups=len(people), measured=int(known.sum()), vantages=len(grid.index),
        pairs=int(np.isfinite(grid.times).sum()), filled=filled,
        s_per_km=line[1] if line else None, intercept_s=line[0] if line else None, distance_km=middle,
        held_out=_off(errors, distance[strangers], counts) if errors and len(strangers) else None,
        last_mile_s=last_mile_s,
    )  # fmt: skip


def _weighted_median(values: "Floats", weights: "Floats") -> float:
    order = np.argsort(values)
    share = np.cumsum(weights[order])
    return float(values[order][np.searchsorted(share, share[-1] / 2)])


def _off(errors: Errors, distance: "Floats", counts: "Floats") -> HeldOut:
    """How far the model is off at the distances of people."""
    shares = np.bincount(errors.class_of(distance), counts, minlength=len(RADII_KM)) / counts.sum()
    weights = [np.full(some.size, share / some.size) for share, some in zip(shares, errors.ratios, strict=True)]
    ratio, weight = np.concatenate([one.ravel() for one in errors.ratios]), np.concatenate(weights)
    order = np.argsort(ratio)
    share = np.cumsum(weight[order])
    low, high = (float(ratio[order][np.searchsorted(share, one * share[-1])]) for one in (0.05, 0.95))
    return HeldOut(_weighted_median(np.abs(ratio - 1), weight), low, high, len(errors.ratios[0]))
