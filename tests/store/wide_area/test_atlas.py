"""RIPE Atlas results of all firmware versions: what is read of them, and what untrusted ones may hold."""

import base64
import gzip
import json
import statistics
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cloudcmp.errors import UserMistake
from cloudcmp.model.wide_area import Phase, Site, VantagePoint
from cloudcmp.store.wide_area import Targets, read_vantages, read_wide_area
from cloudcmp.store.wide_area.dns_answer import decode

HERE = Targets({"a.example": Site("mine", "north"), "192.0.2.9": Site("mine", "south")}, (), {"cdn.example": "mine"})
PING = {"fw": 5080, "type": "ping", "prb_id": 7, "af": 4, "dst_name": "a.example", "dst_addr": "192.0.2.1", "sent": 3,
        "rcvd": 2, "min": 10.0, "avg": 11.0, "max": 12.0, "timestamp": 1700000000}  # fmt: skip


def written(folder: Path, what: Any, name: str = "results.json") -> Path:
    path = folder / name
    path.write_text(what if isinstance(what, str) else json.dumps(what), encoding="utf-8")
    return path


def one_path(folder: Path, result: dict[str, Any], phase: Phase = Phase.RTT) -> tuple[float | None, int, int]:
    (path,) = (one for one in read_wide_area(written(folder, [result]), HERE).paths if one.phase is phase)
    return path.median_s, path.n, path.started


@pytest.mark.parametrize(
    "fields",
    [
        {"result": [{"rtt": 10.0}, {"rtt": 12.0}, {"x": "*"}]},
        {"result": [{"rtt": 10.0}, {"rtt": 12.0, "ttl": 5}, {"rtt": 99.0, "dup": 1}, {"error": "unreachable"}]},
        {"fw": 4400, "type": None, "dst_name": None, "name": "a.example", "addr": "192.0.2.1", "dst_addr": None,
         "result": [{"rtt": 10.0}, {"x": "*"}, {"rtt": 12.0}]},
        {"fw": 1, "type": None, "dst_name": None, "name": "a.example"},
    ],
)  # fmt: skip
def test_a_ping_of_any_firmware_has_its_round_trips(tmp_path: Path, fields: dict[str, Any]) -> None:
    result = {key: value for key, value in (PING | fields).items() if value is not None}
    assert one_path(tmp_path, result) == (pytest.approx(0.011), 2, 3)


def test_a_ping_without_a_reply_is_an_attempt(tmp_path: Path) -> None:
    result = PING | {"rcvd": 0, "min": -1, "avg": -1, "max": -1, "result": [{"x": "*"}] * 3}
    assert one_path(tmp_path, result) == (None, 0, 3)


@given(st.lists(st.lists(st.none() | st.floats(0.01, 1e4), min_size=1, max_size=4), min_size=1, max_size=6))
def test_a_path_has_the_median_of_all_packets(pings: list[list[float | None]]) -> None:
    results = [
        PING | {"sent": len(some), "rcvd": 0, "result": [{"x": "*"} if rtt is None else {"rtt": rtt} for rtt in some]}
        for some in pings
    ]
    values = [rtt for some in pings for rtt in some if rtt is not None]
    with tempfile.TemporaryDirectory() as folder:
        (path,) = read_wide_area(written(Path(folder), results), HERE).paths
    assert (path.n, path.started) == (len(values), sum(map(len, pings)))
    assert path.median_s == (pytest.approx(statistics.median(values) / 1e3) if values else None)


def test_an_array_a_line_for_each_and_lists_by_probe_are_read_alike(tmp_path: Path) -> None:
    ping = PING | {"result": [{"rtt": 10.0}]}
    forms = [
        json.dumps([ping, ping]),
        f"{json.dumps(ping)}\n\n{json.dumps(ping)}\n",
        json.dumps({"7": [ping, ping]}),
        json.dumps({"7": [ping, ping]}, indent=1),
        "\ufeff" + json.dumps([ping, ping], indent=2),
    ]
    areas = [read_wide_area(written(tmp_path, text), HERE) for text in forms]
    packed = tmp_path / "results.json"
    packed.write_bytes(gzip.compress(forms[1].encode()))
    areas.append(read_wide_area(packed, HERE))
    assert all(area == areas[0] for area in areas)
    assert areas[0].paths[0].n == 2


def test_a_traceroute_counts_if_its_last_hop_is_the_target(tmp_path: Path) -> None:
    hops = [
        {"hop": 1, "result": [{"from": "10.0.0.1", "rtt": 1.0}] * 3},
        {"hop": 2, "result": [{"from": "192.0.2.1", "rtt": 20.0}, {"from": "192.0.2.1", "rtt": 30.0}, {"x": "*"}]},
    ]
    trace = {"prb_id": 7, "type": "traceroute", "dst_name": "a.example", "dst_addr": "192.0.2.1", "result": hops}
    assert one_path(tmp_path, trace) == (0.025, 2, 3)
    assert one_path(tmp_path, trace | {"result": hops[:1]}) == (None, 0, 3)
    unreachable = [{"hop": 1, "result": [{"from": "192.0.2.1", "rtt": 20.0, "err": "H"}]}]
    assert one_path(tmp_path, trace | {"result": unreachable}) == (None, 0, 1)


