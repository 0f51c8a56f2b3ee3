"""The slowdown matrix as a heat map, and what a victim keeps against the threads of a load."""

from typing import Any

from cloudcmp.model.cast import NETWORK_LOADS
from cloudcmp.model.isolation import Effect
from cloudcmp.report.charts import neighbour_rates
from cloudcmp.report.charts.base import INK, Figure, Spec, Styles, draw, layer, line_layers, number, title_of
from cloudcmp.report.numbers import known
from cloudcmp.report.report_model import MARKS, StudyView
from cloudcmp.report.sheets.isolation import MANY_TIMES, NOTE, TITLE, load_words, loads_of, shown_effects, victim_words
from cloudcmp.report.text import short_names

NAME = "isolation"
LEVELS = "isolation-levels"
NAMES = frozenset({NAME, LEVELS, neighbour_rates.NAME})
_CELL_WIDTH, _CELL_HEIGHT = 92, 44
# Light at no change, so that dark ink is readable everywhere; the mark and the number say the same without colour.
_COLOURS = ("#9ecae1", "#f7f7f7", "#f4a582")
_MOST = 0.5
_COLUMNS = ("candidate", "victim", "load", "level", "lost", "low", "high", "n", "verdict", "sd_ratio")
Row = dict[str, Any]


def figures(study: StudyView, styles: Styles) -> list[Figure]:
    """The heat map of all candidates, the levels of loads with several numbers of threads, and those on the network."""
    some, rates = [one for one in shown_effects(study) if known(one.lost)], neighbour_rates.figures(study, styles)
    if not some:
        return rates
    panels = [_panel(study, styles, some, at) for at in dict.fromkeys(one.candidate for one in some)]
    title = title_of(study, TITLE)
    rows = tuple(
        (study.candidates[one.candidate].id, one.victim, one.load, one.level, one.lost,
         one.lost_bounds and one.lost_bounds.low, one.lost_bounds and one.lost_bounds.high, one.n, one.verdict.value,
         one.sd_ratio)
        for one in some
    )  # fmt: skip
    maps = Figure(
        NAME, title, f"Red: the victim is slower beside this load. {NOTE}", draw(title, panels, 1), _COLUMNS, rows
    )
    return [maps, *_levels(study, styles, some, rows), *rates]


def _panel(study: StudyView, styles: Styles, some: list[Effect], candidate: int) -> Spec:
    own = [one for one in some if one.candidate == candidate]
    names = dict(zip(dict.fromkeys(one.victim for one in own), short_names(
        list(dict.fromkeys(victim_words(study, one) for one in own)), 52), strict=False))  # fmt: skip
    values = [
        {"victim": names.get(one.victim, one.victim), "load": load_words(one), "lost": one.lost,
         "words": f"{MARKS[one.verdict]} {_change(one.lost)}", "interval": _ends(one)}
        for one in own
    ]  # fmt: skip
    axis: Spec = {"domain": False, "ticks": False}
    x: Spec = {"field": "load", "type": "nominal", "sort": loads_of(own), "title": "load of the neighbour",
               "axis": {"orient": "top", "labelAngle": 0, "labelLimit": 90, "labelExpr": "split(datum.label, ' at ')",
                        **axis}}  # fmt: skip
    y: Spec = {"field": "victim", "type": "nominal", "sort": list(names.values()), "title": None,
               "axis": {"labelPadding": 6, "labelLimit": 340, "minExtent": 260, **axis}}  # fmt: skip
    colour = number("lost", None, legend=None,
                    scale={"domain": [-_MOST, 0.0, _MOST], "range": list(_COLOURS), "clamp": True})  # fmt: skip
    return {
        "title": styles.names[candidate],
        "width": {"step": _CELL_WIDTH},
        "height": {"step": _CELL_HEIGHT},
        "data": {"values": values},
        "layer": [
            layer("rect", {"x": x, "y": y, "color": colour}, stroke="#ffffff", strokeWidth=2),
            layer("text", {"x": x, "y": y, "text": {"field": "words"}}, color=INK, fontSize=12, dy=-6),
            layer("text", {"x": x, "y": y, "text": {"field": "interval"}}, color=INK, fontSize=9, dy=9),
        ],
    }


