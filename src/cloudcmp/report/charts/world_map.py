"""A world map of places, drawn without any service: outlines of land in the Equal Earth projection, and marks on them.

Outlines: Natural Earth 4.1, 1:110 million, public domain (`docs/outlines.py` makes the file from a package).
"""

import math
from collections.abc import Iterator, Sequence
from functools import cache
from importlib import resources
from xml.sax.saxutils import escape

from cloudcmp.model.untrusted_text import one_line
from cloudcmp.model.wide_area import Position
from cloudcmp.report.charts.base import FAINT, INK, Figure
from cloudcmp.report.charts.map_marks import (
    RADIUS,
    MapGroup,
    MapLayer,
    drawn,
    drawn_groups,
    grouped,
    merged,
    radius_of,
    slices,
)

WIDTH = 760.0
_NORTH, _SOUTH = 84.0, -57.0
_MARGIN, _LEGEND_ROW = 10.0, 28.0
_LAND, _COAST = "#e6e6e6", "#cccccc"
_FONTS = "Liberation Sans, Arial, Helvetica, sans-serif"
_FONT_SIZE = 20
_A1, _A2, _A3, _A4 = 1.340264, -0.081106, 0.000893, 0.003796


def projected(lat: float, lon: float) -> tuple[float, float]:
    """A position in the Equal Earth projection: x to the east and y to the north, on a sphere of radius 1.

    Areas are true to each other. x is between -2.707 and 2.707, y between -1.318 and 1.318.
    Source: Savric, Patterson and Jenny, "The Equal Earth map projection", Int. J. Geogr. Inf. Sci. 33(3), 2019.
    """
    theta = math.asin(math.sqrt(3) / 2 * math.sin(math.radians(lat)))
    square = theta * theta
    sixth = square**3
    slope = _A1 + 3 * _A2 * square + sixth * (7 * _A3 + 9 * _A4 * square)
    x = 2 * math.sqrt(3) * math.radians(lon) * math.cos(theta) / (3 * slope)
    y = theta * (_A1 + _A2 * square + sixth * (_A3 + _A4 * square))
    return x, y


_EAST = 2 * math.sqrt(3) * math.pi / (3 * _A1)
_SCALE = (WIDTH - 2 * _MARGIN) / (2 * _EAST)
_TOP, _BOTTOM = projected(_NORTH, 0)[1], projected(_SOUTH, 0)[1]
HEIGHT = (_TOP - _BOTTOM) * _SCALE + 2 * _MARGIN


def world_map(
    name: str, title: str, caption: str, layers: Sequence[MapLayer], columns: tuple[str, ...],
    rows: tuple[tuple[object, ...], ...], of: str = "",
) -> Figure:  # fmt: skip
    """Return a world map as a figure; later layers are drawn over earlier ones. Each mark is at the place of one.

    `columns` and `rows` are the data of the figure, as of every other one; `of` says what marks of counted layers are,
    such as `vantage points`. Places south of 57 degrees, where no outline is drawn, are put on the lower edge.
    """
    legend = [one for one in layers if one.title and one.marks]
    groups = grouped([(one, mark, _placed(mark.at)) for one in layers if one.counted for mark in one.marks])
    keys = _legend(legend, groups, of)
    height = HEIGHT + _LEGEND_ROW * -(-len(keys) // 2) + 8
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH:g} {height:.0f}" width="{WIDTH:g}" '
        f'height="{height:.0f}" font-family="{_FONTS}">',
        f'<rect width="{WIDTH:g}" height="{height:.0f}" fill="#ffffff"></rect>',
        f'<path d="{_land()}" fill="{_LAND}" stroke="{_COAST}" stroke-width="0.6"></path>',
        *drawn_groups(groups, layers, of),
        *_marks([one for one in layers if not one.counted]),
        *(line for key in keys for line in key),
        "</svg>",
    ]
    return Figure(name, title, caption, "".join(parts), columns, rows, fits=True)


@cache
def _land() -> str:
    """The outlines as a path in the units of the map."""
    text = resources.files("cloudcmp.report.charts").joinpath("land.txt").read_text("utf-8")
    return "".join(map(_ring, text.splitlines()))


def _ring(line: str) -> str:
    lon = lat = 0
    points = []
    for step in line.split():
        dx, _, dy = step.partition(",")
        lon, lat = lon + int(dx), lat + int(dy)
        x, y = _placed((lat / 10, lon / 10))
        points.append(f"{x:.1f},{y:.1f}")
    return f"M{'L'.join(points)}Z"


def _placed(at: Position) -> tuple[float, float]:
    """A position in the units of the map, y downwards."""
    x, y = projected(max(_SOUTH, min(_NORTH, at[0])), at[1])
    return WIDTH / 2 + x * _SCALE, _MARGIN + (_TOP - y) * _SCALE


def _marks(layers: Sequence[MapLayer]) -> Iterator[str]:
    for layer in layers:
        for mark in merged(layer.marks):
            x, y = _placed(mark.at)
            yield drawn(layer.shape, layer.colour, x, y, RADIUS * mark.size, filled=mark.filled, label=mark.label)


def _legend(layers: Sequence[MapLayer], groups: Sequence[MapGroup], of: str) -> list[Iterator[str]]:
    """The entries of the legend: layers, then what sizes and slices of groups mean."""
    entries = [_layer_key(at, one) for at, one in enumerate(layers)]
    most = max((len(one.members) for one in groups), default=1)
    if most > 1:
        entries.append(_size_key(len(entries), f"1 to {most:,} {of} in one mark", most))
    if any(len(one.layers()) > 1 for one in groups):
        entries.append(_slice_key(len(entries), layers))
    return entries


def _legend_at(at: int) -> tuple[float, float]:
    return _MARGIN + 8 + (at % 2) * WIDTH / 2, HEIGHT + _LEGEND_ROW * (at // 2) + 12


def _layer_key(at: int, one: MapLayer) -> Iterator[str]:
    x, y = _legend_at(at)
    yield drawn(one.shape, one.colour, x, y, 7.0, filled=one.marks[0].filled)
    yield _text(x + 16, y + 7, one_line(one.title, 46))


def _size_key(at: int, words: str, most: int) -> Iterator[str]:
    x, y = _legend_at(at)
    small, large = radius_of(1, most), radius_of(most, most)
    yield drawn("circle", FAINT, x - 7 + small, y, small)
    yield drawn("circle", FAINT, x - 3 + 2 * small + large, y, large)
    yield _text(x + 6 + 2 * (small + large), y + 7, one_line(words, 40))


def _slice_key(at: int, layers: Sequence[MapLayer]) -> Iterator[str]:
    x, y = _legend_at(at)
    shown = [one for one in layers if one.counted][:2]
    group = MapGroup(x, y, tuple((one, one.marks[0]) for one in shown))
    yield from slices(group, group.layers(), 7.0)
    yield _text(x + 16, y + 7, "slices: several of these in one mark")


def _text(x: float, y: float, text: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" font-size="{_FONT_SIZE}" fill="{INK}">{escape(text)}</text>'
