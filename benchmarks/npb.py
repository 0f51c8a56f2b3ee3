"""The NAS parallel benchmarks: the agent beside the original programs, interleaved, operations a second.

The originals are nowhere to be installed from: build NPB 3.4-OMP with gfortran and gcc -O3, and name the folder of its
programs (bt.A.x and so on). A program counts only where it says itself that its verification succeeded.

usage: python3 benchmarks/npb.py FOLDER [BENCHMARK...] [CLASS] [ROUNDS] [--record]   (bt, A and 3 unless given)
"""

import os
import re
import subprocess
import sys
from pathlib import Path

from agent import cpus, missing, rounds, run_agent, side_by_side

BENCHMARKS = ("bt", "ep", "cg", "mg", "ft", "is")
CLASSES = ("S", "W", "A", "B")
_RATE = re.compile(r"^\s*Mop/s total\s*=\s*([0-9.]+)", re.MULTILINE)
_VERIFIED = re.compile(r"^\s*Verification\s*=\s*SUCCESSFUL", re.MULTILINE)


def run_peer(program: Path, threads: int) -> float:
    """Operations a second that an original prints; raises RuntimeError where it does not verify itself."""
    environment = {**os.environ, "OMP_NUM_THREADS": str(threads), "OMP_PROC_BIND": "true"}
    done = subprocess.run([program], env=environment, check=True, capture_output=True, text=True)
    found = _RATE.search(done.stdout)
    if not found or not _VERIFIED.search(done.stdout):
        raise RuntimeError(f"{program} did not say that its verification succeeded")
    return float(found[1]) * 1e6


def run_ours(benchmark: str, size: str, threads: int) -> float:
    params = {"benchmark": benchmark, "class": size, "threads": str(threads)}
    return run_agent("npb", params)[0]["npb_op_per_s"][0]


def main() -> int:
    words = [word for word in sys.argv[1:] if not word.startswith("--") and not word.isdigit()]
    chosen = [word for word in words[1:] if word in BENCHMARKS] or ["bt"]
    size = next((word for word in words[1:] if word in CLASSES), "A")
    programs = {name: Path(words[0]) / f"{name}.{size}.x" for name in chosen} if words else {}
    lost = [str(program) for program in programs.values() if not os.access(program, os.X_OK)]
    why = missing() or ("name the folder of the original programs" if not words else "")
    why = why or (f"no program {', '.join(lost)}: build NPB 3.4-OMP there" if lost else "")
    if why:
        print(why, file=sys.stderr)
        return 2
    print(f"NPB class {size}, operations a second")
    print(f"{'':<34} {'ours':>10} {'original':>10}   ours/original")
    for name, program in programs.items():
        for threads in sorted({1, len(cpus())}):
            side_by_side(
                f"npb-{name}-{threads}",
                lambda name=name, threads=threads: run_ours(name, size, threads),
                lambda program=program, threads=threads: run_peer(program, threads),
                rounds(3),
            )
    return 0


if __name__ == "__main__":
    sys.exit(main())
