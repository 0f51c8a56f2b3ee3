"""IOzone, NPB, memtier and YCSB: outputs in the form that their documentation shows, with figures that follow."""

import pytest

from cloudcmp.catalog.lookup import tool_settings
from cloudcmp.tools import TOOLS
from tests.tools.outputs import reports, sample, values, why

KB = 1024


def test_iozone_has_the_columns_that_were_asked_for() -> None:
    asked = tool_settings("iozone", {"file_bytes": "4 MiB", "record_bytes": "64 KiB"})
    found = {one.measure: one.value for one in TOOLS["iozone"].read(sample("iozone.txt"), asked)}
    assert found == {
        "write": 801569 * KB, "rewrite": 2203800 * KB, "read": 4897948 * KB, "reread": 7100397 * KB,
        "random_read": 6900397 * KB, "random_write": 2104391 * KB,
    }  # fmt: skip


def test_iozone_throughput_is_that_of_all_children() -> None:
    (report,) = reports("iozone", sample("iozone-throughput.txt"))
    assert values(report) == {"initial_writers": pytest.approx(123456.78 * KB), "rewriters": 200000 * KB}
    assert report.settings == {
        "direct": "no", "sync": "yes", "record_bytes": "4096", "file_bytes": "524288", "processes": "2",
    }  # fmt: skip


def test_npb_counts_millions_of_operations() -> None:
    (report,) = reports("npb", sample("npb-bt.txt"))
    assert values(report) == {"operations": 4e9, "time": 42.07}
    assert report.settings == {"benchmark": "bt", "class": "A", "threads": "2"}
    assert report.readings[0].metric == "tool_flop_per_s"
    (keys,) = reports("npb", sample("npb-bt.txt").replace("floating point", "keys ranked"))
    assert keys.readings[0].metric == "tool_op_per_s"


def test_memtier_tells_milliseconds() -> None:
    (report,) = reports("memtier", sample("memtier.txt"))
    assert values(report) == pytest.approx(
        {"operations": 99990.0, "latency_mean": 0.4981e-3, "latency_p50": 0.487e-3, "latency_p99": 0.871e-3}
    )
    assert report.settings == {"threads": "1", "clients": "50", "duration_s": "30"}


def test_memtier_in_json_tells_the_totals() -> None:
    (report,) = reports("memtier", sample("memtier-json.json"))
    assert values(report) == pytest.approx(
        {"operations": 110000.0, "latency_mean": 0.901e-3, "latency_p50": 0.871e-3, "latency_p99": 1.903e-3}
    )
    assert report.settings == {"threads": "2", "clients": "50", "duration_s": "10"}


def test_ycsb_counts_all_its_operations() -> None:
    (report,) = reports("ycsb", sample("ycsb.txt"))
    found = values(report)
    assert found["operations"] == 1000.0
    assert found["read_latency_p99"] == pytest.approx(900e-6)
    assert found["update_latency_mean"] == pytest.approx(360.5e-6)
    assert found["failed"] == 0.0
    assert report.settings == {"workload": "a", "threads": "4"}


def test_ycsb_tells_of_garbage_as_a_share() -> None:
    text = sample("ycsb.txt").replace("[READ]", "[TOTAL_GC_TIME_%_G1_Young_Generation], Time(%), 0.04\n[READ]", 1)
    assert reports("ycsb", text) == reports("ycsb", sample("ycsb.txt"))


CHANGED = [
    ("iozone", "iozone.txt", "Output is in kBytes/sec", "Output is in operations per second", "kilobytes"),
    ("iozone", "iozone.txt", "-i 2 ", "", "asks for 4"),
    ("iozone", "iozone.txt", "7100397", "7100397,5", "is not a number"),
    ("iozone", "iozone.txt", "iozone test complete.", "", "complete"),
    ("iozone", "iozone-throughput.txt", "200000.00 kB/sec", "200000.00 MB/sec", "in one way"),
    ("npb", "npb-bt.txt", "    SUCCESSFUL", "  UNSUCCESSFUL", "not SUCCESSFUL"),
    ("npb", "npb-bt.txt", "4000.00", "400.00", "does not follow"),
    ("memtier", "memtier.txt", "Totals      99990.00", "Totals      99990,00", "is not a number"),
    ("memtier", "memtier.txt", "ALL STATS", "BEST RUN RESULTS", "ALL STATS"),
    ("memtier", "memtier-json.json", "ALL STATS", "BEST RUN RESULTS", "of several runs"),
    ("memtier", "memtier-json.json", '"Ops/sec": 110000.0', '"Ops/sec": 11000.0', "does not follow"),
    ("memtier", "memtier-json.json", '"Average Latency": 0.901', '"Average Latency": 901', "at once"),
    ("memtier", "memtier-json.json", "MILLISECONDS", "SECONDS", "is not MILLISECONDS"),
    ("memtier", "memtier-json.json", '"Count": 1100000', '"Count": null', "is not a number"),
    ("ycsb", "ycsb.txt", "[READ], Operations, 503", "[READ], Operations, 50", "does not follow"),
    ("ycsb", "ycsb.txt", "AverageLatency(us)", "AverageLatency(ms)", "AverageLatency(us)"),
    ("ycsb", "ycsb.txt", "[UPDATE], Operations, 497\n", "[UPDATE], Operations\n", "no figure"),
    ("ycsb", "ycsb.txt", "[CLEANUP], Operations, 4\n", "[READ], Operations, 503\n", "told again"),
]


@pytest.mark.parametrize(("reader", "name", "old", "new", "says"), CHANGED)
def test_a_changed_output_is_not_believed(reader: str, name: str, old: str, new: str, says: str) -> None:
    text = sample(name)
    assert old in text
    assert says in why(reader, text.replace(old, new, 1))
