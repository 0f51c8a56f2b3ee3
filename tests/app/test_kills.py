"""Promises on samples when the controller dies; `make promises` runs them at full length."""

from pathlib import Path

from tests.app.kills import Toll, run


def killed(work: Path, kills: int, seed: int) -> Toll:
    """The toll of so many kills at random moments of simulated studies."""
    return run(Path(__file__).with_name("small.yaml"), work, kills, seed)


def test_p16_p20_a_killed_study_loses_nothing_and_says_the_same(tmp_path: Path) -> None:
    toll = killed(tmp_path, 3, 20260105)
    assert toll.kills == 3
    assert toll.lost == 0
    assert toll.changed == 0
