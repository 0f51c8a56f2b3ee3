"""HdrHistogram V2 (deflate, base64) of latencies: decoded as untrusted text, merged, queried for percentiles.

Recorded values are whole nanoseconds, 1 to 3.6e12 (an hour), kept to 3 significant digits. The text comes from rented
machines that may be hostile, so it is decoded here, bounded at each step, and not by a library that sizes its memory
from the header. Format: hdrhistogram.org, "V2 encoding"; the tests compare with the package `hdrhistogram`.
"""

import base64
import binascii
import struct
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from cloudcmp.stats.check import Floats, Integers, finite

SMALLEST_NS = 1
LARGEST_NS = 3_600_000_000_000
SIGNIFICANT_DIGITS = 3

# 2048 is the smallest power of two that resolves 2 x 10^3 values; each further bucket adds half as many and doubles the
# reach.
_SUB_BUCKET_BITS = 11
_HALF_BITS = _SUB_BUCKET_BITS - 1
_COMPRESSED_COOKIE = 0x1C849314
_PLAIN_COOKIE = 0x1C849313
_OUTER = struct.Struct(">II")
_INNER = struct.Struct(">IIIIQQd")
_LONGEST_TEXT = 1 << 20
_LONGEST_PAYLOAD = 1 << 19
# The longest variable-length number that is read: 8 x 7 bits; the counts that a run can reach need fewer.
_LONGEST_NUMBER = 8
_MOST_VALUES = 10**15
# Decoded together; more would only take more memory.
_OCTETS_AT_ONCE = 1 << 20
_NS_PER_S = 1e9


@dataclass(frozen=True, slots=True, eq=False)
class Histogram:
    """The count of each non-empty bucket; never empty.

    index: the bucket numbers, ascending, shape (k,). counts: recordings in each, >= 1, shape (k,).
    """

    index: Integers
    counts: Integers


def from_base64(text: str) -> Histogram:
    """Decodes a histogram from its V2 deflate base64 text.

    Raises only ValueError: if the text is damaged or oversized, has another layout than 3 digits from 1 ns, counts
    values outside 1 .. 3.6e12 ns, holds no value, or holds more than 10^15.
    """
    return _counted(*_numbers([_payload(text)]))[0]


def all_from_base64(texts: Iterable[str]) -> list[Histogram]:
    """Decodes many histograms at once; raises the errors of `from_base64`, which do not tell which text is bad."""
    found: list[Histogram] = []
    payloads: list[bytes] = []
    size = 0
    for text in texts:
        payloads.append(_payload(text))
        size += len(payloads[-1])
        if size >= _OCTETS_AT_ONCE:
            found += _counted(*_numbers(payloads))
            payloads, size = [], 0
    return found + (_counted(*_numbers(payloads)) if payloads else [])


def from_values(values_ns: npt.ArrayLike) -> Histogram:
    """Counts values in nanoseconds, shape (n,), n >= 1, rounded to whole ones; ValueError outside 1 .. 3.6e12."""
    values = np.rint(finite(values_ns, "values_ns"))
    if values.min() < SMALLEST_NS or values.max() > LARGEST_NS:
        bounds = f"{values.min():.0f} .. {values.max():.0f}"
        raise ValueError(f"values_ns: {bounds} is not within {SMALLEST_NS} .. {LARGEST_NS} ns; check the unit")
    index, counts = np.unique(_bucket_of(values), return_counts=True)
    return Histogram(index, counts.astype(np.int64))


def encode(values_ns: npt.ArrayLike) -> str:
    """The V2 deflate base64 text of values in nanoseconds; arguments and errors as in `from_values`."""
    return to_base64(from_values(values_ns))


def to_base64(h: Histogram) -> str:
    """The V2 deflate base64 text of a histogram; the same histogram always gives the same text."""
    gaps = np.diff(h.index, prepend=-1) - 1
    # Each bucket is its count, after minus the number of empty buckets before it (a single one is written as 0).
    signed = np.stack((np.where(gaps == 1, 0, -gaps), h.counts), axis=1).reshape(-1)
    kept = np.stack((gaps > 0, np.ones_like(gaps, dtype=np.bool_)), axis=1).reshape(-1)
    payload = b"".join(_number_bytes(n) for n in signed[kept].tolist())
    header = _INNER.pack(_PLAIN_COOKIE, len(payload), 0, SIGNIFICANT_DIGITS, SMALLEST_NS, LARGEST_NS, 1.0)
    deflated = zlib.compress(header + payload)
    return base64.b64encode(_OUTER.pack(_COMPRESSED_COOKIE, len(deflated)) + deflated).decode("ascii")


