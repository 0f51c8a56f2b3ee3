"""Checks sets of regions that are chosen by modelled times, on times between real regions; and times the search.

Run with CLOUDCMP_DATA as the folder of public measurements: `python3 benchmarks/regions.py`. In each split eight
places of Skyplane's grid are users, who are modelled from places farther away; the grid has their true times.
"""

import os
import time
from dataclasses import replace
from pathlib import Path

import numpy as np

from cloudcmp.analysis.wide_area.light import without_impossible
from cloudcmp.analysis.wide_area.people import read_people
from cloudcmp.analysis.wide_area.places import located
from cloudcmp.answer.placement.answer import RegionsQuestion, best_regions
from cloudcmp.answer.placement.geometry import distances_km
from cloudcmp.answer.placement.times import times_of
from cloudcmp.catalog.places import distance_km
from cloudcmp.model.placement import Goal, GoalKind, People
from cloudcmp.model.wide_area import Phase, Position, WideArea
from cloudcmp.stats.check import Floats
from cloudcmp.stats.p_median import p_median
from cloudcmp.store.wide_area import read_wide_area

SPLITS, USERS, K, APART_KM = 100, 8, 3, 600.0


def main() -> None:
    """Print both tables."""
    data = Path(os.environ["CLOUDCMP_DATA"])
    grid = data / "skyplane_wan" / "latency_rtt_2022-04.csv"
    area, _ = without_impossible(located(read_wide_area(grid)))
    check(area)
    people = read_people(data / "geonames_cities" / "cities_100k.csv", most=5000).groups
    found = times_of(area, people)
    counts = np.array([one.count for one in people])
    speed(found.times, counts / counts.sum())


def check(area: WideArea) -> None:
    """What a choice by modelled times loses against the best choice by true ones, and how often intervals hold."""
    matrix = area.matrix(Phase.RTT)
    placed = [at for at, one in enumerate(area.vantages) if one.at is not None]
    apart = distances_km(*(np.array([area.vantages[at].at for at in placed]),) * 2)
    losses, held, near = [], [], []
    for split in range(SPLITS):
        users = chosen_users(apart, np.random.default_rng(split))
        index = [placed[at] for at in users]
        kept = {placed[at] for at in range(len(placed)) if (apart[at, users] > APART_KM).all()}
        # As most people are in no city with a data centre, the regions are away from the users, too.
        homes = [area.vantages[at].at for at in index]
        far = [at for at, one in enumerate(area.sites) if one.at and _away(one.at, homes)]
        far = [at for at in far if np.isfinite(matrix[index, at]).all()]
        paths = tuple(
            replace(one, site=far.index(one.site)) for one in area.paths if one.vantage in kept and one.site in far
        )
        rest = WideArea(area.vantages, tuple(area.sites[at] for at in far), paths, area.source)
        people = [People(f"u{at}", 1.0, area.vantages[at].at) for at in index]
        found = times_of(rest, people)
        answer = best_regions(people, found, RegionsQuestion(Goal(GoalKind.MEAN), K, mix=True))
        true = matrix[np.ix_(index, far)]
        sites = [rest.sites.index(one.site) for one in answer.best.regions]
        value = float(true[:, sites].min(axis=1).mean())
        losses.append(value / p_median(true / len(index), K).value - 1)
        assert answer.certainty is not None
        held.append(answer.certainty.value.low <= value <= answer.certainty.value.high)
        near.append(answer.certainty.near)
    low, middle, high = np.quantile(losses, [0.05, 0.5, 0.95]) * 100
    print(f"{len(losses)} splits, {K} of {len(area.sites)} regions for {USERS} places: a choice by modelled times")
    print(f"takes {middle:.1f} % longer than the best one in the median (5 to 95 %: {low:.1f} to {high:.1f})")
    print(f"the interval of its mean holds in {np.mean(held) * 100:.0f} %; draws without an exchange that gains 3 %: "
          f"{np.mean(near) * 100:.0f} % in the mean")  # fmt: skip


def _away(at: Position, users: list[Position | None]) -> bool:
    return all(distance_km(at, user) > APART_KM for user in users if user is not None)


def chosen_users(apart: Floats, random: np.random.Generator) -> list[int]:
    """Places of users, no two of them in one metropolis."""
    found = list[int]()
    for at in random.permutation(len(apart)):
        if len(found) < USERS and all(apart[at, other] > APART_KM for other in found):
            found.append(int(at))
    return found


def speed(times: Floats, shares: Floats) -> None:
    """How long the search takes for the world's largest 5,000 cities."""
    for name, costs in (("mean", shares[:, None] * times), ("within 100 ms", shares[:, None] * (times > 0.1))):
        for k in (1, 2, 3, 5, 10):
            begin = time.perf_counter()
            found = p_median(costs, k)
            took = time.perf_counter() - begin
            proof = "proven" if found.proven else f"{found.value:.4g} found, {found.bound:.4g} at least"
            print(f"{name}, {len(times)} places, {k} of {times.shape[1]} regions: {took:.2f} s, {proof}")


if __name__ == "__main__":
    main()
