"""A world map of places, drawn without any service: outlines of land in the Equal Earth projection, and marks on them.

Outlines: Natural Earth 4.1, 1:110 million, public domain (`docs/outlines.py` makes the file from a package).
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib import resources
from xml.sax.saxutils import escape, quoteattr

from cloudcmp.model.untrusted_text import one_line
from cloudcmp.model.wide_area import Position
from cloudcmp.report.charts.base import INK, Figure

SHAPES = ("circle", "square", "triangle", "diamond", "pentagon", "star", "cross", "plus")
WIDTH = 760.0
_NORTH, _SOUTH = 84.0, -57.0
_MARGIN, _LEGEND_ROW, _TITLE = 6.0, 28.0, 30.0
_LAND, _COAST = "#e6e6e6", "#cccccc"
_FONTS = "Liberation Sans, Arial, Helvetica, sans-serif"
_FONT_SIZE = 20
_NEAR = 9.0
"""Marks nearer than this many units are moved apart."""
_A1, _A2, _A3, _A4 = 1.340264, -0.081106, 0.000893, 0.003796


@dataclass(frozen=True, slots=True)
class MapMark:
    """A place (latitude and longitude in degrees), and what a reader sees who points at it; `size` is a factor."""

    at: Position
    label: str
    size: float = 1.0
    filled: bool = True


@dataclass(frozen=True, slots=True)
class MapLayer:
    """Marks of one meaning, which the legend names: their shape (of `SHAPES`), colour and places.

    Meanings must differ by shape, not by colour alone. A layer without a title is not in the legend. Marks of one place
    are moved apart, or become one that names all if they are not `spread`.
    """

    title: str
    shape: str
    colour: str
    marks: tuple[MapMark, ...]
    spread: bool = True


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
    rows: tuple[tuple[object, ...], ...],
) -> Figure:  # fmt: skip
    """Return a world map as a figure; later layers are drawn over earlier ones.

    `columns` and `rows` are the data of the figure, as of every other one. Places south of 57 degrees, where no outline
    is drawn, are put on the lower edge.
    """
    legend = [one for one in layers if one.title and one.marks]
    per_row = 2
    height = _TITLE + HEIGHT + _LEGEND_ROW * -(-len(legend) // per_row) + 8
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH:g} {height:.0f}" width="{WIDTH:g}" '
        f'height="{height:.0f}" font-family="{_FONTS}">',
        f'<rect width="{WIDTH:g}" height="{height:.0f}" fill="#ffffff"></rect>',
        _text(_MARGIN, 20, one_line(title, 90), bold=True),
        f'<g transform="translate(0,{_TITLE:g})"><path d="{_land()}" fill="{_LAND}" stroke="{_COAST}" '
        'stroke-width="0.6"></path>',
        *_marks(layers),
        "</g>",
        *_legend(legend, per_row),
        "</svg>",
    ]
    return Figure(name, title, caption, "".join(parts), columns, rows)


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
    taken: dict[tuple[int, int], int] = {}
    for layer in layers:
        for mark in layer.marks if layer.spread else _merged(layer.marks):
            x, y = _placed(mark.at)
            if layer.spread:
                cell = round(x / _NEAR), round(y / _NEAR)
                count = taken.get(cell, 0)
                taken[cell] = count + 1
                x, y = _moved(x, y, count)
            x, y = max(_NEAR, min(WIDTH - _NEAR, x)), max(0.0, min(HEIGHT, y))
            yield _mark(layer.shape, layer.colour, x, y, 5.0 * mark.size, filled=mark.filled, label=mark.label)


def _merged(marks: Sequence[MapMark]) -> list[MapMark]:
    """The marks with those of one place as one."""
    by_place: dict[Position, MapMark] = {}
    for mark in marks:
        known = by_place.get(mark.at)
        by_place[mark.at] = mark if known is None else replace(known, label=f"{known.label}, {mark.label}")
    return list(by_place.values())


def _moved(x: float, y: float, count: int) -> tuple[float, float]:
    """The place of the mark after `count` others of one place: on rings around it, six on the first one."""
    if not count:
        return x, y
    ring = 1
    while count > 3 * ring * (ring + 1):
        ring += 1
    step = count - 3 * ring * (ring - 1)
    angle = 2 * math.pi * step / (6 * ring)
    return x + _NEAR * ring * math.cos(angle), y + _NEAR * ring * math.sin(angle)


def _mark(shape: str, colour: str, x: float, y: float, radius: float, *, filled: bool = True, label: str = "") -> str:
    words = f' role="graphics-symbol" aria-label={quoteattr(one_line(label, 400))}' if label else ""
    if shape in {"cross", "plus"}:
        far = radius * (0.75 if shape == "cross" else 1.0)
        ways = (((-far, -far), (far, far)), ((-far, far), (far, -far))) if shape == "cross" else (
            ((-far, 0.0), (far, 0.0)), ((0.0, -far), (0.0, far)))  # fmt: skip
        path = "".join(f"M{x + ax:.1f},{y + ay:.1f}L{x + bx:.1f},{y + by:.1f}" for (ax, ay), (bx, by) in ways)
        return f'<path d="{path}" fill="none" stroke="{colour}" stroke-width="1.5"{words}></path>'
    fill = f'fill="{colour}" stroke="#ffffff" stroke-width="0.8"' if filled else (
        f'fill="#ffffff" stroke="{colour}" stroke-width="2"')  # fmt: skip
    if shape == "circle":
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius:.1f}" {fill}{words}></circle>'
    path = "L".join(f"{x + dx * radius:.1f},{y + dy * radius:.1f}" for dx, dy in _corners(shape))
    return f'<path d="M{path}Z" {fill}{words}></path>'


def _corners(shape: str) -> list[tuple[float, float]]:
    """The corners of a shape of about the area of a circle of radius 1, y downwards."""
    if shape == "square":
        return [(-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)]
    count, size = {"triangle": (3, 1.45), "diamond": (4, 1.3), "pentagon": (5, 1.15), "star": (10, 1.5)}[shape]
    radii = [size * (0.45 if shape == "star" and at % 2 else 1.0) for at in range(count)]
    return [
        (radius * math.sin(2 * math.pi * at / count), -radius * math.cos(2 * math.pi * at / count))
        for at, radius in enumerate(radii)
    ]


def _legend(layers: Sequence[MapLayer], per_row: int) -> Iterator[str]:
    for at, one in enumerate(layers):
        x = _MARGIN + 8 + (at % per_row) * WIDTH / per_row
        y = _TITLE + HEIGHT + _LEGEND_ROW * (at // per_row) + 12
        yield _mark(one.shape, one.colour, x, y, 7.0, filled=one.marks[0].filled)
        yield _text(x + 16, y + 7, one_line(one.title, 46))


def _text(x: float, y: float, text: str, *, bold: bool = False) -> str:
    weight = ' font-weight="bold"' if bold else ""
    return f'<text x="{x:.1f}" y="{y:.1f}" font-size="{_FONT_SIZE}" fill="{INK}"{weight}>{escape(text)}</text>'
