"""The check of a latency histogram that an agent sent: HdrHistogram V2, deflated, in base64.

Only its form is checked here; adding histograms and reading percentiles is done elsewhere. The layout is that of
HdrHistogram's V2 encoding: two big-endian headers, and counts in ZigZag LEB128 where a negative one is a run of zeros.
"""

import binascii
import struct
import zlib
from collections.abc import Iterator

HIGHEST_NS = 3_600_000_000_000
SIGNIFICANT_DIGITS = 3
_COOKIE_MASK = ~0xF0
_DEFLATED = 0x1C849304
_PLAIN = 0x1C849303
_OUTER = struct.Struct(">ii")
_INNER = struct.Struct(">iiiiqqd")
_SUB_BUCKETS = 2048  # what three significant digits take
_PLAIN_BYTES_MAX = 1 << 19  # every slot of the widest range filled, nine bytes each


def fault_of(text: str) -> str | None:
    """What is wrong with a histogram's text, None where nothing is.

    Wrong are: other precision or range than nanoseconds 1 .. 3.6e12 at 3 digits, no values, counts that do not fit.
    """
    try:
        packed = binascii.a2b_base64(text.encode("ascii"), strict_mode=True)
        cookie, length = _OUTER.unpack_from(packed)
        if cookie & _COOKIE_MASK != _DEFLATED or length != len(packed) - _OUTER.size:
            return "is no deflated V2 histogram"
        inflater = zlib.decompressobj()
        plain = inflater.decompress(packed[_OUTER.size :], _PLAIN_BYTES_MAX)
        if not inflater.eof or inflater.unused_data:
            return "does not end where it says, or is too long"
        cookie, length, offset, digits, low, high, ratio = _INNER.unpack_from(plain)
    except (ValueError, struct.error, zlib.error) as error:
        return f"can not be read ({error})"
    if cookie & _COOKIE_MASK != _PLAIN or length != len(plain) - _INNER.size or offset != 0 or ratio != 1.0:
        return "is no V2 histogram"
    if digits != SIGNIFICANT_DIGITS or low != 1 or not 2 <= high <= HIGHEST_NS:
        return f"has {digits} digits over {low} .. {high}; {SIGNIFICANT_DIGITS} over 1 .. {HIGHEST_NS} are wanted"
    return _fault_of_counts(plain[_INNER.size :], _slots(high))


def _slots(high: int) -> int:
    """How many counts a histogram up to `high` holds: 2048 values singly, then 1024 for each doubling of the range."""
    buckets = max(high // _SUB_BUCKETS, 0).bit_length() + 1
    return (buckets + 1) * _SUB_BUCKETS // 2


def _fault_of_counts(payload: bytes, slots: int) -> str | None:
    """What is wrong with the counts, None where nothing is."""
    slot = total = 0
    try:
        for value in _zigzag(payload):
            slot += -value if value < 0 else 1
            total += max(value, 0)
            if slot > slots or total >= 1 << 53:
                return "holds more than can be counted"
    except ValueError as error:
        return str(error)
    return None if total else "holds no values"


def _zigzag(payload: bytes) -> Iterator[int]:
    """The signed integers of ZigZag LEB128 bytes; the ninth byte of a number holds eight bits."""
    number = shift = 0
    for byte in payload:
        if shift < 56 and byte & 0x80:
            number |= (byte & 0x7F) << shift
            shift += 7
            continue
        number |= byte << shift
        yield (number >> 1) ^ -(number & 1)
        number = shift = 0
    if shift:
        raise ValueError("is cut short")
