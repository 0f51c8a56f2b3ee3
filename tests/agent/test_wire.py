import json
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.slices import long

from cloudcmp.agent import Decoder, expected_series
from cloudcmp.agent.wire import Limits
from cloudcmp.catalog import METRICS
from cloudcmp.model.trial import Outcome
from cloudcmp.stats import histogram


def test_an_honest_stream_gives_its_samples_and_facts(wire):
    result = wire.decode(wire.encode(wire.frames()))
    assert result.outcome is Outcome.OK
    assert result.why == ""
    assert [(sample.seq, sample.metric, sample.t_s, sample.value) for sample in result.samples] == [
        (0, "fma_flop_per_s", 1.0, 5e10),
        (1, "fma_flop_per_s", 2.0, 6e10),
        (2, "chase_latency_s", 0.0, 8e-8),
        (3, "chase_latency_s", 0.0, 9e-8),
        (4, "udp_loss_ratio", 1.0, 0.0),
        (5, "rtt_s", 1.0, None),
    ]
    assert result.samples[0].params == "precision=f64;threads=one"
    assert result.samples[5].params == "path=loopback;protocol=tcp;size_bytes=64"
    assert result.samples[5].hist == wire.hist
    facts = json.loads(result.facts)
    assert facts["host"]["cpu_model"] == "Some CPU @ 3 GHz"
    assert facts["notes"] == {"isa": "avx512f"}
    assert facts["clock"]["cost_s"] == 2e-8


def test_where_the_bytes_are_cut_does_not_matter(wire):
    data = wire.encode(wire.frames())
    whole = wire.decode(data)
    for cut in range(1, len(data)):
        reader = wire.decoder()
        reader.feed(data[:cut])
        reader.feed(data[cut:])
        assert reader.result() == whole
    slow = wire.decoder()
    for byte in data:
        slow.feed(bytes([byte]))
    assert slow.result() == whole


def test_every_truncation_is_invalid(wire):
    data = wire.encode(wire.frames())
    for length in range(len(data)):
        result = wire.decode(data[:length])
        assert (result.outcome, result.samples) == (Outcome.INVALID, ())


def test_every_flipped_bit_is_invalid(wire):
    data = wire.encode(wire.frames()[:3] + wire.frames()[4:5] + wire.frames()[6:])
    assert wire.decode(data).outcome is Outcome.OK
    for place in range(len(data)):
        for bit in (0x01, 0x20):
            broken = bytearray(data)
            broken[place] ^= bit
            result = wire.decode(bytes(broken))
            assert (result.outcome, result.samples) == (Outcome.INVALID, ()), (place, bit)


@pytest.mark.parametrize("outcome", ["failed", "timeout", "aborted", "invalid"])
def test_an_outcome_that_is_not_ok_gives_no_samples_but_its_reason(wire, outcome):
    error = {"type": "error", "what": "out of space", "next": "free some"}
    result = wire.decode(wire.encode([*wire.frames()[:5], error], outcome=outcome))
    assert result.outcome == outcome
    assert result.samples == ()
    assert result.why == "out of space; free some"
    assert json.loads(result.facts)["version"] == "0.1.0"


def test_a_stream_that_was_cut_short_by_us_keeps_our_reason(wire):
    reader = wire.decoder()
    reader.feed(wire.encode(wire.frames())[:-10])
    result = reader.result((Outcome.TIMEOUT, "no end within 20 s"))
    assert (result.outcome, result.why, result.samples) == (Outcome.TIMEOUT, "no end within 20 s", ())


def test_a_broken_stream_stays_invalid_whatever_cut_it(wire):
    reader = wire.decoder()
    reader.feed(b"garbage\n")
    assert reader.result((Outcome.TIMEOUT, "late")).outcome is Outcome.INVALID


def test_a_server_says_where_it_listens(wire):
    reader = wire.decoder(listens=True)
    hello = wire.frames()[0]
    reader.feed(wire.encode([hello, {"type": "ready", "addr": "[::1]:4711"}]))
    assert reader.address == "[::1]:4711"


@pytest.mark.parametrize(
    "addr", ["0.0.0.0:1", "host:1", "127.0.0.1", "127.0.0.1:0", "127.0.0.1:65536", "127.0.0.1:٣", "../x:1", 5, None]
)
def test_a_server_may_not_point_elsewhere(wire, addr):
    reader = wire.decoder(listens=True)
    reader.feed(wire.encode([wire.frames()[0], {"type": "ready", "addr": addr}]))
    assert reader.address is None
    assert reader.result().outcome is Outcome.INVALID


