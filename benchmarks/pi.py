"""Digits of pi: the agent beside the same series on GMP, interleaved.

The peer runs Chudnovsky's series by binary splitting with gmpy2 (PyPI: gmpy2), whose multiplications are GMP's own.

usage: PYTHON_WITH_GMPY2 benchmarks/pi.py [ROUNDS] [--record]        (7 rounds unless given)
"""

import importlib.util
import sys
import time

from agent import missing, rounds, run_agent, side_by_side

DIGITS = 524_288


def split(first: int, last: int) -> tuple[object, object, object]:
    """P, Q and T of the terms first..last."""
    from gmpy2 import mpz

    if last - first == 1:
        k = mpz(first)
        p = (6 * k - 5) * (2 * k - 1) * (6 * k - 1) if first else mpz(1)
        q = k**3 * 10_939_058_860_032_000 if first else mpz(1)
        t = p * (13_591_409 + 545_140_134 * k)
        return p, q, -t if first % 2 else t
    middle = (first + last) // 2
    p1, q1, t1 = split(first, middle)
    p2, q2, t2 = split(middle, last)
    return p1 * p2, q1 * q2, q2 * t1 + p1 * t2  # type: ignore[operator]


def peer() -> float:
    """Seconds from nothing to the decimal text."""
    import gmpy2

    start = time.perf_counter()
    wanted = DIGITS + 16
    _, q, t = split(0, int(wanted / 14.18) + 2)
    root = gmpy2.isqrt(gmpy2.mpz(10_005) * gmpy2.mpz(10) ** (2 * wanted))
    text = str(q * root * 426_880 // t)
    elapsed_s = time.perf_counter() - start
    assert text.startswith("314159265358979")
    return elapsed_s


def main() -> int:
    why = missing() or (None if importlib.util.find_spec("gmpy2") else "no gmpy2: run it with a Python that has it")
    if why:
        print(why, file=sys.stderr)
        return 2
    sys.set_int_max_str_digits(0)
    print(f"{'':<34} {'ours':>10} {'GMP':>10}   ours/GMP, s")
    side_by_side("pi-gmp", lambda: run_agent("pi", {"digits": str(DIGITS)})[0]["pi_time_s"][0], peer, rounds(7))
    return 0


if __name__ == "__main__":
    sys.exit(main())
