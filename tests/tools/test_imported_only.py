"""Outputs that are imported and never run by cloudcmp: networks, scores, and what Spare Cores keeps."""

import csv
import json
import math
import re
from pathlib import Path

import pytest

from cloudcmp.app.tool_files import ImportOptions, format_of
from cloudcmp.errors import UserMistake
from cloudcmp.model.tool import Report
from tests.tools.outputs import PKB, RAW, real, reports, values, why

MBIT = 1e6 / 8


def test_ping_is_the_mean_of_its_lines() -> None:
    text = real(f"{PKB}/ping.out")
    (report,) = reports("ping", text)
    assert values(report) == pytest.approx(
        {"rtt_mean": 0.352e-3, "rtt_min": 0.280e-3, "rtt_max": 0.602e-3, "lost": 0.0}
    )
    times = [float(time) for time in re.findall(r"time=([\d.]+) ms", text)]
    assert len(times) == 100
    assert math.fsum(times) / 100 == pytest.approx(0.352, abs=1e-3)


def test_iperf_of_one_and_of_several_streams() -> None:
    found = [reports("iperf", real(f"{PKB}/iperf_benchmark_embedded_{number}.txt"))[0] for number in range(1, 7)]
    expected = [1.05 * MBIT, 2.10 * MBIT, 1966 * MBIT, 1970 * MBIT, 939 * MBIT, 1183 * MBIT]
    assert [values(one)["throughput"] for one in found] == pytest.approx(expected)
    assert [one.settings["streams"] for one in found] == ["1", "2", "1", "2", "1", "3"]
    assert values(found[1])["lost"] == pytest.approx(1 / 10700)
    first = real(f"{PKB}/iperf_benchmark_embedded_5.txt").split("  1.00-2.00", 1)
    whole = first[0]
    assert "its first interval" in why("iperf", whole[: whole.index("[  3] 1.00-2.00")])


def test_iperf3() -> None:
    (tcp,) = reports("iperf3", real(f"{PKB}/iperf3_embedded_2.txt"))
    assert values(tcp) == {"throughput": 4670 * MBIT}
    assert tcp.settings == {"streams": "5", "protocol": "tcp", "duration_s": "3"}
    (udp,) = reports("iperf3", real(f"{PKB}/iperf3_embedded_1.txt"))
    lost = 35148 / 62949
    assert values(udp) == pytest.approx(
        {"sent": 1380 * MBIT, "throughput": 1380 * MBIT * (1 - lost), "lost": lost, "jitter": 72e-6}
    )


def test_iperf3_in_json() -> None:
    total = {"bits_per_second": 8e9, "bytes": 10e9, "seconds": 10.0}
    output = {
        "start": {"version": "iperf 3.12", "test_start": {"protocol": "TCP", "num_streams": 2, "duration": 10}},
        "end": {"sum_sent": total, "sum_received": total},
    }
    (report,) = reports("iperf3", json.dumps(output))
    assert values(report) == {"throughput": 1e9}
    stopped = json.dumps({**output, "error": "interrupt - the client has terminated"})
    assert "ended with an error" in why("iperf3", stopped)
    total["bits_per_second"] = 8e6
    assert "does not follow" in why("iperf3", json.dumps(output))


def test_netperf_names_its_units() -> None:
    runs = json.loads(real(f"{PKB}/netperf_results.json"))
    # The runs of UDP have a value more than columns there: which one, nobody can tell.
    udp = [run for run in runs if " UDP " in run[0]]
    assert all("13 values for 12 columns" in why("netperf", "\n".join(run) + "\n") for run in udp)
    runs = [run for run in runs if run not in udp]
    found = [reports("netperf", "\n".join(run) + "\n")[0] for run in runs]
    assert values(found[0]) == pytest.approx(
        {"throughput": 1405.50, "latency_p50": 683e-6, "latency_p90": 735e-6, "latency_p99": 841e-6}
    )
    assert {one.settings["test"] for one in found} == {"tcp_rr", "tcp_crr", "tcp_stream"}
    for one, run in zip(found, runs, strict=True):
        figure, unit = run[2].split(",")[:2]
        by_hand = float(figure) * (1 if unit == "Trans/s" else MBIT)
        assert values(one)["throughput"] == pytest.approx(by_hand)
    assert "wrapped" in why("netperf", real(f"{PKB}/netperf_results.txt"))


def test_osu_rates_follow_from_each_other() -> None:
    four, eight = reports("osu_mbw_mr", real(f"{PKB}/omb_mbw_mr.txt"))
    assert values(four) == {"bandwidth": 126.43e6, "messages": 31608531.76}
    assert eight.settings == {"pairs": "4", "window": "64", "size_bytes": "8"}
    changed = real(f"{PKB}/omb_mbw_mr.txt").replace("126.43", "12.643")
    assert "does not follow" in why("osu_mbw_mr", changed)


