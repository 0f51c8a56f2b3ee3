"""Looks at a process and its descendants while they run: processor time by thread, memory, and how many could run."""

import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

_TICK_S = 1.0 / os.sysconf("SC_CLK_TCK")
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


@dataclass(slots=True)
class _Thread:
    name: str
    cpu_s: float
    ready_s: float


@dataclass(slots=True)
class ProcessTree:
    """What has been seen of a process and its descendants, by repeated looks at the tables of the kernel.

    `parallel_s` are processor seconds by how many threads could run at that time, on a processor or waiting for one.
    `blocked_s` is the time in which none could. `waited_s` is how long threads were ready and had no processor.
    Threads that begin and end between two looks are not seen. `proc` is the folder of the kernel's tables.
    """

    root: int
    proc: Path = Path("/proc")
    peak_bytes: float = 0.0
    waited_s: float = 0.0
    blocked_s: float = 0.0
    knows_waits: bool = True
    parallel_s: dict[int, float] = field(default_factory=dict)
    _threads: dict[tuple[int, int], _Thread] = field(default_factory=dict)
    _last_s: float | None = None

    def look(self, now_s: float) -> None:
        """Count what ran since the last look; `now_s` is a monotonic time."""
        used = demanded = memory = 0.0
        active = 0
        for pid in self._processes():
            memory += self._memory(pid)
            for cpu, ready in self._advances(pid):
                used += cpu
                demanded += cpu + ready
                active += cpu + ready > 0
        self.peak_bytes = max(self.peak_bytes, memory)
        passed = 0.0 if self._last_s is None else now_s - self._last_s
        self._last_s = now_s
        self.blocked_s += max(0.0, passed - demanded)
        if used > 0 and passed > 0:
            # A wait is counted when it ends, and may have begun long before the last look.
            at_once = min(max(1, round(demanded / passed)), active)
            self.parallel_s[at_once] = self.parallel_s.get(at_once, 0.0) + used

    def threads(self) -> list[tuple[str, float]]:
        """The name and the processor seconds of each thread that was seen, the busiest first."""
        return sorted(((one.name, one.cpu_s) for one in self._threads.values()), key=lambda one: -one[1])

    def _processes(self) -> Iterator[int]:
        waiting = [self.root]
        while waiting:
            pid = waiting.pop()
            yield pid
            with suppress(OSError):
                for task in os.listdir(self.proc / str(pid) / "task"):
                    text = (self.proc / str(pid) / "task" / task / "children").read_text(encoding="ascii")
                    waiting += map(int, text.split())

    def _advances(self, pid: int) -> Iterator[tuple[float, float]]:
        """Yield for each thread its seconds on a processor and waiting for one since the last look."""
        with suppress(OSError):
            for task in os.listdir(self.proc / str(pid) / "task"):
                folder = self.proc / str(pid) / "task" / task
                with suppress(OSError, ValueError, IndexError):
                    cpu, ready = self._times(folder)
                    yield self._advance((pid, int(task)), folder, cpu, ready)

    def _times(self, folder: Path) -> tuple[float, float]:
        with suppress(OSError):
            on, ready, *_ = (folder / "schedstat").read_text(encoding="ascii").split()
            return int(on) / 1e9, int(ready) / 1e9
        self.knows_waits = False
        words = (folder / "stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
        return (int(words[11]) + int(words[12])) * _TICK_S, 0.0

    def _advance(self, key: tuple[int, int], folder: Path, cpu: float, ready: float) -> tuple[float, float]:
        known = self._threads.get(key)
        if known is None:
            known = self._threads[key] = _Thread("", 0.0, 0.0)
        name = (folder / "comm").read_text(encoding="utf-8", errors="replace").strip()
        advance = max(0.0, cpu - known.cpu_s), max(0.0, ready - known.ready_s)
        known.name, known.cpu_s, known.ready_s = name, cpu, ready
        self.waited_s += advance[1]
        return advance

    def _memory(self, pid: int) -> float:
        with suppress(OSError, ValueError, IndexError):
            return int((self.proc / str(pid) / "statm").read_text(encoding="ascii").split()[1]) * _PAGE_BYTES
        return 0.0
