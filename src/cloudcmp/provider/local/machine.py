"""Reads the limits of this machine from its system tables."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

_UNLIMITED_BYTES = 1 << 60  # cgroup v1 writes "no limit" as a number near 2^63


@dataclass(frozen=True, slots=True)
class Machine:
    """Usable processors (numbers), the cgroup's quota in processors, memory in bytes and the processor's name."""

    cpus: tuple[int, ...]
    quota_cpus: float | None
    memory_bytes: int | None
    cpu_model: str | None

    @property
    def usable_cpus(self) -> int:
        """The number of whole processors within both the affinity and the quota."""
        quota = len(self.cpus) if self.quota_cpus is None else int(self.quota_cpus)
        return max(1, min(len(self.cpus), quota))


def read_machine(affinity: Iterable[int], root: Path = Path("/")) -> Machine:
    """The machine, from `affinity` and the tables below `root` (proc, sys); a missing table limits nothing."""
    limits = list(_memory_limits(root))
    total = _field(root / "proc/meminfo", "MemTotal")
    if total is not None:
        limits.append(int(total.split()[0]) * 1024)
    return Machine(
        cpus=tuple(sorted(affinity)),
        quota_cpus=min(_quotas(root), default=None),
        memory_bytes=min(limits, default=None),
        cpu_model=_field(root / "proc/cpuinfo", "model name"),
    )


def _quotas(root: Path) -> Iterator[float]:
    """The processors that our cgroups allow, if they limit them."""
    for folder in _cgroups(root, "cpu"):
        words = _text(folder / "cpu.max").split()
        if len(words) == 2 and words[0] != "max":
            yield int(words[0]) / int(words[1])
        quota, period = _text(folder / "cpu.cfs_quota_us"), _text(folder / "cpu.cfs_period_us")
        if quota and period and int(quota) > 0:
            yield int(quota) / int(period)


def _memory_limits(root: Path) -> Iterator[int]:
    """The bytes that our cgroups allow, if they limit them."""
    for folder in _cgroups(root, "memory"):
        for name in ("memory.max", "memory.limit_in_bytes"):
            text = _text(folder / name)
            if text.isdigit() and int(text) < _UNLIMITED_BYTES:
                yield int(text)


def _cgroups(root: Path, controller: str) -> Iterator[Path]:
    """The folders of our cgroup and its parents for one controller, of versions 1 and 2.

    Inside a container the path may be the host's, which is not visible: then only the top, which is ours, remains.
    """
    top = root / "sys/fs/cgroup"
    for line in _text(root / "proc/self/cgroup").splitlines():
        number, _, rest = line.partition(":")
        names, _, path = rest.partition(":")
        if number == "0":
            mounts = [top, top / "unified"]
        elif controller in names.split(","):
            mounts = [top / names, top / controller]
        else:
            continue
        for mount in mounts:
            folder = mount / path.lstrip("/")
            yield from (place for place in (folder, *folder.parents) if place.is_relative_to(mount) and place.is_dir())


def _field(table: Path, name: str) -> str | None:
    """The first value of a `name: value` table, None if there is none."""
    for line in _text(table).splitlines():
        key, colon, value = line.partition(":")
        if colon and key.strip() == name:
            return value.strip() or None
    return None


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""
