"""Reads a file that describes an application by its demands."""

from collections.abc import Iterator
from pathlib import Path

from cloudcmp.catalog.tables.wan import rounds
from cloudcmp.model.application import Application, ApplicationKind, CellWish, Charged, Demand, Part, Ran, Way
from cloudcmp.model.market import OfferKey
from cloudcmp.study.application_shape import (
    ApplicationShape,
    FileShape,
    JobShape,
    MovedShape,
    OperationsShape,
    PageShape,
    PlaceShape,
    ProgramShape,
)
from cloudcmp.study.faults import Faults, shown
from cloudcmp.study.shape import fit
from cloudcmp.study.tree import Tree, read_tree

_LINE_BYTES = 64
_CLIENT = (("client", "native"), ("concurrency", "1"), ("rate_per_s", "closed"), ("read", "eventual"), ("reuse", "yes"))
_DISK = (("depth", "1"), ("durability", "direct"), ("pattern", "sequential"), ("threads", "one"))


def read_application(content: bytes, path: Path) -> Application:
    """The application of a file's content; `path` names it in faults.

    Raises UserMistake with all faults, one line each, `file:line:column: what; what next`.
    """
    faults = Faults(str(path))
    tree = read_tree(content, faults, "'cloudcmp profile --out' writes one")
    shape = None
    if isinstance(tree.data, dict):
        shape = fit(ApplicationShape, tree, tree.data, (), faults)
    elif tree.data is not None:
        faults.add((1, 1), "an application is made of key: value lines", "'cloudcmp profile --out' writes one")
    if shape is not None:
        _check(shape, tree, faults)
    faults.raise_any()
    assert shape is not None  # else there was a fault
    return _built(shape)


def _check(shape: ApplicationShape, tree: Tree, faults: Faults) -> None:
    named = [kind for kind in ApplicationShape.KINDS if getattr(shape, kind) is not None]
    if not named and _only_ran(shape):
        return
    if len(named) != 1:
        what = f"{' and '.join(named)} in one file" if named else "nothing says what is predicted"
        place = tree.key((named[1],)) if named else (1, 1)
        advice = f"write one of {', '.join(ApplicationShape.KINDS)}"
        faults.add(place, what, advice if named else f"{advice}, or two times under measured:")
        return
    parts = getattr(shape, named[0])
    if not parts:
        faults.add(tree.place((named[0],)), f"{named[0]} is empty", "write at least one")
        return
    if named[0] == "program":
        return
    for name, part in parts.items():
        if isinstance(part, OperationsShape) and not any(_demands(part, shape)):
            faults.add(tree.place((named[0], name)), f"{shown(name)} takes nothing", "write e.g. {get: 2, cpu: 5 ms}")
    if shape.home is None and any(isinstance(one, OperationsShape) and one.cpu for one in parts.values()):
        what = "there is processor time, and no machine on which it was measured"
        faults.add((1, 1), what, "write home: {provider: aws, region: us-east-1, offering: m7i.large}")


def _only_ran(shape: ApplicationShape) -> bool:
    """True if nothing is known of the application but the times that it took."""
    return len(shape.measured) > 1 or shape.measured_by is not None


def _built(shape: ApplicationShape) -> Application:
    kinds = [one for one in ApplicationKind if getattr(shape, one.value) is not None]
    program = shape.program
    memory = shape.memory or (program.memory if program else None)
    ran = tuple(Ran(_key(one), one.time) for one in shape.measured)
    return Application(
        name=shape.application, kind=kinds[0] if kinds else ApplicationKind.PROGRAM, parts=tuple(_parts(shape)),
        home=_key(shape.home) if shape.home else None,
        elapsed_s=program.elapsed if program else None,
        blocked_s=_blocked(program) if program else 0.0,
        parallel=tuple(sorted(program.parallel.items())) if program else ((1, 1.0),),
        memory_bytes=memory, moved_bytes=_moved(program),
        benchmarks=tuple(shape.benchmarks), ran=ran, ran_cell=shape.measured_by or "",
    )  # fmt: skip


def _key(place: PlaceShape) -> OfferKey:
    return OfferKey(place.provider, place.region, place.offering)


def _blocked(program: ProgramShape) -> float:
    """The time in which no thread could run: as it was counted, else what the processor time leaves of the whole."""
    if program.blocked is not None:
        return program.blocked
    cpu = program.cpu.user + program.cpu.system
    return max(0.0, program.elapsed - cpu)


