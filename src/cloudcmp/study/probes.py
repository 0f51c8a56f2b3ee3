"""The entries of `probes`: suites and lists expanded, every parameter in base units."""

import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from cloudcmp.catalog import (
    COMMAND,
    PROBES,
    SUITES,
    TOOL,
    TOOLS,
    canonical,
    cells_of,
    command_cells,
    hint,
    metrics_with,
    nearest,
    refusal,
    settings_text,
    suite_of,
)
from cloudcmp.catalog.lookup import tool_settings
from cloudcmp.errors import UserMistake
from cloudcmp.model.cast import BESIDE, NEIGHBOUR
from cloudcmp.model.cell import Cell
from cloudcmp.model.command import CommandMetric
from cloudcmp.model.metric import Metric, ParamKind
from cloudcmp.model.study import Decide, ProbeSpec
from cloudcmp.study import quantities
from cloudcmp.study.commands import command
from cloudcmp.study.faults import Faults, Path, Place, shown
from cloudcmp.study.shape import DecideShape, ProbeShape
from cloudcmp.study.tree import Tree

MAX_SPECS = 5_000
_OF_THEIR_OWN = {
    COMMAND: "- command: {name: mine, run: './mine'}",
    TOOL: "- {tool: fio}",
    NEIGHBOUR: "isolation: {victims: [memory], neighbours: [memory]}",
}


@dataclass(frozen=True, slots=True)
class _Entry:
    """One entry with the context for its faults."""

    number: int
    shape: ProbeShape
    tree: Tree
    faults: Faults
    list_path: Path

    @property
    def path(self) -> Path:
        return (*self.list_path, self.number)

    def place(self, *inner: str | int) -> Place:
        return self.tree.place((*self.path, *inner))


def probe_specs(
    entries: list[tuple[int, ProbeShape]], tree: Tree, faults: Faults, path: Path = ("probes",)
) -> tuple[ProbeSpec, ...] | None:
    """All probes of the list at a path, with one set of parameters each; None if any entry is wrong."""
    all_specs: list[ProbeSpec] = []
    given: dict[frozenset[object], Place] = {}
    right = True
    for number, shape in entries:
        entry = _Entry(number, shape, tree, faults, path)
        specs = _spread(entry)
        right = right and specs is not None
        for spec in specs or ():
            cells = frozenset(cells_in(spec))
            if cells in given:
                what = f"these {spec.probe} parameters give the same cells as line {given[cells][0]}"
                faults.add(entry.place(), what, "measure each cell in one way: leave one out, or change a parameter")
                right = False
                break
            given[cells] = entry.place()
            all_specs.append(spec)
        if len(all_specs) > MAX_SPECS:
            faults.add(entry.place(), f"more than {MAX_SPECS} combinations of parameters", "split the study")
            return None
    return tuple(all_specs) if right and _agree(all_specs, tree.place(path), faults) else None


def _agree(specs: list[ProbeSpec], place: Place, faults: Faults) -> bool:
    """True if a metric of several commands has the same definition in all of them."""
    first_metrics: dict[str, CommandMetric] = {}
    for spec in specs:
        for metric in spec.own.told if spec.own else ():
            first = first_metrics.setdefault(metric.name, metric)
            if (first.unit, first.better, first.signed) != (metric.unit, metric.better, metric.signed):
                what = f"{metric.name} has another unit or direction in another command"
                faults.add(place, what, "give it another name")
                return False
    return True


def _spread(entry: _Entry) -> list[ProbeSpec] | None:
    """The probes of one entry; None if it is wrong."""
    shape, faults = entry.shape, entry.faults
    if sum(one is not None for one in (shape.probe, shape.suite, shape.command, shape.tool)) != 1:
        what = "an entry names one probe, one suite, one command or one tool"
        faults.add(entry.place(), what, "write - {probe: stream} or - {suite: cpu}")
        return None
    if shape.tool is not None:
        return tool_specs(shape, entry.path, entry.tree, faults)
    if shape.install is not None:
        faults.add(entry.place("install"), "only tools are installed", "install it in setup:, or on the image")
        return None
    if shape.command is not None:
        return _command(entry)
    if shape.suite is not None:
        return _suite(entry, shape.suite)
    return _probe(entry, shape.probe or "")


