"""Look-ups in the table of tools: their settings as text, and the cells that they give."""

from collections.abc import Mapping

from cloudcmp.catalog.parameters import canonical_of, hint
from cloudcmp.errors import UserMistake
from cloudcmp.model.cell import Cell
from cloudcmp.model.tool import Tool
from cloudcmp.tools import TOOLS
from cloudcmp.tools.page import word

TOOL = "tool"
"""The probe that runs a tool; the agent runs it as a command."""

DEFAULT = "default"
"""The text of settings that are all defaults."""

UNKNOWN_SETTINGS = "untold"
"""The text of the settings of an imported run whose output names none."""

_BETWEEN = set(",\x00\n")


def tool_of(name: str) -> Tool:
    """The tool of a name; raises UserMistake with the nearest name."""
    if name not in TOOLS:
        raise UserMistake.at("tool", f"unknown tool {name!r}", hint(name, TOOLS, "cloudcmp list tools"))
    return TOOLS[name]


def tool_settings(name: str, params: Mapping[str, str]) -> dict[str, str]:
    """All settings of a tool as canonical text in base units, sorted by name, defaults filled in.

    Raises UserMistake for an unknown tool, an unknown parameter, or a value of another kind.
    """
    tool = tool_of(name)
    written = {}
    for key, text in params.items():
        written[key] = canonical_of(f"tool {name}", tool.params, key, text, f"cloudcmp list tools {name}")
        if _BETWEEN & set(written[key]):
            raise UserMistake.at(f"tool {name}", f"{key}: {text!r} holds a comma", "use a value without one")
    return {param.name: written.get(param.name, param.default) for param in sorted(tool.params, key=lambda p: p.name)}


def settings_text(name: str, settings: Mapping[str, str]) -> str:
    """The settings of a tool as one word of a cell: `key:value,...` without defaults, or `default`."""
    defaults = {param.name: param.default for param in tool_of(name).params}
    other = sorted((key, value) for key, value in settings.items() if defaults[key] != value)
    return ",".join(f"{key}:{value}" for key, value in other) or DEFAULT


def settings_of(name: str, text: str) -> dict[str, str]:
    """All settings of a tool from the text of `settings_text`; raises UserMistake for a text of another form."""
    items = [] if text == DEFAULT else [item.partition(":") for item in text.split(",")]
    if any(not key or not colon or not value for key, colon, value in items) or len({i[0] for i in items}) < len(items):
        raise UserMistake.at(f"tool {name}", f"settings: {text!r} is not key:value,key:value", "or write default")
    return tool_settings(name, {key: value for key, _, value in items})


def output_settings_text(settings: Mapping[str, str]) -> str:
    """The settings that an output names, as one word of a cell, or `untold`.

    Characters that a cell cannot hold become `_`.
    """
    return ",".join(f"{word(key)}:{word(value)}" for key, value in sorted(settings.items())) or UNKNOWN_SETTINGS


def measure_cell(name: str, settings: str, measure: str, metric: str) -> Cell:
    """The cell of one measure of a tool with these settings, as text."""
    return Cell.of(metric, {"measure": measure, "settings": settings, "tool": name})


def tool_cells(name: str, text: str) -> tuple[Cell, ...]:
    """The cells that a tool gives with these settings, as text."""
    settings = settings_of(name, text)
    text = settings_text(name, settings)
    return tuple(measure_cell(name, text, one.name, one.metric) for one in tool_of(name).measures(settings))


def expected_of(name: str, text: str) -> float:
    """Seconds that one run of a tool is expected to take."""
    return tool_of(name).typical_s(settings_of(name, text))
