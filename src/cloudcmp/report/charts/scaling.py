"""The time until machines are usable, split into provisioning and booting (as CloudCmp's figure 3)."""

from typing import Any

from cloudcmp.model.result import Scaling
from cloudcmp.report.charts.bars import NoBar, without_value
from cloudcmp.report.charts.base import COLOURS, INK, Figure, Spec, Styles, draw, layer, number, title_of
from cloudcmp.report.numbers import Scale, known
from cloudcmp.report.report_model import StudyView
from cloudcmp.report.sheets.scaling import TITLE, centre, figure_of, in_words, note
from cloudcmp.report.text import short_names, without_common
from cloudcmp.units import scale_of

NAME = "scaling"
_WIDTH, _STEP = 430, 34
_PARTS = ("provisioning", "booting", "not split")
_COLUMNS = ("candidate", "cell", "part", "unit", "value", "p5", "p95", "n", "n_ok", "n_started")
Row = dict[str, Any]


def figures(study: StudyView, styles: Styles) -> list[Figure]:  # noqa: ARG001
    """One figure with a stacked bar for each candidate whose scaling was measured, if any."""
    asked = study.view.scaling
    names_of = short_names(without_common([study.candidates[one.candidate].id for one in asked]), 34)
    rows = [(one, name, _no_bar(study, one, name)) for one, name in zip(asked, names_of, strict=True)]
    some = [one for one, _, missing in rows if missing is None]
    if not some:
        return []
    # All bars share one unit, because they are next to each other.
    sizes = [value for one in some if (found := figure_of(study, one, one.cell)) and known(value := found[1].median)]
    scale = Scale(*scale_of(max(sizes, default=1.0), "s"))
    names = tuple(name for _, name, missing in rows if missing is None)
    bars = [bar for one, name in zip(some, names, strict=True) for bar in _bars(study, one, name, scale)]
    whole = [_whole(study, one, name, scale) for one, name in zip(some, names, strict=True)]
    caption = (
        f"Bars: the {some[0].by} time from request to usable in its two parts. Whiskers: 5th and 95th percentile of "
        f"the whole. ok: launches whose machines all became usable, of those started. {note(asked)}"
        f"{without_value([[one for _, _, one in rows if one]])}"
    )
    svg = draw(title_of(study, TITLE), [_panel(bars, whole, scale, names)], 1)
    return [Figure(NAME, title_of(study, TITLE), caption, svg, _COLUMNS, tuple(_rows(study)))]


def _no_bar(study: StudyView, one: Scaling, name: str) -> NoBar | None:
    """Why a candidate has no bar; None if it has one."""
    figure = figure_of(study, one, one.cell)
    if figure is None:
        return NoBar(name, "not offered")
    value, estimate = centre(one, figure[1])[0], figure[1]
    return None if known(value) else NoBar(name, f"{estimate.n_ok}/{estimate.n_started} ok")


def _bars(study: StudyView, one: Scaling, name: str, scale: Scale) -> list[Row]:
    """Return the parts of one bar; the whole if it cannot be split."""
    cells = ((one.provisioning, 0), (one.booting, 1)) if one.provisioning and one.booting else ((one.cell, 2),)
    parts = []
    for cell, part in cells:
        figure = figure_of(study, one, cell)
        value = scale.shown(centre(one, figure[1])[0]) if figure else None
        if value is not None:
            parts.append({"who": name, "part": _PARTS[part], "order": part, "value": value})
    return parts


def _whole(study: StudyView, one: Scaling, name: str, scale: Scale) -> Row:
    """Return the spread of the whole and the label of the bar, of a candidate with a value."""
    figure = figure_of(study, one, one.cell)
    assert figure is not None
    estimate = figure[1]
    failed = f", failed {in_words(one.failed)}" if one.failed and one.failed.k else ""
    value = scale.quantity(centre(one, estimate)[0])
    words = f"{value}  ({estimate.n_ok}/{estimate.n_started} ok{failed})"
    return {"who": name, "low": scale.shown(estimate.p5), "high": scale.shown(estimate.p95), "words": words}


def _panel(bars: list[Row], whole: list[Row], scale: Scale, names: tuple[str, ...]) -> Spec:
    y: Spec = {"field": "who", "type": "nominal", "sort": list(names), "title": None, "scale": {"domain": list(names)},
               "axis": {"domain": False, "ticks": False, "labelPadding": 6, "labelLimit": 260}}  # fmt: skip
    title = f"time from request to usable, {scale.unit}, less is better"
    axis: Spec = {"axis": {"tickCount": 6}, "scale": {"zero": True}}
    parts = [part for part in _PARTS if any(bar["part"] == part for bar in bars)]
    colour = {"field": "part", "type": "nominal", "title": None, "legend": {"orient": "top"},
              "scale": {"domain": parts, "range": [COLOURS[_COLOUR[part]] for part in parts]}}  # fmt: skip
    ink: Spec = {"color": INK}
    bar = {"x": number("value", title, stack="zero", **axis), "y": y, "color": colour,
           "order": {"field": "order", "type": "quantitative"}}  # fmt: skip
    spread = [
        layer("rule", {"x": number("low", title), "x2": {"field": "high"}, "y": y}, strokeWidth=1.3, **ink),
        layer("tick", {"x": number("low", title), "y": y}, thickness=1.3, size=11, **ink),
        layer("tick", {"x": number("high", title), "y": y}, thickness=1.3, size=11, **ink),
        layer(
            "text", {"x": {"value": _WIDTH + 8}, "y": y, "text": {"field": "words"}}, align="left", fontSize=11, **ink
        ),
    ]
    return {
        "width": _WIDTH,
        "height": {"step": _STEP},
        "layer": [
            {"data": {"values": bars}, **layer("bar", bar, height=18, stroke=INK, strokeWidth=0.5)},
            *({"data": {"values": whole}, **one} for one in spread),
        ],
    }


_COLOUR = {"provisioning": 4, "booting": 1, "not split": 2}


def _rows(study: StudyView) -> list[tuple[object, ...]]:
    rows: list[tuple[object, ...]] = []
    for one in study.view.scaling:
        for part, cell in (("whole", one.cell), ("provisioning", one.provisioning), ("booting", one.booting)):
            figure = figure_of(study, one, cell)
            if figure:
                view, estimate = figure
                counts = (estimate.n, estimate.n_ok, estimate.n_started)
                value = centre(one, estimate)[0]
                rows.append(
                    (
                        study.candidates[one.candidate].id,
                        view.cell,
                        part,
                        view.metric.unit,
                        value,
                        estimate.p5,
                        estimate.p95,
                        *counts,
                    )
                )
    return rows
