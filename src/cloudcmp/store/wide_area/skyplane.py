"""Skyplane's grid of round-trip times between regions of clouds, in which each region is a vantage point too."""

from collections import Counter
from pathlib import Path

from cloudcmp.errors import UserMistake
from cloudcmp.model.wide_area import Phase, Site, VantagePoint, WideArea
from cloudcmp.store.wide_area import cells
from cloudcmp.store.wide_area.cells import BadCell
from cloudcmp.store.wide_area.gather import Faults, Gatherer
from cloudcmp.units import are, counted

_NEEDED = ("src_region", "dst_region", "avg_rtt")
_ZONED = "gcp"
"""The provider whose regions are named by a zone, such as europe-west1-b."""
_TIER = "PREMIUM"
"""Google's network tier that its machines have unless they ask for another one, and the only one of other clouds."""


def is_skyplane(columns: tuple[str, ...]) -> bool:
    """True if the columns of a table are those of Skyplane's round-trip times."""
    return set(_NEEDED) <= set(columns)


def read_skyplane(path: Path) -> WideArea:
    """Read a grid of round-trip times; its mean of a few pings (`avg_rtt`, ms) stands for their median.

    Each source region is a vantage point in the network of its provider. Rows of another network tier than PREMIUM at
    either end, and rows within a region, are left out and counted in the notes. How many pings a row has is unknown: it
    counts as one attempt.
    Source: Jain et al., "Skyplane: Optimizing Transfer Cost and Throughput Using Cloud-Aware Overlays", NSDI 2023, and
    the data of its repository.

    Raises UserMistake, with a line for each of the first 20 faults.
    """
    gathered, faults, left = Gatherer(), Faults(), Counter[str]()
    for row in cells.rows_of(path):
        try:
            source, target = _region("src_region", row["src_region"]), _region("dst_region", row["dst_region"])
            value = cells.seconds("avg_rtt", row["avg_rtt"], 1e3)
            least = cells.seconds("min_rtt", row["min_rtt"], 1e3)
        except BadCell as bad:
            faults.add(row.place, bad.what, bad.next)
            continue
        if source == target:
            left["within a region"] += 1
        elif {row["src_tier"] or _TIER, row["dst_tier"] or _TIER} != {_TIER}:
            left["of another network tier than PREMIUM"] += 1
        else:
            vantage = gathered.vantage(VantagePoint("/".join(source), network=source[0])).name
            gathered.site(Site(*target))
            gathered.add(vantage, target, Phase.RTT, [] if value is None else [value], started=1, least=least)
    faults.check()
    gathered.notes += [
        f"{path.name}: {counted(count, 'row')} {what} {are(count)} left out" for what, count in left.items()
    ]
    area = gathered.area(path.name)
    if not area.paths:
        raise UserMistake.at(str(path), "no row has a time between two regions", "name a table of round-trip times")
    return area


def _region(column: str, text: str) -> tuple[str, str]:
    """The provider and region of `aws:eu-west-1` or `gcp:europe-west1-b`."""
    provider, colon, region = cells.name(text).partition(":")
    if not colon or not provider or not region:
        raise BadCell(f"{column} {cells.name(text)[:40]!r} is no provider and region", "write e.g. aws:eu-west-1")
    if provider == _ZONED and region[-2:-1] == "-":
        region = region[:-2]
    return provider, region
