"""The content of data sets: what the agent's `content.rs`, `row.rs` and `message.rs` write, byte for byte.

Keys and contents follow from a few numbers, so that every body can be verified, whoever wrote it.
"""

from dataclasses import dataclass
from functools import lru_cache

_ALL = (1 << 64) - 1
_SEED = 0x0063_6C6F_7564_636D
_PERIOD = 1_048_573
_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
_DIGITS = 16
VALUE_BYTES = 100
"""The length of a row's value."""
GROUP = 10
"""Rows of a group: what a query selects by a field that is no key."""
KEPT, UPLOADED = "kept", "uploaded"
"""Parts of a data set: what is read, and what trials write."""


def mix(seed: int) -> int:
    """One step of splitmix64."""
    z = (seed + 0x9E37_79B9_7F4A_7C15) & _ALL
    z = ((z ^ (z >> 30)) * 0xBF58_476D_1CE4_E5B9) & _ALL
    z = ((z ^ (z >> 27)) * 0x94D0_49BB_1331_11EB) & _ALL
    return z ^ (z >> 31)


class Rng:
    """Pseudo-random numbers: xoshiro256**, seeded by splitmix64, as the agent has them. Not for several threads."""

    __slots__ = ("_state",)

    def __init__(self, seed: int, stream: int) -> None:
        state, numbers = mix(seed ^ mix(stream)), []
        for _ in range(4):
            state = mix(state)
            numbers.append(state)
        self._state = tuple(numbers)

    def next(self) -> int:
        """The next number of 64 bits."""
        a, b, c, d = self._state
        product = (b * 5) & _ALL
        c ^= a
        d ^= b
        self._state = (a ^ d, b ^ c, c ^ ((b << 17) & _ALL), ((d << 45) | (d >> 19)) & _ALL)
        return ((((product << 7) | (product >> 57)) & _ALL) * 9) & _ALL

    def below(self, bound: int) -> int:
        """A number below a bound."""
        return (self.next() * bound) >> 64


@lru_cache(maxsize=1)
def _window() -> bytes:
    """The bytes that blobs are windows of, twice, so that no window ends within them."""
    rng = Rng(_SEED, 0)
    once = b"".join(rng.next().to_bytes(8, "little") for _ in range(_PERIOD // 8 + 1))[:_PERIOD]
    return once + once


def words(index: int, version: int, length: int) -> str:
    """Text that two numbers choose, of letters, digits, `-` and `_`."""
    rng, pieces = Rng(_SEED ^ mix(index), version), []
    for _ in range(-(-length // 10)):
        number = rng.next()
        pieces += [_LETTERS[number >> 6 * place & 63] for place in range(10)]
    return "".join(pieces)[:length]


@dataclass(frozen=True, slots=True)
class Blob:
    """A blob of a part of a data set: its size in bytes and its index."""

    part: str
    size: int
    index: int

    @property
    def key(self) -> str:
        """The key, which says part, size and index."""
        return f"{prefix(self.part, self.size)}{self.index:06}"

    def body(self) -> bytes:
        """The whole content."""
        start = mix(self.size ^ mix(self.index ^ mix(0))) % _PERIOD
        window = _window()
        if self.size <= _PERIOD:
            return window[start : start + self.size]
        turn = window[start : start + _PERIOD]
        return (turn * (self.size // _PERIOD + 1))[: self.size]


def prefix(part: str, size: int) -> str:
    """The start of the keys of a part's blobs of one size."""
    return f"{'u' if part == UPLOADED else 'b'}/{size}/"


@dataclass(frozen=True, slots=True)
class Row:
    """A row of a table: the key `k`, the group `g` and the value `v`, all text."""

    k: str
    g: str
    v: str


@lru_cache(maxsize=200_000)
def row(part: str, index: int) -> Row:
    """The row of a part with an index."""
    key = f"{'u' if part == UPLOADED else 'r'}{index:08}"
    return Row(key, group_name(part, index // GROUP), words(index, 0, VALUE_BYTES))


def group_name(part: str, number: int) -> str:
    """The value of the field `g` of a group's rows."""
    return f"{'gu' if part == UPLOADED else 'g'}{number}"


def group(part: str, index: int, entries: int) -> list[Row]:
    """The rows of the group of a row in a table of so many rows, in the order of their keys."""
    first = index // GROUP * GROUP
    return [row(part, other) for other in range(first, min(first + GROUP, entries))]


def message(size: int, number: int) -> str:
    """The text of a message of `size` bytes: its number in hexadecimal digits, then what follows from it."""
    digits = min(size, _DIGITS)
    number &= (1 << 4 * digits) - 1
    return f"{number:0{digits}x}{words(number, size, size - digits)}"


def is_message(text: str, size: int) -> bool:
    """True if a message of this size has this text."""
    digits = text[:_DIGITS]
    if len(text) != size or not digits or any(one not in "0123456789abcdef" for one in digits):
        return False
    return text == message(size, int(digits, 16))
