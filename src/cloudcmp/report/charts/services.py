"""The figures of table, blob and queue services, as figures 4 to 9 of CloudCmp (IMC 2010)."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from cloudcmp.catalog.order import cell_order
from cloudcmp.model.cell import Cell
from cloudcmp.model.services import Delays
from cloudcmp.model.untrusted_text import one_line
from cloudcmp.model.view import Cdf
from cloudcmp.report.charts import cdfs
from cloudcmp.report.charts.base import (
    DASHES,
    MOST_PANELS,
    SHAPES,
    Figure,
    Spec,
    Styles,
    counts_of,
    draw,
    layer,
    number,
    title_of,
)
from cloudcmp.report.numbers import Scale, known
from cloudcmp.report.report_model import CellView, StudyView
from cloudcmp.report.words import direction, param_words, parse_cell
from cloudcmp.units import format_quantity

CLIENTS = ("native", "sdk-python", "cli")
_DELAY_COLUMNS = ("cell", "candidate", "delay_s", "share", "changes", "unseen_changes", "wait_s")
_AT_ONCE_COLUMNS = ("cell", "candidate", "concurrency", "unit", "median", "low", "high", "n", "n_ok", "n_started")


@dataclass(frozen=True, slots=True)
class _Kind:
    """A figure of distributions: its name, title and metrics, and what it follows."""

    name: str
    title: str
    metrics: tuple[str, ...]
    after: str


_KINDS = (
    _Kind("table-latency", "Table: response time", ("table_latency_s",), "figure 4"),
    _Kind("blob-latency", "Blob: response time", ("blob_latency_s",), "figure 6"),
    _Kind("queue-latency", "Queue: response time and propagation", ("queue_latency_s", "queue_propagation_s"),
          "figure 9"),
)  # fmt: skip
_SERVICES = ("table", "blob", "queue")
NAMES = frozenset({*(one.name for one in _KINDS), "consistency", "service-clients",
                   *(f"{one}-concurrency" for one in _SERVICES)})  # fmt: skip
"""The names of all figures of services."""


def figures(study: StudyView, styles: Styles) -> list[Figure]:
    """Return the figures that a study has numbers for, in the order of the paper."""
    table, blob, queue = (_latencies(study, styles, kind) for kind in _KINDS)
    at_once = (_at_once(study, styles, service) for service in _SERVICES)
    made = (table, _consistency(study, styles), blob, _clients(study, styles), *at_once, queue)
    return [one for one in made if one is not None]


def _curves(study: StudyView, metrics: Sequence[str]) -> dict[tuple[str, str], list[Cdf]]:
    """The distributions of some metrics by metric and parameters, in the order of their cells."""
    found: dict[tuple[str, str], list[Cdf]] = {}
    for one in study.view.cdfs:
        if one.metric in metrics and one.x_s:
            found.setdefault((one.metric, one.params), []).append(one)
    cells = {key: parse_cell(" ".join(filter(None, key))) for key in found}
    return {key: found[key] for key in sorted(found, key=lambda key: (metrics.index(key[0]), cell_order(cells[key])))}


def _plain(params: dict[str, str], least: str | None) -> bool:
    """True for the agent's own client in a closed loop, with as few operations in flight as were measured."""
    usual = {"client": "native", "rate_per_s": "closed"}
    return params.get("concurrency") == least and all(params.get(key, value) == value for key, value in usual.items())


def _least(cells: Iterable[Cell]) -> str | None:
    counts = [one for cell in cells if (one := cell.get("concurrency")) and one.isdigit()]
    return min(counts, key=int, default=None)


