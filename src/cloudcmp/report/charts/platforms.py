"""Bars of response times by test and platform (as Delgado 2010, figure 4.3), and instances after a step of load."""

from cloudcmp.model.platform import Page, PageFigure, PlatformFigures, ScaleOut
from cloudcmp.report.charts.bars import Bar, NoBar, panel, without_value
from cloudcmp.report.charts.base import COLOURS, DASHES, FITTING, Figure, Spec, Styles, fitting, layer, number
from cloudcmp.report.numbers import Scale
from cloudcmp.report.text import short_names

PAGES = {
    Page.PIXEL: "1-pixel image: the way there and back",
    Page.TWO_MB: "2 MB: network",
    Page.CPU: "processor task",
    Page.MEMORY: "memory task",
    Page.DISK: "disk task",
}
_WIDTH = 190
_COLUMNS = ("platform", "page", "unit", "median", "low", "high", "n", "instances", "ok", "started")
_LOAD_COLUMNS = ("platform", "time_s", "instances")


def figures(found: PlatformFigures) -> list[Figure]:
    """The figures of a measurement: bars by test, and one of the load if there was one."""
    names = short_names([one.name for one in found.run.platforms], 24)
    made = _bars(found, Styles(names))
    return [*made, _load(found, names)] if any(one.points for one in found.scale_outs) else made


def _bars(found: PlatformFigures, styles: Styles) -> list[Figure]:
    panels, drawn, rows = [], [], []
    for page in dict.fromkeys(one.page for one in found.pages):
        some = [one for one in found.pages if one.page is page]
        scale = Scale.of([one.response.median for one in some if one.response], "s")
        rows += [_row(found, one) for one in some]
        drawn.append([_bar(one, styles.names[one.platform], scale) for one in some])
        if any(one.response for one in some):
            panels.append(panel(PAGES[page], f"{scale.unit}, less is better", drawn[-1], styles, _WIDTH))
    if not panels:
        return []
    title = "Response time by test and platform"
    caption = (
        "Bars: median of the warm responses in the rounds, from this place, over an open connection. Whiskers: its 95 "
        "% interval, where there are enough values. In brackets: responses of those "
        f"asked for, and the processes (proc.) that gave them.{without_value(drawn)}"
    )
    return [fitting("platforms", title, caption, panels, _COLUMNS, tuple(rows))]


def _bar(one: PageFigure, who: str, scale: Scale) -> Bar | NoBar:
    centre = one.response
    if centre is None:
        return NoBar(who, f"{one.ok}/{one.started} answered")
    words = f"{scale.number(centre.median)}  ({centre.n}/{one.started}, {centre.instances} proc.)"
    return Bar(who, centre.median / scale.factor, scale.shown(centre.low), scale.shown(centre.high), words)


def _row(found: PlatformFigures, one: PageFigure) -> tuple[object, ...]:
    name, centre = found.run.platforms[one.platform].name, one.response
    figures = (centre.median, centre.low, centre.high, centre.n, centre.instances) if centre else (None,) * 5
    return (name, one.page.value, "s", *figures, one.ok, one.started)


def _load(found: PlatformFigures, names: tuple[str, ...]) -> Figure:
    outs = [one for one in found.scale_outs if one.points]
    steps = [{"who": names[one.platform], "time": at, "instances": count}
             for one in outs for at, count in _steps(one)]  # fmt: skip
    drawn = [names[one.platform] for one in outs]
    scale: Spec = {"domain": drawn, "range": [COLOURS[at % len(COLOURS)] for at in range(len(drawn))]}
    dashes: Spec = {"domain": drawn, "range": [DASHES[at % len(DASHES)] for at in range(len(drawn))]}
    colour: Spec = {"field": "who", "type": "nominal", "scale": scale, "title": None}
    dash: Spec = {"field": "who", "type": "nominal", "scale": dashes, "title": None}
    most = max(len(one.points) for one in outs)
    y = number("instances", "instances", axis={"values": list(range(0, most + 1, -(-most // 5))), "format": "d"})
    encoding: Spec = {"x": number("time", "time since the step of load, s"), "y": y, "color": colour,
                      "strokeDash": dash}  # fmt: skip
    chart: Spec = {**FITTING, "data": {"values": steps},
                   "layer": [layer("line", encoding, interpolate="step-after", strokeWidth=2)]}  # fmt: skip
    title = f"Instances after a step to {outs[0].asked} requests in flight"
    caption = "Each step is the first answer of a further process. One observation a platform: it has no interval."
    rows = tuple((found.run.platforms[one.platform].name, at, count) for one in outs for at, count in _steps(one))
    return fitting("platforms-load", title, caption, [chart], _LOAD_COLUMNS, rows)


def _steps(one: ScaleOut) -> list[tuple[float, int]]:
    """Times and counts of instances, from zero to the end of the load."""
    counts = [(at, count) for count, at in enumerate(one.points, 1)]
    return [(0.0, 0), *counts, (max(one.lasted_s, one.points[-1]) * 1.05, len(counts))]
