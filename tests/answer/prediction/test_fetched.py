"""Files that users fetch from the vantage points of a market."""

from pathlib import Path

import numpy as np
import pytest

from cloudcmp.answer.prediction.predict import predict
from cloudcmp.errors import UserMistake
from cloudcmp.model.application import Application, ApplicationKind
from cloudcmp.model.market import Market, Numbers, OfferKey
from cloudcmp.model.metric import Better
from cloudcmp.model.prediction import Aim, Prediction
from cloudcmp.study.application import read_application

KEYS = (OfferKey("a", "west", "m"), OfferKey("b", "east", "m"))
RTT = "wan_rtt_s percentile=50;vantage="
REST = "wan_transfer_s percentile=50"
URL = f"{REST};resource=url;size_bytes=100000;vantage=x"


def site(*files: str) -> Application:
    text = f"schema: 1\napplication: site\nstatic: {{{', '.join(files)}}}\n"
    found = read_application(text.encode(), Path("site.yaml"))
    assert found.kind is ApplicationKind.STATIC
    return found


def told(application: Application, **columns: list[float]) -> Prediction:
    made = (Numbers(name, np.array(values), "s", Better.LOWER, is_measured=True) for name, values in columns.items())
    return predict(application, Market(KEYS, {one.name: one for one in made}, "USD"), Aim.TIME)


def test_a_file_is_fetched_from_each_vantage_point_equally_often() -> None:
    """Two round trips for a small file: 20 and 60 ms from one region, 90 and 10 ms from the other."""
    found = told(site("p: {size: 1 KB}"), **{f"{RTT}x": [0.01, 0.045], f"{RTT}y": [0.03, 0.005]})
    assert found.parts == ("p from x", "p from y")
    first, second = found.candidates
    assert (first.key.region, first.time_s) == ("west", pytest.approx(0.04))
    assert second.parts_s == pytest.approx((0.09, 0.01))
    assert second.time_s == pytest.approx(0.05)


def test_weights_are_those_of_files_however_many_vantage_points_see_them() -> None:
    files = "p: {size: 1 KB, weight: 3}", "q: {size: 1 KB, vantage: y}"
    found = told(site(*files), **{f"{RTT}x": [0.01, 0.02], f"{RTT}y": [0.03, 0.06]})
    assert found.parts == ("p from x", "p from y", "q")
    assert found.candidates[0].time_s == pytest.approx((3 * 0.04 + 0.06) / 4)


def test_a_named_vantage_point_is_the_only_one() -> None:
    found = told(site("p: {size: 1 KB, vantage: y}"), **{f"{RTT}x": [0.01, 0.02], f"{RTT}y": [0.03, 0.06]})
    assert (found.parts, found.candidates[0].time_s) == (("p",), pytest.approx(0.06))


def test_the_measured_rest_of_a_file_counts_in_place_of_slow_start() -> None:
    """100 KB take 2 round trips before the first byte and 2 more of slow start; a rate of 1 MB/s takes 85 ms."""
    columns = {f"{RTT}x": [0.01, 0.01], f"{REST};size_bytes=100000;vantage=x": [0.085, 0.2],
               URL: [9.0, 9.0]}  # fmt: skip
    found = told(site("p: {size: 100 KB}"), **columns)
    assert [one.time_s for one in found.candidates] == pytest.approx([0.105, 0.22])
    assert all(one.overlapped_s == one.serial_s == one.time_s for one in found.candidates)
    assert {one.cell for one in found.counted} == {*columns} - {URL}


def test_pages_of_another_size_or_kind_say_nothing_of_a_file() -> None:
    columns = {f"{RTT}x": [0.01, 0.01], f"{REST};size_bytes=101000;vantage=x": [0.085, 0.2], URL: [9.0, 9.0]}
    assert [one.time_s for one in told(site("p: {size: 100 KB}"), **columns).candidates] == pytest.approx([0.04, 0.04])


def test_an_offering_that_one_vantage_point_did_not_see_is_left_out() -> None:
    found = told(site("p: {size: 1 KB}"), **{f"{RTT}x": [0.01, 0.02], f"{RTT}y": [0.03, np.nan]})
    assert [one.key.region for one in found.candidates] == ["west"]
    assert [one.key.region for one in found.left_out] == ["east"]


def test_without_a_vantage_point_nothing_is_predicted() -> None:
    with pytest.raises(UserMistake, match=r"no source measures round trips \(wan_rtt_s percentile=50\)"):
        told(site("p: {size: 1 KB}"), **{"int_op_per_s threads=one": [1.0, 2.0]})
