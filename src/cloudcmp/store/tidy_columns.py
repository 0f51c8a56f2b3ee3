"""Columns of a tidy table, parsed as a whole: texts as numbers, values and times as floats.

Cells that are certainly valid are separated from doubtful ones, which are left to the row-by-row reader.
"""

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from cloudcmp.store.arrow import texts, to_numpy
from cloudcmp.store.tidy import time_of
from cloudcmp.store.tidy_agree import NUMBER_PATTERN, number_of

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray

TextOf = Callable[[Any], str]
_LAST_TIME = 253402300800  # the year 10000
_EXACT = 2**53
_FEW = 4096
_MULTIPLIER = 0x9E3779B97F4A7C15  # odd, 2^64 over the golden ratio: spreads the bits of a hash
_ISO = r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,6})?Z$"


class UnreadableColumn(Exception):
    """A column of a type without a text form; the message gives the reason."""


class TextColumn:
    """Numbers for the texts of a column, the same in each block; `is_sound` tests if a text is certainly valid."""

    def __init__(self, is_sound: Callable[[str], bool]) -> None:
        self.texts: list[str] = []
        self._sound: list[bool] = []
        self._code: dict[str, int] = {}
        self._is_sound = is_sound

    def codes(self, column: "pa.Array", text_of: TextOf) -> "NDArray[np.int64]":
        """The number of each row's text."""
        import numpy as np

        indices, distinct = distinct_of(column)
        own = np.array([self._code_of(text_of(one)) for one in distinct], np.int64)
        return own[indices]

    def sound(self, codes: "NDArray[np.int64]") -> "NDArray[np.bool_]":
        """For each row whether its text is certainly valid."""
        import numpy as np

        return np.array(self._sound, np.bool_)[codes]

    def _code_of(self, text: str) -> int:
        code = self._code.setdefault(text, len(self.texts))
        if code == len(self.texts):
            self.texts.append(text)
            self._sound.append(self._is_sound(text))
        return code


def distinct_of(column: "pa.Array") -> "tuple[NDArray[np.int64], list[Any]]":
    """For each row the index of its cell in a list of distinct ones, with None for null."""
    import numpy as np
    import pyarrow as pa

    if pa.types.is_dictionary(column.type) and len(column.dictionary) > _FEW + 4 * len(column):
        column = column.dictionary_decode()
    try:
        encoded = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
        distinct = encoded.dictionary.to_pylist()
    except pa.ArrowNotImplementedError:  # lists and the like
        cells = [None if cell is None else str(cell) for cell in column.to_pylist()]
        places = {cell: at for at, cell in enumerate(dict.fromkeys(cells))}
        return np.array([places[cell] for cell in cells], np.int64), list(places)
    except (pa.ArrowException, ValueError) as error:
        raise UnreadableColumn((str(error).splitlines() or ["unknown"])[0]) from None
    indices = to_numpy(encoded.indices, len(distinct)).astype(np.int64)
    return indices, [*distinct, None] if encoded.null_count else distinct


def groups(columns: "Sequence[NDArray[np.int64]]") -> "tuple[NDArray[np.int64], NDArray[np.int64]]":
    """The combination number of each row, and the first row of each combination, in ascending order."""
    import numpy as np
    import pyarrow as pa

    combined = columns[0]
    for column in columns[1:]:
        size = int(column.max(initial=0)) + 1
        if int(combined.max(initial=0)) >= 2**62 // size:
            combined = np.unique(combined, return_inverse=True)[1].astype(np.int64)
        combined = combined * size + column
    buffer = pa.py_buffer(np.ascontiguousarray(combined))
    encoded = pa.Array.from_buffers(pa.int64(), len(combined), [None, buffer]).dictionary_encode()
    numbers = to_numpy(encoded.indices).astype(np.int64)
    first = np.zeros(len(encoded.dictionary), np.int64)
    first[numbers[::-1]] = np.arange(len(numbers) - 1, -1, -1)
    return numbers, first


