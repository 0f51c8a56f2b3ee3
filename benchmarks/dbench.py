"""A file server's load: the agent beside dbench 4 on the same loadfile, interleaved. Needs Debian's dbench.

As dbench's, a client of the agent reads the line of each operation again and asks whether its parent lives. Differences
that stay: dbench's clients are processes, the agent's are threads with tables of open files of their own; dbench writes
zeros, the agent what no device can shrink; dbench looks at the time once a second.

usage: python3 benchmarks/dbench.py [ROUNDS] [--record]        (3 rounds unless given; works in the current folder)
"""

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from agent import missing, rounds, run_agent, side_by_side

SECONDS = 4
CASES = (("async", 1), ("async", 10), ("sync", 1), ("sync", 10))
OPTIONS = {"async": [], "sync": ["-F", "-S", "-s"]}
LOADFILE = Path("/usr/share/dbench/client.txt")


def run_ours(mode: str, clients: int) -> float:
    params = {"clients": str(clients), "mode": mode, "loadfile": str(LOADFILE), "duration_s": str(SECONDS)}
    values, _ = run_agent("dbench", params, Path.cwd())
    return values["dbench_bytes_per_s"][0]


def run_peer(mode: str, clients: int) -> float:
    """Bytes a second; dbench tells them in millions."""
    with tempfile.TemporaryDirectory(dir=Path.cwd()) as own:
        command = ["dbench", "-t", str(SECONDS), "-c", str(LOADFILE), "-D", own, *OPTIONS[mode], str(clients)]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
    found = re.search(r"^Throughput ([0-9.]+) MB/sec", done.stdout, re.MULTILINE)
    if found is None:
        raise RuntimeError(f"dbench gave no throughput: {done.stdout[-200:]}")
    return float(found[1]) * 1e6


def main() -> int:
    there = shutil.which("dbench") and LOADFILE.is_file()
    why = missing() or (None if there else "no dbench here; install Debian's package dbench")
    if why:
        print(why, file=sys.stderr)
        return 2
    print(f"{LOADFILE}, {SECONDS} s a run after a warm-up, B/s")
    print(f"{'':<34} {'ours':>10} {'dbench':>10}   ours/dbench")
    for mode, clients in CASES:
        side_by_side(
            f"dbench-{mode}-{clients}",
            lambda mode=mode, clients=clients: run_ours(mode, clients),
            lambda mode=mode, clients=clients: run_peer(mode, clients),
            rounds(3),
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
