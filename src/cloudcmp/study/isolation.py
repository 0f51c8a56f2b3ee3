"""The `isolation` of a study: each victim measured alone, and beside each load of a neighbour."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from cloudcmp.catalog import LOADS, PROBES, hint
from cloudcmp.model.cast import INTENSITY, NEIGHBOUR, NO_LOAD, Role
from cloudcmp.model.metric import When
from cloudcmp.model.study import ProbeSpec
from cloudcmp.study.faults import Faults, Path, shown
from cloudcmp.study.probes import probe_specs
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
_PATH: Path = ("isolation", "victims")


def isolation_specs(asked: IsolationShape, tree: Tree, faults: Faults) -> tuple[ProbeSpec, ...] | None:
    """The probes of an isolation: each victim's alone, and with each neighbour; None if anything is wrong."""
    shapes = [(number, _shape(number, item, tree, faults)) for number, item in enumerate(asked.victims)]
    entries = [(number, shape) for number, shape in shapes if shape is not None]
    victims = probe_specs(entries, tree, faults, _PATH)
    loads = _loads(asked, tree, faults)
    if victims is None or loads is None or len(entries) < len(shapes) or not _of_machines(victims, tree, faults):
        return None
    for key, items in (("victims", asked.victims), ("neighbours", asked.neighbours), ("threads", asked.threads)):
        if not items:
            faults.add(tree.place(("isolation", key)), f"{key}: the list is empty", f"write {_EXAMPLES[key]}")
            return None
    return tuple(
        replace(spec, params=tuple(sorted((*spec.params, *beside))))
        for spec in victims
        for beside in ((_ALONE,), *loads)
    )


_ALONE = (NEIGHBOUR, NO_LOAD)
_EXAMPLES = {"victims": "victims: [memory]", "neighbours": "neighbours: [memory, cpu]", "threads": "threads: [1]"}


def _shape(number: int, item: Any, tree: Tree, faults: Faults) -> ProbeShape | None:
    """A victim's entry; the name of a resource stands for its probe."""
    path = (*_PATH, number)
    if not isinstance(item, str):
        return fit(ProbeShape, tree, item, path, faults)
    if item in VICTIMS:
        return ProbeShape.model_validate(dict(VICTIMS[item]))
    advice = hint(item, VICTIMS, "- {probe: stream}")
    faults.add(tree.place(path), f"unknown victim {shown(item)}", advice)
    return None


def _loads(asked: IsolationShape, tree: Tree, faults: Faults) -> list[tuple[tuple[str, str], ...]] | None:
    """The parameters of each load with each number of threads."""
    right = True
    for number, load in enumerate(asked.neighbours):
        if load not in LOADS or load in asked.neighbours[:number]:
            what = f"{shown(load)} was named before" if load in LOADS else f"unknown load {shown(load)}"
            faults.add(tree.place(("isolation", "neighbours", number)), what, hint(load, LOADS, ", ".join(LOADS)))
            right = False
    threads = dict.fromkeys(asked.threads)
    combined: list[tuple[tuple[str, str], ...]] = [
        ((INTENSITY, str(count)), (NEIGHBOUR, load)) for load in asked.neighbours for count in threads
    ]
    return combined if right else None


def _of_machines(victims: tuple[ProbeSpec, ...], tree: Tree, faults: Faults) -> bool:
    """True if each victim is measured by one agent during a launch."""
    for spec in victims:
        probe = PROBES[spec.probe]
        if probe.roles != (Role.SOLO,) or probe.when is not When.DURING or spec.own or spec.probe == "tool":
            what = f"{spec.probe} cannot be a victim: it is not measured by one agent on one machine"
            faults.add(tree.place(_PATH), what, "write victims: [memory], or a probe such as stream, disk or pi")
            return False
    return True
