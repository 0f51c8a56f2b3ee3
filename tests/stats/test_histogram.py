"""Latency histograms against the `hdrhistogram` package, and against text that nobody should trust."""

import base64
import struct
import zlib

import numpy as np
import pytest
from hdrh.histogram import HdrHistogram
from hypothesis import given, settings
from hypothesis import strategies as st

from cloudcmp.stats import histogram as hdr

steady = settings(deadline=None, derandomize=True, max_examples=50)
latencies = st.lists(
    st.one_of(st.integers(1, 5000), st.integers(1, hdr.LARGEST_NS), st.sampled_from([1, 2047, 2048, hdr.LARGEST_NS])),
    min_size=1,
    max_size=60,
)


def witness(values: list[int]) -> HdrHistogram:
    other = HdrHistogram(hdr.SMALLEST_NS, hdr.LARGEST_NS, hdr.SIGNIFICANT_DIGITS)
    for value in values:
        assert other.record_value(value)
    return other


def packed(plain: bytes, cookie: int = 0x1C849314, length: int | None = None, after: bytes = b"") -> str:
    deflated = zlib.compress(plain)
    head = struct.pack(">II", cookie, len(deflated) if length is None else length)
    return base64.b64encode(head + deflated + after).decode()


def plain(payload: bytes, **changed: float) -> bytes:
    fields = {"cookie": 0x1C849313, "length": len(payload), "offset": 0, "digits": 3, "low": 1, "high": hdr.LARGEST_NS,
              "ratio": 1.0} | changed  # fmt: skip
    return struct.pack(">IIIIQQd", *fields.values()) + payload


@given(latencies)
@steady
def test_what_the_package_writes_is_read_and_the_other_way(values: list[int]) -> None:
    other = witness(values)
    ours = hdr.from_base64(other.encode().decode())
    assert hdr.count(ours) == len(values)
    mine = hdr.from_values(values)
    assert (ours.index.tolist(), ours.counts.tolist()) == (mine.index.tolist(), mine.counts.tolist())
    back = HdrHistogram.decode(hdr.encode(values))
    assert back.get_total_count() == len(values)
    for at in ours.index.tolist():
        assert back.get_count_at_index(at) == other.get_count_at_index(at)
    for p in (1, 25, 50, 75, 100):
        assert hdr.percentile_s(ours, p) * 1e9 == pytest.approx(exact(values, p), rel=1 / 1024, abs=1e-3)
    largest = min(other.get_value_at_percentile(100), hdr.LARGEST_NS)
    assert hdr.percentile_s(ours, 100) * 1e9 == pytest.approx(largest)


