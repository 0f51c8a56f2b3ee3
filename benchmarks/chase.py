"""Latency of memory at 1 GiB with base and with huge pages: each run against the one before it.

No tool that is at hand measures it well, so what is shown is how far it repeats. How many of the pages were huge is
told with each, as the kernel may give fewer than it was asked for.

usage: python3 benchmarks/chase.py [ROUNDS] [--record]        (9 rounds unless given)
"""

import sys
from itertools import pairwise

from agent import missing, rounds, run_agent, show

SIZE_BYTES = 2**30


def main() -> int:
    if why := missing():
        print(why, file=sys.stderr)
        return 2
    for pages in ("base", "huge"):
        params = {"size_bytes": str(SIZE_BYTES), "pages": pages, "duration_s": "1"}
        found = [run_agent("chase", params) for _ in range(rounds(9) + 1)]
        latencies = [sorted(values["chase_latency_s"])[len(values["chase_latency_s"]) // 2] for values, _ in found]
        told = {key: value for key, value in found[0][1].items() if "page" in key or "huge" in key}
        ratios = [after / before for before, after in pairwise(latencies)]
        show(f"chase-{pages}", ratios, f"{latencies[0]:>10.4g} s")
        print(f"    {told}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
