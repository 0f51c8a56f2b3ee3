"""Cumulative distributions of latencies, a panel for each, a line for each candidate (as CloudCmp's figure 4)."""

from collections.abc import Sequence

from cloudcmp.model.metric import Group
from cloudcmp.model.untrusted_text import one_line
from cloudcmp.model.view import Cdf
from cloudcmp.report.charts.base import DASHES, MOST_PANELS, SHAPES, Figure, Spec, Styles, draw, layer, number, title_of
from cloudcmp.report.numbers import Scale
from cloudcmp.report.report_model import StudyView
from cloudcmp.report.words import group_words

OF_SERVICES = ("table_", "blob_", "queue_")
Kinds = dict[tuple[str, str], list[Cdf]]
"""Curves by metric and parameters."""
_Counts = dict[tuple[str, str, int], list[tuple[int, int, int]]]
"""n, n_ok and n_started by metric, parameters without the percentile, and candidate."""
MEANING = (
    "Share of operations that took at most this time, over all launches; marks at 25, 50, 75 and 95 %. The axis is "
    "logarithmic where the slowest took more than 100 times as long as the fastest."
)
COLUMNS = ("metric", "params", "candidate", "latency_s", "share", "n", "n_ok", "n_started")
_POINTS = 120
# Beyond this ratio of the largest to the smallest latency a linear axis hides the smaller half.
_SPREAD_FOR_LOG = 100.0
_MARKED = (0.25, 0.5, 0.75, 0.95)


def figures(study: StudyView, styles: Styles) -> list[Figure]:
    """One figure for each group that has latencies, without those of services, which have figures of their own."""
    made = []
    for group in Group:
        kinds: Kinds = {}
        for one in study.view.cdfs:
            if study.view.metrics[one.metric].group is group and one.x_s and not one.metric.startswith(OF_SERVICES):
                kinds.setdefault((one.metric, one.params), []).append(one)
        if not kinds:
            continue
        shown = dict(list(kinds.items())[:MOST_PANELS])
        panels = [panel(study, *kind, curves, styles) for kind, curves in shown.items()]
        title = title_of(study, f"{group_words(group)}: distribution of latencies")
        rest = "" if len(shown) == len(kinds) else f" {len(shown)} of {len(kinds)} are drawn."
        caption = f"{MEANING} {counts_of_curves(study, kinds)}{rest}"
        made.append(Figure(f"cdf-{group}", title, caption, draw(title, panels), COLUMNS, rows_of(study, kinds)))
    return made


def rows_of(study: StudyView, kinds: Kinds) -> tuple[tuple[object, ...], ...]:
    """The data of curves."""
    counts = _counts(study)
    return tuple(row for curves in kinds.values() for one in curves for row in _rows(study, one, counts))


def _counts(study: StudyView) -> _Counts:
    """Return n, n_ok and n_started of the percentile cells of each distribution."""
    counts: _Counts = {}
    for view in study.cells:
        plain = ";".join(part for part in view.cell.partition(" ")[2].split(";") if not part.startswith("percentile="))
        for at, one in view.estimates.items():
            counts.setdefault((view.metric.name, plain, at), []).append((one.n, one.n_ok, one.n_started))
    return counts


def counts_of_curves(study: StudyView, kinds: Kinds) -> str:
    """Return a sentence with the counts of the curves, for each candidate the smallest over the panels."""
    least: dict[int, tuple[int, int, int]] = {}
    of_all = _counts(study)
    for one in (curve for curves in kinds.values() for curve in curves):
        for counts in of_all.get((one.metric, one.params, one.candidate), ()):
            least[one.candidate] = min(counts, least.get(one.candidate, counts))
    texts = [
        f"{one_line(study.candidates[at].id, 40)} n {n}, {ok}/{started} ok" for at, (n, ok, started) in least.items()
    ]
    return f"Launches and trials: {'; '.join(texts)}." if texts else ""


def _rows(study: StudyView, one: Cdf, of_all: _Counts) -> list[tuple[object, ...]]:
    counts = next(iter(of_all.get((one.metric, one.params, one.candidate), ())), (None, None, None))
    name = study.candidates[one.candidate].id
    return [(one.metric, one.params, name, x_s, y, *counts) for x_s, y in zip(one.x_s, one.share, strict=True)]


def _thin(one: Cdf) -> list[tuple[float, float]]:
    """Return at most `_POINTS` points of a curve, including its ends."""
    points = list(zip(one.x_s, one.share, strict=True))
    step = max(1, -(-len(points) // _POINTS))
    return points[:-1:step] + points[-1:]


def panel(
    study: StudyView, metric: str, params: str, curves: list[Cdf], styles: Styles, *, width: int = 360,
    title: Sequence[str] = (), beside: Sequence[Cdf] = (),
) -> Spec:  # fmt: skip
    """Return the curves of one latency, under a title of several lines.

    `beside` are the curves of a row of panels, these among them: all fit on its axis, which is logarithmic.
    """
    values = [x for one in beside or curves for x in one.x_s if x > 0]
    scale = Scale.of(values, "s")
    log = bool(values) and (bool(beside) or max(values) / min(values) > _SPREAD_FOR_LOG)
    lines = [{"who": styles.names[one.candidate], "x": x / scale.factor, "share": y}
             for one in curves for x, y in _thin(one) if x > 0 or not log]  # fmt: skip
    marks = [{"who": styles.names[one.candidate], "x": x / scale.factor, "share": y}
             for one in curves for x, y in _marked(one) if x > 0 or not log]  # fmt: skip
    x = number("x", f"{scale.unit}{', logarithmic' if log else ''}, less is better",
               scale={"type": "log" if log else "linear", "zero": False, "nice": True,
                      **_domain(values, scale, beside)},
               axis={"tickCount": 6, "format": ",.4~r"})  # fmt: skip
    y = number("share", "share of operations", scale={"domain": [0, 1]}, axis={"tickCount": 5, "format": ".0%"})
    dash: Spec = {"field": "who", "type": "nominal", "scale": styles.scale(DASHES), "title": None}
    shape: Spec = {"field": "who", "type": "nominal", "scale": styles.scale(SHAPES), "title": None}
    line = layer("line", {"x": x, "y": y, "color": styles.colour(legend=True), "strokeDash": dash},
                 interpolate="step-after", strokeWidth=2)  # fmt: skip
    point = layer("point", {"x": x, "y": y, "color": styles.colour(legend=True), "shape": shape},
                  filled=True, size=70, opacity=1)  # fmt: skip
    lines_of_title = [one_line(text, 70) for text in title or (study.names.short(f"{metric} {params}"),)]
    return {"title": lines_of_title if len(lines_of_title) > 1 else lines_of_title[0], "width": width, "height": 190,
            "layer": [line | {"data": {"values": lines}}, point | {"data": {"values": marks}}]}  # fmt: skip


def _domain(values: list[float], scale: Scale, beside: Sequence[Cdf]) -> Spec:
    """The ends of an axis that several panels share; empty for a panel of its own."""
    return {"domain": [min(values) / scale.factor, max(values) / scale.factor]} if beside and values else {}


def _marked(one: Cdf) -> list[tuple[float, float]]:
    """Return the points of a curve that get a mark: the first point at or above each marked share."""
    points = list(zip(one.x_s, one.share, strict=True))
    found = [next((point for point in points if point[1] >= share), None) for share in _MARKED]
    return [point for point in found if point is not None]