def test_tls_and_http_have_the_times_of_their_phases(tmp_path: Path) -> None:
    tls = {"prb_id": 7, "type": "sslcert", "dst_name": "a.example", "rt": 60.0, "ttc": 20.0, "cert": []}
    assert one_path(tmp_path, tls, Phase.CONNECT) == (0.02, 1, 1)
    assert one_path(tmp_path, tls, Phase.TLS) == (pytest.approx(0.04), 1, 1)
    assert one_path(tmp_path, tls | {"err": "timeout"}, Phase.TLS) == (None, 0, 1)
    part = {"ttr": 5.0, "ttc": 20.0, "ttfb": 50.0, "rt": 80.0, "bsize": 1024, "res": 200}
    http = {"prb_id": 7, "type": "http", "uri": "http://a.example/x", "result": [part]}
    found = {one.phase: (one.median_s, one.size_bytes) for one in read_wide_area(written(tmp_path, [http]), HERE).paths}
    assert found == {
        Phase.DNS: (0.005, None),
        Phase.CONNECT: (0.02, None),
        Phase.FIRST_BYTE: (pytest.approx(0.03), 1024),
        Phase.TRANSFER: (pytest.approx(0.03), 1024),
        Phase.PAGE: (pytest.approx(0.085), 1024),
    }
    secret = read_wide_area(written(tmp_path, [http | {"uri": "https://a.example/x"}]), HERE)
    assert {one.phase for one in secret.paths} == {Phase.DNS, Phase.CONNECT}


def message(name: str, *addresses: str) -> str:
    """A DNS answer in base64, with an alias and a compressed name before the addresses."""
    question = b"".join(bytes([len(part)]) + part.encode() for part in name.split(".")) + b"\0"
    alias = b"\xc0\x0c\x00\x05\x00\x01\x00\x00\x00\x3c\x00\x02\xc0\x0c"
    records = b"".join(
        b"\xc0\x0c\x00\x01\x00\x01\x00\x00\x00\x3c\x00\x04" + bytes(map(int, one.split("."))) for one in addresses
    )
    head = b"\0\0\x81\x80\0\1" + (1 + len(addresses)).to_bytes(2) + b"\0\0\0\0"
    return base64.b64encode(head + question + b"\0\1\0\1" + alias + records).decode()


def lookup(probe: int, name: str, *addresses: str) -> dict[str, Any]:
    return {"prb_id": probe, "type": "dns", "dst_addr": "10.0.0.1",
            "result": {"rt": 5.0, "abuf": message(name, *addresses)}}  # fmt: skip


def test_a_lookup_is_a_time_of_a_site_or_an_answer_of_a_name(tmp_path: Path) -> None:
    assert one_path(tmp_path, lookup(7, "A.example"), Phase.DNS) == (0.005, 1, 1)
    several = {"prb_id": 7, "type": "dns", "resultset": [{"result": lookup(7, "a.example")["result"]}] * 2}
    assert one_path(tmp_path, several, Phase.DNS) == (0.005, 2, 2)
    ping = PING | {"prb_id": 8, "dst_name": "192.0.2.5", "dst_addr": "192.0.2.5", "result": [{"rtt": 4.0}]}
    named = PING | {"prb_id": 9, "dst_name": "cdn.example", "dst_addr": "192.0.2.6", "result": [{"rtt": 3.0}]}
    area = read_wide_area(written(tmp_path, [ping, named, lookup(7, "cdn.example", "192.0.2.5")]), HERE)
    (name,) = area.names
    given = [(area.vantages[vantage].name, name.addresses[at]) for vantage, at in name.answers]
    assert given == [("9", "192.0.2.6"), ("7", "192.0.2.5")]
    times = {(area.vantages[one.vantage].name, name.addresses[one.address]): one.median_s for one in name.times}
    assert times == {("8", "192.0.2.5"): 0.004, ("9", "192.0.2.6"): 0.003}
    assert area.notes == ()


@given(st.binary(max_size=80))
def test_any_bytes_are_a_message_or_none(data: bytes) -> None:
    found = decode(base64.b64encode(data).decode())
    assert found is None or len(found.addresses) <= 5


def test_a_name_that_points_at_itself_ends() -> None:
    assert decode(base64.b64encode(b"\0\0\0\0\0\1\0\0\0\0\0\0\xc0\x0c\0\1\0\1").decode()) is None


