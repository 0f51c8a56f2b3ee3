"""Response times of a simulated service by user base and hour: a panel for each deployment."""

from cloudcmp.model.simulation import DeploymentTimes, Simulation
from cloudcmp.model.untrusted_text import one_line
from cloudcmp.report.charts.base import (
    COLOURS,
    DASHES,
    FITTING,
    INK,
    MOST_PANELS,
    SHAPES,
    Figure,
    Spec,
    fitting,
    layer,
    number,
)
from cloudcmp.report.charts.map_marks import MapLayer, MapMark
from cloudcmp.report.charts.world_map import world_map
from cloudcmp.units import are, counted

NAME, MAP = "response-times", "response-map"
_FAST_S, _SLOW_S = 0.1, 0.3
_COLUMNS = ("deployment", "base", "hour_utc", "mean_s", "low_s", "high_s", "runs")


def figure(found: Simulation) -> Figure:
    """The mean of each base and hour of the day (UTC) with its interval; at most 12 deployments are drawn."""
    names = [one_line(one.name, 40) for one in found.scenario.bases]
    top = max((mean.value for one in found.outcome.deployments for base in one.bases for mean in base.hours if mean),
              default=0.0) * 1e3  # fmt: skip
    shown = found.outcome.deployments[:MOST_PANELS]
    panels = [_panel(one, names, top) for one in shown]
    left = len(found.outcome.deployments) - len(shown)
    rest = f" {counted(left, 'more deployment')} {are(left)} in the data." if left else ""
    caption = f"Means of each hour of the day in UTC; bars: 95 % interval of the simulation itself.{rest}"
    rows = tuple(
        (one.name, base.base, hour, mean.value, mean.low, mean.high, mean.n)
        for one in found.outcome.deployments for base in one.bases for hour, mean in enumerate(base.hours) if mean
    )  # fmt: skip
    title = "Response time by user base and hour [SIMULATED]"
    return fitting(NAME, title, caption, panels, _COLUMNS, rows)


def map_of(found: Simulation) -> Figure | None:
    """The bases of the fastest deployment on a world map, by their mean, and its data centres; None without places."""
    where = dict(found.scenario.latency.positions)
    regions = {one.name: one.region for one in found.scenario.bases}
    regions_of_centres = {one.name: one.region for one in found.scenario.centres}
    best = min(found.outcome.deployments, key=lambda one: one.overall.value)
    bases = [one for one in best.bases if regions[one.base] in where]
    centres = [one for one in best.centres if regions_of_centres[one.centre] in where]
    if not bases or not centres:
        return None
    classes = (
        (f"mean up to {_FAST_S * 1e3:g} ms", "circle", COLOURS[0], 0.0, _FAST_S),
        (f"up to {_SLOW_S * 1e3:g} ms", "triangle", COLOURS[1], _FAST_S, _SLOW_S),
        (f"above {_SLOW_S * 1e3:g} ms", "diamond", COLOURS[5], _SLOW_S, float("inf")),
    )
    layers = [
        MapLayer(title, shape, colour, tuple(
            MapMark(where[regions[one.base]], f"{one.base}: {one.mean.value * 1e3:.1f} ms", 1.3)
            for one in bases if low < one.mean.value <= high
        ), counted=True)
        for title, shape, colour, low, high in classes
    ]  # fmt: skip
    marks = tuple(
        MapMark(where[regions_of_centres[one.centre]], f"{one.centre}: {counted(one.machines, 'machine')}", 1.5)
        for one in centres
    )
    layers.append(MapLayer("data centre", "plus", INK, marks))
    caption = "Users by their mean response time, in the middle of their region; hover for the value."
    rows = tuple((best.name, one.base, one.mean.value, one.requests) for one in bases)
    title = f"{one_line(best.name, 40)}: response times by place [SIMULATED]"
    return world_map(MAP, title, caption, layers, ("deployment", "base", "mean_s", "requests"), rows, "user bases")


def _panel(one: DeploymentTimes, names: list[str], top: float) -> Spec:
    values = [
        {"who": one_line(base.base, 40), "hour": hour, "ms": mean.value * 1e3,
         "low": (mean.value if mean.low is None else mean.low) * 1e3,
         "high": (mean.value if mean.high is None else mean.high) * 1e3}
        for base in one.bases for hour, mean in enumerate(base.hours) if mean
    ]  # fmt: skip
    x = number("hour", "hour of the day, UTC", axis={"tickCount": 8, "format": "d"},
               scale={"domain": [0, 23], "nice": False})  # fmt: skip
    y = number("ms", "mean response time, ms", axis={"tickCount": 5},
               scale={"domain": [0, top * 1.05], "nice": False})  # fmt: skip
    colour = _scaled(names, list(COLOURS))
    shape, dash = _scaled(names, list(SHAPES)), _scaled(names, list(DASHES))
    layers = [
        layer("line", {"x": x, "y": y, "color": colour, "strokeDash": dash}),
        layer("point", {"x": x, "y": y, "color": colour, "shape": shape}, filled=True, size=30),
        layer("rule", {"x": x, "y": number("low", "mean response time, ms"), "y2": {"field": "high"}, "color": colour}),
    ]
    return {"title": one_line(one.name, 60), **FITTING, "data": {"values": values}, "layer": layers}


def _scaled(names: list[str], values: list[object]) -> Spec:
    span = [values[at % len(values)] for at in range(len(names))]
    return {"field": "who", "type": "nominal", "title": None, "scale": {"domain": names, "range": span}}
