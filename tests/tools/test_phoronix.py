"""Phoronix Test Suite: several tests, runs and systems in one file; direction and unit as the file tells them."""

import json

import pytest

from tests.tools.outputs import reports, sample, values, why

XML, JSON = "phoronix-composite.xml", "phoronix-result.json"


def test_each_run_of_each_system_is_a_report() -> None:
    found = reports("phoronix", sample(XML))
    zips = [one for one in found if one.tool == "pts/compress-7zip"]
    assert [(one.offering, values(one)["result"]) for one in zips] == [
        ("m7i.2xlarge", 41102), ("m7i.2xlarge", 41330), ("m7i.2xlarge", 41303),
        ("m7a.2xlarge", 52115), ("m7a.2xlarge", 52502), ("m7a.2xlarge", 52313),
    ]  # fmt: skip
    assert zips[0].settings == {"scale": "MIPS", "profile": "1.10.0", "test": "Test_Compression_Rating"}
    assert zips[0].version == "22.01"
    assert zips[0].readings[0].metric == "tool_index"
    (*built, failed) = [one for one in found if one.tool == "pts/build-linux-kernel"]
    assert [values(one)["result"] for one in built] == [201.71, 201.44, 201.509]
    assert built[0].readings[0].metric == "tool_time_s"
    assert (failed.offering, failed.readings) == ("m7a.2xlarge", ())
    assert failed.failed[0].metric == "tool_time_s"
    (triad, *_) = [one for one in found if one.tool == "pts/stream"]
    assert (triad.readings[0].metric, triad.readings[0].value) == ("tool_bytes_per_s", pytest.approx(38011.1e6))
    assert found[0].unread == ("result 4 (pts/compress-7zip-1.10.0): LINE_GRAPH, which is no bar of single values",)


def test_the_json_says_the_same_as_the_xml() -> None:
    of_json = reports("phoronix", sample(JSON))
    of_xml = [one for one in reports("phoronix", sample(XML)) if one.tool != "pts/stream" and one.readings]
    assert [(one.tool, one.settings, one.readings, one.offering) for one in of_json] == [
        (one.tool, one.settings, one.readings, one.offering) for one in of_xml
    ]


@pytest.mark.parametrize(
    ("scale", "proportion", "metric", "unit"),
    [
        ("Milliseconds", "LIB", "tool_latency_s", 1e-3),
        ("Requests Per Second", "HIB", "tool_op_per_s", 1.0),
        ("GFLOPS", "HIB", "tool_flop_per_s", 1e9),
        ("MiB/s", "HIB", "tool_bytes_per_s", 2.0**20),
        ("Nanoseconds", "HIB", "tool_index", 1.0),
        ("Microseconds Per Step", "LIB", "tool_penalty_index", 1.0),
    ],
)
def test_a_scale_is_a_unit_only_in_its_direction(scale: str, proportion: str, metric: str, unit: float) -> None:
    text = sample(XML).replace("<Scale>MIPS</Scale>", f"<Scale>{scale}</Scale>")
    text = text.replace("<Proportion>HIB</Proportion>", f"<Proportion>{proportion}</Proportion>", 1)
    (first, *_) = reports("phoronix", text)
    (reading,) = first.readings
    assert (reading.metric, reading.value) == (metric, pytest.approx(41102 * unit))


def test_without_raw_values_the_shown_one_counts() -> None:
    text = sample(XML).replace("<RawString>41102:41330:41303</RawString>", "<RawString></RawString>")
    assert values(reports("phoronix", text)[0]) == {"result": 41245}


SECOND = "<Identifier>m7a.2xlarge</Identifier>\n        <Value>52310"
BOMB = '<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a "b">]>'


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("<Value>41245</Value>", "<Value>51245</Value>", "is not among its runs"),
        ("41102:41330", "41102:41,330", "is not a number"),
        ("41102:41330", "-41102:41330", "is not above zero"),
        ("<Value>41245</Value>", "<Value>1</Value><Value>2</Value>", "has 2 elements Value"),
        ("<?xml version=\"1.0\"?>", BOMB, "declares types"),
        ("</PhoronixTestSuite>", "", "cut or broken"),
        ("Description>A test &amp; another", "Description>A test & another", "line 8: the XML document"),
        (SECOND, SECOND.replace("m7a", "m7i"), "told twice"),
    ],
)  # fmt: skip
def test_a_doubtful_result_is_one_line(old: str, new: str, says: str) -> None:
    assert old in sample(XML)
    assert says in why("phoronix", sample(XML).replace(old, new, 1))


def test_a_result_without_a_direction_is_left_out_and_told() -> None:
    text = sample(XML).replace("<Proportion>HIB</Proportion>", "<Proportion></Proportion>", 1)
    (first, *rest) = reports("phoronix", text)
    assert "result 1 (pts/compress-7zip-1.10.0): whether more or less is better is not told" in first.unread
    assert all(one.tool != "pts/compress-7zip" for one in (first, *rest))


def test_json_of_older_versions_does_not_say_the_direction() -> None:
    old = {"title": "x", "results": [{"test": "pts/c-ray-1.2.0", "arguments": "", "units": "Seconds",
           "results": {"a": {"value": "5", "all_results": "5:5"}}}]}  # fmt: skip
    assert "import composite.xml" in why("phoronix", json.dumps(old))
