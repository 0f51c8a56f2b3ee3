"""Candidates set against each other: effects, tests of the whole family, verdicts, winners."""

from cloudcmp.compare.comparisons import compare
from cloudcmp.compare.family import deciding
from cloudcmp.compare.unlike import FACTS, Fact
from cloudcmp.compare.winners import WinnerRow, winner_rows

__all__ = ["FACTS", "Fact", "WinnerRow", "compare", "deciding", "winner_rows"]
