"""The entries `tool` of a study: tools of other people, with their settings."""

import itertools
import math
from collections.abc import Mapping
from typing import Any

from cloudcmp.catalog import TOOL, TOOLS, hint, settings_text, tool_settings
from cloudcmp.errors import UserMistake
from cloudcmp.model.study import ProbeSpec
from cloudcmp.study.faults import Faults, Path, shown
from cloudcmp.study.shape import ProbeShape
from cloudcmp.study.tree import Tree

_COMBINATIONS_MAX = 1000


def tool_specs(shape: ProbeShape, path: Path, tree: Tree, faults: Faults) -> list[ProbeSpec] | None:
    """One spec for each combination of a tool's settings; None where an entry is wrong, each fault added."""
    name = shape.tool or ""
    if name not in TOOLS:
        faults.add(tree.place((*path, "tool")), f"unknown tool {shown(name)}", hint(name, TOOLS, "cloudcmp list tools"))
        return None
    values = {
        key: _values(name, key, value, (*path, "params", key), tree, faults) for key, value in shape.params.items()
    }
    if any(not texts for texts in values.values()):
        return None
    if math.prod(map(len, values.values())) > _COMBINATIONS_MAX:
        what = f"more than {_COMBINATIONS_MAX} combinations of parameters"
        faults.add(tree.place((*path, "params")), what, "split the study")
        return None
    where = faults.where(tree.place(path))
    install = "yes" if shape.install else "no"
    found = []
    for combination in itertools.product(*values.values()):
        settings = tool_settings(name, dict(zip(values, combination, strict=True)))
        params = {"install": install, "settings": settings_text(name, settings), TOOL: name}
        found.append(ProbeSpec(where, TOOL, tuple(params.items()), shape.runs))
    return found


def _values(tool: str, key: str, value: Any, path: Path, tree: Tree, faults: Faults) -> list[str]:
    """The values of one parameter as canonical text; none where one is wrong."""
    known: Mapping[str, object] = {param.name: param for param in TOOLS[tool].params}
    if key not in known:
        faults.add(tree.key(path), f"{tool} has no parameter {shown(key)}", hint(key, known, "cloudcmp list tools"))
        return []
    items = value if isinstance(value, list) else [value]
    texts = [_canonical(tool, key, item, path, tree, faults) for item in items]
    if not items:
        faults.add(tree.place(path), f"{key}: the list is empty", "write a value, or no key")
    return [] if None in texts else [text for text in texts if text is not None]


def _canonical(tool: str, key: str, item: Any, path: Path, tree: Tree, faults: Faults) -> str | None:
    if isinstance(item, bool):
        item = "yes" if item else "no"
    if not isinstance(item, (str, int, float)) or item == "":
        faults.add(tree.place(path), f"{key}: {shown(item)} is not a value", "write a word, or a number with its unit")
        return None
    try:
        return tool_settings(tool, {key: str(item)})[key]
    except UserMistake as error:
        faults.add_text(tree.place(path), error.faults[0].what, error.faults[0].next)
        return None
