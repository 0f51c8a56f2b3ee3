"""Prepares a drawing for a page: only drawing elements, colours that follow the page, and values on hover."""

import re
from xml.etree import ElementTree

_ELEMENTS = frozenset({"svg", "g", "path", "line", "rect", "text", "tspan", "defs", "clipPath", "circle"})
_ATTRIBUTES = frozenset(
    {
        "clip-path", "cx", "cy", "d", "dx", "dy", "fill", "fill-opacity", "font-family", "font-size",
        "font-style", "font-weight", "height", "id", "opacity", "r", "stroke", "stroke-dasharray", "stroke-linecap",
        "stroke-miterlimit", "stroke-opacity", "stroke-width", "text-anchor", "transform", "viewBox", "width", "x",
        "x1", "x2", "y", "y1", "y2",
    }
)  # fmt: skip
_LONG_NUMBER = re.compile(r"-?\d+\.\d{4,}|\d{5,}\.\d+")
_MARK = "graphics-symbol"
_DEFAULTS = {"opacity": "1", "stroke-width": "1", "font-weight": "normal", "fill-opacity": "1", "stroke-opacity": "1"}
_NOTHING = "M0,0h0v0h0Z"


def inlined(svg: str, name: str) -> str:
    """Return a drawing as an element of an HTML page.

    Keeps drawing elements and attributes only, so that nothing in it can run, load or navigate. Each mark gets its
    values as `<title>`, which browsers show on hover. `name` makes its ids distinct from those of other drawings.

    Raises ElementTree.ParseError if the drawing is not well formed.
    """
    root = ElementTree.fromstring(svg)  # noqa: S314 - drawn by our own renderer, which resolves no entities
    _clean(root, name)
    background = root.find("rect")
    if background is not None:
        root.remove(background)
    return ElementTree.tostring(root, encoding="unicode", method="html")


def _clean(element: ElementTree.Element, name: str) -> None:
    element.tag = str(element.tag).rpartition("}")[2]
    label = element.get("aria-label") if element.get("role") == _MARK else None
    for key in list(element.attrib):
        if key not in _ATTRIBUTES or _DEFAULTS.get(key) == element.attrib[key]:
            del element.attrib[key]
    for key in ("id", "clip-path"):
        if key in element.attrib:
            element.set(key, _own_id(element.attrib[key], name))
    for child in list(element):
        if str(child.tag).rpartition("}")[2] not in _ELEMENTS or child.get("d") == _NOTHING:
            element.remove(child)
            continue
        _clean(child, name)
        if child.tag == "g" and not len(child):
            element.remove(child)
    if label:
        title = ElementTree.Element("title")
        title.text = _LONG_NUMBER.sub(lambda found: f"{float(found[0]):.4g}", label)
        element.insert(0, title)


def _own_id(value: str, name: str) -> str:
    """An id, or a reference to one, that belongs to a drawing."""
    found = re.fullmatch(r"url\(#([\w-]+)\)", value)
    return f"url(#{name}-{found[1]})" if found else f"{name}-{value}"
