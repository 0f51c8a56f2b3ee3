"""iperf3 -J: datagrams in the sums of old and new versions, and the two directions."""

import json
from typing import Any

import pytest

from cloudcmp.catalog import TOOLS
from cloudcmp.catalog.lookup import tool_settings
from cloudcmp.model.tool import UnclearOutput
from tests.tools.outputs import reports, sample, values, why

MBIT = 1e6 / 8


def test_datagrams_of_a_newer_version() -> None:
    (report,) = reports("iperf3", sample("iperf3-udp.json"))
    assert values(report) == pytest.approx(
        {"sent": 99.99616 * MBIT, "throughput": 99.99616 * MBIT * (1 - 29801 / 125002), "lost": 29801 / 125002,
         "jitter": 0.0213e-3}, rel=1e-5,
    )  # fmt: skip
    assert report.settings == {
        "protocol": "udp", "streams": "1", "duration_s": "10", "target_bits_per_s": "100000000", "direction": "forward",
    }  # fmt: skip
    assert report.version == "iperf 3.16"


def test_datagrams_of_an_older_version_have_one_sum() -> None:
    (report,) = reports("iperf3", sample("iperf3-udp-old.json"))
    found = values(report)
    assert found["sent"] == pytest.approx(2.09 * MBIT, rel=1e-5)
    assert found["throughput"] == pytest.approx(found["sent"] * (1 - 9 / 1808))
    assert found["jitter"] == pytest.approx(41.5e-6)


def test_both_directions_at_once_are_two_reports() -> None:
    forth, back = reports("iperf3", sample("iperf3-udp-both.json"))
    assert (forth.settings["direction"], back.settings["direction"]) == ("forward_of_both", "reverse_of_both")
    assert values(forth)["sent"] == pytest.approx(50 * MBIT, rel=1e-5)
    assert values(back)["throughput"] == pytest.approx(49 * MBIT, rel=1e-5)
    assert values(back)["lost"] == 0.0


def _udp(**test: Any) -> str:
    document = json.loads(sample("iperf3-udp.json"))
    document["start"]["test_start"].update(test)
    return json.dumps(document)


def test_reverse_is_another_cell_and_bytes_are_no_duration() -> None:
    (report,) = reports("iperf3", _udp(reverse=1, duration=0, bytes=10240))
    assert report.settings["direction"] == "reverse"
    assert report.settings["moved_bytes"] == "10240"
    assert "duration_s" not in report.settings


def test_an_output_of_the_other_direction_is_not_taken() -> None:
    settings = {**tool_settings("iperf3", {"protocol": "udp"}), "direction": "reverse"}
    with pytest.raises(UnclearOutput, match="the output says direction forward, reverse was asked for"):
        TOOLS["iperf3"].read(_udp(), settings)
    assert TOOLS["iperf3"].read(_udp(reverse=1), settings)


def test_tcp_in_both_directions() -> None:
    total = {"bits_per_second": 8e9, "bytes": 10e9, "seconds": 10.0}
    half = {"bits_per_second": 4e9, "bytes": 5e9, "seconds": 10.0}
    output = {
        "start": {"version": "iperf 3.12", "test_start": {"protocol": "TCP", "num_streams": 2, "duration": 10}},
        "end": {"sum_sent": total, "sum_received": total, "sum_received_bidir_reverse": half},
    }
    forth, back = reports("iperf3", json.dumps(output))
    assert (values(forth), values(back)) == ({"throughput": 1e9}, {"throughput": 0.5e9})


def _sum(name: str, **new: Any) -> str:
    document = json.loads(sample("iperf3-udp.json"))
    document["end"][name].update(new)
    return json.dumps(document)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (_sum("sum", lost_percent=2.0), "does not follow"),
        (_sum("sum", lost_packets=200000), "does not follow"),
        (_sum("sum", packets=0), "is not above zero"),
        (_sum("sum", jitter_ms=-1), "is below zero"),
        (_sum("sum_received", bits_per_second=1e9), "does not follow"),
        (_sum("sum_sent", bits_per_second=None), "is not a number"),
        (_udp(num_streams="1"), "is not a number"),
        (sample("iperf3-udp.json")[:800], "cut or broken"),
    ],
)
def test_a_doubtful_run_is_one_line(text: str, says: str) -> None:
    assert says in why("iperf3", text)


TEXT = """Connecting to host 10.0.0.5, port 5201
[  5] local 10.0.0.4 port 51234 connected to 10.0.0.5 port 5201
[ ID] Interval           Transfer     Bitrate         Total Datagrams
[  5]   0.00-10.00  sec  11.9 MBytes  10.0 Mbits/sec  8632
- - - - - - - - - - - - - - - - - - - - - - - - -
[ ID] Interval           Transfer     Bitrate         Jitter    Lost/Total Datagrams
[  5]   0.00-10.00  sec  11.9 MBytes  10.0 Mbits/sec  0.000 ms  0/8632 (0%)  sender
[  5]   0.00-10.04  sec  11.4 MBytes  9.50 Mbits/sec  0.012 ms  430/8630 (5%)  receiver

iperf Done.
"""


def test_the_text_of_newer_versions_has_a_line_of_each_end() -> None:
    (report,) = reports("iperf3", TEXT)
    assert values(report) == pytest.approx(
        {"sent": 10 * MBIT, "throughput": 9.5 * MBIT, "lost": 430 / 8630, "jitter": 12e-6}
    )
    without = "\n".join(line for line in TEXT.split("\n") if "sender" not in line)
    assert "its sender and its receiver" in why("iperf3", without)
    assert [values(one) for one in reports("iperf3", TEXT + TEXT)] == [values(report)] * 2
