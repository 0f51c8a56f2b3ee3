"""Candidates set against each other: effects, tests of the whole family, verdicts, winners."""

from cloudcmp.compare.comparability import FACTS, Fact
from cloudcmp.compare.comparisons import REPLICATION_UNKNOWN, compare
from cloudcmp.compare.family import ALPHA, deciding
from cloudcmp.compare.table import PairTable
from cloudcmp.compare.verdict import SAME_RATIO
from cloudcmp.compare.winners import WinnerRow, winner_rows

__all__ = [
    "ALPHA",
    "FACTS",
    "REPLICATION_UNKNOWN",
    "SAME_RATIO",
    "Fact",
    "PairTable",
    "WinnerRow",
    "compare",
    "deciding",
    "winner_rows",
]
