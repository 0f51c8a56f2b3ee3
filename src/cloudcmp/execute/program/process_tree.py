"""Looks at a process and its descendants while they run: processor time by thread, memory, and how many could run."""

import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

_TICK_S = 1.0 / os.sysconf("SC_CLK_TCK")
_USER = 11
"""The place of a thread's user time after its name in `stat`; that of the system follows."""
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


@dataclass(slots=True)
class _Thread:
    name: str
    cpu_s: float
    ready_s: float


@dataclass(frozen=True, slots=True)
class _Advance:
    """What a thread did between two looks, and whether it can run now."""

    cpu_s: float
    ready_s: float
    runnable: bool


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
        passed = 0.0 if self._last_s is None else now_s - self._last_s
        self._last_s = now_s
        for pid in self._processes():
            memory += self._memory(pid)
            for one in self._advances(pid):
                used += one.cpu_s
                # The kernel counts a wait when it ends: it may be longer than this look, or not be counted yet.
                demanded += passed if one.runnable else min(passed, one.cpu_s + one.ready_s)
        self.peak_bytes = max(self.peak_bytes, memory)
        self.blocked_s += max(0.0, passed - demanded)
        if used > 0 and passed > 0:
            at_once = max(1, round(demanded / passed))
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
                for task in (self.proc / str(pid) / "task").iterdir():
                    waiting += map(int, (task / "children").read_text(encoding="ascii").split())

    def _advances(self, pid: int) -> Iterator["_Advance"]:
        """Yield for each thread what it did since the last look."""
        with suppress(OSError):
            for folder in (self.proc / str(pid) / "task").iterdir():
                with suppress(OSError, ValueError, IndexError):
                    yield self._advance((pid, int(folder.name)), folder)

    def _advance(self, key: tuple[int, int], folder: Path) -> "_Advance":
        name, _, rest = (folder / "stat").read_text(encoding="utf-8", errors="replace").rpartition(")")
        words = rest.split()
        cpu, ready = self._times(folder, words)
        known = self._threads.setdefault(key, _Thread("", 0.0, 0.0))
        advance = _Advance(max(0.0, cpu - known.cpu_s), max(0.0, ready - known.ready_s), words[0] == "R")
        known.name, known.cpu_s, known.ready_s = name.partition("(")[2], cpu, ready
        self.waited_s += advance.ready_s
        return advance

    def _times(self, folder: Path, words: list[str]) -> tuple[float, float]:
        """Seconds on a processor and waiting for one; without the scheduler's figures the first alone, in ticks."""
        with suppress(OSError):
            on, ready, *_ = (folder / "schedstat").read_text(encoding="ascii").split()
            return int(on) / 1e9, int(ready) / 1e9
        self.knows_waits = False
        return (int(words[_USER]) + int(words[_USER + 1])) * _TICK_S, 0.0

    def _memory(self, pid: int) -> float:
        with suppress(OSError, ValueError, IndexError):
            return int((self.proc / str(pid) / "statm").read_text(encoding="ascii").split()[1]) * _PAGE_BYTES
        return 0.0
