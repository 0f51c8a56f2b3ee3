"""The price front of a recommendation: what no other offering beats in price and in a measurement at once."""

from cloudcmp.answer.choice.sentences import number_words
from cloudcmp.model.market import COST
from cloudcmp.model.recommendation import Front, Pick, Recommendation
from cloudcmp.report.charts.base import COLOURS, FAINT, Figure, Spec, draw, layer, number

_COLUMNS = ("provider", "region", "offering", "kind", "price_per_hour", "currency", "value", "unit")
_FRONT, _CHOICE, _OTHER = "front", "recommended", "meets the needs"
_KINDS = (_CHOICE, _OTHER, _FRONT)


def figure_of(found: Recommendation, front: Front) -> Figure:
    """Return the figure of one front: its offerings, the recommended one, and the next ones, on logarithmic axes."""
    names = [used.name for used in found.used]
    at, cost = names.index(front.of), names.index(COST)
    used = found.used[at]
    kinds: dict[object, tuple[str, Pick]] = {one.key: (_FRONT, one) for one in front.picks}
    kinds = {one.key: (_OTHER, one) for one in found.picks} | kinds
    if found.choice is not None:
        kinds[found.choice.key] = (_CHOICE, found.choice)
    values = [
        {"who": one.key.name, "kind": kind, "price": one.values[cost], "value": one.values[at],
         "shown": number_words(one.values[at], used.unit)}
        for kind, one in kinds.values()
        if (one.values[cost] or 0) > 0 and (one.values[at] or 0) > 0
    ]  # fmt: skip
    line = [{"price": one.values[cost], "value": one.values[at]} for one in front.picks]
    log = {"type": "log", "nice": False, "padding": 20}
    x = number("price", f"{found.currency} an hour, logarithmic", scale=log, axis={"tickCount": 5, "format": "~g"})
    y = number("value", f"{used.label}, logarithmic", scale=log, axis={"tickCount": 5, "format": "~s"})
    scale: Spec = {"domain": list(_KINDS), "range": [COLOURS[5], COLOURS[0], COLOURS[2]]}
    shapes: Spec = {"domain": list(_KINDS), "range": ["diamond", "circle", "square"]}
    colour: Spec = {"field": "kind", "type": "nominal", "scale": scale, "title": None}
    shape: Spec = {"field": "kind", "type": "nominal", "scale": shapes, "title": None}
    named = [one for one in values if one["kind"] != _OTHER]
    text: Spec = {"x": x, "y": y, "text": {"field": "who", "type": "nominal"}}
    point: Spec = {"x": x, "y": y, "color": colour, "shape": shape}
    panel: Spec = {
        "width": 760,
        "height": 300,
        "layer": [
            {"data": {"values": line}, **layer("line", {"x": x, "y": y}, color=FAINT, strokeDash=[4, 3])},
            {"data": {"values": values}, **layer("point", point, filled=True, size=90, opacity=1)},
            {"data": {"values": named}, **layer("text", text, align="left", dx=8, dy=-6, fontSize=10)},
        ],
    }
    title = f"Price against {used.label}"
    caption = (
        "The dashed line joins offerings that no other beats in price and in this at once, by single values or means."
    )
    rows = tuple((*one.key, kind, one.values[cost], found.currency, one.values[at], used.unit)
                 for kind, one in kinds.values())  # fmt: skip
    return Figure(f"front-{at}", title, caption, draw(title, [panel], 1), _COLUMNS, rows)
