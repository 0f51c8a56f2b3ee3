"""The estimate of a server's kernel beside what clients outside measured, with planted delay and loss."""

import pytest

from tests.emulated.lossy_link import missing

from .felt_outside import disagreements


@pytest.mark.skipif(bool(missing()), reason=missing())
def test_a_passive_watch_agrees_with_a_prober_outside() -> None:
    assert disagreements(160, delay_s=0.015, loss=0.03, size=2000, usual=False) == []
