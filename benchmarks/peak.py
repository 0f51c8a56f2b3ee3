"""Peak of multiply-adds: the agent beside what clock and instructions allow; the peer is arithmetic.

usage: python3 benchmarks/peak.py [ROUNDS] [--record]        (9 rounds unless given)
"""

import sys

from agent import missing, rounds, run_agent, show


def main() -> int:
    if why := missing():
        print(why, file=sys.stderr)
        return 2
    ratios = [run_agent("peak", {"duration_s": "0.5"})[0]["peak_ratio"][0] for _ in range(rounds(9))]
    show("fma-peak", ratios)
    return 0


if __name__ == "__main__":
    sys.exit(main())
