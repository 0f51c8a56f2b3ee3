"""openssl, wrk, wrk2 and pgbench: known figures, and what makes them not sure."""

import json

import pytest

from cloudcmp.catalog.lookup import tool_settings
from cloudcmp.tools import TOOLS
from tests.tools.outputs import PKB, RAW, real, reports, sample, values, why


@pytest.mark.parametrize("server", ["aws_m7i.large", "aws_c7g.xlarge", "hcloud_cx22"])
def test_openssl_as_others_parsed_it(server: str) -> None:
    expected = json.loads(real(f"{RAW}/{server}__openssl__parsed.json"))
    found = {
        (report.settings["algorithm"], measure): value
        for report in reports("openssl", real(f"{RAW}/{server}__openssl__stdout"))
        for measure, value in values(report).items()
    }
    assert found == {(one["algo"].lower(), f"of_{one['block_size']}_bytes"): one["speed"] for one in expected}


def test_openssl_in_a_table_counts_in_thousands() -> None:
    sha256, sha512 = reports("openssl", sample("openssl-table.txt"))
    assert values(sha256)["of_16_bytes"] == pytest.approx(57188.14e3)
    assert values(sha512)["of_16384_bytes"] == pytest.approx(415629.31e3)
    asked = tool_settings("openssl-speed", {"threads": "2", "algorithm": "aes-256-gcm"})
    found = TOOLS["openssl-speed"].read(sample("openssl-multi.txt"), asked)
    # The sum of what two processes told, by hand.
    assert found[0].value == pytest.approx(13873647.52 + 16088640.00)


DIGESTS = {
    "openssl-digests.txt": ("md5", 60964.89e3, 1472420.98e3),
    "openssl-digests-mr.txt": ("md5", 47659576.47, 1470423040.0),
    "openssl-evp.txt": ("sha256", 82363.38e3, 1521333.68e3),
    "openssl-evp-mr.txt": ("sha256", 58972910.34, 1491581155.56),
    "openssl-hmac.txt": ("hmac_sha256_", 42443.69e3, 1451445.28e3),
}


@pytest.mark.parametrize("name", DIGESTS)
def test_openssl_reads_digests_in_each_form(name: str) -> None:
    algorithm, first, last = DIGESTS[name]
    found = reports("openssl", sample(name))
    assert found[0].settings == {"algorithm": algorithm}
    assert values(found[0])["of_16_bytes"] == pytest.approx(first)
    assert values(found[-1])["of_16384_bytes"] == pytest.approx(last)
    assert {one.version for one in found} == {"" if name.endswith("mr.txt") else "3.0.19"}


def test_openssl_of_several_processes_prints_rows_without_a_heading() -> None:
    text = sample("openssl-digests-multi.txt")
    sha1, sha512 = reports("openssl", text)
    assert values(sha1) == {"of_8192_bytes": pytest.approx(257845227.72 + 266694209.90, rel=1e-6)}
    assert sha512.settings == {"algorithm": "sha512"}
    assert "does not follow" in why("openssl", text.replace("524539.44k", "52453.94k"))
    assert "not one row of the sum" in why("openssl", text.replace("sha512          148499.41k\n", ""))
    assert "2 lines tell the sizes" in why("openssl", text.replace("+H:8192 from 1", "+H:16 from 1"))


@pytest.mark.parametrize("name", ["openssl-keys.txt", "openssl-keys-mr.txt"])
def test_openssl_tells_what_of_keys_it_leaves_out(name: str) -> None:
    dsa, eddsa = reports("openssl", sample(name))
    assert (dsa.settings, eddsa.settings) == ({"algorithm": "dsa2048"}, {"algorithm": "eddsa253"})
    assert values(eddsa)["sign"] == pytest.approx(15000, rel=0.2)
    assert dsa.unread[0].startswith("key agreement and encryption, from line ")
    (rsa,) = reports("openssl", "+H:16\n+F2:2:2048:2516.25:41642.4:40000.0:2400.0\n")
    assert values(rsa) == {"sign": 2516.25, "verify": 41642.4}


def test_openssl_signs() -> None:
    rsa, ecdsa = reports("openssl", sample("openssl-rsa.txt"))
    assert (rsa.settings, values(rsa)) == ({"algorithm": "rsa2048"}, {"sign": 2539.0, "verify": 46028.0})
    assert (ecdsa.settings, values(ecdsa)) == ({"algorithm": "ecdsa256"}, {"sign": 34315.6, "verify": 13008.9})
    again = reports("openssl", sample("openssl-rsamr.txt"))
    assert [report.settings for report in again] == [rsa.settings, ecdsa.settings]


SOCKETS = "  Socket errors: connect 0, read 3, write 0, timeout 2460\n"


def test_wrk() -> None:
    (report,) = reports("wrk", sample("wrk.txt"))
    assert values(report) == pytest.approx(
        {"requests": 1230.67, "latency_mean": 1.64e-3, "latency_p50": 1.13e-3, "latency_p90": 3.43e-3,
         "latency_p99": 7.20e-3, "failed": 0.0}
    )  # fmt: skip
    (failed,) = reports("wrk", sample("wrk-404.txt"))
    assert values(failed)["failed"] == 1.0
    (broken,) = reports("wrk", sample("wrk.txt").replace("Requests/sec", SOCKETS + "Requests/sec"))
    assert values(broken)["failed"] == pytest.approx(2463 / (2463 + 2463))
    (other,) = reports("wrk", real(f"{PKB}/wrk_result.txt"))
    assert values(other)["requests"] == 9605.69
    assert values(other)["latency_mean"] == pytest.approx(218.37e-6)


