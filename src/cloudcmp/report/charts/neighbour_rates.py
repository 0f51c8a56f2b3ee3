"""What a victim measures of the network, against the rate of its neighbour's traffic."""

import math
from typing import Any

from cloudcmp.model.cast import NETWORK_LOADS
from cloudcmp.model.isolation import Effect
from cloudcmp.report.charts.base import COLOURS, DASHES, Figure, Spec, Styles, draw, line_layers, number, title_of
from cloudcmp.report.numbers import known
from cloudcmp.report.report_model import StudyView
from cloudcmp.report.sheets.isolation import shown_effects, victim_words

NAME = "isolation-rates"
_COLUMNS = ("candidate", "victim", "load", "load_bytes_per_s", "value", "low", "high", "unit", "n")
_MANY_TIMES = 20.0
Row = dict[str, Any]


def figures(study: StudyView, styles: Styles) -> list[Figure]:
    """One figure with a panel for each victim, as figures 3.14 and 3.15 of Delgado, 2010; empty without such loads.

    A load that goes as fast as it can has no place on the axis of rates.
    """
    some = [one for one in shown_effects(study) if one.load in NETWORK_LOADS and math.isfinite(one.level)]
    victims = list(dict.fromkeys(one.victim for one in some))
    panels, rows = [], []
    for victim in victims:
        own = [one for one in some if one.victim == victim]
        points = _points(study, styles, own)
        if points:
            panels.append(_panel(victim_words(study, own[0]), points, styles, _unit(study, own)))
            rows += [_row(study, one) for one in points]
    if not panels:
        return []
    title = title_of(study, "What each victim measures, against the rate of its neighbour's traffic")
    caption = (
        "At 0: the victim alone. Points: medians over launches, with their 95 % intervals; they are not paired, the "
        "changes in the table are. Left out: loads as fast as they go."
    )
    return [Figure(NAME, title, caption, draw(title, panels, 2), _COLUMNS, tuple(rows))]


def _unit(study: StudyView, own: list[Effect]) -> str:
    view = study.by_cell.get(own[0].alone)
    return view.scale.unit if view else ""


def _points(study: StudyView, styles: Styles, own: list[Effect]) -> list[Row]:
    """The medians of a victim alone and beside each rate, in the unit of its cell alone."""
    points = []
    for candidate, load in dict.fromkeys((one.candidate, one.load) for one in own):
        some = [one for one in own if (one.candidate, one.load) == (candidate, load)]
        for level, cell in [(0.0, some[0].alone), *((one.level, one.beside) for one in some)]:
            view, alone = study.by_cell.get(cell), study.by_cell.get(some[0].alone)
            estimate = view.estimates.get(candidate) if view else None
            if estimate is None or alone is None or not known(estimate.median):
                continue
            bounds, factor = estimate.median_bounds, alone.scale.factor
            points.append(
                {"candidate": candidate, "who": styles.names[candidate], "load": load.replace("_", " "),
                 "victim": some[0].victim, "rate": level / 1e6, "value": estimate.median / factor,
                 "low": bounds and bounds.low / factor, "high": bounds and bounds.high / factor,
                 "unit": alone.scale.unit, "n": estimate.n}
            )  # fmt: skip
    return points


def _row(study: StudyView, one: Row) -> tuple[object, ...]:
    return (
        study.candidates[one["candidate"]].id, one["victim"], one["load"], one["rate"] * 1e6, one["value"], one["low"],
        one["high"], one["unit"], one["n"],
    )  # fmt: skip


def _panel(title: str, points: list[Row], styles: Styles, unit: str) -> Spec:
    values = [end for one in points for end in (one["value"], one["low"], one["high"]) if end is not None]
    positive = min(values) > 0.0
    scale: Spec = {"type": "log"} if positive and max(values) > _MANY_TIMES * min(values) else {"zero": True}
    x = number("rate", "neighbour's traffic, MB/s", scale={"zero": True})
    y = number("value", unit or "value", scale=scale)
    colour: Spec = {"field": "who", "type": "nominal", "scale": styles.scale(COLOURS), "title": None}
    dash: Spec = {"field": "load", "type": "nominal", "scale": {"range": list(DASHES[:2])}, "legend": None}
    shape: Spec = {"field": "load", "type": "nominal", "title": None}
    return {
        "title": title,
        "width": 300,
        "height": 180,
        "data": {"values": points},
        "layer": line_layers(x, y, number("low", unit or "value", scale=scale), colour, dash, shape),
    }