def test_coremark_and_bonnie() -> None:
    (report,) = reports("coremark", real(f"{PKB}/coremark_sample_output.txt"))
    assert values(report) == {"iterations": pytest.approx(8000000 / 49.793, rel=1e-9)}
    assert report.settings == {"size": "666", "threads": "8"}
    (disk,) = reports("bonnie++", real(f"{PKB}/bonnie-plus-plus-sample.txt"))
    assert values(disk) == {"write": 72853 * 1024, "rewrite": 47358 * 1024, "read": 156821 * 1024, "seeks": 537.7}


def _row(server: str) -> dict[str, str]:
    text = real("sparecores/benchmarks_by_instance.csv")
    vendor, name = server.split("_")
    return next(r for r in csv.DictReader(text.splitlines()) if (r["vendor"], r["instance_type"]) == (vendor, name))


def _of(found: tuple[Report, ...], **settings: str) -> float:
    (one,) = [report for report in found if settings.items() <= report.settings.items()]
    return one.readings[0].value


@pytest.mark.parametrize("server", ["aws_m7i.large", "aws_c7g.xlarge", "gcp_e2-medium"])
def test_spare_cores_outputs_are_what_its_table_says(server: str) -> None:
    row = _row(server)
    (marks,) = reports("passmark", real(f"{RAW}/{server}__passmark__stdout"))
    assert values(marks)["cpu_mark"] == pytest.approx(float(row["passmark_summ_cpu"]), abs=0.01)
    assert values(marks)["memory_mark"] == pytest.approx(float(row["passmark_summ_me"]), abs=0.01)
    redis = reports("redis", real(f"{RAW}/{server}__redis__stdout"))
    assert _of(redis, pipeline="1") == float(row["redis_set_rps_pipe1"])
    assert max(one.readings[0].value for one in redis) == float(row["redis_set_rps_best"])
    web = reports("static_web", real(f"{RAW}/{server}__static_web__stdout"))
    best = max(one.readings[0].value for one in web if one.settings["size"] == "1k")
    assert best == float(row["static_web_1k_rps_best"])
    packed = reports("compression", real(f"{RAW}/{server}__compression_text__stdout"))
    of = [
        one.readings[0].value for one in packed if (one.settings["algorithm"], one.settings["level"]) == ("gzip", "5")
    ]
    assert max(of) == pytest.approx(float(row["gzip5_compress_Bps_best"]))
    memory = reports("bw_mem", real(f"{RAW}/{server}__bw_mem__stdout"))
    assert _of(memory, op="rd", size_bytes="16000000") == float(row["bw_mem_rd_16mb"]) * 1e6
    assert len(reports("llama-bench", real(f"{RAW}/aws_m7i.large__llm__stdout"))) > 5


CHANGED = [
    ("ping", f"{PKB}/ping.out", "0.056 ms", "0.056 us", "round-trip"),
    ("ping", f"{PKB}/ping.out", "0.280/0.352", "0.280/0.452", "does not follow"),
    ("ping", f"{PKB}/ping.out", "100 received", "90 received", "does not follow"),
    ("ping", f"{PKB}/ping.out", "0.280/0.352", "0,280/0,352", "round-trip"),
    ("iperf", f"{PKB}/iperf_benchmark_embedded_3.txt", "1966 Mbits/sec", "1966 Kbits/sec", "does not follow"),
    ("iperf", f"{PKB}/iperf_benchmark_embedded_3.txt", "1966 Mbits/sec", "1966 Furlongs/sec", "is none of"),
    ("iperf3", f"{PKB}/iperf3_embedded_2.txt", "iperf Done.", "iperf did.", "is done"),
    ("coremark", f"{PKB}/coremark_sample_output.txt", "Correct operation", "Incorrect operation", "are right"),
    ("coremark", f"{PKB}/coremark_sample_output.txt", "49.793000", "4.9793", "does not follow"),
    ("bonnie++", f"{PKB}/bonnie-plus-plus-sample.txt", ",72853,", ",72,853,", "48 fields"),
    ("redis", f"{RAW}/aws_m7i.large__redis__stdout", '"SET",1,4,', '"SET",1,1,', "told twice"),
    ("bw_mem", f"{RAW}/aws_m7i.large__bw_mem__stdout", "rd 1.00 70145.61", "rd 1.00 70145,61", "is not a number"),
    ("passmark", f"{RAW}/aws_m7i.large__passmark__stdout", "Complete: true", "Complete: false", "complete"),
    ("llama-bench", f"{RAW}/aws_m7i.large__llm__stdout", '"avg_ts": 231.053558', '"avg_ts": 23.1', "does not follow"),
]


