"""fio's text and terse lines: rounded figures that must follow from its counts."""

import pytest

from tests.tools.outputs import reports, sample, values, why


def test_text_of_version_3() -> None:
    (report,) = reports("fio", sample("fio-text.txt"))
    found = values(report)
    # By hand: 66380 reads of 4096 bytes in 2.001 s; the text rounds them to 33.2k and 130MiB/s.
    assert found["read_iops"] == pytest.approx(66380 / 2.001)
    assert found["read_bandwidth"] == pytest.approx(66380 * 4096 / 2.001)
    assert found["read_latency_mean"] == pytest.approx(46375.31e-9)
    assert found["read_latency_p50"] == pytest.approx(38144e-9)
    assert found["write_latency_p99"] == pytest.approx(33024e-9)
    assert report.version == "fio-3.33"
    assert report.settings == {
        "job": "a", "numjobs": "2", "rw": "randrw", "ioengine": "psync", "iodepth": "2", "bs_bytes": "4096",
    }  # fmt: skip


def test_text_of_version_2_says_kb_for_1024_bytes() -> None:
    (report,) = reports("fio", sample("fio-2-text.txt"))
    assert values(report) == pytest.approx(
        {"read_bandwidth": 102400 * 1024, "read_iops": 25600, "read_latency_mean": 617.25e-6,
         "read_latency_p50": 612e-6, "read_latency_p99": 1096e-6}
    )  # fmt: skip
    # With kb_base=1000 the same words mean powers of ten.
    decimal = sample("fio-2-text.txt").replace("1000.0MB", "1048.6MB").replace("102400KB/s", "104858KB/s")
    assert "does not follow" in why("fio", decimal)


def test_terse_lines_count_in_kib_and_microseconds() -> None:
    (report,) = reports("fio", sample("fio-terse.txt"))
    found = values(report)
    assert found["read_bandwidth"] == pytest.approx(247772 * 1024 / 2.001)
    assert found["read_iops"] == 30956
    assert found["read_latency_mean"] == pytest.approx(49.734741e-6)
    assert found["read_latency_p99"] == pytest.approx(181e-6)
    # 2 us may be any time from 1.5 us on.
    assert "write_latency_p50" not in found
    slow = sample("fio-terse.txt").replace(";30956;", ";30;", 1)
    (report,) = reports("fio", slow)
    assert "read_iops" not in values(report)
    assert report.unread == ("line 1: 30 reads a second, which are rounded to a whole number",)


def test_latencies_that_were_not_measured_are_not_told() -> None:
    kept = [line for line in sample("fio-2-text.txt").splitlines() if "lat (" not in line and "clat" not in line]
    (report,) = reports("fio", "\n".join(line for line in kept if not line.startswith("     | ")) + "\n")
    assert set(values(report)) == {"read_bandwidth", "read_iops"}


@pytest.mark.parametrize(
    ("name", "old", "new", "says"),
    [
        ("text", "err= 0", "err= 5", "ended with error 5"),
        ("text", "BW=130MiB/s", "BW=130MB/s", "does not follow"),
        ("text", "BW=130MiB/s", "BW=130Mi/s", "the unit"),
        ("text", "IOPS=33.2k", "IOPS=33.2", "does not follow"),
        ("text", "2001msec)\n", "20010msec)\n", "does not follow"),
        ("text", "  WRITE: bw", "  WRITEN: bw", "the output is cut"),
        ("text", "clat (nsec): min=621", "clat (ticks): min=621", "none of"),
        ("text", "total=66380,", "total=66380.5,", "were issued"),
        ("text", "Run status group 0", "Run status group 1", "the output is cut"),
        ("2-text", "bs=4K-4K/", "bs=4K-64K/", "1000 or 1024"),
        ("2-text", "runt= 10000msec", "runt= 0msec", "not above zero"),
        ("terse", "3;fio-3.33", "4;fio-3.33", "terse version 3"),
        ("terse", ";a;0;0;", ";a;0;121;", "error 121"),
        ("terse", ";123824;", ";12382;", "does not follow"),
    ],
)
def test_a_changed_text_is_not_believed(name: str, old: str, new: str, says: str) -> None:
    text = sample(f"fio-{name}.txt")
    assert old in text
    assert says in why("fio", text.replace(old, new, 1))


def test_a_clone_in_text_is_no_sample_either() -> None:
    text = sample("fio-2-text.txt")
    job = text[text.index("one: (groupid") : text.index("Run status")]
    assert "each its share" in why("fio", text.replace(job, job + job))
