"""The `isolation` of a study: each victim measured alone, and beside each load of a neighbour."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from cloudcmp.catalog import LOADS, PROBES, TOOL, canonical, hint
from cloudcmp.errors import UserMistake
from cloudcmp.model.cast import INTENSITY, NEIGHBOUR, NETWORK_LOADS, NO_LOAD, Role
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
    "network_out": {"probe": "tcp", "params": {"path": "zone"}},
    "network_in": {"probe": "tcp", "params": {"path": "zone", "direction": "in"}},
    "latency": {"probe": "rtt", "params": {"path": "zone", "protocol": "udp", "interval_s": 0.001}},
    "datagrams": {"probe": "udp", "params": {"path": "zone", "rate_bytes_per_s": "1 MB/s"}},
}
"""The probe that measures what each of these resources gives, where a study names only the resource."""
_ALONE = (NEIGHBOUR, NO_LOAD)
_EXAMPLES = {"victims": "victims: [memory]", "neighbours": "neighbours: [memory, cpu]", "threads": "threads: [1]",
             "rates": "rates: [10 MB/s, max]"}  # fmt: skip


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
    for key, items in asked:
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
    """The parameters of each load with each number of threads, or with each rate; None if one is wrong."""
    right = True
    rates = [_rate(item, (*path, "rates", number), tree, faults) for number, item in enumerate(asked.rates)]
    for number, load in enumerate(asked.neighbours):
        if load not in LOADS or load in asked.neighbours[:number]:
            what = f"{shown(load)} was named before" if load in LOADS else f"unknown load {shown(load)}"
            faults.add(tree.place((*path, "neighbours", number)), what, hint(load, LOADS, ", ".join(LOADS)))
            right = False
    threads = list(dict.fromkeys(map(str, asked.threads)))
    combined: list[tuple[tuple[str, str], ...]] = [
        ((INTENSITY, level), (NEIGHBOUR, load))
        for load in asked.neighbours
        for level in (dict.fromkeys(filter(None, rates)) if load in NETWORK_LOADS else threads)
    ]
    return combined if right and None not in rates else None


def _rate(item: Any, path: Path, tree: Tree, faults: Faults) -> str | None:
    """The rate of a load on the network, in bytes a second or `max`; None if it is none."""
    try:
        if isinstance(item, bool) or not isinstance(item, (str, int)) or item == 0:
            raise UserMistake.at("", f"{shown(item)} is no rate", f"write {_EXAMPLES['rates']}")
        return canonical(PROBES["traffic"], "rate_bytes_per_s", str(item).strip())
    except UserMistake as error:
        fault = error.faults[0]
        faults.add_text(tree.place(path), fault.what, fault.next or f"write {_EXAMPLES['rates']}")
        return None


def _of_machines(victims: tuple[ProbeSpec, ...], path: Path, tree: Tree, faults: Faults) -> bool:
    """True if each victim is measured during a launch by one agent, or by a client and a server."""
    for spec in victims:
        probe = PROBES[spec.probe]
        of_agents = probe.roles == (Role.SOLO,) or set(probe.roles) == {Role.SERVER, Role.CLIENT}
        if not of_agents or probe.when is not When.DURING or spec.own or spec.probe == TOOL:
            what = f"{spec.probe} cannot be a victim: it is not measured by one agent, or two, on machines of a launch"
            faults.add(tree.place(path), what, "write victims: [memory], or a probe such as stream, disk, pi or rtt")
            return False
    return True
