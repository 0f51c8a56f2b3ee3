"""One small study, measured once for all tests of the verbs."""

from pathlib import Path

import pytest

from .command import cloudcmp

SMALL = Path(__file__).parent.parent / "app" / "small.yaml"
TINY = Path(__file__).parent / "tiny.yaml"


@pytest.fixture(scope="session")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a small simulated study that was run by the command."""
    folder = tmp_path_factory.mktemp("studies") / "small"
    said = cloudcmp("run", SMALL, "--out", folder)
    assert said.code == 0, said.err
    return folder
