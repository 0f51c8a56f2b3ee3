"""The figures of the wide area: figure 12 and 15 of CloudCmp (IMC 2010), and the map of vantage points and regions."""

import math
from collections.abc import Iterator, Sequence

from cloudcmp.answer.reach.sentences import limit_words
from cloudcmp.catalog.places import place_of
from cloudcmp.model.reach import ReachCurve, WideAreaAnswer
from cloudcmp.model.untrusted_text import one_line
from cloudcmp.report.charts.base import COLOURS, DASHES, FITTING, INK, SHAPES, Figure, Spec, fitting, layer, number
from cloudcmp.report.charts.map_marks import SHAPES as MAP_SHAPES
from cloudcmp.report.charts.map_marks import MapLayer, MapMark
from cloudcmp.report.charts.world_map import world_map
from cloudcmp.report.numbers import Scale
from cloudcmp.report.wide_area import handshakes, size_words
from cloudcmp.units import counted, format_quantity

_CURVE_COLUMNS = ("provider", "kind", "size_bytes", "time_s", "share", "low", "high", "n")
_MAP_COLUMNS = ("vantage", "lat", "lon", "country", "provider", "region", "rtt_s")
_SPREAD_FOR_LOG = 20.0
_MOST_SHAPES = len(MAP_SHAPES) - 1
_MARKED = (0.25, 0.5, 0.75, 0.95)


def figures(found: WideAreaAnswer) -> list[Figure]:
    """Return the figures of an answer that it has numbers for: map, round trips, pages."""
    made = [_map(found), _round_trips(found), _mapping(found), _pages(found)]
    return [one for one in made if one is not None]


def _titled(found: WideAreaAnswer, words: str, kind: str = "") -> str:
    label = kind or {"simulated": "SIMULATED", "modelled": "MODELLED"}.get(found.area.kind, "")
    return f"{words} [{label}]" if label else words


def _map(found: WideAreaAnswer) -> Figure | None:
    """Vantage points by the provider with the lowest round trip, hollow above the limit, and the regions."""
    area, times = found.area, found.best_times
    layers = []
    rows: list[tuple[object, ...]] = []
    for at, provider in enumerate(times.providers):
        marks: list[MapMark] = []
        for vantage, one in enumerate(area.vantages):
            if one.at is None or _lowest(found, vantage) != at:
                continue
            time = float(times.time_s[at, vantage])
            marks.append(MapMark(one.at, _told(found, vantage), filled=time <= found.limit_s))
            rows.append((one.name, *one.at, one.country, provider, area.sites[times.site[at, vantage]].region, time))
        shape, colour = MAP_SHAPES[at % _MOST_SHAPES], COLOURS[at % len(COLOURS)]
        name = one_line(provider, 16)
        for title, is_near in ((f"{name} is lowest", True), (f"{name}, above {limit_words(found)}", False)):
            own = tuple(one for one in marks if one.filled is is_near)
            layers.append(MapLayer(title, shape, colour, own, counted=True))
    if not rows:
        return None
    layers.append(MapLayer("regions", "plus", INK, tuple(_sites(found))))
    unplaced = sum(one.at is None for one in area.vantages)
    lost = (
        f"{counted(unplaced, 'vantage point')} {'has' if unplaced == 1 else 'have'} no known place. "
        if unplaced
        else ""
    )
    caption = (
        f"Each vantage point by the provider with the lowest round trip ({len(rows)} of {len(area.vantages)}); hollow "
        f"if even that is above {limit_words(found)}. A provider's own network does not count for it. {lost}Where "
        "marks would cover each other, one stands for all of them, at the place of one. Equal Earth projection; land: "
        "Natural Earth."
    )
    title = _titled(found, "Who is nearest to each vantage point")
    return world_map("world-map", title, caption, layers, _MAP_COLUMNS, tuple(rows), "vantage points")


def _sites(found: WideAreaAnswer) -> Iterator[MapMark]:
    for site in found.area.sites:
        if site.at is not None:
            place = place_of(site.provider, site.region)
            yield MapMark(site.at, f"{site}{f' ({place.name})' if place else ''}", 0.8)


def _lowest(found: WideAreaAnswer, vantage: int) -> int:
    """The number of the provider with the lowest time from a vantage point; -1 if none answered."""
    times = found.best_times.time_s[:, vantage]
    known = [at for at, time in enumerate(times.tolist()) if not math.isnan(time)]
    return min(known, key=lambda at: float(times[at]), default=-1)


def _told(found: WideAreaAnswer, vantage: int) -> str:
    area, times = found.area, found.best_times
    told = [
        f"{provider} {format_quantity(float(times.time_s[at, vantage]), 's')} ({area.sites[site].region})"
        for at, (provider, site) in enumerate(zip(times.providers, times.site[:, vantage], strict=True)) if site >= 0
    ]  # fmt: skip
    return f"{area.vantages[vantage].name}: {', '.join(told)}"


def _round_trips(found: WideAreaAnswer) -> Figure | None:
    curves = [one for one in found.curves if one.kind == "optimal"][: len(found.best_times.providers)]
    if not curves:
        return None
    title = _titled(found, "Lowest round trip to each provider")
    own = "Each provider rests on points outside of its network. " if found.best_times.own.any() else ""
    caption = (
        "As figure 12 of CloudCmp: the share of vantage points, by weight, whose lowest round trip to any region of a "
        "provider is at most this; marks at 25, 50, 75 and 95 %, and a 95 % band (of networks or places). "
        f"{own}n: {_counts(curves)}."
    )
    panels = [_panel(curves, "", "vantage points")]
    return fitting("wan-round-trips", title, caption, panels, _CURVE_COLUMNS, _rows(curves))


