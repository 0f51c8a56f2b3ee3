"""The client's output, written by its measuring thread and by its guard."""

import math
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence

from cloudcmp import __version__
from cloudcmp.catalog import METRICS
from cloudcmp.client.failures import Ended
from cloudcmp.model import frames
from cloudcmp.model.metric import Reduce
from cloudcmp.model.untrusted_text import one_line
from cloudcmp.stats import histogram

_TEXT_MAX = 2000
_PATIENCE_S = 1.0
_READINGS = 1000
_NS_RANGE = (1, 3_600_000_000_000)


class Output:
    """Frames of one trial with its parameters; after the end nothing more is written. For several threads."""

    def __init__(self, write: Callable[[bytes], object]) -> None:
        self._writer = frames.FrameWriter(write)
        self._lock = threading.Lock()
        self._ended = False
        self.params: Mapping[str, str] = {}

    def _frame(self, fields: Mapping[str, object]) -> None:
        with self._lock:
            if not self._ended:
                self._writer.frame(fields)

    def hello(self) -> None:
        """Writes who measures, and its clock."""
        clock = time.get_clock_info("perf_counter")
        facts = {"source": clock.implementation, "resolution_s": clock.resolution, "cost_s": _clock_cost_s()}
        python = ".".join(map(str, sys.version_info[:3]))
        self._frame({"type": "hello", "version": __version__, "target": f"python-{python}", "host": {}, "clock": facts})

    def note(self, key: str, value: float | str) -> None:
        """Writes one fact about the trial; leaves out a number that is not finite."""
        if not isinstance(value, float) or math.isfinite(value):
            self._frame(frames.note(key, value))

    def sample(self, metric: str, t_s: float, value: float) -> None:
        """Writes one value."""
        self._frame(frames.sample(metric, self._params_of(metric), t_s, value))

    def histogram(self, metric: str, t_s: float, values_ns: Sequence[int]) -> None:
        """Writes the distribution of times in ns."""
        least, most = _NS_RANGE
        text = histogram.encode([min(max(one, least), most) for one in values_ns])
        self._frame(frames.histogram(metric, self._params_of(metric), t_s, text))

    def _params_of(self, metric: str) -> dict[str, str]:
        known = METRICS[metric]
        skipped = "percentile" if known.reduce is Reduce.PERCENTILE else ""
        return {name: self.params[name] for name in known.params if name != skipped}

    def finish(self, end: Ended | None) -> None:
        """Writes the last frames, within a moment even if another thread is stuck."""
        if not self._lock.acquire(timeout=_PATIENCE_S):
            return
        try:
            if self._ended:
                return
            self._ended = True
            if end is not None:
                words = {"what": one_line(end.what, _TEXT_MAX), "next": one_line(end.advice, _TEXT_MAX)}
                self._writer.frame({"type": "error", **words})
            self._writer.end("ok" if end is None else end.outcome.value)
        finally:
            self._lock.release()


def _clock_cost_s() -> float:
    """The time of one reading of the clock."""
    began = time.perf_counter()
    for _ in range(_READINGS):
        time.perf_counter_ns()
    return (time.perf_counter() - began) / _READINGS