def _latencies(study: StudyView, styles: Styles, kind: _Kind) -> Figure | None:
    kinds = _curves(study, kind.metrics)
    cells = {key: parse_cell(" ".join(filter(None, key))) for key in kinds}
    least = {metric: _least(cell for (own, _), cell in cells.items() if own == metric) for metric in kind.metrics}
    plain = {key: curves for key, curves in kinds.items() if _plain(dict(cells[key].params), least[key[0]])}
    shown = dict(list((plain or kinds).items())[:MOST_PANELS])
    if not shown:
        return None
    own = styles.among(study, (one.candidate for curves in shown.values() for one in curves))
    panels = [cdfs.panel(study, *key, curves, own) for key, curves in shown.items()]
    rest = f" {len(shown)} of {len(kinds)} are drawn here; the data has all." if len(shown) < len(kinds) else ""
    at_once = {f"{one} in flight" for one in least.values() if one and one != "1"}
    caption = (f"As {kind.after} of CloudCmp. {cdfs.MEANING} {', '.join(at_once)}{'. ' if at_once else ''}"
               f"{cdfs.counts_of_curves(study, shown)}{rest}")  # fmt: skip
    title = title_of(study, kind.title)
    return Figure(kind.name, title, caption, draw(title, panels), cdfs.COLUMNS, cdfs.rows_of(study, kinds))