def merge(histograms: Sequence[Histogram]) -> Histogram:
    """Adds histograms, as if all values had been recorded into one; raises ValueError for an empty list."""
    if not histograms:
        raise ValueError("merge: no histograms; leave out the launch that recorded none")
    if len(histograms) == 1:
        return histograms[0]
    total = sum(count(h) for h in histograms)
    if total > _MOST_VALUES:
        raise ValueError(f"merge: {total} values in all, more than {_MOST_VALUES}; no study records so many")
    index = np.concatenate([h.index for h in histograms])
    order = np.argsort(index, kind="stable")
    index = index[order]
    firsts = np.flatnonzero(np.diff(index, prepend=-1))
    counts = np.concatenate([h.counts for h in histograms])
    return Histogram(index[firsts], np.add.reduceat(counts[order], firsts))


def count(h: Histogram) -> int:
    """The number of recorded values."""
    return int(h.counts.sum())


def percentile_s(h: Histogram, p: float) -> float:
    """The p-th percentile in seconds, 0 < p <= 100: the first bucket with p % of the values in or below it.

    The result is the largest value of that bucket, as in HdrHistogram: at most 0.1 % above the recorded one. Does not
    measure its own uncertainty: p = 99 of 50 values is their largest.
    """
    return float(percentiles_s([h], [p])[0, 0])


