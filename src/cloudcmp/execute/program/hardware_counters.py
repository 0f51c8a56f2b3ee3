"""Counters of the processor through `perf stat`, where this machine allows it."""

import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from cloudcmp.model.demands import Counter, Missing

EVENTS = {
    "instructions": Counter.INSTRUCTIONS,
    "cycles": Counter.CYCLES,
    "LLC-load-misses": Counter.CACHE_MISSES,
}
"""Events of perf; each miss of the last cache moves one line of memory."""
_DEADLINE_S = 10.0
_COLUMNS = 3


@dataclass(frozen=True, slots=True)
class Perf:
    """The command that counts, and the events that this machine can count; without any there is nothing to run."""

    program: str
    events: tuple[str, ...]
    missing: tuple[Missing, ...]

    def around(self, command: Sequence[str], out: Path) -> list[str]:
        """The command line that runs a command and writes its counters to a file."""
        if not self.events:
            return list(command)
        return [self.program, "stat", "-x", ";", "-o", str(out), "-e", ",".join(self.events), "--", *command]


def find_perf(program: str = "perf") -> Perf:
    """Return what perf can count here, by trying each event on a command that does nothing."""
    path = shutil.which(program)
    if path is None:
        return Perf("", (), (Missing(tuple(EVENTS.values()), "perf is not installed"),))
    line = [path, "stat", "-x", ";", "-e", ",".join(EVENTS), "--", "true"]
    try:
        done = subprocess.run(line, capture_output=True, text=True, timeout=_DEADLINE_S, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return Perf("", (), (Missing(tuple(EVENTS.values()), "perf does not run here"),))
    counted = parse_perf(done.stderr)
    events = tuple(name for name, counter in EVENTS.items() if counter in counted)
    lacking = tuple(counter for counter in EVENTS.values() if counter not in counted)
    why = (
        "this machine gives its processor's counters to nobody"
        if done.returncode == 0
        else "perf is not permitted here"
    )
    return Perf(path, events, (Missing(lacking, why),) if lacking else ())


def parse_perf(text: str) -> dict[Counter, float]:
    """Return the counters in the output of `perf stat -x ';'`; what was not counted is left out."""
    found: dict[Counter, float] = {}
    for line in text.splitlines():
        parts = line.split(";")
        if line.startswith("#") or len(parts) < _COLUMNS:
            continue
        counter = EVENTS.get(parts[2].partition(":")[0])
        if counter is not None and parts[0].replace(".", "", 1).isdigit():
            found[counter] = float(parts[0])
    return found