def _clients(study: StudyView, styles: Styles) -> Figure | None:
    """The response time with each client, side by side on one axis."""
    rows: dict[Cell, dict[str, tuple[tuple[str, str], list[Cdf]]]] = {}
    for key, curves in _curves(study, ("blob_latency_s", "table_latency_s", "queue_latency_s")).items():
        cell = parse_cell(" ".join(key))
        rest = Cell(cell.metric, tuple(pair for pair in cell.params if pair[0] != "client"))
        rows.setdefault(rest, {})[cell.get("client") or ""] = key, curves
    several = [by_client for by_client in rows.values() if len(by_client) > 1]
    clients = [one for one in CLIENTS if any(one in by_client for by_client in several)]
    shown = several[: MOST_PANELS // max(1, len(clients))]
    if not shown:
        return None
    everything = {key: curves for by_client in shown for key, curves in by_client.values()}
    own = styles.among(study, (one.candidate for curves in everything.values() for one in curves))
    panels = []
    for by_client in shown:
        beside = [one for _, curves in by_client.values() for one in curves]
        for client in clients:
            key, curves = by_client.get(client, (next(iter(by_client.values()))[0], []))
            lines = study.names.short(" ".join(key), frozenset({"client"})), param_words("client", client)
            panels.append(cdfs.panel(study, *key, curves, own, width=300, title=lines, beside=beside))
    left = f" {len(shown)} of {len(several)} operations are drawn." if len(shown) < len(several) else ""
    caption = ("As figures 6 and 7 of CloudCmp: the same operations by the agent itself and by the provider's own "
               "clients, on one axis a row. The share of operations that took at most this time, over all launches. "
               f"{cdfs.counts_of_curves(study, everything)}{left}")  # fmt: skip
    title = title_of(study, "What another client costs")
    return Figure("service-clients", title, caption, draw(title, panels, len(clients)), cdfs.COLUMNS,
                  cdfs.rows_of(study, everything))  # fmt: skip


def _consistency(study: StudyView, styles: Styles) -> Figure | None:
    """The distribution of the time until a change is seen; panels in which no read was stale are left out."""
    by_cell: dict[str, list[Delays]] = {}
    for one in study.view.services.delays:
        by_cell.setdefault(one.cell, []).append(one)
    late = {
        cell: some for cell, some in by_cell.items() if any(one.unseen or max(one.x_s, default=0) > 0 for one in some)
    }
    if not late:
        return None
    order = sorted(late, key=lambda cell: cell_order(parse_cell(cell)))
    shown = order[:MOST_PANELS]
    own = styles.among(study, (one.candidate for cell in shown for one in late[cell]))
    panels = [_delay_panel(study, cell, late[cell], own) for cell in shown]
    never = "; ".join(study.names.short(cell).partition(", ")[2] for cell in by_cell if cell not in late)
    counts = "; ".join(f"{own.names[at]} {_changes(late, at)}" for at in own.drawn)
    without = f" No read was stale: {one_line(never, 300)}." if never else ""
    caption = (
        "As figure 5 of CloudCmp. Share of changes that every read from this time on returned; a curve that begins at "
        "60 % had 40 % stale reads right after the change. A cross ends a curve where the reader stopped to wait. "
        f"Changes: {counts}.{without}{_ways(by_cell)}"
    )
    rows = tuple(
        (one.cell, study.candidates[one.candidate].id, x_s, y, one.n, one.unseen, one.wait_s)
        for some in by_cell.values() for one in some for x_s, y in zip(one.x_s, one.share, strict=True)
    )  # fmt: skip
    title = title_of(study, "Time to consistency")
    return Figure("consistency", title, caption, draw(title, panels), _DELAY_COLUMNS, rows)


def _ways(by_cell: dict[str, list[Delays]]) -> str:
    """How late the curves of changes by another writer may be; empty if readers wrote all changes."""
    ways = [one.way_s for some in by_cell.values() for one in some if one.way_s is not None]
    if not ways:
        return ""
    return f" Changes of another writer may have been seen up to {format_quantity(max(ways), 's')} later than drawn."


def _changes(late: dict[str, list[Delays]], at: int) -> str:
    some = [one for own in late.values() for one in own if one.candidate == at]
    unseen = sum(one.unseen for one in some)
    return f"{sum(one.n for one in some)}{f', {unseen} never seen' if unseen else ''}"


def _delay_panel(study: StudyView, cell: str, some: Sequence[Delays], styles: Styles) -> Spec:
    ends = [max((*one.x_s, one.wait_s or 0.0), default=0.0) for one in some]
    scale = Scale.of([one for one in ends if one > 0], "s")
    most = max(ends)
    lines, points = [], []
    for one, end in zip(some, ends, strict=True):
        who = styles.names[one.candidate]
        curve = list(zip(one.x_s, one.share, strict=True)) or [(0.0, 0.0)]
        last = curve[-1][1]
        reach = end if one.wait_s is not None else most  # nobody knows what comes after the wait
        lines += [{"who": who, "x": x / scale.factor, "share": y} for x, y in (*curve, (reach, last))]
        points += [{"who": who, "x": reach / scale.factor, "share": last}] if one.unseen else []
    x = number("x", f"{scale.unit} after the change, less is better", axis={"tickCount": 6, "format": ",.4~r"},
               scale={"zero": True, "nice": True})  # fmt: skip
    y = number("share", "share of changes seen", scale={"domain": [_floor(some), 1]},
               axis={"tickCount": 5, "format": ".0%"})  # fmt: skip
    dash: Spec = {"field": "who", "type": "nominal", "scale": styles.scale(DASHES), "title": None}
    colour = styles.colour(legend=True)
    line = layer("line", {"x": x, "y": y, "color": colour, "strokeDash": dash}, interpolate="step-after", strokeWidth=2)
    point = layer("point", {"x": x, "y": y, "color": colour}, shape="cross", filled=True, size=90, opacity=1)
    return {"title": one_line(study.names.short(cell), 70), "width": 360, "height": 190,
            "layer": [line | {"data": {"values": lines}}, point | {"data": {"values": points}}]}  # fmt: skip


def _floor(some: Sequence[Delays]) -> float:
    """The lowest share on an axis of shares: a tenth below the lowest first point."""
    first = min(one.share[0] if one.share else 0.0 for one in some)
    return max(0.0, math.floor(10 * first - 1) / 10)


def _at_once(study: StudyView, styles: Styles, service: str) -> Figure | None:
    """The median response time and the throughput of a service against the operations in flight."""
    series: dict[Cell, dict[int, CellView]] = {}
    for view in study.cells:
        cell = parse_cell(view.cell)
        params, count = dict(cell.params), cell.get("concurrency") or ""
        if not view.cell.startswith(f"{service}_") or not count.isdigit() or not _plain(params, count):
            continue
        if params.get("percentile", "50") == "50" and (
            view.metric.unit in {"op/s", "B/s"} or "_latency_" in cell.metric
        ):
            rest = Cell(
                cell.metric, tuple(pair for pair in cell.params if pair[0] not in {"concurrency", "percentile"})
            )
            series.setdefault(rest, {})[int(count)] = view
    several = {rest: views for rest, views in series.items() if len(views) > 1}
    latencies = [rest for rest in several if rest.metric.endswith("_latency_s")]
    pairs = [(rest, rate) for rest in latencies for rate in several if _same_work(rest, rate)]
    shown = pairs[: MOST_PANELS // 2]
    if not shown:
        return None
    views = [view for pair in shown for rest in pair for view in several[rest].values()]
    own = styles.among(study, (at for view in views for at in view.estimates))
    panels = [_count_panel(study, several[rest], own) for pair in shown for rest in pair]
    left = f" {len(shown)} of {len(pairs)} operations are drawn; the data has all." if len(shown) < len(pairs) else ""
    caption = ("As figure 8 of CloudCmp, with the throughput beside the response time. Medians of the launches, with "
               f"their 95 % intervals. {counts_of(study, views)}{left}")  # fmt: skip
    rows = tuple(
        row for views in several.values() for count, view in views.items() for row in _count_rows(study, count, view)
    )
    title = title_of(study, f"{service.capitalize()}: operations in flight")
    return Figure(f"{service}-concurrency", title, caption, draw(title, panels), _AT_ONCE_COLUMNS, rows)


def _same_work(latency: Cell, rate: Cell) -> bool:
    service = latency.metric.partition("_")[0]
    return rate.metric in {f"{service}_op_per_s", f"{service}_bytes_per_s"} and rate.params == latency.params


def _count_panel(study: StudyView, views: dict[int, CellView], styles: Styles) -> Spec:
    first = next(iter(views.values()))
    medians = [one.median for view in views.values() for one in view.estimates.values() if known(one.median)]
    scale, values = Scale.of(medians, first.metric.unit), []
    for count, view in sorted(views.items()):
        for at, one in view.estimates.items():
            if known(one.median):
                ends = one.median_bounds
                low, high = (ends.low, ends.high) if ends else (one.median, one.median)
                values.append({"who": styles.names[at], "count": count, "value": scale.shown(one.median),
                               "low": scale.shown(low), "high": scale.shown(high)})  # fmt: skip
    title = f"{scale.unit}, {direction(first.metric)}".lstrip(", ")
    x = number("count", "operations in flight, logarithmic", scale={"type": "log", "base": 2, "nice": False},
               axis={"values": sorted(views), "format": "d"})  # fmt: skip
    y = number("value", title, axis={"tickCount": 5, "format": ",.4~r"}, scale={"zero": True})
    dash: Spec = {"field": "who", "type": "nominal", "scale": styles.scale(DASHES), "title": None}
    shape: Spec = {"field": "who", "type": "nominal", "scale": styles.scale(SHAPES), "title": None}
    colour = styles.colour(legend=True)
    spread: Spec = {"x": x, "y": number("low", title), "y2": {"field": "high"}, "color": colour}
    name = study.names.short(first.cell, frozenset({"concurrency", "percentile"}))
    what = f"{name}, median" if "_latency_" in first.cell else name
    return {"title": one_line(what, 70), "width": 360, "height": 190, "data": {"values": values}, "layer": [
        layer("line", {"x": x, "y": y, "color": colour, "strokeDash": dash}, strokeWidth=2),
        layer("rule", spread, strokeWidth=1.5),
        layer("point", {"x": x, "y": y, "color": colour, "shape": shape}, filled=True, size=70, opacity=1),
    ]}  # fmt: skip


def _count_rows(study: StudyView, count: int, view: CellView) -> list[tuple[object, ...]]:
    rows: list[tuple[object, ...]] = []
    for at, one in view.estimates.items():
        ends = (one.median_bounds.low, one.median_bounds.high) if one.median_bounds else (None, None)
        rows.append((view.cell, study.candidates[at].id, count, view.metric.unit, one.median, *ends, one.n, one.n_ok,
                     one.n_started))  # fmt: skip
    return rows