def _probe(entry: _Entry, name: str) -> list[ProbeSpec] | None:
    """One probe with each combination of its parameters."""
    faults = entry.faults
    if name not in PROBES:
        advice = hint(name, PROBES, "cloudcmp list probes")
        faults.add(entry.place("probe"), f"unknown probe {shown(name)}", advice)
        return None
    if name in _OF_THEIR_OWN:
        faults.add(entry.place("probe"), f"{name} has an entry of its own", f"write {_OF_THEIR_OWN[name]}")
        return None
    values = _values(entry, (name,))
    return None if values is None else _product(entry, name, values)


def _command(entry: _Entry) -> list[ProbeSpec] | None:
    """A command of the user's own."""
    if entry.shape.params:
        place = entry.tree.key((*entry.path, "params"))
        entry.faults.add(place, "a command has no params", "write what differs into its lines, or two commands")
        return None
    own = command(entry.shape.command, (*entry.path, "command"), entry.tree, entry.faults)
    if own is None:
        return None
    where = entry.faults.where(entry.place())
    return [ProbeSpec(where, COMMAND, ((COMMAND, own.name),), entry.shape.runs, own)]


def cells_in(spec: ProbeSpec) -> tuple[Cell, ...]:
    """The cells that an entry gives, including those of its command's own metrics."""
    return (*cells_of(spec.probe, dict(spec.params)), *(command_cells(spec.own) if spec.own else ()))


def _suite(entry: _Entry, name: str) -> list[ProbeSpec] | None:
    """The probes of a suite; a written parameter applies to those that have it."""
    if name not in SUITES:
        advice = hint(name, SUITES, "cloudcmp list suites")
        entry.faults.add(entry.place("suite"), f"unknown suite {shown(name)}", advice)
        return None
    members = suite_of(name)
    values = _values(entry, tuple(probe for probe, _ in members))
    if values is None:
        return None
    specs: list[ProbeSpec] = []
    for probe, params in members:
        known = {param.name for param in PROBES[probe].params}
        own = {key: texts for key, texts in values.items() if key in known}
        specs.extend(_product(entry, probe, {**params, **own}) or ())
    return specs


def _values(entry: _Entry, probes: tuple[str, ...]) -> dict[str, tuple[str, ...]] | None:
    """The written parameters with their values as text in base units; None if one is wrong."""
    texts_of: dict[str, tuple[str, ...]] = {}
    right = True
    for key, value in entry.shape.params.items():
        takers = [name for name in probes if any(param.name == key for param in PROBES[name].params)]
        if not takers:
            known = sorted({param.name for name in probes for param in PROBES[name].params})
            advice = hint(key, known, f"cloudcmp list probes {probes[0]}")
            what = f"{entry.shape.probe or entry.shape.suite} has no parameter {shown(key)}"
            entry.faults.add(entry.tree.key((*entry.path, "params", key)), what, advice)
            right = False
            continue
        items = value if isinstance(value, list) else [value]
        if not items:
            entry.faults.add(entry.place("params", key), f"{key}: the list is empty", "write a value, or no key")
        texts = [_canonical(entry, takers[0], key, number, item) for number, item in enumerate(items)]
        right = right and bool(items) and None not in texts
        texts_of[key] = tuple(text for text in texts if text is not None)
    return texts_of if right else None


def _canonical(entry: _Entry, probe: str, key: str, number: int, item: Any) -> str | None:
    """One value as canonical text, None if it is wrong."""
    many = isinstance(entry.shape.params[key], list)
    place = entry.place("params", key, number) if many else entry.place("params", key)
    if isinstance(item, bool) or not isinstance(item, (str, int, float)) or item == "":
        what = f"{key}: {shown(item)} is not a value"
        entry.faults.add(place, what, "write a word, a number, or a number with its unit")
        return None
    text = str(item).strip()
    if isinstance(item, float) and math.isfinite(item):
        text = str(int(item)) if item == int(item) else f"{item:.12f}".rstrip("0").rstrip(".")
    try:
        written = canonical(PROBES[probe], key, text)
        kind = next(param.kind for param in PROBES[probe].params if param.name == key)
        if kind in {ParamKind.SECONDS, ParamKind.RATE} and _too_small(key, written):
            raise UserMistake.at("", f"{key}: {shown(item)} is not more than 0")
    except UserMistake as error:
        fault = error.faults[0]
        entry.faults.add_text(place, fault.what, fault.next or "write a larger value")
        return None
    return written


