"""The look that all figures share."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from cloudcmp.model.untrusted_text import one_line, visible
from cloudcmp.report.charts.renderer import png_of, svg_of
from cloudcmp.report.report_model import CellView, StudyView
from cloudcmp.report.text import short_names, without_common

# Okabe and Ito's colours, which people with any kind of colour vision can distinguish; shapes and dashes repeat them.
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#000000", "#B8A800")
SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down", "triangle-right", "triangle-left")
DASHES = ([1, 0], [6, 3], [2, 2], [10, 3, 2, 3], [4, 1], [12, 4], [1, 3], [8, 2, 2, 2, 2, 2])
INK, FAINT = "#222222", "#666666"
# With more panels than this, a table is easier to read.
MOST_PANELS = 12
Spec = dict[str, Any]
# Drawn with the metrics of the font in vl-convert; shown with any font of the same metrics.
_FONT = "Liberation Sans"
_FONTS = "Liberation Sans, Arial, Helvetica, sans-serif"
_CONFIG: Spec = {
    "font": _FONT,
    "background": "#ffffff",
    "aria": True,
    "padding": 12,
    "view": {"stroke": "#cccccc"},
    "axis": {"labelFontSize": 11, "titleFontSize": 11, "titleFontWeight": "normal", "labelColor": INK,
             "titleColor": INK, "gridColor": "#e6e6e6", "labelLimit": 190, "labelOverlap": "greedy",
             "labelSeparation": 4},
    "axisY": {"labelFlush": True},
    "legend": {"labelFontSize": 11, "titleFontSize": 11, "orient": "bottom", "labelLimit": 260, "symbolSize": 90,
               "columns": 4, "columnPadding": 24, "labelColor": INK},
    "title": {"fontSize": 12, "anchor": "start", "fontWeight": "bold", "color": INK, "offset": 6, "limit": 440,
              "frame": "group"},
}  # fmt: skip


FITTING = {"width": 370, "height": 220}
"""The size of a panel that can be read on a telephone."""
_FITTING_SIZE = 13


@dataclass(frozen=True, slots=True)
class Figure:
    """A drawing with its title, caption and data.

    One that `fits` can be read on a telephone: its title is beside the drawing and not in it, and `more` are its
    further panels, which a page puts beside or below each other.
    """

    name: str
    title: str
    caption: str
    svg: str
    columns: tuple[str, ...]
    rows: tuple[tuple[object, ...], ...]
    more: tuple[str, ...] = ()
    fits: bool = False

    def png(self) -> bytes:
        """The drawing as PNG, two pixels for each unit."""
        return png_of(self.svg)

    def _repr_svg_(self) -> str:
        """The drawing, which a notebook shows."""
        return self.svg


@dataclass(frozen=True, slots=True)
class Styles:
    """The names of candidates in figures by index, and their colours, shapes and dashes.

    With `drawn`, a figure has only these candidates, by index; colours, shapes and dashes are theirs alone.
    """

    names: tuple[str, ...]
    drawn: tuple[int, ...] = ()

    @classmethod
    def of(cls, study: StudyView) -> "Styles":
        """Create names that are short enough for an axis; if only some candidates are simulated, these names say so."""
        return cls(_marked_names(study, range(len(study.candidates)), study.short))

    def among(self, study: StudyView, candidates: Iterable[int]) -> "Styles":
        """The styles of a figure of some candidates, whose names lack the parts that all of them share."""
        drawn = tuple(sorted(set(candidates)))
        own = _marked_names(study, drawn, without_common([study.candidates[at].id for at in drawn]))
        names = dict(enumerate(self.names)) | dict(zip(drawn, own, strict=True))
        return Styles(tuple(names.values()), drawn)

    def scale(self, values: Sequence[Any]) -> Spec:
        """Return a scale that gives each name its own value; values repeat if there are more names."""
        names = [self.names[at] for at in self.drawn] if self.drawn else list(self.names)
        return {"domain": names, "range": [values[at % len(values)] for at in range(len(names))]}

    def colour(self, *, legend: bool = False) -> Spec:
        """Colour by candidate."""
        shown: Spec = {} if legend else {"legend": None}
        return {"field": "who", "type": "nominal", "scale": self.scale(COLOURS), "title": None, **shown}


def _marked_names(study: StudyView, candidates: Sequence[int], names: Sequence[str]) -> tuple[str, ...]:
    mixed = len({one.simulated for one in study.candidates}) > 1
    marked = [f"{name} (simulated)" if mixed and study.candidates[at].simulated else name
              for at, name in zip(candidates, names, strict=True)]  # fmt: skip
    return short_names(marked, 28)


def title_of(study: StudyView, words: str) -> str:
    """A figure's title with the origin of its numbers."""
    return f"{words} [{study.origin}]" if study.origin else words


