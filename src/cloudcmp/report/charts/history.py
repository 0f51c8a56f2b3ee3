"""Candidates over time: a panel for each series, with its points, levels and changes."""

import statistics
from dataclasses import replace

from cloudcmp.model.history import By, History, LevelChange, Track
from cloudcmp.model.untrusted_text import one_line
from cloudcmp.report.charts.base import COLOURS, FAINT, INK, MOST_PANELS, Figure, Spec, Styles, draw, layer, number
from cloudcmp.report.history import Names, change_words, date_of, metric_of
from cloudcmp.report.numbers import Scale
from cloudcmp.report.report_model import StudyView
from cloudcmp.report.words import direction

_COLUMNS = ("candidate", "cell", "time", "value", "unit", "launches", "change", "change_low", "change_high")
_POINTS = 400


NAME, UNCHANGED = "history", "history-unchanged"


def figures(study: StudyView, styles: Styles) -> tuple[Figure, ...]:
    """Return the figures of a study's deciding cells over time: of series with a change, and of those without one."""
    del styles  # each candidate has a panel of its own
    whole = study.view.history
    if whole is None:
        return ()
    parts = {
        NAME: [one for one in whole.tracks if one.changes],
        UNCHANGED: [one for one in whole.tracks if not one.changes],
    }
    return tuple(figure(replace(whole, tracks=tuple(some)), name) for name, some in parts.items() if some)


def figure(history: History, name: str = NAME) -> Figure:
    """The figure of a history: at most 12 panels, those with changes first; its data has all points."""
    names = Names.of(history)
    shown = sorted(history.tracks, key=lambda one: not one.changes)[:MOST_PANELS]
    panels = [_panel(history, names, track) for track in shown]
    planted = " [SIMULATED]" if any(one.simulated for one in history.sources) else ""
    rest = "" if len(shown) == len(history.tracks) else f" {len(shown)} of {len(history.tracks)} series are drawn."
    what = "a day's median" if history.by is By.DAY else "a launch"
    caption = (f"Each dot is {what}; in long series, the median of equal parts. Thick: the levels. Dashed: a change, "
               f"with its size. Axes do not begin at zero.{rest}")  # fmt: skip
    rows = tuple(row for track in history.tracks for row in _rows(history, track))
    return Figure(name, f"Over time{planted}", caption, draw(f"Over time{planted}", panels), _COLUMNS, rows)


def _rows(history: History, track: Track) -> list[tuple[object, ...]]:
    unit = metric_of(history, track).unit
    changes = {one.at: (one.change, one.bounds.low, one.bounds.high) for one in track.changes}
    return [
        (track.candidate, track.cell, at, value, unit, count, *changes.get(at, (None, None, None)))
        for at, value, count in zip(track.times, track.values, track.counts, strict=True)
    ]


def _panel(history: History, names: Names, track: Track) -> Spec:
    metric = metric_of(history, track)
    scale = Scale.of(list(track.values), metric.unit)
    shown = "%Y-%m-%d" if history.by is By.DAY else "%m-%d %H:%M"
    time: Spec = {"field": "t", "type": "temporal", "scale": {"type": "utc"}, "title": None,
                  "axis": {"format": shown, "tickCount": 4}}  # fmt: skip
    y = number("value", ", ".join(filter(None, (scale.unit, direction(metric)))), axis={"tickCount": 4},
               scale={"zero": False})  # fmt: skip
    dots = layer("circle", {"x": time, "y": y}, size=14, color=FAINT, opacity=0.55)
    thick = layer("line", {"x": time, "y": y, "detail": {"field": "level"}}, strokeWidth=2.4, color=COLOURS[0])
    parts = [dots | {"data": {"values": _thin(track, scale)}}, thick | {"data": {"values": _levels(track, scale)}}]
    if track.changes:
        marks = [{"t": one.at * 1e3, "text": f"{'▲' if one.better else '▼'} {_size(history, track, one)}"}
                 for one in track.changes]  # fmt: skip
        rule = layer("rule", {"x": time}, color=COLOURS[5], strokeDash=[4, 3])
        words = layer("text", {"x": time, "text": {"field": "text"}, "y": {"value": 4}}, align="left", dx=3, fontSize=9,
                      color=INK, baseline="top")  # fmt: skip
        parts += [rule | {"data": {"values": marks}}, words | {"data": {"values": marks}}]
    count = f"n {len(track.values)}"
    return {"title": one_line(f"{names.pair(track)} ({count})", 76), "width": 380, "height": 130, "layer": parts}


def _size(history: History, track: Track, change: LevelChange) -> str:
    return f"{change_words(change, metric_of(history, track)).partition(' (')[0]}, {date_of(change.at, By.DAY)}"


def _thin(track: Track, scale: Scale) -> list[Spec]:
    size = max(1, -(-len(track.values) // _POINTS))
    return [
        {"t": track.times[at] * 1e3, "value": statistics.median(track.values[at : at + size]) / scale.factor}
        for at in range(0, len(track.values), size)
    ]


def _levels(track: Track, scale: Scale) -> list[Spec]:
    """The ends of each level: those around changes, else one at the median of all points."""
    first, last = track.times[0], track.times[-1]
    if not track.changes:
        level = track.level.value / scale.factor
        return [{"t": at * 1e3, "value": level, "level": 0} for at in (first, last)]
    levels = [one.before for one in track.changes] + [track.changes[-1].after]
    starts = [first] + [one.at for one in track.changes]
    ends = [one.since for one in track.changes] + [last]
    return [
        {"t": at * 1e3, "value": level / scale.factor, "level": number_}
        for number_, (level, *span) in enumerate(zip(levels, starts, ends, strict=True))
        for at in span
    ]