def _too_small(key: str, text: str) -> bool:
    """True if a time or rate is too small to be meaningful; an interval of 0 stands for back to back."""
    number = float(text) if text.replace(".", "", 1).replace("e-", "", 1).isdigit() else -1.0
    return text != "max" and (number < 0 or (number == 0 and key not in {"interval_s", "warmup_s"}))


def _product(entry: _Entry, probe: str, values: Mapping[str, tuple[str, ...]]) -> list[ProbeSpec] | None:
    """One spec for each combination of values."""
    if math.prod(len(texts) for texts in values.values()) > MAX_SPECS:
        entry.faults.add(entry.place("params"), f"more than {MAX_SPECS} combinations of parameters", "split the study")
        return None
    where = entry.faults.where(entry.place())
    keys = sorted(values)
    combinations = [tuple(zip(keys, one, strict=True)) for one in itertools.product(*(values[key] for key in keys))]
    refused = [advice for advice in (refusal(probe, dict(one)) for one in combinations) if advice[0]]
    if refused:
        of = f"{len(refused)} of {len(combinations)} combinations: " if len(combinations) > 1 else ""
        entry.faults.add(entry.place(), f"{probe}: {of}{refused[0][0]}", refused[0][1])
        return None
    return [ProbeSpec(where, probe, one, entry.shape.runs) for one in combinations]


_COMBINATIONS_MAX = 1000


def tool_specs(shape: ProbeShape, path: Path, tree: Tree, faults: Faults) -> list[ProbeSpec] | None:
    """One spec for each combination of a tool's settings; None if an entry is wrong; adds each fault."""
    name = shape.tool or ""
    if name not in TOOLS:
        faults.add(tree.place((*path, "tool")), f"unknown tool {shown(name)}", hint(name, TOOLS, "cloudcmp list tools"))
        return None
    values = {
        key: _tool_values(name, key, value, (*path, "params", key), tree, faults) for key, value in shape.params.items()
    }
    if any(not texts for texts in values.values()):
        return None
    if math.prod(map(len, values.values())) > _COMBINATIONS_MAX:
        what = f"more than {_COMBINATIONS_MAX} combinations of parameters"
        faults.add(tree.place((*path, "params")), what, "split the study")
        return None
    where = faults.where(tree.place(path))
    install = "yes" if shape.install else "no"
    specs = []
    for combination in itertools.product(*values.values()):
        settings = tool_settings(name, dict(zip(values, combination, strict=True)))
        between = {"path": settings.pop("path")} if TOOLS[name].pair else {}
        params = {"install": install, **between, "settings": settings_text(name, settings), TOOL: name}
        specs.append(ProbeSpec(where, TOOL, tuple(params.items()), shape.runs))
    return specs


def _tool_values(tool: str, key: str, value: Any, path: Path, tree: Tree, faults: Faults) -> list[str]:
    """The values of one parameter as canonical text; empty if one is wrong."""
    known: Mapping[str, object] = {param.name: param for param in TOOLS[tool].params}
    if key not in known:
        faults.add(tree.key(path), f"{tool} has no parameter {shown(key)}", hint(key, known, "cloudcmp list tools"))
        return []
    items = value if isinstance(value, list) else [value]
    texts = [_tool_setting(tool, key, item, path, tree, faults) for item in items]
    if not items:
        faults.add(tree.place(path), f"{key}: the list is empty", "write a value, or no key")
    return [] if None in texts else [text for text in texts if text is not None]


def _tool_setting(tool: str, key: str, item: Any, path: Path, tree: Tree, faults: Faults) -> str | None:
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


