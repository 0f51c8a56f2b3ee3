"""STREAM triad: the agent beside the loop that gcc makes of STREAM's own, interleaved. Needs gcc with OpenMP.

usage: python3 benchmarks/stream.py [ROUNDS] [--record]        (5 rounds unless given)
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from agent import cpus, missing, rounds, run_agent, side_by_side

HERE = Path(__file__).parent
SECONDS = "0.5"


def build(folder: Path) -> Path:
    """The peer, compiled for this very processor."""
    peer = folder / "stream_peer"
    flags = ["-O3", "-march=native", "-fopenmp"]
    subprocess.run(["gcc", *flags, "-o", peer, HERE / "stream_peer.c"], check=True)
    return peer


def run_peer(peer: Path, array_bytes: str, threads: int) -> tuple[float, float]:
    """Bytes a second over the whole run and of the best pass."""
    environment = {**os.environ, "OMP_NUM_THREADS": str(threads), "OMP_PROC_BIND": "true"}
    done = subprocess.run([peer, array_bytes, SECONDS], env=environment, check=True, capture_output=True, text=True)
    whole, best = done.stdout.split()
    return float(whole), float(best)


def run_ours(store: str, threads: int, array_bytes: str = "auto") -> tuple[float, str]:
    params = {"threads": str(threads), "store": store, "array_bytes": array_bytes, "duration_s": SECONDS}
    values, notes = run_agent("stream", params)
    return values["triad_bytes_per_s"][0], str(notes["array_bytes"])


def main() -> int:
    if why := missing():
        print(why, file=sys.stderr)
        return 2
    array_bytes = run_ours("plain", 1)[1]
    print(f"STREAM triad, arrays of {array_bytes} B, {SECONDS} s a run, B/s")
    print(f"{'':<34} {'ours':>10} {'peer':>10}   ours/peer")
    with tempfile.TemporaryDirectory() as folder:
        peer = build(Path(folder))
        for threads in sorted({1, len(cpus())}):
            for store in ("nontemporal", "plain"):
                side_by_side(
                    f"triad-{store}-{threads}",
                    lambda store=store, threads=threads: run_ours(store, threads, array_bytes)[0],
                    lambda threads=threads: run_peer(peer, array_bytes, threads)[0],
                    rounds(5),
                )
    return 0


if __name__ == "__main__":
    sys.exit(main())