def first_of_equal(columns: "Sequence[NDArray[Any]]") -> "NDArray[np.int64]":
    """The first row that is equal to each row in all columns, by a hash of 64 bits."""
    import numpy as np
    import pyarrow as pa

    hashed = np.zeros(len(columns[0]), np.uint64)
    for column in columns:
        bits = np.ascontiguousarray(column, np.float64 if column.dtype.kind == "f" else np.int64).view(np.uint64)
        hashed = (hashed ^ bits) * np.uint64(_MULTIPLIER)
        hashed ^= hashed >> np.uint64(29)
    encoded = pa.Array.from_buffers(pa.uint64(), len(hashed), [None, pa.py_buffer(hashed)]).dictionary_encode()
    numbers = to_numpy(encoded.indices).astype(np.int64)
    first = np.zeros(len(encoded.dictionary), np.int64)
    first[numbers[::-1]] = np.arange(len(numbers) - 1, -1, -1)
    return first[numbers]


def values_of(column: "pa.Array", text_of: TextOf) -> "tuple[NDArray[np.float64], NDArray[np.bool_]]":
    """The finite number of each cell, NaN if it has none or is doubtful; and which cells are certainly empty."""
    import numpy as np
    import pyarrow as pa

    kind = column.type
    if pa.types.is_floating(kind) or pa.types.is_integer(kind):
        values, empty = floats(column), to_numpy(column.is_null())
    elif _is_text(kind):
        values, empty = _parsed(column)
    else:
        indices, distinct = distinct_of(column)
        texts = [text_of(one) for one in distinct]
        values = np.array([number_of(text) for text in texts], np.float64)[indices]
        empty = np.array([not text for text in texts], np.bool_)[indices]
    values[~np.isfinite(values)] = np.nan
    return values, empty


def times_of(column: "pa.Array", text_of: TextOf) -> "tuple[NDArray[np.float64], NDArray[np.bool_]]":
    """The Unix time of each cell, NaN if it has none or is doubtful; and which cells are certainly empty."""
    import numpy as np
    import pyarrow as pa

    kind = column.type
    if pa.types.is_floating(kind) or pa.types.is_integer(kind):
        times, empty = floats(column), to_numpy(column.is_null())
    else:
        quick = _iso_times(column) if _is_text(kind) and not pa.types.is_dictionary(kind) else None
        if quick is not None:
            return quick
        indices, distinct = distinct_of(column)
        texts = [text_of(one) for one in distinct]
        times = np.array([_time(text) for text in texts], np.float64)[indices]
        empty = np.array([not text for text in texts], np.bool_)[indices]
    times[~((times >= 0) & (times < _LAST_TIME))] = np.nan
    return times, empty


def _is_text(kind: "pa.DataType") -> bool:
    import pyarrow as pa

    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def floats(column: "pa.Array") -> "NDArray[np.float64]":
    """The numbers of a column, NaN for null."""
    import pyarrow as pa

    return to_numpy(column.cast(pa.float64(), safe=False), math.nan).copy()


def _parsed(column: "pa.Array") -> "tuple[NDArray[np.float64], NDArray[np.bool_]]":
    """Numbers in texts: Arrow reads those in the format of `number_of`."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    nothing = pa.nulls(1, column.type)[0]
    empty = _empty(column)
    try:
        parsed = pc.if_else(empty, nothing, column).cast(pa.float64())
    except pa.ArrowInvalid:
        plain = pc.match_substring_regex(column, f"^{NUMBER_PATTERN}$")
        try:
            parsed = pc.if_else(plain, column, nothing).cast(pa.float64())
        except pa.ArrowInvalid:
            return np.full(len(column), np.nan), to_numpy(empty)
    return to_numpy(parsed, math.nan).copy(), to_numpy(empty)


def _empty(column: "pa.Array") -> "pa.Array":
    """For each text whether it is empty or null."""
    import pyarrow.compute as pc

    return pc.or_kleene(column.is_null(), pc.equal(column, texts([""])[0].cast(column.type)))


def _iso_times(column: "pa.Array") -> "tuple[NDArray[np.float64], NDArray[np.bool_]] | None":
    """Times in the format of `time_text`; None if there are others."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    empty = _empty(column)
    missing = to_numpy(empty)
    if not (missing | to_numpy(pc.match_substring_regex(column, _ISO), missing=False)).all():
        return None
    try:
        stamps = pc.if_else(empty, pa.nulls(1, column.type)[0], column).cast(pa.timestamp("us", "UTC"))
    except pa.ArrowInvalid:
        return None
    micros = to_numpy(stamps.cast(pa.int64()), 0)
    if ((micros < 0) | (micros >= _EXACT)).any():
        return None
    return np.where(missing, np.nan, micros / 1e6), missing


def _time(text: str) -> float | None:
    try:
        return time_of(text) if text else None
    except (ValueError, OverflowError):
        return None