class CellBook:
    """The cells that a study's probes give; incomplete if some of its probes are wrong.

    `own` is true if there are commands, whose metrics are only known once they are read.
    """

    def __init__(self, specs: tuple[ProbeSpec, ...], complete: bool, own: bool = False) -> None:
        self._complete = complete
        self._unread = own and not complete
        self._cells: dict[str, list[Cell]] = {}
        self.metrics = metrics_with(spec.own for spec in specs if spec.own)
        for cell in {cell: None for spec in specs for cell in cells_in(spec)}:
            self._cells.setdefault(cell.metric, []).append(cell)

    def select(self, text: str, place: Place, faults: Faults) -> Cell | None:
        """The text as a cell that exists in this study: a metric with some or all of its parameters."""
        try:
            cell = Cell.parse(text)
        except UserMistake as error:
            faults.add_text(place, error.faults[0].what, "write metric key=value;key=value")
            return None
        if cell.metric not in self.metrics:
            if self._unread:
                return None  # may belong to a command that is wrong itself
            advice = hint(cell.metric, self.metrics, "cloudcmp list metrics")
            faults.add(place, f"unknown metric {shown(cell.metric)}", advice)
            return None
        unknown = [key for key, _ in cell.params if key not in (*self.metrics[cell.metric].params, *BESIDE)]
        if unknown:
            known = self.metrics[cell.metric].params
            faults.add(place, f"{cell.metric} has no parameter {shown(unknown[0])}", f"it has {', '.join(known)}")
            return None
        if self._complete and not self.meant(cell):
            near = nearest(str(cell), [str(known) for known in self._cells.get(cell.metric, ())])
            advice = f"nearest: {near}" if near else "add a probe that gives it; see 'cloudcmp list metrics'"
            faults.add(place, f"no probe of this study gives {shown(cell)}", advice)
            return None
        return cell

    def meant(self, cell: Cell) -> list[Cell]:
        """The cell itself if a probe gives it, else the cells with all the written parameters."""
        of_metric, written = self._cells.get(cell.metric, []), set(cell.params)
        return [cell] if cell in of_metric else [known for known in of_metric if written <= set(known.params)]


def decide(parts: list[tuple[int, DecideShape]], book: CellBook, tree: Tree, faults: Faults) -> tuple[Decide, ...]:
    """The deciding cells: a metric stays a metric, a metric with some parameters becomes the cells that it selects."""
    decisions: dict[str, Decide] = {}
    for number, part in parts:
        place = tree.place(("decide", number, "cell"))
        cell = book.select(part.cell, place, faults)
        if cell is None:
            continue
        margin = _margin(part, book.metrics[cell.metric], tree.place(("decide", number, "margin")), faults)
        for text in [str(known) for known in book.meant(cell)] if cell.params else [cell.metric]:
            if text in decisions:
                faults.add(place, f"{shown(text)} was named before", "name each cell once")
            decisions[text] = Decide(faults.where(place), text, margin)
    return tuple(decisions.values())


def _margin(part: DecideShape, metric: Metric, place: Place, faults: Faults) -> float | None:
    """The margin within which a metric that can be 0 is practically the same."""
    if part.margin is None:
        return None
    if not metric.signed:
        what = f"{metric.name} is compared by ratios and takes no margin"
        faults.add(place, what, "leave margin out; practically the same is within 3 %")
        return None
    try:
        margin = quantities.in_unit_of(metric, part.margin)
    except (ValueError, OverflowError) as error:
        faults.add_text(place, f"margin: {error}", f"it is in {metric.unit}")
        return None
    if margin <= 0:
        faults.add(place, f"margin: {shown(part.margin)} is not more than 0", "leave it out, or write e.g. 1 %")
        return None
    return margin


def weights(data: Mapping[str, Any], book: CellBook, tree: Tree, faults: Faults) -> tuple[tuple[str, float], ...]:
    """The weights of metrics, or of cells, in the overall index."""
    found: dict[str, float] = {}
    for text, weight in data.items():
        place = tree.key(("weights", text))
        cell = book.select(text, place, faults)
        if cell is None:
            continue
        if book.metrics[cell.metric].signed:
            what = f"{cell.metric} is compared by differences, and has no ratio to weigh"
            faults.add(place, what, "leave it out")
        elif not quantities.is_number(weight) or not 0.0 < float(str(weight)) < math.inf:
            faults.add(place, f"the weight {shown(weight)} is not a number above 0", f"write e.g. {text}: 1")
        else:
            for one in [str(known) for known in book.meant(cell)] if cell.params else [cell.metric]:
                found[one] = float(str(weight))
    return tuple(found.items())