def _mapping(found: WideAreaAnswer) -> Figure | None:
    given = [one for one in found.curves if one.kind == "given"]
    if not given:
        return None
    best = found.curves[len(found.curves) - 2 * len(given) :]
    panels = [
        _panel(best[2 * at : 2 * at + 2], one.provider, "vantage points", by_kind=True) for at, one in enumerate(given)
    ]
    title = _titled(found, "Addresses that name servers give, and the best ones")
    caption = (
        "As figure 12 of CloudCmp: the share of vantage points whose round trip to the address that they were given, "
        f"or to the best address of the name, is at most this. n: {_counts(given)}."
    )
    return fitting("wan-mapping", title, caption, panels, _CURVE_COLUMNS, _rows(best))


def _pages(found: WideAreaAnswer) -> Figure | None:
    """The modelled times of pages, or where some were measured, those beside the model on one axis."""
    measured = {one.size_bytes for one in found.page_curves if one.kind == "measured"}
    drawn = [one for one in found.page_curves if not measured or one.size_bytes in measured]
    if not drawn:
        return None
    panels = []
    for size in dict.fromkeys(one.size_bytes for one in drawn):
        both = [one for one in drawn if one.size_bytes == size]
        for kind in ("measured", "modelled"):
            own = [one for one in both if one.kind == kind]
            if own:
                panels.append(_panel(own, f"{size_words(size or 0)}, {kind}", "vantage points", beside=both))
    title = _titled(found, "Time of a page from the nearest region", "" if measured else "MODELLED")
    first = [one for one in drawn if one.size_bytes == drawn[0].size_bytes and one.kind == "modelled"]
    caption = (
        "As figure 15 of CloudCmp: the share of vantage points for which a page takes at most this. Modelled: "
        f"{handshakes(found.pages)} and first byte take a round trip each, then TCP "
        f"slow start without loss. n: {_counts(first)}."
    )
    return fitting("wan-pages", title, caption, panels, _CURVE_COLUMNS, _rows(found.page_curves))


def _counts(curves: Sequence[ReachCurve]) -> str:
    return ", ".join(f"{one_line(one.provider, 30)} {one.n}" for one in curves)


def _rows(curves: Sequence[ReachCurve]) -> tuple[tuple[object, ...], ...]:
    return tuple(
        (one.provider, one.kind, one.size_bytes, x, share, one.low[at] if one.low else None,
         one.high[at] if one.high else None, one.n)
        for one in curves for at, (x, share) in enumerate(zip(one.x_s, one.share, strict=True))
    )  # fmt: skip


def _panel(
    curves: Sequence[ReachCurve], title: str, of: str, *, by_kind: bool = False, beside: Sequence[ReachCurve] = ()
) -> Spec:
    """The curves of one panel, by provider, or by kind; its axis holds those `beside` them too."""
    names = list(dict.fromkeys(one_line(one.kind if by_kind else one.provider, 30) for one in curves))
    values = [x for one in beside or curves for x in one.x_s]
    scale = Scale.of(values, "s")
    log = max(values) / min(values) > _SPREAD_FOR_LOG
    lines, bands, marks = [], [], []
    for one in curves:
        name = one_line(one.kind if by_kind else one.provider, 30)
        for at, (time, share) in enumerate(zip(one.x_s, one.share, strict=True)):
            lines.append({"who": name, "x": time / scale.factor, "share": share})
            if one.low and one.high:
                bands.append({"who": name, "x": time / scale.factor, "low": one.low[at], "high": one.high[at]})
        marks += [{"who": name, "x": time / scale.factor, "share": share} for time, share in _marks(one)]
    x = number("x", f"{scale.unit}{', logarithmic' if log else ''}, less is better",
               scale={"type": "log" if log else "linear", "zero": False, "nice": not log, "padding": 8,
                      "domain": [min(values) / scale.factor, max(values) / scale.factor]},
               axis={"tickCount": 6, "format": ",.4~r"})  # fmt: skip
    y = number("share", f"share of {of}", scale={"domain": [0, 1]}, axis={"tickCount": 5, "format": ".0%"})
    low = number("low", f"share of {of}", scale={"domain": [0, 1]})
    who: Spec = {"field": "who", "type": "nominal", "title": None, "legend": {"symbolOpacity": 1}}
    colour, dash, shape = ({**who, "scale": _scale(names, some)} for some in (COLOURS, DASHES, SHAPES))
    band = layer("area", {"x": x, "y": low, "y2": {"field": "high"}, "color": colour},
                 interpolate="step-after", opacity=0.13)  # fmt: skip
    line = layer("line", {"x": x, "y": y, "color": colour, "strokeDash": dash}, interpolate="step-after", strokeWidth=2)
    point = layer("point", {"x": x, "y": y, "color": colour, "shape": shape}, filled=True, size=70, opacity=1)
    layers = [line | {"data": {"values": lines}}, point | {"data": {"values": marks}}]
    if bands:
        layers.insert(0, band | {"data": {"values": bands}})
    return {**({"title": title} if title else {}), **FITTING, "layer": layers}


def _scale(names: Sequence[str], values: Sequence[object]) -> Spec:
    return {"domain": list(names), "range": [values[at % len(values)] for at in range(len(names))]}


def _marks(one: ReachCurve) -> Iterator[tuple[float, float]]:
    points = list(zip(one.x_s, one.share, strict=True))
    for share in _MARKED:
        found = next((point for point in points if point[1] >= share - 1e-12), None)
        if found is not None:
            yield found
