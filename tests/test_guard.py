"""The guard of results finds what differs, and nothing where nothing does."""

from pathlib import Path

import pytest

from tests import guard
from tests.slices import long

_PLANTED = """\
import math, sys
exp = math.exp
math.exp = lambda x: exp(x) * (1.0 if "kills-1" in sys.argv else 1.0 + 1e-12)
"""


@long
def test_a_source_is_the_same_as_itself_and_not_as_one_that_draws_otherwise(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = tmp_path / "other"
    (other / "src").mkdir(parents=True)
    (other / "src" / "cloudcmp").symlink_to(guard.ROOT / "src" / "cloudcmp")
    (other / "src" / "sitecustomize.py").write_text(_PLANTED, encoding="utf-8")
    assert guard.differing(other, guard.ROOT, ["kills", "faults"], 1, tmp_path) == 1
    told = capsys.readouterr().out.splitlines()
    assert told[0].startswith("kills seed 1 (killed at ")
    assert ": same (" in told[0]
    assert told[1].startswith("faults seed 1: DIFFERENT (")
    assert told[2:4] == ["  --- before/faults-1.csv", "  +++ after/faults-1.csv"]


def test_a_revision_is_laid_out(tmp_path: Path) -> None:
    assert (guard.checked_out("HEAD", tmp_path / "source") / "src" / "cloudcmp").is_dir()
