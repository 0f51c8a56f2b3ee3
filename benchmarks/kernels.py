"""Multiply-adds, integer operations and the latency of memory: the agent beside C programs of ours, interleaved.

Needs gcc. The peer is kernels_peer.c, compiled for this very processor. Ratios of `chase-c` are of times.

usage: python3 benchmarks/kernels.py [ROUNDS] [--record]        (5 rounds unless given)
"""

import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from agent import missing, rounds, run_agent, side_by_side

HERE = Path(__file__).parent
SECONDS = "0.5"
SIZE_BYTES = str(2**28)
ROWS = {
    "fma-c": ("fma", {}, "fma_flop_per_s", ["fma", SECONDS]),
    "int-c": ("int", {}, "int_op_per_s", ["int", SECONDS]),
    "chase-c": (
        "chase",
        {"size_bytes": SIZE_BYTES, "pages": "base"},
        "chase_latency_s",
        ["chase", SECONDS, SIZE_BYTES],
    ),
}


def build(folder: Path) -> Path:
    """The peer, compiled for this very processor."""
    peer = folder / "kernels_peer"
    flags = ["-O3", "-march=native", "-mprefer-vector-width=512"] if _is_x86() else ["-O3", "-mcpu=native"]
    subprocess.run(["gcc", *flags, "-o", peer, HERE / "kernels_peer.c"], check=True)
    return peer


def _is_x86() -> bool:
    return subprocess.run(["gcc", "-dumpmachine"], check=True, capture_output=True, text=True).stdout.startswith("x86")


def main() -> int:
    why = missing() or (None if shutil.which("gcc") else "no gcc for the peer: apt-get install gcc")
    if why:
        print(why, file=sys.stderr)
        return 2
    print(f"{'':<34} {'ours':>10} {'C':>10}   ours/C")
    with tempfile.TemporaryDirectory() as folder:
        peer = build(Path(folder))
        for name, (probe, params, metric, words) in ROWS.items():
            side_by_side(
                name,
                lambda probe=probe, params=params, metric=metric: statistics.median(
                    run_agent(probe, {"duration_s": SECONDS, **params})[0][metric]
                ),
                lambda words=words: float(subprocess.run([peer, *words], check=True, capture_output=True).stdout),
                rounds(5),
            )
    return 0


if __name__ == "__main__":
    sys.exit(main())
