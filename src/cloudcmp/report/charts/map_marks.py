"""Marks of a world map: their shapes, and the marks that stand for several that are too near to each other."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from xml.sax.saxutils import quoteattr

from cloudcmp.model.untrusted_text import one_line
from cloudcmp.model.wide_area import Position

SHAPES = ("circle", "square", "triangle", "diamond", "pentagon", "star", "cross", "plus")
RADIUS = 4.5
"""Of a mark of one, in units of the map."""
LARGEST = 9.0
_NEAR = 8.0
"""A mark nearer than this to one that is drawn is counted there: nearer ones would hide each other."""
_NAMED = 3


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
    become one that names all; those of `counted` layers also become one with their neighbours, whose area says how many
    they are, and whose slices in the order of the legend say of which layers.
    """

    title: str
    shape: str
    colour: str
    marks: tuple[MapMark, ...]
    counted: bool = False


@dataclass(frozen=True, slots=True)
class MapGroup:
    """Marks near each other, drawn at the place of the first one; `x` and `y` are in units of the map."""

    x: float
    y: float
    members: tuple[tuple[MapLayer, MapMark], ...]

    def layers(self) -> list[tuple[MapLayer, int]]:
        """Its layers, with how many of its marks each has."""
        counts: dict[int, tuple[MapLayer, int]] = {}
        for layer, _ in self.members:
            counts[id(layer)] = layer, counts.get(id(layer), (layer, 0))[1] + 1
        return list(counts.values())


def grouped(marks: Sequence[tuple[MapLayer, MapMark, tuple[float, float]]]) -> list[MapGroup]:
    """Each mark with the nearest earlier one that is drawn, or drawn itself if none is near; places in units.

    What is drawn stands at a place where a mark is, never between several. Those with most marks come first, so that
    small ones are drawn over large ones.
    """
    places: list[tuple[float, float]] = []
    members: list[list[tuple[MapLayer, MapMark]]] = []
    by_cell: dict[tuple[int, int], list[int]] = {}
    for layer, mark, (x, y) in marks:
        column, row = int(x // _NEAR), int(y // _NEAR)
        near = (
            (math.dist(places[at], (x, y)), at)
            for across in (-1, 0, 1) for down in (-1, 0, 1) for at in by_cell.get((column + across, row + down), ())
        )  # fmt: skip
        distance, at = min(near, default=(math.inf, 0))
        if distance >= _NEAR:
            at = len(places)
            places.append((x, y))
            members.append([])
            by_cell.setdefault((column, row), []).append(at)
        members[at].append((layer, mark))
    found = [MapGroup(*place, tuple(own)) for place, own in zip(places, members, strict=True)]
    return sorted(found, key=lambda one: -len(one.members))


def drawn_groups(groups: Sequence[MapGroup], layers: Sequence[MapLayer], of: str) -> Iterator[str]:
    """The groups as drawing elements: the layer's shape, or slices if several layers are in one; area says how many."""
    most = max((len(one.members) for one in groups), default=1)
    order = {id(layer): at for at, layer in enumerate(layers)}
    for one in groups:
        parts = sorted(one.layers(), key=lambda part: order[id(part[0])])
        radius = radius_of(len(one.members), most)
        label = _label(one, parts, of)
        if len(parts) == 1:
            layer, mark = one.members[0]
            size = mark.size if len(one.members) == 1 else 1.0
            yield drawn(layer.shape, layer.colour, one.x, one.y, radius * size, filled=mark.filled, label=label)
        else:
            yield from slices(one, parts, radius, label)


def radius_of(count: int, most: int) -> float:
    """The radius of a group: its area grows with the count, from that of one mark to the largest."""
    share = (count - 1) / max(1, most - 1)
    return math.sqrt(RADIUS**2 + share * (min(LARGEST, RADIUS * math.sqrt(most)) ** 2 - RADIUS**2))


def _label(group: MapGroup, parts: Sequence[tuple[MapLayer, int]], of: str) -> str:
    labels = [mark.label for _, mark in group.members]
    if len(labels) == 1:
        return labels[0]
    counts = ", ".join(f"{layer.title} {count}" for layer, count in parts)
    more = f"; and {len(labels) - _NAMED:,} more" if len(labels) > _NAMED else ""
    return f"{len(labels):,} {of} ({counts}): {'; '.join(labels[:_NAMED])}{more}"


def slices(group: MapGroup, parts: Sequence[tuple[MapLayer, int]], radius: float, label: str = "") -> Iterator[str]:
    """A circle in slices, clockwise from the top."""
    total, before = len(group.members), 0
    yield f"<g{_words(label)}>"
    for layer, count in parts:
        (ax, ay), (bx, by) = (
            (group.x + radius * math.sin(angle), group.y - radius * math.cos(angle))
            for angle in (2 * math.pi * before / total, 2 * math.pi * (before + count) / total)
        )
        path = (
            f"M{group.x:.1f},{group.y:.1f}L{ax:.1f},{ay:.1f}"
            f"A{radius:.1f},{radius:.1f},0,{int(2 * count > total)},1,{bx:.1f},{by:.1f}Z"
        )
        filled = any(mark.filled for own, mark in group.members if own is layer)
        yield f'<path d="{path}" {_fill(layer.colour, filled=filled)}></path>'
        before += count
    yield "</g>"


def merged(marks: Sequence[MapMark]) -> list[MapMark]:
    """The marks with those of one place as one."""
    by_place: dict[Position, MapMark] = {}
    for mark in marks:
        known = by_place.get(mark.at)
        by_place[mark.at] = mark if known is None else replace(known, label=f"{known.label}, {mark.label}")
    return list(by_place.values())


def drawn(shape: str, colour: str, x: float, y: float, radius: float, *, filled: bool = True, label: str = "") -> str:
    words = _words(label)
    if shape in {"cross", "plus"}:
        far = radius * (0.75 if shape == "cross" else 1.0)
        ways = (((-far, -far), (far, far)), ((-far, far), (far, -far))) if shape == "cross" else (
            ((-far, 0.0), (far, 0.0)), ((0.0, -far), (0.0, far)))  # fmt: skip
        path = "".join(f"M{x + ax:.1f},{y + ay:.1f}L{x + bx:.1f},{y + by:.1f}" for (ax, ay), (bx, by) in ways)
        return f'<path d="{path}" fill="none" stroke="{colour}" stroke-width="1.5"{words}></path>'
    fill = _fill(colour, filled=filled)
    if shape == "circle":
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius:.1f}" {fill}{words}></circle>'
    path = "L".join(f"{x + dx * radius:.1f},{y + dy * radius:.1f}" for dx, dy in _corners(shape))
    return f'<path d="M{path}Z" {fill}{words}></path>'


def _words(label: str) -> str:
    return f' role="graphics-symbol" aria-label={quoteattr(one_line(label, 400))}' if label else ""


def _fill(colour: str, *, filled: bool) -> str:
    if filled:
        return f'fill="{colour}" stroke="#ffffff" stroke-width="0.8"'
    return f'fill="#ffffff" stroke="{colour}" stroke-width="2"'


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