def percentiles_s(histograms: Sequence[Histogram], p: Sequence[float]) -> Floats:
    """The percentiles `p` of each histogram in seconds, shape (histograms, percentiles); see `percentile_s`."""
    for one in p:
        if not 0.0 < one <= 100.0:
            raise ValueError(f"percentile_s: p = {one} is not above 0 and up to 100; write 99 for the 99th percentile")
    # In exact fractions of the decimal as written: 99.9 % of 1000 values are 999; in floats the result is 1000.
    shares = [(Fraction(repr(float(one))) / 100).as_integer_ratio() for one in p]
    index = np.empty((len(histograms), len(p)), dtype=np.int64)
    for row, h in zip(index, histograms, strict=True):
        reached = h.counts.cumsum()
        total = int(reached[-1])
        row[:] = h.index[reached.searchsorted([-(-total * part // whole) for part, whole in shares])]
    return _largest_of(index) / _NS_PER_S


def cdf(h: Histogram) -> tuple[Floats, Floats]:
    """The cumulative distribution as steps (x_s, share), both of shape (k,): share[i] of the values are <= x_s[i].

    The x_s rise and are the largest value of each bucket; the last share is 1.
    """
    reached = np.cumsum(h.counts)
    return _largest_of(h.index) / _NS_PER_S, reached / reached[-1]


def _bucket_of(values: Floats) -> Integers:
    """Bucket numbers of whole values >= 0: the top 11 bits of a value, plus 1024 for each dropped bit."""
    bits = np.frexp(values)[1].astype(np.int64)
    dropped = np.maximum(bits - _SUB_BUCKET_BITS, 0)
    return (values.astype(np.int64) >> dropped) + (dropped << _HALF_BITS)


def _largest_of(index: Integers) -> Floats:
    """The largest value, in ns, that falls into each bucket; the last bucket reaches past the range and is cut off."""
    dropped = np.maximum((index >> _HALF_BITS) - 1, 0)
    largest: Integers = ((index - (dropped << _HALF_BITS) + 1) << dropped) - 1
    return np.minimum(largest, LARGEST_NS).astype(np.float64)


_LAST_INDEX = int(_bucket_of(np.array([float(LARGEST_NS)]))[0])


def _payload(text: str) -> bytes:
    """The counts, still as variable-length numbers, of the text of one compressed histogram with valid headers."""
    if len(text) > _LONGEST_TEXT:
        raise _bad(f"{len(text)} characters, more than {_LONGEST_TEXT}")
    try:
        packed = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError) as fault:
        raise _bad("not base64") from fault
    if len(packed) < _OUTER.size:
        raise _bad("cut off in its header")
    cookie, length = _OUTER.unpack_from(packed)
    if cookie != _COMPRESSED_COOKIE or length != len(packed) - _OUTER.size:
        raise _bad("not one V2 compressed histogram")
    unpacker = zlib.decompressobj()
    try:
        plain = unpacker.decompress(packed[_OUTER.size :], _LONGEST_PAYLOAD)
    except zlib.error as fault:
        raise _bad("its compressed part is damaged") from fault
    if not unpacker.eof or unpacker.unused_data or len(plain) < _INNER.size:
        raise _bad("its compressed part is cut off, too long, or followed by something else")
    cookie, length, offset, digits, smallest, largest, ratio = _INNER.unpack_from(plain)
    if cookie != _PLAIN_COOKIE or length != len(plain) - _INNER.size or offset != 0 or ratio != 1.0:
        raise _bad("not in plain V2 layout")
    if (digits, smallest) != (SIGNIFICANT_DIGITS, SMALLEST_NS) or largest > LARGEST_NS:
        raise _bad(f"{digits} digits from {smallest} to {largest}, not 3 from {SMALLEST_NS} to {LARGEST_NS} ns")
    return plain[_INNER.size :]


def _numbers(payloads: Sequence[bytes]) -> tuple[Integers, Integers]:
    """The signed numbers in all payloads, and the place of the first one of each payload.

    A number has 7 bits a byte, lowest first, the top bit set while more follow, and its sign in bit 0.
    """
    if not all(payload and payload[-1] < 0x80 for payload in payloads):
        raise _bad("holds no values, or its last number is cut off")
    octets = np.frombuffer(b"".join(payloads), dtype=np.uint8)
    ends = np.flatnonzero(octets < 0x80)
    lengths = np.diff(ends, prepend=-1)
    if lengths.max() > _LONGEST_NUMBER:
        raise _bad("a number is too long")
    starts = ends - lengths + 1
    numbers = np.zeros(ends.size, dtype=np.int64)
    for place in range(int(lengths.max())):
        at = lengths > place
        numbers[at] |= (octets[starts[at] + place] & 0x7F).astype(np.int64) << (7 * place)
    sizes = np.array([len(payload) for payload in payloads], dtype=np.int64)
    return (numbers >> 1) ^ -(numbers & 1), np.searchsorted(ends, np.cumsum(sizes) - sizes)


def _counted(numbers: Integers, firsts: Integers) -> list[Histogram]:
    """Places counts (positive) and lengths of empty stretches (negative; 0 is one empty bucket) on the buckets.

    `firsts` are the places of the first number of each histogram.
    """
    steps = np.where(numbers < 0, -numbers, 1)
    if steps.max() > _LAST_INDEX + 1 or np.add.reduceat(steps, firsts).max() > _LAST_INDEX + 1:
        raise _bad(f"counts values above {LARGEST_NS} ns")
    index = np.cumsum(steps) - steps
    index -= np.repeat(index[firsts], np.diff(firsts, append=numbers.size))
    full = numbers > 0
    sizes = np.add.reduceat(full, firsts, dtype=np.int64)
    if sizes.min() == 0:
        raise _bad("holds no values")
    index, counts = index[full], numbers[full]
    ends = np.cumsum(sizes)
    starts = ends - sizes
    if counts.max() > _MOST_VALUES or np.add.reduceat(counts, starts, dtype=np.float64).max() > _MOST_VALUES:
        raise _bad(f"counts more than {_MOST_VALUES} values")
    if index[starts].min() < SMALLEST_NS:
        raise _bad(f"counts values below {SMALLEST_NS} ns")
    places = zip(starts.tolist(), ends.tolist(), strict=True)
    return [Histogram(index[start:end], counts[start:end]) for start, end in places]


def _number_bytes(number: int) -> bytes:
    """One signed number as `_numbers` reads it; counts up to 10^15 stay within its 8 bytes."""
    rest = number * 2 if number >= 0 else -number * 2 - 1
    octets = bytearray()
    while rest > 0x7F:
        octets.append(rest & 0x7F | 0x80)
        rest >>= 7
    octets.append(rest)
    return bytes(octets)


def _bad(what: str) -> ValueError:
    return ValueError(f"histogram: {what}; expected HdrHistogram V2 deflate base64 of whole ns; make its trial invalid")
