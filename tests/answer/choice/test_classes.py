"""Classes of applications: their needs are met by every cell of a metric, and what was not measured is named."""

import numpy as np
import pytest
from tests.answer.choice.markets import market

from cloudcmp.answer.choice.classes import needs_of
from cloudcmp.answer.choice.needs import bound_need, met
from cloudcmp.catalog import METRICS
from cloudcmp.catalog.application_classes import CLASSES
from cloudcmp.errors import UserMistake
from cloudcmp.model.market import Market, Numbers


def test_every_metric_of_a_class_is_measured_by_some_probe() -> None:
    for name, one in CLASSES.items():
        assert one.needs, name
        for need in one.needs:
            assert need.cell.split(" ")[0] in METRICS, need.cell


def test_limits_are_those_of_the_thesis() -> None:
    jitter = next(one for one in CLASSES["voip"].needs if one.cell == "udp_jitter_s")
    assert (jitter.op, jitter.limit) == ("<=", "75 ms")
    assert {one.limit for one in CLASSES["video-hd"].needs} == {"1.5 %", "6 Mbit/s"}


def test_the_worst_cell_of_a_metric_decides() -> None:
    one = Numbers("udp_jitter_s path=zone", np.array([0.01, 0.01]), "s", is_measured=True)
    other = Numbers("udp_jitter_s path=zones", np.array([0.02, 0.2]), "s", is_measured=True)
    base = market([1, 2])
    found = needs_of("voip", Market(base.keys, {**base.columns, one.name: one, other.name: other}, "USD"))
    assert [need.name for need in found.needs] == [one.name, other.name]
    whole = Market(base.keys, {**base.columns, one.name: one, other.name: other}, "USD")
    yes = np.all([met(bound_need(need, whole), whole).yes for need in found.needs], axis=0)
    assert yes.tolist() == [True, False]
    assert len(found.notes) == 3
    assert all("was not measured" in note for note in found.notes)


def test_what_nobody_measured_is_refused() -> None:
    with pytest.raises(UserMistake, match="no source measures what voip needs: wan_rtt_s, udp_jitter_s"):
        needs_of("voip", market([1]))
    with pytest.raises(UserMistake, match="unknown class 'viop'; nearest: voip"):
        needs_of("viop", market([1]))