def _moved(program: ProgramShape | None) -> float | None:
    """Bytes from memory: one line for each miss of the last cache; None if they were not counted."""
    return None if program is None or program.cache_misses is None else program.cache_misses * _LINE_BYTES


def _parts(shape: ApplicationShape) -> Iterator[Part]:
    for name, page in (shape.pages or {}).items():
        yield Part(name, tuple(_demands(page, shape)), tuple(_charged(page)), _weight(page))
    for name, job in (shape.jobs or {}).items():
        yield Part(name, tuple(_demands(job, shape)), tuple(_charged(job)), _weight(job), job.tasks, job.workers)
    for name, file in (shape.static or {}).items():
        yield Part(name, tuple(_transfer(file, shape.percentile)), weight=file.weight, moves_out=True,
                   from_everywhere=file.vantage is None)  # fmt: skip
    if shape.program is not None:
        yield Part(shape.application, tuple(_program(shape.program)))
    elif all(getattr(shape, kind) is None for kind in ApplicationShape.KINDS):
        yield Part(shape.application, (Demand("cpu", Way.CPU, 1.0),))  # a second: only ratios of machines count


def _weight(part: PageShape | JobShape) -> float:
    return part.weight


def _demands(part: OperationsShape, shape: ApplicationShape) -> Iterator[Demand]:
    """Yield the demands of a page or a task: each operation one after the other, at a percentile of its latency."""
    percentile = ("percentile", str(shape.percentile))
    if part.cpu:
        yield Demand("cpu", Way.CPU, part.cpu)
    rows = () if shape.entries is None else (("entries", str(shape.entries)),)
    for op in ("get", "put", "query"):
        if (count := getattr(part, op)) is not None:
            cell = CellWish("table_latency_s", (("op", op), percentile, *rows), _CLIENT)
            yield Demand(op, Way.COUNT, count, cell)
    for op in ("download", "upload"):
        moved: MovedShape | None = getattr(part, op)
        if moved is not None:
            cell = CellWish("blob_latency_s", (("op", op), percentile, ("size_bytes", f"{moved.size:.0f}")), _CLIENT)
            yield Demand(op, Way.COUNT, moved.count, cell)
    for op in ("receive", "send"):
        if (count := getattr(part, op)) is not None:
            yield Demand(op, Way.COUNT, count, CellWish("queue_latency_s", (("op", op), percentile), _CLIENT))


def _charged(part: OperationsShape) -> Iterator[Charged]:
    for op in ("get", "put", "query", "receive", "send"):
        if (count := getattr(part, op)) is not None:
            yield Charged(op, count)
    for op in ("download", "upload"):
        moved: MovedShape | None = getattr(part, op)
        if moved is not None:
            yield Charged(op, moved.count, round(moved.size))


def _transfer(file: FileShape, percentile: int) -> Iterator[Demand]:
    """Yield the demands of a file that a user fetches: round trips until its first bytes come, and the rest of it.

    The rest takes as long as that of pages of its size, where they were measured. Else it takes the further round trips
    of TCP's slow start, and no rate limits it: of a large file that is too little.
    """
    at = (("percentile", str(percentile)),)
    there = (("vantage", file.vantage),) if file.vantage else ()
    way = CellWish("wan_rtt_s", at + there)
    yield Demand("round trips", Way.COUNT, file.connect + 1, way)
    if more := rounds(file.size) - 1:
        size = (("size_bytes", f"{file.size:.0f}"),)
        yield Demand("transfer", Way.COUNT, more, way, CellWish("wan_transfer_s", at + size + there))


def _program(program: ProgramShape) -> Iterator[Demand]:
    yield Demand("cpu", Way.CPU, program.cpu.user + program.cpu.system)
    disk, network = program.disk, program.network
    if disk and disk.read:
        yield Demand("read", Way.BYTES, disk.read, CellWish("disk_bytes_per_s", (("op", "read"),), _DISK))
    if disk and disk.written:
        yield Demand("written", Way.BYTES, disk.written, CellWish("disk_bytes_per_s", (("op", "write"),), _DISK))
    if network and network.received + network.sent:
        yield Demand(
            "network", Way.BYTES, network.received + network.sent, CellWish("tcp_bytes_per_s", (), (("streams", "1"),))
        )
