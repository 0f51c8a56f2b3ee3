"""Arrow arrays made from buffers: `pyarrow.array` loads pandas where that is installed, which takes a second."""

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


def _bits(valid: "NDArray[np.bool_]") -> "pa.Buffer":
    import numpy as np
    import pyarrow as pa

    return pa.py_buffer(np.packbits(valid, bitorder="little"))