def counts_of(study: StudyView, views: Sequence[CellView]) -> str:
    """Return a sentence with the smallest numbers of launches and trials of any panel, for each candidate."""
    counts = []
    for one in study.candidates:
        some = [view.estimates[one.index] for view in views if one.index in view.estimates]
        if some:
            least = min(some, key=lambda estimate: (estimate.n, estimate.n_ok / max(1, estimate.n_started)))
            counts.append(f"{one_line(one.id, 40)} n {least.n}, {least.n_ok}/{least.n_started} ok")
    return f"Fewest launches (n) and trials of any panel: {'; '.join(counts)}."


def panel_title(view: CellView) -> str:
    """The name of a cell above its panel."""
    return one_line(view.name, 70)


def number(field: str, title: str | None = None, **more: Any) -> Spec:
    """An encoding of a number."""
    return {"field": field, "type": "quantitative", "title": title, **more}


def layer(mark: str, encoding: Spec, **style: Any) -> Spec:
    """A mark with its style and encoding."""
    return {"mark": {"type": mark, **style}, "encoding": encoding}


def line_layers(x: Spec, y: Spec, low: Spec, colour: Spec, dash: Spec, shape: Spec) -> list[Spec]:
    """Lines through points with their intervals, which are from the field of `low` to `high`."""
    return [
        layer("line", {"x": x, "y": y, "color": colour, "strokeDash": dash}),
        layer("point", {"x": x, "y": y, "color": colour, "shape": shape}, filled=True, size=45),
        layer("rule", {"x": x, "y": low, "y2": {"field": "high"}, "color": colour}),
    ]


def draw(title: str, panels: Sequence[Spec], columns: int = 2) -> str:
    """Draw panels side by side under a title, as SVG; fetches nothing, and equal panels give equal bytes.

    Specifications are plain Vega-Lite, because building them with altair took longer than drawing them (0.8 s for the
    import and 0.1 s per figure, against 0.05 s per figure for the drawing).
    """
    words = {"text": one_line(title, 200), "fontSize": 14, "offset": 14, "limit": 980, "frame": "bounds"}
    return _drawn(panels, columns, _CONFIG, title=words)


def fitting(
    name: str, title: str, caption: str, panels: Sequence[Spec], columns: tuple[str, ...],
    rows: tuple[tuple[object, ...], ...],
) -> Figure:  # fmt: skip
    """A figure that can be read on a telephone: each panel is a drawing of its own, with its legend."""
    size = {"labelFontSize": _FITTING_SIZE, "titleFontSize": _FITTING_SIZE}
    legend = _CONFIG["legend"] | size | {"columns": 2, "labelLimit": 165}
    title_ = _CONFIG["title"] | {"fontSize": 14, "limit": FITTING["width"]}
    config = _CONFIG | {"padding": 5, "axis": _CONFIG["axis"] | size, "legend": legend, "title": title_}
    first, *more = (_drawn([one], 1, config) for one in panels)
    return Figure(name, title, caption, first, columns, rows, tuple(more), fits=True)


def _drawn(panels: Sequence[Spec], columns: int, config: Spec, **more: Any) -> str:
    whole: Spec = {
        "$schema": "https://vega.github.io/schema/vega-lite/v6.json",
        **more,
        "concat": list(panels),
        "columns": columns,
        "spacing": {"row": 26, "column": 26},
        "config": config,
    }
    svg = svg_of(_visible(whole))
    return svg.replace(f'font-family="{_FONT}"', f'font-family="{_FONTS}"')


def _visible(part: Any) -> Any:
    """The specification without characters that XML forbids or that change the reading order."""
    if isinstance(part, str):
        return visible(part)
    if isinstance(part, dict):
        return {key: _visible(value) for key, value in part.items()}
    return [_visible(value) for value in part] if isinstance(part, list) else part