def exact(values: list[int], percent: int) -> int:
    return sorted(values)[-(-percent * len(values) // 100) - 1]


@given(latencies)
@steady
def test_text_and_histogram_are_the_same_thing(values: list[int]) -> None:
    text = hdr.encode(values)
    assert text == hdr.to_base64(hdr.from_base64(text))
    assert text == hdr.encode(values[::-1])


@given(st.lists(latencies, min_size=1, max_size=8), st.sampled_from([1, 40, 1 << 20]))
@steady
def test_many_at_once_are_each_alone(parts: list[list[int]], at_once: int) -> None:
    texts = [hdr.encode(part) for part in parts]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(hdr, "_OCTETS_AT_ONCE", at_once)
        many = hdr.all_from_base64(texts)
    assert [hdr.to_base64(one) for one in many] == texts
    percents = (0.1, 50.0, 99.9, 100.0)
    table = [[hdr.percentile_s(hdr.from_base64(text), p) for p in percents] for text in texts]
    assert hdr.percentiles_s(many, percents).tolist() == table


def test_none_at_once_are_none() -> None:
    assert hdr.all_from_base64([]) == []
    assert hdr.percentiles_s([], (50.0,)).shape == (0, 1)


@given(st.lists(latencies, min_size=1, max_size=5))
@steady
def test_merging_is_recording_into_one(parts: list[list[int]]) -> None:
    merged = hdr.merge([hdr.from_values(part) for part in parts])
    whole = hdr.from_values([value for part in parts for value in part])
    assert hdr.to_base64(merged) == hdr.to_base64(whole)


@given(latencies)
@steady
def test_the_steps_of_the_distribution_rise_to_one(values: list[int]) -> None:
    x_s, share = hdr.cdf(hdr.from_values(values))
    assert (np.diff(x_s) > 0).all()
    assert (np.diff(share) > 0).all()
    assert share[-1] == 1.0
    for at in range(len(x_s)):
        inside = sum(value <= x_s[at] * 1e9 + 1e-3 for value in values)
        assert share[at] == pytest.approx(inside / len(values))


@pytest.mark.parametrize("p", [50.0, 95.0, 99.0, 99.9])
def test_percentiles_of_many_are_the_packages_within_a_bucket(p: float) -> None:
    values = np.random.default_rng(1).lognormal(11, 1, 20_000).astype(int).tolist()
    ours, theirs = hdr.percentile_s(hdr.from_values(values), p), witness(values).get_value_at_percentile(p)
    assert ours * 1e9 == pytest.approx(theirs, rel=1e-9)


def test_999_of_1000_are_99_9_percent() -> None:
    h = hdr.from_values([1000] * 999 + [2_000_000])
    assert hdr.percentile_s(h, 99.9) == pytest.approx(1e-6)
    assert hdr.percentile_s(h, 99.91) == pytest.approx(2e-3, rel=1e-3)


def test_values_are_rounded_to_whole_nanoseconds() -> None:
    h = hdr.from_values([1.4, 1.6])
    assert (h.index.tolist(), h.counts.tolist()) == ([1, 2], [1, 1])


@pytest.mark.parametrize("value", [0, 0.4, -5, hdr.LARGEST_NS + 1])
def test_values_out_of_range_are_refused(value: float) -> None:
    with pytest.raises(ValueError, match="check the unit"):
        hdr.encode([10, value])


@pytest.mark.parametrize("p", [0.0, -1.0, 100.1, float("nan")])
def test_percentiles_out_of_range_are_refused(p: float) -> None:
    with pytest.raises(ValueError, match="write 99 for the 99th percentile"):
        hdr.percentile_s(hdr.from_values([10]), p)


def test_there_must_be_something_to_merge() -> None:
    with pytest.raises(ValueError, match="no histograms"):
        hdr.merge([])
    big = hdr.Histogram(np.array([5]), np.array([10**15]))
    with pytest.raises(ValueError, match="no study records so many"):
        hdr.merge([big] * 9000)


GOOD = hdr.encode([1, 2_000_000])
BOMB = packed(plain(b"\0" * 50_000_000))
DAMAGED = {
    "nothing": ("", "cut off in its header"),
    "not base64": ("HISTFAAA!!!", "not base64"),
    "not ascii": ("hïst", "not base64"),
    "header only": (base64.b64encode(struct.pack(">II", 0x1C849314, 0)).decode(), "compressed part"),
    "other outer cookie": (packed(plain(b"\1\2"), cookie=0x1C849304), "not one V2"),
    "outer length": (packed(plain(b"\1\2"), length=7), "not one V2"),
    "bytes after": (packed(plain(b"\1\2"), after=b"xx"), "not one V2"),
    "not deflate": (base64.b64encode(struct.pack(">II", 0x1C849314, 4) + b"abcd").decode(), "damaged"),
    "zip bomb": (BOMB, "cut off, too long"),
    "endless text": ("A" * 2_000_000, "2000000 characters"),
    "inner header cut": (packed(b"\0" * 20), "cut off, too long"),
    "other inner cookie": (packed(plain(b"\1\2", cookie=1)), "plain V2 layout"),
    "inner length": (packed(plain(b"\1\2", length=1)), "plain V2 layout"),
    "shifted": (packed(plain(b"\1\2", offset=1)), "plain V2 layout"),
    "other ratio": (packed(plain(b"\1\2", ratio=float("nan"))), "plain V2 layout"),
    "other digits": (packed(plain(b"\1\2", digits=5)), "5 digits"),
    "other lowest": (packed(plain(b"\1\2", low=1000)), "from 1000"),
    "absurd highest": (packed(plain(b"\1\2", high=2**63)), "digits from 1 to 9223372036854775808"),
    "no counts": (packed(plain(b"")), "holds no values"),
    "only empty buckets": (packed(plain(b"\x09")), "holds no values"),
    "cut in a number": (packed(plain(b"\x01\x02\x80")), "cut off"),
    "endless number": (packed(plain(b"\x01" + b"\xff" * 8 + b"\x01")), "too long"),
    "count at zero": (packed(plain(b"\x02")), "below 1 ns"),
    "beyond an hour": (packed(plain(hdr._number_bytes(-40_000) + b"\x02")), "above 3600000000000 ns"),
    "far beyond": (packed(plain((hdr._number_bytes(-(2**54))) * 900)), "above 3600000000000 ns"),
    "too many buckets": (packed(plain(b"\x02" * 40_000)), "above 3600000000000 ns"),
    "absurd count": (packed(plain(b"\x01" + hdr._number_bytes(2**54))), "counts more than"),
    "absurd sum": (packed(plain(b"\x01" + hdr._number_bytes(10**15) * 30_000)), "counts more than"),
}  # fmt: skip


@pytest.mark.parametrize("name", DAMAGED)
def test_damaged_text_is_refused_in_one_line(name: str) -> None:
    text, says = DAMAGED[name]
    with pytest.raises(ValueError, match=says) as refused:
        hdr.from_base64(text)
    assert "\n" not in str(refused.value)
    assert len(str(refused.value)) < 250
    with pytest.raises(ValueError, match=says):
        hdr.all_from_base64([GOOD, text, GOOD])


def read_or_refuse(text: str) -> None:
    """Either a sound histogram or ValueError, alone and among others; any other exception fails the calling test."""
    try:
        h = hdr.from_base64(text)
    except ValueError:
        with pytest.raises(ValueError, match=r"^histogram: "):
            hdr.all_from_base64([GOOD, text, GOOD])
        return
    among = [hdr.to_base64(one) for one in hdr.all_from_base64([GOOD, text, GOOD])]
    assert among == [GOOD, hdr.to_base64(h), GOOD]
    assert h.counts.min() >= 1
    assert 1 <= h.index[0] <= h.index[-1] <= hdr._LAST_INDEX
    assert 0 < hdr.percentile_s(h, 50) <= 3600


@given(st.text(max_size=200))
@steady
def test_any_text_is_read_or_refused(text: str) -> None:
    read_or_refuse(text)


@given(st.binary(max_size=300))
@settings(parent=steady, max_examples=300)
def test_any_bytes_in_any_layer_are_read_or_refused(data: bytes) -> None:
    for text in (base64.b64encode(data).decode(), packed(data), packed(plain(data))):
        read_or_refuse(text)


@given(latencies, st.integers(0, 10_000), st.integers(0, 255))
@settings(parent=steady, max_examples=300)
def test_any_changed_byte_is_read_or_refused(values: list[int], at: int, octet: int) -> None:
    raw = bytearray(base64.b64decode(hdr.encode(values)))
    raw[at % len(raw)] = octet
    read_or_refuse(base64.b64encode(raw).decode())
    inner = bytearray(zlib.decompress(base64.b64decode(hdr.encode(values))[8:]))
    inner[at % len(inner)] = octet
    read_or_refuse(packed(bytes(inner)))
