"""Arrow arrays to and from buffers, without `pyarrow.array` and `to_numpy`, which import pandas if installed."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray


def numbers(values: "NDArray[Any]") -> "pa.Array":
    """An Arrow array of int32 or float64, null where NaN."""
    import numpy as np
    import pyarrow as pa

    valid = ~np.isnan(values)
    type_ = pa.int32() if values.dtype == np.int32 else pa.float64()
    return pa.Array.from_buffers(type_, len(values), [_bits(valid), pa.py_buffer(values)])


def texts(values: Sequence[str | None]) -> "pa.Array":
    """An Arrow array of texts, null where None."""
    import numpy as np
    import pyarrow as pa

    encoded = [b"" if value is None else value.encode() for value in values]
    offsets = np.zeros(len(values) + 1, np.int32)
    np.cumsum([len(one) for one in encoded], out=offsets[1:])
    valid = np.array([value is not None for value in values], np.bool_)
    buffers = [_bits(valid), pa.py_buffer(offsets), pa.py_buffer(b"".join(encoded))]
    return pa.Array.from_buffers(pa.string(), len(values), buffers)


def to_numpy(column: "pa.Array", missing: float | None = None) -> "NDArray[Any]":
    """The integers, float64s or booleans of an Arrow array, with `missing` for null; raises ValueError for others."""
    import numpy as np
    import pyarrow as pa

    if column.null_count and missing is None:
        raise ValueError("an array with nulls has no numbers for them")
    valid, data = column.buffers()
    if pa.types.is_boolean(column.type):
        return _truths(data, column)
    kind = np.float64 if pa.types.is_float64(column.type) else np.dtype(str(column.type))
    values = np.frombuffer(data, kind, column.offset + len(column))[column.offset :]
    if column.null_count:
        values = np.where(_truths(valid, column), values, np.asarray(missing, kind))
    return values


def _truths(bits: "pa.Buffer", column: "pa.Array") -> "NDArray[np.bool_]":
    import numpy as np

    count = column.offset + len(column)
    return np.unpackbits(np.frombuffer(bits, np.uint8), count=count, bitorder="little")[column.offset :].astype(bool)


def _bits(valid: "NDArray[np.bool_]") -> "pa.Buffer":
    import numpy as np
    import pyarrow as pa

    return pa.py_buffer(np.packbits(valid, bitorder="little"))
