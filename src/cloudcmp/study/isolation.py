"""The `isolation` of a study: each victim measured alone, and beside each load of a neighbour."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from cloudcmp.catalog import LOADS, PROBES, TOOL, hint
from cloudcmp.model.cast import INTENSITY, NEIGHBOUR, NO_LOAD, Role
from cloudcmp.model.cell import Cell
from cloudcmp.model.metric import When
from cloudcmp.model.study import ProbeSpec
from cloudcmp.study.faults import Faults, Path, shown
from cloudcmp.study.probes import cells_in, probe_specs
from cloudcmp.study.shape import IsolationShape, ProbeShape, fit
from cloudcmp.study.tree import Tree

VICTIMS: Mapping[str, Mapping[str, Any]] = {
    "cpu": {"probe": "fma", "params": {"threads": "all"}},
    "memory": {"probe": "stream", "params": {"threads": "all"}},
    "disk_read": {"probe": "disk", "params": {"op": "read", "pattern": "sequential", "block_bytes": "1 MiB"}},
    "disk_write": {"probe": "disk", "params": {"op": "write", "pattern": "sequential", "block_bytes": "1 MiB"}},
    "small_files": {"probe": "postmark", "params": {"files": 1000, "transactions": 5000}},
}
"""The probe that measures what each of these resources gives, where a study names only the resource."""
_ALONE = (NEIGHBOUR, NO_LOAD)
_EXAMPLES = {"victims": "victims: [memory]", "neighbours": "neighbours: [memory, cpu]", "threads": "threads: [1]"}


def isolation_specs(data: Any, tree: Tree, faults: Faults) -> tuple[ProbeSpec, ...] | None:
    """The probes of an isolation, one mapping or a list of them; None if anything is wrong.

    Each victim is measured alone once, however many mappings name it.
    """
    paths: list[Path] = [("isolation", at) for at in range(len(data))] if isinstance(data, list) else [("isolation",)]
    parts = [] if data is None else data if isinstance(data, list) else [data]
    found: dict[frozenset[Cell], ProbeSpec] = {}
    right = True
    for path, part in zip(paths, parts, strict=False):
        shape = fit(IsolationShape, tree, part, path, faults)
        specs = None if shape is None else _part(shape, path, tree, faults)
        right = right and specs is not None
        for spec in specs or ():
            known = found.setdefault(frozenset(cells_in(spec)), spec)
            if known is not spec and _ALONE not in spec.params:
                what = f"{spec.probe} was measured beside {dict(spec.params)[NEIGHBOUR]} before"
                faults.add(tree.place(path), what, "name each victim with each load once")
                right = False
    return tuple(found.values()) if right else None


def _part(asked: IsolationShape, path: Path, tree: Tree, faults: Faults) -> list[ProbeSpec] | None:
    """The probes of one mapping: each victim's alone, and with each neighbour."""
    at = (*path, "victims")
    shapes = [(number, _shape(item, (*at, number), tree, faults)) for number, item in enumerate(asked.victims)]
    entries = [(number, shape) for number, shape in shapes if shape is not None]
    victims = probe_specs(entries, tree, faults, at)
    loads = _loads(asked, path, tree, faults)
    if victims is None or loads is None or len(entries) < len(shapes) or not _of_machines(victims, at, tree, faults):
        return None
    for key, items in (("victims", asked.victims), ("neighbours", asked.neighbours), ("threads", asked.threads)):
        if not items:
            faults.add(tree.place((*path, key)), f"{key}: the list is empty", f"write {_EXAMPLES[key]}")
            return None
    return [
        replace(spec, params=tuple(sorted((*spec.params, *beside))))
        for spec in victims
        for beside in ((_ALONE,), *loads)
    ]


def _shape(item: Any, path: Path, tree: Tree, faults: Faults) -> ProbeShape | None:
    """A victim's entry; the name of a resource stands for its probe."""
    if not isinstance(item, str):
        return fit(ProbeShape, tree, item, path, faults)
    if item in VICTIMS:
        return ProbeShape.model_validate(dict(VICTIMS[item]))
    advice = hint(item, VICTIMS, "- {probe: stream}")
    faults.add(tree.place(path), f"unknown victim {shown(item)}", advice)
    return None


def _loads(asked: IsolationShape, path: Path, tree: Tree, faults: Faults) -> list[tuple[tuple[str, str], ...]] | None:
    """The parameters of each load with each number of threads."""
    right = True
    for number, load in enumerate(asked.neighbours):
        if load not in LOADS or load in asked.neighbours[:number]:
            what = f"{shown(load)} was named before" if load in LOADS else f"unknown load {shown(load)}"
            faults.add(tree.place((*path, "neighbours", number)), what, hint(load, LOADS, ", ".join(LOADS)))
            right = False
    threads = dict.fromkeys(asked.threads)
    combined: list[tuple[tuple[str, str], ...]] = [
        ((INTENSITY, str(count)), (NEIGHBOUR, load)) for load in asked.neighbours for count in threads
    ]
    return combined if right else None


def _of_machines(victims: tuple[ProbeSpec, ...], path: Path, tree: Tree, faults: Faults) -> bool:
    """True if each victim is measured by one agent during a launch."""
    for spec in victims:
        probe = PROBES[spec.probe]
        if probe.roles != (Role.SOLO,) or probe.when is not When.DURING or spec.own or spec.probe == TOOL:
            what = f"{spec.probe} cannot be a victim: it is not measured by one agent on one machine"
            faults.add(tree.place(path), what, "write victims: [memory], or a probe such as stream, disk or pi")
            return False
    return True
