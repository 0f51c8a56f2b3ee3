"""A fixed task again and again: how far its wall time repeats, and how far its CPU time does.

The score of a task is its wall time, for CPU time would hide what the hypervisor stole. Its CPU-time twin is noted with
it, and tells a disturbed machine from a slow one. Shown is the coefficient of variation of each.

usage: python3 benchmarks/repeat.py [RUNS] [--record]        (20 runs unless given)
"""

import statistics
import sys

from agent import missing, rounds, run_agent, show


def main() -> int:
    if why := missing():
        print(why, file=sys.stderr)
        return 2
    notes = [run_agent("loop", {"iterations": "200", "loops": "10"})[1] for _ in range(rounds(20))]
    for name, key in (("repeat-wall", "elapsed_s"), ("repeat-cpu", "cpu_time_s")):
        times = [float(str(told[key])) for told in notes]
        cov = statistics.stdev(times) / statistics.mean(times)
        show(name, [cov], f"{statistics.median(times):>10.4g} s", f"a coefficient of {len(times)} runs")
    return 0


if __name__ == "__main__":
    sys.exit(main())