def test_wrk2_must_agree_with_its_own_spectrum() -> None:
    """The output that others test with has units changed by hand; its spectrum says that 53.31 us were ms."""
    text = real(f"{PKB}/wrk2_output.txt")
    assert "does not follow" in why("wrk", text)
    mended = text.replace("53.31us", "53.31ms").replace("56.99us", "56.99ms")
    assert "does not follow" in why("wrk", mended)
    mended = mended.replace("36.00s", "244.22ms").replace("0.90m", "244.22ms")
    (report,) = reports("wrk", mended)
    assert report.tool == "wrk2"
    assert values(report)["latency_p50"] == pytest.approx(53.31e-3)
    assert values(report)["latency_p99"] == pytest.approx(223.23e-3)
    assert values(report)["requests"] == 10.0


def test_pgbench_of_two_ages() -> None:
    (old,) = reports("pgbench", real(f"{PKB}/pgbench.stdout.txt"))
    assert values(old) == pytest.approx({"transactions": 13.062579, "latency_mean": 1.108418})
    assert old.settings["clients"] == "16"
    (new,) = reports("pgbench", sample("pgbench.txt"))
    assert values(new) == pytest.approx({"transactions": 249.360201, "latency_mean": 8.021e-3, "failed": 0.0})
    asked = {"scale": "1", "clients": "2", "threads": "2", "duration_s": "2"}
    assert len(TOOLS["pgbench"].read(sample("pgbench.txt"), tool_settings("pgbench", asked))) == 2


def test_pgbench_before_9_4_tells_no_latency() -> None:
    text = sample("pgbench.txt")
    (line,) = [line for line in text.splitlines(keepends=True) if line.startswith("latency average")]
    (report,) = reports("pgbench", text.replace(line, ""))
    assert values(report) == pytest.approx({"transactions": 249.360201, "failed": 0.0})


def test_signatures_in_seconds_are_no_rates() -> None:
    """openssl 1.0 wrote the seconds of one operation where 1.1 writes operations a second."""
    head = "+H:16:64:256:1024:8192:16384\n"
    assert "may be in seconds" in why("openssl", head + "+F2:2:2048:0.000599:0.000018\n")
    assert "may be in seconds" in why("openssl", head + "+F4:3:256:0.000030:0.000077\n")
    assert "may be in seconds" in why("openssl", head + "+F2:2:15360:2.4:1.1\n")


CHANGED = [
    ("openssl", "openssl-table.txt", "1000s of bytes", "1024s of bytes", "thousands"),
    ("openssl", "openssl-table.txt", "57188.14k", "57188.14m", "speeds for 6 sizes"),
    ("openssl", "openssl-table.txt", "57188.14k", "57188,14k", "speeds for 6 sizes"),
    ("openssl", "openssl-table.txt", "57188.14k", "", "speeds for 6 sizes"),
    ("openssl", "openssl-table.txt", "sha512 ", "sha256 ", "twice"),
    ("openssl", "openssl-mr.txt", ":16:64", ":64", "speeds for 5 sizes"),
    ("openssl", "openssl-mr.txt", "+F:25:AES-256-GCM:", "+F:25:AES-256-GCM:inf:", "no line of speeds"),
    ("openssl", "openssl-rsa.txt", "sign/s verify/s", "sign/m verify/m", "says sign/s"),
    ("openssl", "openssl-rsa.txt", "2539.0", "2539,0", "says sign/s"),
    ("wrk", "wrk.txt", "     99%    7.20ms", "     99%    7.20fortnights", "none of us"),
    ("wrk", "wrk.txt", "     99%    7.20ms\n", "", "99 %"),
    ("wrk", "wrk.txt", "2463 requests in 2.00s", "2463 requests in 2.00m", "does not follow"),
    ("wrk", "wrk.txt", "1230.67", "nan", "is not a number"),
    ("wrk", "wrk.txt", "1230.67", "0.00", "not above zero"),
    ("pgbench", "pgbench.txt", "8.021 ms", "8.021 us", "does not follow"),
    ("pgbench", "pgbench.txt", "8.021 ms", "8,021 ms", "is not a number"),
    ("pgbench", "pgbench.txt", "tps =", "Run was aborted; the above results are incomplete.\ntps =", "aborted"),
    ("pgbench", "pgbench.txt", "processed: 498", "processed: 0", "not above zero"),
    ("pgbench", "pgbench.txt", "without initial", "with initial", "the rate"),
]


@pytest.mark.parametrize(("reader", "name", "old", "new", "says"), CHANGED)
def test_a_changed_output_is_not_believed(reader: str, name: str, old: str, new: str, says: str) -> None:
    text = sample(name)
    assert old in text
    assert says in why(reader, text.replace(old, new, 1))
