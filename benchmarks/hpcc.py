"""A dense solve: the agent beside HPL in Debian's hpcc as it is installed, one process, interleaved.

Which BLAS the package finds decides its figure: the reference one, unless the machine has another. Needs hpcc
(Debian: apt-get install hpcc).

usage: python3 benchmarks/hpcc.py [ROUNDS] [--record]        (3 rounds unless given)
"""

import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from agent import cpus, missing, rounds, run_agent, side_by_side

N = 2000
# One system of order N in blocks of 80 on a grid of one process; the rest as HPL's own example has it.
INPUT = f"""HPLinpack benchmark input file
made by benchmarks/hpcc.py
HPL.out      output file name (if any)
6            device out (6=stdout,7=stderr,file)
1            # of problems sizes (N)
{N}          Ns
1            # of NBs
80           NBs
0            PMAP process mapping (0=Row-,1=Column-major)
1            # of process grids (P x Q)
1            Ps
1            Qs
16.0         threshold
1            # of panel fact
2            PFACTs (0=left, 1=Crout, 2=Right)
1            # of recursive stopping criterium
4            NBMINs (>= 1)
1            # of panels in recursion
2            NDIVs
1            # of recursive panel fact.
1            RFACTs (0=left, 1=Crout, 2=Right)
1            # of broadcast
1            BCASTs (0=1rg,1=1rM,2=2rg,3=2rM,4=Lng,5=LnM)
1            # of lookahead depth
1            DEPTHs (>=0)
2            SWAP (0=bin-exch,1=long,2=mix)
64           swapping threshold
0            L1 in (0=transposed,1=no-transposed) form
0            U  in (0=transposed,1=no-transposed) form
1            Equilibration (0=no,1=yes)
8            memory alignment in double (> 0)
"""


def peer(folder: Path) -> float:
    """HPL's rate, flop/s; raises RuntimeError where its output tells none, or a residual that is too large."""
    (folder / "hpccinf.txt").write_text(INPUT, encoding="ascii")
    (folder / "hpccoutf.txt").unlink(missing_ok=True)
    env = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    line = ["taskset", "-c", str(cpus()[0]), "hpcc"]
    subprocess.run(line, cwd=folder, env=env, check=True, capture_output=True)
    text = (folder / "hpccoutf.txt").read_text(encoding="utf-8", errors="replace")
    found = re.search(r"^HPL_Tflops=(\S+)$", text, re.MULTILINE)
    if found is None or "FAILED" in text:
        raise RuntimeError("hpcc tells no rate of HPL")
    return float(found[1]) * 1e12


def ours() -> float:
    values, _ = run_agent("lu", {"n": str(N), "duration_s": "1"})
    return statistics.median(values["lu_flop_per_s"])


def main() -> int:
    why = missing() or (None if shutil.which("hpcc") else "no hpcc: apt-get install hpcc")
    if why:
        print(why, file=sys.stderr)
        return 2
    print(f"{'':<34} {'ours':>10} {'hpcc':>10}   ours/hpcc, flop/s")
    with tempfile.TemporaryDirectory() as folder:
        side_by_side("lu-hpcc", ours, lambda: peer(Path(folder)), rounds(3))
    return 0


if __name__ == "__main__":
    sys.exit(main())
