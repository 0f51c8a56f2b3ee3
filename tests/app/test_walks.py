"""What goes wrong at each emulated cloud, in short: slices of the rows of `make promises` that walk a cloud."""

from pathlib import Path

import pytest

from tests.app.cloud_walk import walk
from tests.app.clouds import unable
from tests.app.impostors import impostors
from tests.app.lost_walk import lost
from tests.emulated.kinds import LARGE
from tests.slices import long, some

pytestmark = pytest.mark.skipif(bool(unable()), reason=unable() or "studies can run")
OTHERS = tuple(name for name in LARGE if name != "aws")  # its crash points are walked in test_clouds.py


@long
@pytest.mark.parametrize("cloud", some(LARGE, 1, 0))
def test_p02_a_lost_answer_is_mended_whatever_becomes_of_the_controller(cloud: str, tmp_path: Path) -> None:
    toll = lost(tmp_path, cloud, most=3, seed=20260105)
    assert toll.wrong == []
    assert toll.deaths == 3


@pytest.mark.parametrize("cloud", some(LARGE, 1, 1))
def test_p23_no_machine_with_another_host_key_is_let_in(cloud: str, tmp_path: Path) -> None:
    toll = impostors(tmp_path, cloud, 2)
    assert toll.wrong == []
    assert toll.deaths == 2


@long
@pytest.mark.parametrize("cloud", some(OTHERS, 1, 0))
def test_p01_a_controller_that_dies_at_a_cloud_leaves_nothing_after_cleanup(cloud: str, tmp_path: Path) -> None:
    toll = walk(tmp_path / "run", ("cloud.after_create",), most=2, cloud=cloud)
    assert toll.wrong == []
    assert toll.deaths == 2


@long
@pytest.mark.parametrize("cloud", some(OTHERS, 1, 1))
def test_p01_a_controller_that_dies_while_it_ends_a_cloud_s_machines_goes_on(cloud: str, tmp_path: Path) -> None:
    toll = walk(tmp_path, ("cloud.after_destroy",), mend="resume", most=1, cloud=cloud)
    assert toll.wrong == []
    assert toll.deaths == 1
