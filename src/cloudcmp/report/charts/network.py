"""TCP throughput between machines as boxes, in one data centre and between two (as CloudCmp's figures 10 and 11)."""

from statistics import median
from typing import Any

from cloudcmp.model.promise import Promised
from cloudcmp.model.untrusted_text import one_line
from cloudcmp.report.charts.base import (
    COLOURS,
    INK,
    MOST_PANELS,
    Figure,
    Spec,
    Styles,
    counts_of,
    draw,
    layer,
    number,
    panel_title,
    title_of,
)
from cloudcmp.report.numbers import Scale, known
from cloudcmp.report.report_model import CellView, StudyView
from cloudcmp.report.sheets.co_location import launch_values
from cloudcmp.report.sheets.network import is_within, quartiles, transfers

WITHIN, BETWEEN = "network-within", "network-between"
NAMES = frozenset({WITHIN, BETWEEN})
_TITLES = {
    WITHIN: "TCP throughput in one data centre",
    BETWEEN: "TCP throughput between data centres",
}
_PRINTED = {
    WITHIN: "CloudCmp's figure 10 prints no numbers; its text calls C1 and C4 close to the 1 Gbit/s of their network "
    "cards, and C2 much lower.",
    BETWEEN: "CloudCmp's figure 11 prints no numbers; its text gives C1 and C4 medians above 200 Mbit/s, and C2 much "
    "less.",
}
_MEANING = (
    "Box: quartiles over launches, each a pair of machines, with the median; line: lowest to highest; dots: launches. "
    "Orange: the highest rate that the provider promises, where one is known. Payload, without headers."
)
_COLUMNS = (
    "cell", "candidate", "launch_value_bytes_per_s", "promised_bytes_per_s", "n", "n_ok", "n_started",
    "left_out_as_co_located",
)  # fmt: skip
_WIDTH, _WIDE, _STEP = 280, 430, 30
"""The width of a panel, that of a panel alone, whose title needs the room, and the height of a box."""
_Row = dict[str, Any]


def figures(study: StudyView, styles: Styles) -> list[Figure]:
    """A figure of each kind of path that was measured between machines, a panel for each setting."""
    made = []
    for name, here in ((WITHIN, True), (BETWEEN, False)):
        views = [one for one in transfers(study) if is_within(one) is here and _has_values(one)]
        if not views:
            continue
        shown = views[:MOST_PANELS]
        title = title_of(study, _TITLES[name])
        rest = "" if len(shown) == len(views) else f" {len(shown)} of {len(views)} settings are drawn."
        caption = f"{_MEANING} {_PRINTED[name]} {_left_out(study, shown)}{counts_of(study, views)}{rest}"
        svg = draw(title, [_panel(study, styles, one, _WIDE if len(shown) == 1 else _WIDTH) for one in shown])
        made.append(Figure(name, title, caption, svg, _COLUMNS, tuple(_rows(study, views))))
    return made


def _has_values(one: CellView) -> bool:
    return any(own.values for own in one.estimates.values())


def _left_out(study: StudyView, views: list[CellView]) -> str:
    """A sentence with the number of launches of each candidate that are left out as co-located; may be empty."""
    counts: dict[int, int] = {}
    for view in views:
        for at in view.estimates:
            left = sum(co_located for _, co_located in launch_values(study, view, at))
            counts[at] = max(left, counts.get(at, 0))
    texts = [f"{one_line(study.candidates[at].id, 40)} {left}" for at, left in counts.items() if left]
    return (
        f"Launches left out as co-located, faster than promised by more than 3 %: {'; '.join(texts)}. " if texts else ""
    )


def _rows(study: StudyView, views: list[CellView]) -> list[tuple[object, ...]]:
    return [
        (view.cell, study.candidates[at].id, value, study.candidates[at].offering.promised_rate(Promised.NETWORK),
         own.n, own.n_ok, own.n_started, co_located)
        for view in views
        for at, own in view.estimates.items()
        for value, co_located in launch_values(study, view, at)
    ]  # fmt: skip


def _panel(study: StudyView, styles: Styles, view: CellView, width: int) -> Spec:
    kept = {at: [value for value, co_located in launch_values(study, view, at) if not co_located]
            for at in view.estimates}  # fmt: skip
    bits = [8 * value for values in kept.values() for value in values]
    scale = Scale.of(bits, "bit/s")
    boxes: list[_Row] = []
    dots: list[_Row] = []
    promised: list[_Row] = []
    words: list[_Row] = []
    for at, own in kept.items():
        values = [8 * value / scale.factor for value in own]
        who = styles.names[at]
        words.append({"who": who, "words": f"{scale.number(8 * median(own) if own else None)}  (n {len(own)})"})
        dots += [{"who": who, "value": value} for value in values]
        cap = study.candidates[at].offering.promised_rate(Promised.NETWORK)
        if known(cap) and values:
            promised.append({"who": who, "value": 8 * cap / scale.factor})
        if box := quartiles(values):
            boxes.append({"who": who, "least": min(values), "low": box[0], "middle": box[1], "high": box[2],
                          "most": max(values)})  # fmt: skip
    names = [styles.names[at] for at in view.estimates]
    y: Spec = {"field": "who", "type": "nominal", "sort": names, "title": None, "scale": {"domain": names},
               "axis": {"domain": False, "ticks": False, "labelPadding": 6}}  # fmt: skip
    title = f"{scale.unit}, more is better"
    ink: Spec = {"color": INK}
    layers = [
        layer("rule", {"x": number("least", title), "x2": {"field": "most"}, "y": y}, strokeWidth=1.3, **ink),
        layer("bar", {"x": number("low", title), "x2": {"field": "high"}, "y": y, "color": styles.colour()}, height=14,
              stroke=INK, strokeWidth=0.6),
        layer("tick", {"x": number("middle", title), "y": y}, thickness=2, size=18, **ink),
    ]  # fmt: skip
    axis = number("value", title, scale={"zero": True}, axis={"tickCount": 5})
    points = layer("point", {"x": axis, "y": y}, filled=True, size=10, opacity=0.6, yOffset=10, **ink)
    label = layer("text", {"x": {"value": width + 8}, "y": y, "text": {"field": "words"}}, align="left", fontSize=11,
                  **ink)  # fmt: skip
    caps = layer("tick", {"x": axis, "y": y}, thickness=2.5, size=26, color=COLOURS[5])
    return {
        "title": panel_title(view),
        "width": width,
        "height": {"step": _STEP},
        "layer": [
            *(one | {"data": {"values": boxes}} for one in layers if boxes),
            points | {"data": {"values": dots}},
            label | {"data": {"values": words}},
            *([caps | {"data": {"values": promised}}] if promised else []),
        ],
    }
