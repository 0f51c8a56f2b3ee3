"""Dense products and solves: the agent beside OpenBLAS as numpy's and scipy's wheels bring it, interleaved.

The peer is a Python process of its own for each number of threads, which stays between rounds. Which kernel OpenBLAS
chose is printed: a wheel may choose an old one on a new processor.

usage: .venv/bin/python benchmarks/blas.py [ROUNDS] [--record]        (7 rounds unless given)
"""

import importlib.util
import os
import re
import statistics
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from agent import cpus, missing, rounds, run_agent, side_by_side

N = 2000
PEER = """
import sys, time
import numpy as np
from scipy.linalg import lapack
n = int(sys.argv[1])
rng = np.random.default_rng(1)
a = np.asfortranarray(rng.random((n, n)) - 0.5)
b = np.asfortranarray(rng.random((n, n)) - 0.5)
c = np.empty((n, n), order="F")
x = rng.random(n)
np.matmul(a, b, out=c)
for line in sys.stdin:
    best = []
    stop = time.perf_counter() + 1
    while time.perf_counter() < stop:
        if line.strip() == "gemm":
            start = time.perf_counter()
            np.matmul(a, b, out=c)
            best.append(2 * n**3 / (time.perf_counter() - start))
        else:
            m, y = a.copy(order="F"), x.copy()
            start = time.perf_counter()
            lapack.dgesv(m, y, overwrite_a=True, overwrite_b=True)
            best.append((2 / 3 * n**3 + 2 * n**2) / (time.perf_counter() - start))
    print(sorted(best)[len(best) // 2], flush=True)
"""


@contextmanager
def peer(threads: int) -> Iterator[subprocess.Popen[str]]:
    """A process that answers `gemm` or `lu` with a rate, flop/s, on so many processors."""
    env = {**os.environ, "OPENBLAS_NUM_THREADS": str(threads)}
    pinned = ["taskset", "-c", ",".join(map(str, cpus()[:threads]))]
    with subprocess.Popen(
        [*pinned, sys.executable, "-c", PEER, str(N)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=env,
    ) as process:  # fmt: skip
        yield process
        assert process.stdin is not None
        process.stdin.close()


def ask(process: subprocess.Popen[str], what: str) -> float:
    """One answer of the peer."""
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(f"{what}\n")
    process.stdin.flush()
    return float(process.stdout.readline())


def ours(probe: str, threads: int) -> float:
    """The median rate of the agent's samples over a second, flop/s."""
    values, _ = run_agent(probe, {"n": str(N), "threads": str(threads), "duration_s": "1"})
    return statistics.median(values[f"{probe}_flop_per_s"])


def kernel() -> str:
    """The kernel that OpenBLAS chose here, by its own word as it is loaded."""
    env = {**os.environ, "OPENBLAS_VERBOSE": "2"}
    line = [sys.executable, "-c", "import numpy, scipy.linalg"]
    told = subprocess.run(line, check=True, capture_output=True, text=True, env=env).stderr
    return ", ".join(sorted(set(re.findall(r"Core: (\S+)", told)))) or "not told"


def main() -> int:
    why = missing() or next(
        (
            f"no {name}: run it with .venv/bin/python"
            for name in ("numpy", "scipy")
            if not importlib.util.find_spec(name)
        ),
        None,
    )
    if why:
        print(why, file=sys.stderr)
        return 2
    chosen = f"OpenBLAS kernel {kernel()}"
    print(f"{chosen}\n{'':<34} {'ours':>10} {'peer':>10}   ours/peer, flop/s")
    for threads in sorted({1, min(2, len(cpus()))}):
        with peer(threads) as process:
            for probe in ("gemm", "lu"):
                side_by_side(
                    f"{probe}-{threads}",
                    lambda probe=probe, threads=threads: ours(probe, threads),
                    lambda probe=probe, process=process: ask(process, probe),
                    rounds(7),
                    chosen,
                )
    return 0


if __name__ == "__main__":
    sys.exit(main())
