"""The output of a simulated agent: the same bytes as the real one, with the planted faults."""

from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from cloudcmp.model.frames import FrameWriter, histogram, sample

if TYPE_CHECKING:
    from cloudcmp.provider.simulated.values import Reading

_BROKEN = b"\xff\xfe\x00 not a frame \xff"


class Fate(StrEnum):
    """The planted fault of one run of a simulated agent."""

    ENDS = "ends"
    HANGS = "hangs"
    GARBAGE = "garbage"
    PREEMPTED = "taken"


def hello(vcpus: float | None, memory_gib: float | None) -> dict[str, object]:
    """The fields of the first frame, with planted facts."""
    return {
        "type": "hello",
        "version": "simulated",
        "target": "simulated",
        "host": {"simulated": True, "cpus": vcpus, "memory_gib": memory_gib},
        "clock": {"source": "virtual", "resolution_s": 0.0, "cost_s": 0.0},
    }


def ready(address: str) -> dict[str, object]:
    """The frame of a server that listens."""
    return {"type": "ready", "addr": address}


def frame_of(reading: "Reading") -> dict[str, object]:
    """The frame of one sample or histogram."""
    series = reading.metric, dict(reading.params), reading.t_s
    if reading.hist is not None:
        return histogram(*series, reading.hist)
    return sample(*series, reading.value or 0.0)


def encode(frames: Iterable[dict[str, object]]) -> bytes:
    """A complete ok stream: the numbered frames, and the end record with their count and digest."""
    stream = bytearray()
    writer = FrameWriter(stream.extend)
    for frame in frames:
        writer.frame(frame)
    writer.end("ok")
    return bytes(stream)


@dataclass(slots=True)
class SimulatedChannel:
    """A channel to a simulated agent, also an async context. `fault_at` is the share of the output before the fault.

    A hang raises TimeoutError after the output before it: the virtual deadline has passed by then.
    """

    data: bytes
    fate: Fate
    fault_at: float
    on_preemption: Callable[[], None]

    async def __aenter__(self) -> "SimulatedChannel":
        return self

    async def __aexit__(self, *_: object) -> None:
        """Does nothing: no process runs."""

    def stdout(self) -> AsyncIterator[bytes]:
        """The agent's bytes."""
        first_line = self.data.index(b"\n") + 1
        cut = first_line + int(self.fault_at * (len(self.data) - first_line))
        match self.fate:
            case Fate.ENDS:
                pieces = [self.data]
            case Fate.GARBAGE:
                pieces = [self.data[:cut], _BROKEN, self.data[cut + len(_BROKEN) :]]
            case Fate.HANGS | Fate.PREEMPTED:
                pieces = [self.data[:cut]]
        return _Pieces(pieces, self.fate, self.on_preemption)

    async def hang_up(self) -> None:
        """Does nothing: a simulated agent has ended by itself."""

    async def last_words(self) -> str:
        """An empty text: there is no process."""
        return ""


class _Pieces:
    def __init__(self, pieces: Sequence[bytes], fate: Fate, on_preemption: Callable[[], None]) -> None:
        self._pieces = iter(pieces)
        self._fate = fate
        self._on_preemption = on_preemption

    def __aiter__(self) -> "_Pieces":
        return self

    async def __anext__(self) -> bytes:
        for piece in self._pieces:
            return piece
        if self._fate is Fate.HANGS:
            raise TimeoutError
        if self._fate is Fate.PREEMPTED:
            self._on_preemption()
        raise StopAsyncIteration
