"""Time series of long runs: a panel for each cell and candidate, a line for each trial."""

import statistics

from cloudcmp.model.untrusted_text import one_line
from cloudcmp.model.values import Series
from cloudcmp.report.charts.base import COLOURS, FAINT, MOST_PANELS, Figure, Spec, Styles, draw, layer, number, title_of
from cloudcmp.report.report_model import CellView, StudyView
from cloudcmp.report.words import direction

_COLUMNS = ("cell", "candidate", "launch", "trial", "t_s", "value", "unit", "n", "n_ok", "n_started")
# Fewer samples than this are not a time series.
_LEAST_SAMPLES = 5
_POINTS, _LINES = 120, 12


def figures(study: StudyView, styles: Styles) -> list[Figure]:
    """One figure with all cells whose trials give series, if any."""
    lasting: dict[tuple[str, int], list[Series]] = {}
    of_launch = {launch.index: launch.candidate for launch in study.view.plan.launches}
    for one in study.view.series:
        if len(one.values) >= _LEAST_SAMPLES and one.cell in study.by_cell and one.launch in of_launch:
            lasting.setdefault((one.cell, of_launch[one.launch]), []).append(one)
    if not lasting:
        return []
    order = {view.cell: at for at, view in enumerate(study.cells)}
    keys = sorted(lasting, key=lambda key: (order[key[0]], key[1]))
    tops = {cell: max(max(one.values) for key in keys if key[0] == cell for one in lasting[key]) for cell, _ in keys}
    shown = keys[:MOST_PANELS]
    panels = [_panel(study.by_cell[cell], who, lasting[cell, who], tops[cell], styles) for cell, who in shown]
    title = title_of(study, "Long runs over time")
    rest = "" if len(shown) == len(keys) else f" {len(shown)} of {len(keys)} panels are drawn; the data has all."
    caption = (f"Thin: one line a trial (the first {_LINES}; long runs as means of equal parts). Thick: the median "
               f"of the trials. All candidates of a cell on one scale.{rest}")  # fmt: skip
    rows = tuple(row for key in keys for one in lasting[key] for row in _rows(study, key, one))
    return [Figure("series", title, caption, draw(title, panels), _COLUMNS, rows)]


def _rows(study: StudyView, key: tuple[str, int], one: Series) -> list[tuple[object, ...]]:
    view = study.by_cell[key[0]]
    estimate = view.estimates.get(key[1])
    counts = (estimate.n, estimate.n_ok, estimate.n_started) if estimate else (None, None, None)
    return [
        (key[0], study.candidates[key[1]].id, one.launch, one.trial, t_s, value, view.metric.unit, *counts)
        for t_s, value in zip(one.t_s, one.values, strict=True)
    ]


def _thin(one: Series, factor: float) -> list[tuple[float, float]]:
    """Return at most `_POINTS` points: means of equal parts of a long run, each at its part's end."""
    size = max(1, -(-len(one.values) // _POINTS))
    parts = range(0, len(one.values), size)
    return [(one.t_s[min(at + size, len(one.t_s)) - 1], statistics.fmean(one.values[at : at + size]) / factor)
            for at in parts]  # fmt: skip


def _panel(view: CellView, who: int, trials: list[Series], top: float, styles: Styles) -> Spec:
    lines, by_time = [], dict[float, list[float]]()
    for at, one in enumerate(trials):
        for t_s, value in _thin(one, view.scale.factor):
            by_time.setdefault(round(t_s, 1), []).append(value)
            if at < _LINES:
                lines.append({"trial": at, "t": t_s, "value": value})
    middle = [{"t": t_s, "value": statistics.median(values)} for t_s, values in sorted(by_time.items())
              if 2 * len(values) >= len(trials)]  # fmt: skip
    estimate = view.estimates.get(who)
    counts = f" (n {estimate.n}, {estimate.n_ok}/{estimate.n_started} ok)" if estimate else ""
    x = number("t", "seconds since the measured phase began", axis={"tickCount": 6, "format": ",.4~r"},
               scale={"zero": True, "nice": False})  # fmt: skip
    y = number("value", f"{view.scale.unit}, {direction(view.metric)}".lstrip(", "), axis={"tickCount": 4},
               scale={"domain": [0, top / view.scale.factor * 1.05], "nice": False})  # fmt: skip
    thin = layer("line", {"x": x, "y": y, "detail": {"field": "trial"}}, strokeWidth=0.8, color=FAINT, opacity=0.6)
    thick = layer("line", {"x": x, "y": y}, strokeWidth=2.2, color=COLOURS[who % len(COLOURS)])
    return {"title": one_line(f"{view.name}: {styles.names[who]}{counts}", 76), "width": 380, "height": 110,
            "layer": [thin | {"data": {"values": lines}}, thick | {"data": {"values": middle}}]}  # fmt: skip