def _change(lost: float | None) -> str:
    """The change in percent; of a time that is many times as long, the factor."""
    if lost is None:
        return ""
    return f"×{1 + lost:.3g}" if lost >= MANY_TIMES else f"{_signed(-lost, 0 if abs(lost) >= 0.1 else 1)} %"


def _signed(share: float, digits: int) -> str:
    """A share in percent with its sign; one that rounds to 0 has none."""
    text = f"{share * 100:+.{digits}f}"
    return text if float(text) else text[1:]


def _ends(one: Effect) -> str:
    bounds = one.lost_bounds
    if bounds is None:
        return ""
    if (one.lost or 0.0) >= MANY_TIMES:
        return f"{1 + bounds.low:.3g} to {1 + bounds.high:.3g}"
    return f"{_signed(-bounds.high, 0)} to {_signed(-bounds.low, 0)}"


def _levels(study: StudyView, styles: Styles, some: list[Effect], rows: tuple[tuple[object, ...], ...]) -> list[Figure]:
    """What is left of each victim against the threads of each load, as the thesis' figures 3.4 to 3.13."""
    lines: dict[tuple[int, str, str], list[Effect]] = {}
    for one in some:
        if one.load not in NETWORK_LOADS:
            lines.setdefault((one.candidate, one.victim, one.load), []).append(one)
    lines = {key: own for key, own in lines.items() if len(own) > 1}
    if not lines:
        return []
    panels = []
    for candidate, victim in dict.fromkeys((key[0], key[1]) for key in lines):
        points = [
            {"threads": threads, "left": left, "low": low, "high": high, "load": load.replace("_", " ")}
            for (at, whose, load), own in lines.items()
            if (at, whose) == (candidate, victim)
            for threads, left, low, high in _points(own)
        ]
        words = victim_words(study, next(one for one in some if (one.candidate, one.victim) == (candidate, victim)))
        panels.append(_level_panel(f"{styles.names[candidate]}: {words}" if len(styles.names) > 1 else words, points))
    title = title_of(study, "What is left of each victim, against the threads of the load")
    caption = (
        "100 %: the victim alone. Bars: 95 % interval, paired inside launches. "
        f"{' '.join(filter(None, map(level_words, lines.values())))}"
    ).strip()
    return [Figure(LEVELS, title, caption, draw(title, panels, 2), _COLUMNS, rows)]


def _points(own: list[Effect]) -> list[tuple[float, float, float | None, float | None]]:
    """Threads, and what is left in percent with its interval; no load leaves all."""
    found: list[tuple[float, float, float | None, float | None]] = [(0.0, 100.0, None, None)]
    for one in sorted(own, key=lambda one: one.level):
        bounds, lost = one.lost_bounds, one.lost or 0.0
        ends = (100 * (1 - bounds.high), 100 * (1 - bounds.low)) if bounds else (None, None)
        found.append((one.level, 100 * (1 - lost), *ends))
    return found


def level_words(own: list[Effect]) -> str:
    """A sentence on the number of threads from which a load takes no more; empty if it still takes more at the end.

    That is the smallest number whose interval has the loss of every larger number in it.
    """
    ordered = sorted(own, key=lambda one: one.level)
    for at, one in enumerate(ordered[:-1]):
        bounds = one.lost_bounds
        if bounds and all(bounds.low <= (other.lost or 0.0) <= bounds.high for other in ordered[at + 1 :]):
            threads = f"{one.level:g} thread{'s' * (one.level > 1)}"
            return f"{one.load.replace('_', ' ')} takes no more from {threads} on."
    return ""


def _level_panel(title: str, points: list[Row]) -> Spec:
    x = number("threads", "threads of the load", axis={"tickMinStep": 1, "format": "d"})
    y = number("left", "left of the victim, %", scale={"zero": True})
    load: Spec = {"field": "load", "type": "nominal", "title": None}
    same: Spec = {**load, "legend": None}
    return {
        "title": title,
        "width": 300,
        "height": 170,
        "data": {"values": points},
        "layer": line_layers(x, y, number("low", "left of the victim, %"), load, same, same),
    }
