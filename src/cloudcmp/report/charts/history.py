"""Candidates over time: a panel for each series, with its points, levels and changes."""

import statistics
from collections.abc import Sequence
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
_WIDTH = 380
# The height of a line of labels and the width of a letter in it, pixels.
_LABEL, _LETTER = 11, 5.0


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
    labels = [_labels(history, track) for track in shown]
    above = 6 - min((one["y"] - _LABEL for some in labels for one in some), default=0)
    panels = [_panel(history, names, track, some, above) for track, some in zip(shown, labels, strict=True)]
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


def _panel(history: History, names: Names, track: Track, labels: Sequence[Spec], above: int) -> Spec:
    """One series; its title stands `above` pixels over the panel, so that the titles of a row are at one height."""
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
    if labels:
        rule = layer("rule", {"x": time}, color=COLOURS[5], strokeDash=[4, 3])
        parts.append(rule | {"data": {"values": labels}})
        for align in ("left", "right"):
            place = {"x": time, "text": {"field": "text"}, "y": {"field": "y", "type": "quantitative", "scale": None}}
            words = layer("text", place, align=align, fontSize=9, color=INK, baseline="bottom", clip=False)
            parts.append(words | {"data": {"values": [one for one in labels if one["align"] == align]}})
    title = {"text": one_line(f"{names.pair(track)} (n {len(track.values)})", 76), "offset": above}
    return {"title": title, "width": _WIDTH, "height": 130, "layer": parts}


def _labels(history: History, track: Track) -> list[Spec]:
    """The changes of a track with their texts, above the panel in as many lines as they need to stand apart."""
    first, last = track.times[0], track.times[-1]
    free: list[float] = []  # where each line is free, from the left
    labels = []
    for one in track.changes:
        text = f"{'▲' if one.better else '▼'} {_size(history, track, one)}"
        at = _WIDTH * (one.at - first) / ((last - first) or 1.0)
        width = _LETTER * len(text)
        is_last = at + width > _WIDTH
        start = at - width if is_last else at
        line = next((number for number, end in enumerate(free) if end <= start), len(free))
        free[line : line + 1] = [start + width + _LETTER]
        align = "right" if is_last else "left"
        labels.append({"t": one.at * 1e3, "text": text, "y": -3 - _LABEL * line, "align": align})
    return labels


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
