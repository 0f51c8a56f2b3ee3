"""Figures of a set of regions: a map of people and the region that serves them, and time against money."""

import math
from collections.abc import Iterator

from cloudcmp.answer.placement.sentences import goal_words, value_words
from cloudcmp.model.placement import GoalKind, RegionsAnswer, ServedPlace
from cloudcmp.report.charts.base import COLOURS, FAINT, FITTING, INK, Figure, Spec, fitting, layer, number
from cloudcmp.report.charts.base import SHAPES as POINTS
from cloudcmp.report.charts.map_marks import SHAPES, MapLayer, MapMark
from cloudcmp.report.charts.world_map import world_map
from cloudcmp.units import format_quantity

_SMALLEST, _LARGEST = 0.35, 1.6
_COLUMNS = ("place", "lat", "lon", "people", "provider", "region", "seconds")


def figures(found: RegionsAnswer) -> Iterator[Figure]:
    """Yield the map, if places are known, and the front of money, if it has two sets."""
    if any(one.people.at for one in found.served):
        yield _map(found)
    if len(found.front) > 1:
        yield _front(found)


def _map(found: RegionsAnswer) -> Figure:
    layers = []
    shown = [one for one in found.served if one.people.at is not None]
    most = max(one.people.count for one in shown)
    for at, region in enumerate(found.best.regions):
        served = [one for one in shown if one.site == region.site]
        marks = tuple(_place(one, most) for one in served)
        title = f"{region.site}: {region.share * 100:.0f} %"
        layers.append(MapLayer(title, SHAPES[at % len(SHAPES)], COLOURS[at % len(COLOURS)], marks))
    sites = tuple(MapMark(one.site.at, str(one.site), 2.0, filled=False) for one in found.best.regions if one.site.at)
    layers.append(MapLayer("the regions", "star", INK, sites))
    many = f"{len(shown):,} largest places" if len(shown) > 1 else "largest place"
    caption = f"The {many}, by the region that serves them; larger marks are more people."
    rows = tuple(
        (
            one.people.name,
            *(one.people.at or ("", "")),
            one.people.count,
            one.site.provider,
            one.site.region,
            one.seconds,
        )
        for one in shown
    )
    return world_map("regions-map", "Whom each region serves", caption, layers, _COLUMNS, rows)


def _place(one: ServedPlace, most: float) -> MapMark:
    size = max(_SMALLEST, _LARGEST * math.sqrt(one.people.count / most))
    assert one.people.at is not None
    return MapMark(one.people.at, f"{one.people.name}, {format_quantity(one.seconds, 's')}", size)


def _front(found: RegionsAnswer) -> Figure:
    factor, unit = (100.0, "%") if found.goal.kind is GoalKind.BEYOND else (1e3, "ms")
    values = [
        {"money": one.money, "value": one.value * factor, "sites": f"{len(one.regions)}", "who": str(one)}
        for one in found.front
    ]
    x = number("money", f"{found.currency} a month", scale={"zero": False, "padding": 20})
    y = number("value", f"{goal_words(found.goal)}, {unit}", scale={"zero": False, "padding": 20})
    counts = sorted({len(one.regions) for one in found.front})
    names = [str(one) for one in counts]
    colour, shape = (
        {"field": "sites", "type": "nominal", "title": "regions",
         "scale": {"domain": names, "range": [some[at % len(some)] for at in range(len(names))]}}
        for some in (COLOURS, POINTS)
    )  # fmt: skip
    panel: Spec = {
        **FITTING,
        "layer": [
            {"data": {"values": values}, **layer("line", {"x": x, "y": y}, color=FAINT, strokeDash=[4, 3],
                                                 interpolate="step-after")},
            {"data": {"values": values}, **layer("point", {"x": x, "y": y, "color": colour, "shape": shape},
                                                 filled=True, size=80, opacity=1)},
        ],
    }  # fmt: skip
    title = "Time against money"
    caption = "Each point is a set of regions; none is both cheaper and better than another one."
    rows = tuple((str(one), len(one.regions), one.money, value_words(found.goal, one.value)) for one in found.front)
    return fitting("regions-front", title, caption, [panel], ("regions", "sites", "money", "value"), rows)
