"""The writer of an agent's output: numbered frames of JSON, one a line, closed by their count and digest."""

import hashlib
import json
from collections.abc import Callable, Mapping

PROTOCOL_VERSION = 2
"""The version of the wire that both sides write in every line."""
_VALUES = frozenset({"hist", "sample"})


class FrameWriter:
    """Writes frames through `write`, one call for each line. Not for several threads."""

    def __init__(self, write: Callable[[bytes], object]) -> None:
        self._write = write
        self._digest = hashlib.sha256()
        self._seq = self._values = 0

    def frame(self, fields: Mapping[str, object]) -> None:
        """Writes one frame; raises ValueError for a number that is not finite."""
        own = {"v": PROTOCOL_VERSION, "seq": self._seq, **fields}
        line = json.dumps(own, separators=(",", ":"), allow_nan=False).encode() + b"\n"
        self._digest.update(line)
        self._seq += 1
        self._values += fields.get("type") in _VALUES
        self._write(line)

    def end(self, outcome: str) -> None:
        """Writes the end record of a trial with an outcome."""
        digest = self._digest.hexdigest()
        self.frame({"type": "end", "outcome": outcome, "count": self._values, "sha256": digest})


def note(key: str, value: float | str) -> dict[str, object]:
    """The frame of one note."""
    return {"type": "note", "key": key, "value": value}


def sample(metric: str, params: Mapping[str, str], t_s: float, value: float) -> dict[str, object]:
    """The frame of one sample, `t_s` seconds after the start of the measured phase."""
    return {"type": "sample", "metric": metric, "params": dict(params), "t_s": t_s, "value": value}


def histogram(metric: str, params: Mapping[str, str], t_s: float, hist: str) -> dict[str, object]:
    """The frame of one histogram, as encoded text."""
    return {"type": "hist", "metric": metric, "params": dict(params), "t_s": t_s, "hist": hist}
