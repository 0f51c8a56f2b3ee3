"""What is planted is found, and what is not there is not; `make promises` runs a hundred seeds of each."""

from pathlib import Path

import pytest

from tests.slices import long

from .planted import false_finds, missed


@pytest.mark.parametrize("seed", [1])
def test_the_demo_finds_what_was_planted(tmp_path: Path, seed: int) -> None:
    assert missed(seed, tmp_path / "demo") == []


@long  # on real measurements of equals: tests/compare/test_real_clouds.py
def test_p31_tied_clouds_are_not_told_apart(tmp_path: Path) -> None:
    # At most one study in twenty may err; two of three would mean a rate far above that.
    assert sum(bool(false_finds(seed, tmp_path / str(seed))) for seed in range(1, 4)) <= 1
