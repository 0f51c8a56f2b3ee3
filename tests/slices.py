"""How much of a dear test runs each day: a slice of its cases, and all of them in the promises' row `wholes`.

A test that takes its cases from here is played whole by `CLOUDCMP_WHOLE=1 pytest`, as the row does; so is one for
which hypothesis draws as many examples as `conftest.py` says.
"""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar

import pytest

from tests.numbered import Ran, counted

_Case = TypeVar("_Case")
WHOLE = bool(os.environ.get("CLOUDCMP_WHOLE"))
long = pytest.mark.skipif(not WHOLE, reason="long: `make promises` runs it, in the row `wholes`")
"""Marks a test that takes half a minute, of something that a shorter one tries each day."""


def examples(n: int, share: int = 5) -> int:
    """How many of n drawn examples are tried: one in so many each day, all in the row."""
    return n if WHOLE else -(-n // share)


def some(cases: Sequence[_Case], n: int, at: int) -> Sequence[_Case]:
    """So many cases, others for each `at`, so that each case is tried at some place each day; all in the row."""
    return cases if WHOLE else [cases[(at * n + k) % len(cases)] for k in range(n)]


def spread(cases: Sequence[_Case], n: int) -> Sequence[_Case]:
    """At most so many cases of a list, as far apart as they can be, for they are in an order; all in the row."""
    return cases if WHOLE else cases[:: -(-len(cases) // n)]


def sliced() -> list[Path]:
    """The files of tests that take their cases from here, or have them drawn."""
    here = Path(__file__).parent
    words = ("from tests.slices import", "@given(")
    return sorted(path for path in here.rglob("test_*.py") if any(word in path.read_text("utf-8") for word in words))


def wholes() -> Ran:
    """Run them with all their cases, and count."""
    return counted(*map(str, sliced()), CLOUDCMP_WHOLE="1")
