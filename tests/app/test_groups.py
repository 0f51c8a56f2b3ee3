"""Groups of four machines at emulated clouds, to the report, and what is left of them when their study is killed."""

from pathlib import Path

import pytest

from tests.app.clouds import unable
from tests.app.group_kills import clouds_of_groups, group_kills, wrong_whole
from tests.slices import some

pytestmark = pytest.mark.skipif(bool(unable()), reason=unable() or "studies can run")
CLOUDS = clouds_of_groups()


@pytest.mark.parametrize("cloud", some(CLOUDS, 1, 0))
def test_four_machines_of_a_cloud_measure_as_a_group(cloud: str, tmp_path: Path) -> None:
    assert wrong_whole(tmp_path, cloud) == []


@pytest.mark.parametrize("cloud", some(CLOUDS, 1, 1))
def test_p01_a_killed_study_of_four_machines_leaves_nothing_at_any_cloud(cloud: str, tmp_path: Path) -> None:
    toll = group_kills(tmp_path, 1, 20261126, cloud)
    assert toll.wrong == []
    assert toll.deaths == 1
