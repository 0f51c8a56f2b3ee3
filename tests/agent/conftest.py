"""Builds agent streams, right or wrong on purpose."""

import hashlib
import json
from collections.abc import Callable, Sequence

import pytest

from cloudcmp.agent import Decoder, expected_series
from cloudcmp.agent.wire import Limits
from cloudcmp.catalog import METRICS
from cloudcmp.model.trial import TrialResult
from cloudcmp.stats import histogram

Frame = dict[str, object]

CELLS = (
    "fma_flop_per_s precision=f64;threads=one",
    "chase_latency_s pages=base;size_bytes=16384",
    "udp_loss_ratio path=loopback;rate_bytes_per_s=max;size_bytes=1448",
    "rtt_s path=loopback;percentile=50;protocol=tcp;size_bytes=64",
    "rtt_s path=loopback;percentile=99;protocol=tcp;size_bytes=64",
)
HIST = histogram.encode([1000.0, 2000.0, 3000.0])


def frames() -> list[Frame]:
    """An honest stream's frames, without `v`, `seq` and the end record."""
    fma = {"type": "sample", "metric": "fma_flop_per_s", "params": {"precision": "f64", "threads": "one"}}
    chase = {"type": "sample", "metric": "chase_latency_s", "params": {"pages": "base", "size_bytes": "16384"}}
    loss_params = {"path": "loopback", "rate_bytes_per_s": "max", "size_bytes": "1448"}
    rtt_params = {"path": "loopback", "protocol": "tcp", "size_bytes": "64"}
    return [
        {
            "type": "hello",
            "version": "0.1.0",
            "target": "x86_64-unknown-linux-gnu",
            "host": {"cpu_model": "Some CPU @ 3 GHz", "flags": ["avx", "fma"], "cores": 2},
            "clock": {"source": "monotonic_raw", "resolution_s": 1e-9, "cost_s": 2e-8},
        },
        {"type": "note", "key": "isa", "value": "avx512f"},
        {**fma, "t_s": 1.0, "value": 5e10},
        {**fma, "t_s": 2.0, "value": 6e10},
        {**chase, "t_s": 0.0, "value": 8e-8},
        {**chase, "t_s": 0.0, "value": 9e-8},
        {"type": "sample", "metric": "udp_loss_ratio", "params": loss_params, "t_s": 1.0, "value": 0},
        {"type": "hist", "metric": "rtt_s", "params": rtt_params, "t_s": 1.0, "hist": HIST},
    ]


def encode(body: Sequence[Frame], **end: object) -> bytes:
    """The bytes of frames, numbered, with an end record that is right unless `end` says otherwise."""
    data = b"".join(json.dumps({"v": 2, "seq": seq, **frame}).encode() + b"\n" for seq, frame in enumerate(body))
    count = sum(frame.get("type") in ("sample", "hist") for frame in body)
    last = {"type": "end", "outcome": "ok", "count": count, "sha256": hashlib.sha256(data).hexdigest(), **end}
    return data + json.dumps({"v": 2, "seq": len(body), **last}).encode() + b"\n"


def decoder(limits: Limits | None = None, **more: bool) -> Decoder:
    """A decoder of a trial that should give `CELLS` within 20 s."""
    return Decoder(expected_series(CELLS, METRICS), 20.0, histogram.from_base64, limits=limits, **more)


def decode(data: bytes) -> TrialResult:
    """What comes of bytes that arrive at once."""
    reader = decoder()
    reader.feed(data)
    return reader.result()


class Wire:
    """The helpers above, for tests."""

    cells = CELLS
    hist = HIST
    frames: Callable[[], list[Frame]] = staticmethod(frames)
    encode = staticmethod(encode)
    decoder = staticmethod(decoder)
    decode = staticmethod(decode)


@pytest.fixture(scope="session")
def wire() -> type[Wire]:
    """Streams and decoders to try them on."""
    return Wire
