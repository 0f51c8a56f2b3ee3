"""Writes the outlines of land that world maps have: `python docs/outlines.py land-110m.json`.

The input is a file of the npm package `world-atlas` 2.0.2, which holds the land of Natural Earth 4.1 at 1:110 million
(public domain) as TopoJSON. Outlines are simplified to a quarter of a degree; Antarctica and the smallest islands are
left out.
"""

import json
import sys
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

OUT = Path(__file__).parent.parent / "src/cloudcmp/report/charts/land.txt"
_TOLERANCE = 0.25
_SOUTHERNMOST = -60.0
_LEAST_AREA = 0.6
Point = tuple[float, float]


def rings(topology: dict[str, Any]) -> list[list[Point]]:
    """The outer and inner rings of all land, as longitudes and latitudes in degrees."""
    scale, translate = topology["transform"]["scale"], topology["transform"]["translate"]
    arcs = []
    for deltas in topology["arcs"]:
        x = y = 0
        arc = []
        for dx, dy in deltas:
            x, y = x + dx, y + dy
            arc.append((x * scale[0] + translate[0], y * scale[1] + translate[1]))
        arcs.append(arc)
    found = []
    for geometry in topology["objects"]["land"]["geometries"]:
        polygons = geometry["arcs"] if geometry["type"] == "MultiPolygon" else [geometry["arcs"]]
        for polygon in polygons:
            for numbers in polygon:
                ring: list[Point] = []
                for number in numbers:
                    arc = arcs[number] if number >= 0 else arcs[~number][::-1]
                    ring += arc[1:] if ring else arc
                found.append(ring)
    return found


def cut(ring: Sequence[Point]) -> list[list[Point]]:
    """A ring in parts that do not cross the antimeridian."""
    whole, turns = [ring[0]], 0.0
    for (before, _), (lon, lat) in pairwise(ring):
        turns += 360.0 if lon - before < -180 else -360.0 if lon - before > 180 else 0.0
        whole.append((lon + turns, lat))
    parts = [clipped([(lon - shift, lat) for lon, lat in whole]) for shift in (-360.0, 0.0, 360.0)]
    return [part for part in parts if len(part) > 3]


def clipped(ring: Sequence[Point]) -> list[Point]:
    """The part of a ring between 180 degrees west and east (Sutherland and Hodgman, 1974)."""
    for sign in (1.0, -1.0):
        kept: list[Point] = []
        for (ax, ay), (bx, by) in zip([ring[-1], *ring], ring, strict=False):
            inside = [sign * ax <= 180.0, sign * bx <= 180.0]
            if inside[0] != inside[1]:
                kept.append((sign * 180.0, ay + (by - ay) * (sign * 180.0 - ax) / (bx - ax)))
            if inside[1]:
                kept.append((bx, by))
        if not kept:
            return []
        ring = kept
    return [*ring, ring[0]]


def simplified(line: Sequence[Point]) -> list[Point]:
    """The points of a line that are needed to stay within the tolerance of it (Douglas and Peucker, 1973)."""
    if len(line) < 3:
        return list(line)
    (ax, ay), (bx, by) = line[0], line[-1]
    length = ((bx - ax) ** 2 + (by - ay) ** 2) ** 0.5

    def away(point: Point) -> float:
        if length == 0:
            return float(((point[0] - ax) ** 2 + (point[1] - ay) ** 2) ** 0.5)
        return abs((bx - ax) * (ay - point[1]) - (ax - point[0]) * (by - ay)) / length

    at = max(range(1, len(line) - 1), key=lambda number: away(line[number]))
    if away(line[at]) <= _TOLERANCE:
        return [line[0], line[-1]]
    return simplified(line[: at + 1])[:-1] + simplified(line[at:])


def area(ring: Sequence[Point]) -> float:
    """The area of a ring in square degrees."""
    return abs(sum(ax * by - bx * ay for (ax, ay), (bx, by) in zip(ring, [*ring[1:], ring[0]], strict=True))) / 2


def main(path: Path) -> None:
    """Write each ring on a line: a point in tenths of a degree, then the steps to the next ones."""
    sys.setrecursionlimit(10_000)
    lines = []
    land = rings(json.loads(path.read_text(encoding="utf-8")))
    for ring in [part for whole in land for part in cut(whole)]:
        if max(lat for _, lat in ring) < _SOUTHERNMOST or area(ring) < _LEAST_AREA:
            continue
        half = len(ring) // 2
        whole = simplified(ring[: half + 1])[:-1] + simplified(ring[half:])
        tenths = [(round(lon * 10), round(lat * 10)) for lon, lat in whole]
        steps = [(bx - ax, by - ay) for (ax, ay), (bx, by) in zip([(0, 0), *tenths], tenths, strict=False)]
        lines.append(" ".join(f"{x},{y}" for x, y in steps))
    OUT.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