def test_a_repeated_note_keeps_both_values(wire):
    notes = [{"type": "note", "key": "warning", "value": text} for text in ("hot", "noisy", "noisy")]
    result = wire.decode(wire.encode([*wire.frames(), *notes[:2]]))
    assert json.loads(result.facts)["notes"]["warning"] == "hot; noisy"


@pytest.mark.parametrize(
    ("limits", "why"),
    [
        (Limits(total_bytes=1000), "longer than 1000 bytes"),
        (Limits(frames=4), "more than 4 frames"),
        (Limits(line_bytes=128), "longer than 128 bytes"),
        (Limits(notes=0), "more than 0 notes"),
    ],
)
def test_limits(wire, limits, why):
    reader = wire.decoder(limits)
    reader.feed(wire.encode(wire.frames()))
    result = reader.result()
    assert result.outcome is Outcome.INVALID
    assert why in result.why


def test_the_default_limits_are_those_of_the_protocol():
    assert Limits().line_bytes == 64 * 1024
    assert Limits().frames == 10**6


@long
def test_an_endless_stream_takes_little_memory(wire):
    hello = json.dumps({"v": 2, "seq": 0, **wire.frames()[0]}).encode() + b"\n"
    sample = {"metric": "udp_loss_ratio", "params": wire.frames()[6]["params"], "t_s": 1, "value": 1}
    reader = wire.decoder(Limits(total_bytes=2 * 2**20))
    tracemalloc.start()
    try:
        reader.feed(hello)
        for seq in range(1, 1_000_000):
            reader.feed(json.dumps({"v": 2, "seq": seq, "type": "sample", **sample}).encode() + b"\n")
            if reader.fault:
                break
        peak = tracemalloc.get_traced_memory()[1]
        for _ in range(1000):
            reader.feed(b"x" * 65536)
        assert tracemalloc.get_traced_memory()[0] < 2**20
    finally:
        tracemalloc.stop()
    assert "longer than" in (reader.fault or "")
    assert peak < 6 * 2**20


def test_a_line_without_end_takes_little_memory(wire):
    reader = wire.decoder()
    tracemalloc.start()
    try:
        for _ in range(100):
            reader.feed(b" " * 65536)
        assert tracemalloc.get_traced_memory()[1] < 2**20
    finally:
        tracemalloc.stop()
    assert "longer than 65536 bytes" in (reader.fault or "")


@given(st.binary(max_size=2000), st.integers(0, 40))
def test_hostile_bytes_never_raise(wire, data, keep):
    honest = wire.encode(wire.frames())
    for stream in (data, honest[: keep * 50] + data, honest + data):
        reader = wire.decoder()
        reader.feed(stream)
        result = reader.result()
        assert result.outcome is Outcome.INVALID or stream == honest
        assert "\n" not in result.why
        assert result.samples == () or stream == honest


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
_KEYS = "v seq type metric params t_s value hist key addr what next outcome count sha256 host clock version target"


@given(st.integers(0, 8), st.dictionaries(st.sampled_from(_KEYS.split()), _JSON, min_size=1))
def test_hostile_frames_never_raise_nor_give_what_is_not_finite(wire, place, fields):
    body = [{**frame, **(fields if index == place else {})} for index, frame in enumerate(wire.frames())]
    result = wire.decode(wire.encode(body))
    assert all(sample.value is None or abs(sample.value) < float("inf") for sample in result.samples)
    assert all(0 <= sample.t_s <= 20.0 for sample in result.samples)
    json.loads(result.facts, parse_constant=pytest.fail)


def test_what_did_not_happen_in_a_trial_may_be_missing_and_nothing_else_may(wire):
    cells = [
        *(f"dbench_op_per_s clients=1;loadfile=own;mode=async;op={op}" for op in ("readx", "rmdir")),
        "dbench_bytes_per_s clients=1;loadfile=own;mode=async",
    ]

    def came(*frames):
        reader = Decoder(expected_series(cells, METRICS), 20.0, histogram.from_base64)
        reader.feed(wire.encode([wire.frames()[0], *frames]))
        return reader.result()

    common = {"type": "sample", "t_s": 1.0, "value": 5.0}
    params = {"clients": "1", "loadfile": "own", "mode": "async"}
    rate = {**common, "metric": "dbench_bytes_per_s", "params": params}
    reads = {**common, "metric": "dbench_op_per_s", "params": {**params, "op": "readx"}}
    assert came(rate, reads).outcome is Outcome.OK
    assert came(rate).outcome is Outcome.OK
    assert came(reads).outcome is Outcome.INVALID
