"""The making of a study's folder: where it may be made, and what it is called."""

import stat
from pathlib import Path

import pytest
from tests.store.conftest import TOTALS, create, run_trial

from cloudcmp.errors import UserMistake


def test_a_folder_with_signs_of_a_pattern(tmp_path: Path) -> None:
    with create(tmp_path / "odd [a-z]* ?%20#'") as store:
        run_trial(store, store.plan.trials[0])
        assert store.trial_values(TOTALS).value.tolist() == [11.0]


def test_a_folder_that_is_not_empty_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("x")
    with pytest.raises(UserMistake, match="is there already and is not empty"):
        create(tmp_path)
    with pytest.raises(UserMistake, match="is there already"):
        create(tmp_path / "mine")
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]


def test_an_empty_folder_is_used(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    with create(tmp_path):
        assert stat.S_IMODE(tmp_path.stat().st_mode) == 0o700