@pytest.mark.parametrize(("reader", "name", "old", "new", "says"), CHANGED)
def test_a_changed_output_is_not_believed(reader: str, name: str, old: str, new: str, says: str) -> None:
    text = real(name)
    assert old in text
    assert says in why(reader, text.replace(old, new, 1))


MEMORY = f"{RAW}/ovh_b3-8__membench__stdout"


def test_membench_has_megabytes_of_2_to_the_20() -> None:
    found = reports("membench", real(MEMORY))
    assert len(found) == 40
    of = {(one.settings["op"], one.settings["size_bytes"]): values(one) for one in found}
    assert of["read", "16384"] == pytest.approx({"bandwidth": 215020.53 * 2**20})
    # By hand: rounds of 16 KiB by two threads, and their time.
    assert of["read", "16384"]["bandwidth"] == pytest.approx(1190476 * 16384 * 2 / 0.173018, rel=1e-4)
    assert of["latency", "16384"] == pytest.approx({"latency": 1.18e-9})
    assert "does not follow" in why("membench", real(MEMORY).replace("215020.53", "225465.37"))
    assert "again" in why("membench", real(MEMORY).replace("\n64,", "\n16,"))


def test_workers_and_rates_are_known_by_the_files_name_only(tmp_path: Path) -> None:
    text = "1,100.5\n2,200.25\n"
    (one, two) = reports("stressngfull", text)
    assert (one.settings, values(one), values(two)) == ({"workers": "1"}, {"bogo_ops": 100.5}, {"bogo_ops": 200.25})
    for wrong in ("2,1\n1,1\n", "1,0\n", "1,2,3\n", "1,2\n2,3"):
        why("stressngfull", wrong)
    named = tmp_path / "aws_m7i.large__stressngfull__stdout"
    named.write_text(text)
    other = tmp_path / "some.txt"
    other.write_text(text)
    assert format_of(named, ImportOptions()) == "stressngfull"
    with pytest.raises(UserMistake, match="nor a known output"):
        format_of(other, ImportOptions())


STREAM = """MIGRATED TCP STREAM TEST from 0.0.0.0 (0.0.0.0) port 0 AF_INET to 10.0.0.2 () port 0 AF_INET : demo
Recv   Send    Send
Socket Socket  Message  Elapsed
Size   Size    Size     Time     Throughput
bytes  bytes   bytes    secs.    10^6bits/sec

 87380  16384  16384    10.00    9397.15
"""
ANSWERS = """TCP REQUEST/RESPONSE TEST from 0.0.0.0 (0.0.0.0) port 0 AF_INET to 10.0.0.2 () port 0 AF_INET
Local /Remote
Socket Size   Request  Resp.   Elapsed  Trans.
Send   Recv   Size     Size    Time     Rate
bytes  Bytes  bytes    bytes   secs.    per sec

16384  87380  1        1       10.00    13862.11
16384  87380
"""


def test_netperf_without_chosen_columns() -> None:
    (stream,) = reports("netperf", STREAM)
    assert (stream.settings, values(stream)) == ({"test": "tcp_stream"}, {"throughput": pytest.approx(9397.15 * MBIT)})
    (gigabits,) = reports("netperf", STREAM.replace("10^6bits/sec", "10^9bits/sec").replace("9397.15", "9.39"))
    assert values(gigabits) == {"throughput": pytest.approx(9390 * MBIT)}
    (answers,) = reports("netperf", ANSWERS)
    assert (answers.settings, values(answers)) == ({"test": "tcp_rr"}, {"throughput": 13862.11})
    assert "the units" in why("netperf", STREAM.replace("10^6bits/sec", "MBytes  /sec"))
    assert "the row" in why("netperf", STREAM.replace("9397.15", "9397.15  2.10  2.40  0.146  0.167"))
    assert "not above zero" in why("netperf", STREAM.replace("9397.15", "0.00"))
    assert "told again" in why("netperf", STREAM + STREAM)
    assert "not read" in why("netperf", STREAM.replace("TCP", "UDP"))
    for end in range(len(STREAM)):
        assert why("netperf", STREAM[:end])


def test_lmbench_tells_microseconds() -> None:
    text = real(f"{PKB}/lmbench_output.txt")
    found = {one.settings["test"]: values(one)["latency"] for one in reports("lmbench", text)}
    assert found["Simple_syscall"] == pytest.approx(0.2345e-6)
    assert found["Process_fork+/bin/sh_-c"] == pytest.approx(800.2188e-6)
    assert found["TCP/IP_connection_cost_to_localhost"] == pytest.approx(1047.5714e-6)
    assert len(found) == text.count(" microseconds\n")
    assert "cut" in why("lmbench", text[: text.index('"size=')])
    assert "told again" in why("lmbench", text.replace("Simple read:", "Simple write:"))