def test_results_without_a_site_are_counted_and_named(tmp_path: Path) -> None:
    ping = PING | {"result": [{"rtt": 10.0}]}
    other = ping | {"dst_name": "b.example"}
    clock = {"prb_id": 7, "type": "ntp"}
    text = {"prb_id": 7, "fw": 1, "result": "traceroute to 192.0.2.1"}
    area = read_wide_area(written(tmp_path, [ping, other, other, clock, text]), HERE)
    assert area.notes == (
        "results.json: 1 results of type ntp are left out",
        "results.json: 1 traceroutes as text, of firmware 1, are left out",
        "results.json: 2 results of b.example are left out: no site is known; name it in --targets",
    )
    with pytest.raises(UserMistake, match=r"no site is known of b\.example; name their sites with --targets FILE"):
        read_wide_area(written(tmp_path, [other]), HERE)
    with pytest.raises(UserMistake, match="no time in 1 results"):
        read_wide_area(written(tmp_path, [clock]), HERE)


@pytest.mark.parametrize(
    ("what", "fault"),
    [
        ([7], "result 1: no result: it is no object"),
        ([{"type": "ping"}], "result 1: no prb_id"),
        ([PING | {"prb_id": True}], "no prb_id"),
        ([PING | {"result": [{"rtt": -4.0}]}], "result 1: rtt -4.0 is not above 0"),
        ([PING | {"result": [{"rtt": "fast"}]}], "rtt 'fast' is no number"),
        ([PING | {"result": [{"rtt": 1e300}]}], "rtt 1e+300 is more than a day"),
        ([PING | {"result": [{"rtt": 10**400}]}], "rtt is no time"),
        ([PING | {"result": ["x"]}], "'x' in place of an object"),
        ([PING | {"sent": -1}], "sent -1 is no count"),
        ([{"prb_id": 7, "type": "traceroute", "result": {}}], "a traceroute without hops"),
        ([{"prb_id": 7, "type": "sslcert", "dst_name": "a.example", "rt": 1, "ttc": 2}], "rt 1 is less than ttc 2"),
        ([{"prb_id": 7, "type": "http", "uri": "http://a.example", "result": [{"ttc": 9, "ttfb": 3}]}],
         "ttc, ttfb and rt are not in their order"),
        ([{"prb_id": 7, "type": "http", "uri": "http://[", "result": 3}], "without a list of requests"),
        ([{"prb_id": 7, "type": "dns", "resultset": 3}], "the resultset is no list"),
        ('{"a": 1}\nnonsense\n', ":2: no JSON"),
        ("[1, 2", "no JSON"),
        ('[{"rtt": NaN}]', "NaN is no number"),
        ('[{"rtt": ' + "[" * 200_000, "no JSON"),
        ("[" * 200_000, "no JSON of measurements (nested too deeply)"),
    ],
)  # fmt: skip
def test_a_fault_is_one_line(tmp_path: Path, what: Any, fault: str) -> None:
    with pytest.raises(UserMistake) as found:
        read_wide_area(written(tmp_path, what), HERE)
    assert fault in str(found.value)
    assert "\n" not in str(found.value)


def test_a_broken_gzip_file_is_a_fault(tmp_path: Path) -> None:
    path = tmp_path / "results.json.gz"
    path.write_bytes(gzip.compress(json.dumps([PING] * 1000).encode())[:-20])
    with pytest.raises(UserMistake, match="the gzip file ends or breaks"):
        read_wide_area(path, HERE)


_ANY: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(
        st.sampled_from(["result", "rtt", "x", "hop", "from", "rt", "ttc", "ttfb", "abuf", "resultset", "uri"]), inner,
        max_size=3), max_leaves=8,
)  # fmt: skip


@given(st.sampled_from(["ping", "traceroute", "dns", "sslcert", "http"]), st.dictionaries(
    st.sampled_from(["result", "rt", "ttc", "sent", "rcvd", "avg", "resultset", "uri", "dst_name", "dst_addr", "err"]),
    _ANY, max_size=4))  # fmt: skip
def test_whatever_a_result_holds_it_is_read_or_named(kind: str, fields: dict[str, Any]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = written(Path(folder), [fields | {"type": kind, "prb_id": 7}])
        try:
            area = read_wide_area(path, HERE)
        except UserMistake as fault:
            assert str(path) in str(fault)  # noqa: PT017 - either is right
            return
        assert all(one.n <= one.started for one in area.paths)


def test_probes_of_the_interface_and_of_the_archive_are_vantages(tmp_path: Path) -> None:
    api = {"results": [{"id": 7, "country_code": "de", "asn_v4": 3320, "geometry": {"coordinates": [8.7, 50.1]}}]}
    archive = {"objects": [{"id": 7, "country_code": "DE", "asn_v4": 3320, "latitude": 50.1, "longitude": 8.7}]}
    for whole in (api, archive, archive["objects"]):
        known = read_vantages(written(tmp_path, whole))
        assert known == {"7": VantagePoint("7", (50.1, 8.7), "DE", network="AS3320")}
