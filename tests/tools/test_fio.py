"""fio: both ages of its JSON, and what makes it not sure."""

import json

import pytest

from cloudcmp.catalog.lookup import tool_settings
from cloudcmp.model.tool import UnclearOutput
from cloudcmp.tools import TOOLS
from tests.tools.outputs import PKB, real, reports, sample, values, why

OLD = f"{PKB}/fio_fio-parser-sample-result.json"


def test_version_2_counts_in_kibibytes_and_microseconds() -> None:
    found = {report.settings["job"]: values(report) for report in reports("fio", real(OLD))}
    # The figures of the file by hand: 68118 KiB/s, 133 requests a second, 477734.84 us.
    assert found["sequential_write"] == pytest.approx(
        {
            "write_bandwidth": 68118 * 1024,
            "write_iops": 133,
            "write_latency_mean": 0.47773484,
            "write_latency_p50": 0.444416,
            "write_latency_p99": 0.823296,
        }
    )
    assert found["random_read_test"]["read_bandwidth"] == 1269 * 1024
    assert found["random_read_test"]["read_latency_mean"] == pytest.approx(3.11762e-3)
    assert len(found) == 5


def test_version_3_counts_in_bytes_and_nanoseconds() -> None:
    (report,) = reports("fio", sample("fio-read.json"))
    assert report.version == "fio-3.33"
    assert report.settings["bs_bytes"] == "131072"
    assert report.settings["duration_s"] == "1"
    found = values(report)
    assert found["read_bandwidth"] == 880316739
    # A second witness: the requests times their size.
    assert found["read_iops"] * 131072 == pytest.approx(found["read_bandwidth"], rel=1e-3)
    assert found["read_latency_mean"] == pytest.approx(1.169839e-3, rel=1e-6)


def test_a_run_is_read_against_what_was_asked() -> None:
    fio = TOOLS["fio"]
    asked = {
        "rw": "read",
        "bs_bytes": "128 KiB",
        "iodepth": "4",
        "numjobs": "2",
        "size_bytes": "4 MiB",
        "duration_s": "1",
    }
    readings = fio.read(sample("fio-read.json"), tool_settings("fio", asked))
    assert [one.measure for one in readings][:2] == ["read_bandwidth", "read_iops"]
    with pytest.raises(UnclearOutput, match="says bs_bytes 131072, 4096 was asked for"):
        fio.read(sample("fio-read.json"), tool_settings("fio", {**asked, "bs_bytes": "4096"}))
    assert fio.read(sample("fio-read.json"), tool_settings("fio", {**asked, "numjobs": "all"})) == readings
    with pytest.raises(UnclearOutput, match="write"):
        fio.read(
            sample("fio-read.json").replace('"rw" : "read"', '"rw" : "rw"'), tool_settings("fio", {**asked, "rw": "rw"})
        )


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ('"fio-3.33"', '"fio-4.0"', "neither 2 nor 3"),
        ('"fio-3.33"', '"fio-2.33"', "has no clat"),
        ('"bw_bytes" : 880316739', '"bw_bytes" : 880316', "does not follow"),
        ('"runtime" : 1001', '"runtime" : 1', "does not follow"),
        ('"iops" : 6716.283716', '"iops" : NaN', "NaN"),
        ('"iops" : 6716.283716', '"iops" : "6716"', "is not a number"),
        ('"error" : 0', '"error" : 28', "ended with error 28"),
        ('"jobs" : [', '"jobs" : [], "jobs" : [', "twice"),
        ('"clat_ns"', '"clat_us"', "has no clat_ns"),
    ],
)
def test_a_changed_output_is_not_believed(old: str, new: str, says: str) -> None:
    text = sample("fio-read.json")
    assert old in text
    assert says in why("fio", text.replace(old, new, 1))


def test_what_is_around_the_document_is_no_part_of_it() -> None:
    text = sample("fio-read.json")
    assert reports("fio", "fio: this platform does not support it\n" + text + "done\n") == reports("fio", text)
    assert reports("fio", text + "done\n" + text) == reports("fio", text) * 2


def test_a_run_that_did_nothing_is_no_reading() -> None:
    document = json.loads(sample("fio-read.json"))
    document["jobs"][0]["read"] |= {"bw": 0, "bw_bytes": 0, "iops": 0.0}
    assert "nothing was read" in why("fio", json.dumps(document))
    document["jobs"] = []
    assert "no job" in why("fio", json.dumps(document))


def test_a_clone_of_a_job_is_no_sample_of_it() -> None:
    """Without group_reporting fio tells of each clone by itself: half of what two do together."""
    output = json.loads(sample("fio-read.json"))
    output["jobs"] *= 2
    assert "each its share" in why("fio", json.dumps(output))
    output["jobs"] = [output["jobs"][0], {**output["jobs"][0], "jobname": "other"}]
    assert len(reports("fio", json.dumps(output))) == 2
