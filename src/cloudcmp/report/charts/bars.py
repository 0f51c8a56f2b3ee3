"""Bars of medians with whiskers, a panel for each cell (as CloudCmp's figure 1), for values and for costs."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from cloudcmp.model.result import Estimate
from cloudcmp.report.charts.base import (
    INK,
    MOST_PANELS,
    Figure,
    Spec,
    Styles,
    draw,
    layer,
    number,
    panel_title,
    title_of,
)
from cloudcmp.report.numbers import known
from cloudcmp.report.report_model import CellView, StudyView
from cloudcmp.report.words import direction, group_words, parse_cell

_WIDTH, _STEP = 250, 22
_MOST_NAMES = 8
_COLUMNS = ("cell", "candidate", "unit", "median", "p5", "p95", "n", "n_ok", "n_started")


@dataclass(frozen=True, slots=True)
class NoBar:
    """A row without a value, which is not drawn, and why."""

    who: str
    why: str


@dataclass(frozen=True, slots=True)
class Bar:
    """One bar in display units: its end, its whiskers and the label next to it."""

    who: str
    value: float
    low: float | None
    high: float | None
    words: str


def panel(title: str, axis: str, bars: Sequence[Bar | NoBar], styles: Styles, width: int = _WIDTH) -> Spec:
    """Return horizontal bars from zero with their labels in a column on the right; what has no value has no row."""
    y: Spec = {"field": "who", "type": "nominal", "sort": None, "title": None,
               "axis": {"domain": False, "ticks": False, "labelPadding": 6}}  # fmt: skip
    x = number("value", axis, axis={"tickCount": 4}, scale={"zero": True})
    ink: Spec = {"color": INK}
    return {
        "title": title,
        "width": width,
        "height": {"step": _STEP},
        "data": {"values": [asdict(bar) for bar in bars if isinstance(bar, Bar)]},
        "layer": [
            layer("bar", {"x": x, "y": y, "color": styles.colour()}, height=13, stroke=INK, strokeWidth=0.5),
            layer("rule", {"x": number("low", axis), "x2": {"field": "high"}, "y": y}, strokeWidth=1.3, **ink),
            layer("tick", {"x": number("low", axis), "y": y}, thickness=1.3, size=9, **ink),
            layer("tick", {"x": number("high", axis), "y": y}, thickness=1.3, size=9, **ink),
            layer("text", {"x": {"value": width + 8}, "y": y, "text": {"field": "words"}}, align="left", fontSize=11,
                  **ink),
        ],
    }  # fmt: skip


def without_value(panels: Sequence[Sequence[Bar | NoBar]]) -> str:
    """Return a sentence with the number and names of the rows that are not drawn, with a leading space; may be empty.

    `panels` are the rows of each panel of a figure.
    """
    missing = Counter(one for panel in panels for one in panel if isinstance(one, NoBar))
    if not missing:
        return ""
    texts = [
        f"{one.who} ({one.why}{f', {many} of {len(panels)} panels' if many < len(panels) else ''})"
        for one, many in missing.items()
    ]
    more = f" and {len(texts) - _MOST_NAMES} more" if len(texts) > _MOST_NAMES else ""
    count = len({one.who for one in missing})
    return f" Left out because they have no value ({count}): {', '.join(texts[:_MOST_NAMES])}{more}."


def _bar(view: CellView, at: int, who: str) -> Bar | NoBar:
    one = view.estimates.get(at)
    if one is None:
        return NoBar(who, "not offered")
    shown, counts = view.scale.shown, f"n {one.n}, {one.n_ok}/{one.n_started} ok"
    if not known(one.median):
        return NoBar(who, f"{one.n_ok}/{one.n_started} ok")
    words = f"{view.scale.number(one.median)}  ({counts})"
    return Bar(who, one.median / view.scale.factor, shown(one.p5), shown(one.p95), words)


def chosen(views: tuple[CellView, ...]) -> tuple[CellView, ...]:
    """Return the cells that get a panel: all if they are few, else first deciding cells, then medians before tails."""
    if len(views) <= MOST_PANELS:
        return views
    kept = {view.cell for view in sorted(views, key=lambda view: (not view.decides, is_tail(view)))[:MOST_PANELS]}
    return tuple(view for view in views if view.cell in kept)


def is_tail(view: CellView) -> bool:
    """True if a cell is a percentile other than the median."""
    return parse_cell(view.cell).get("percentile") not in {None, "50"}


def left_out(views: tuple[CellView, ...], shown: tuple[CellView, ...]) -> str:
    """Return a sentence about the cells that a figure leaves out, with a leading space."""
    rest = len(views) - len(shown)
    return f" {len(shown)} of {len(views)} cells are drawn here; all are in the tables." if rest else ""


def figures(study: StudyView, styles: Styles) -> list[Figure]:
    """Return one figure for each group with a value."""
    made = []
    for group, views in study.groups():
        curves = {(one.metric, one.candidate) for one in study.view.cdfs}
        plain = [view for view in views if view.decides or not is_tail(view)
                 or any((view.metric.name, at) not in curves for at in view.estimates)]  # fmt: skip
        shown = chosen(tuple(view for view in plain if any(known(one.median) for one in view.estimates.values())))
        if not shown:
            continue
        bars = [[_bar(view, one.index, styles.names[one.index]) for one in study.candidates] for view in shown]
        panels = [
            panel(panel_title(view), f"{view.scale.unit}, {direction(view.metric)}".lstrip(", "), own, styles)
            for view, own in zip(shown, bars, strict=True)
        ]
        title = title_of(study, f"{group_words(group)}: medians of the launches")
        caption = ("Bars: median over launches. Whiskers: 5th and 95th percentile. n: launches; ok: trials that gave a "
                   f"value, of those started.{left_out(views, shown)}{without_value(bars)}")  # fmt: skip
        rows = tuple(_row(study, view, one) for view in views for one in view.estimates.values())
        made.append(Figure(f"bars-{group}", title, caption, draw(title, panels), _COLUMNS, rows))
    return made


def _row(study: StudyView, view: CellView, one: Estimate) -> tuple[object, ...]:
    counts = (one.n, one.n_ok, one.n_started)
    return (view.cell, study.candidates[one.candidate].id, view.metric.unit, one.median, one.p5, one.p95, *counts)
