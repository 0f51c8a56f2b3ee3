"""The traffic of trials in bytes: at most within the caps, and as expected."""

import math
from collections.abc import Mapping

from cloudcmp.model.plan import Candidate
from cloudcmp.model.study import Caps

OWN_GUESTS = frozenset({"qemu"})
"""Providers whose machines and networks are on this host, so that traffic disturbs nobody else."""
WIDE = 1e9  # no cap on rates among guests of this host
LONG_S = 604800.0  # nor on bursts: a week is the longest that an agent accepts
MOST_BYTES = 2**60
# The agent's own defaults between machines, and how late it may cut a burst.
BURST_S, BYTES_PER_S, PACKETS_PER_S, LATE_S = 60.0, 5e9 / 8, 5e5, 2.0
_ECHO_S = 2e-4  # the assumed length of a round trip


def caps_of(caps: Caps, runner: str) -> dict[str, float]:
    """The study's caps on a trial, wide ones among guests of this host; empty for the agent's own defaults."""
    own = runner in OWN_GUESTS
    found = {
        "burst_s": caps.burst_s or (LONG_S if own else None),
        "bytes_per_s": caps.bytes_per_s or (WIDE if own else None),
        "packets_per_s": caps.packets_per_s or (WIDE if own else None),
        "bytes": MOST_BYTES if own else None,
    }
    return {name: value for name, value in found.items() if value is not None}


def most_bytes(caps: Mapping[str, float], probe: str, params: Mapping[str, str]) -> int:
    """The most that a trial can send and receive within the caps on rates and its own length."""
    return math.ceil(_rate(caps, probe, params) * (_length_s(caps, probe, params) + LATE_S))


def expected_bytes(caps: Mapping[str, float], probe: str, params: Mapping[str, str], candidate: Candidate) -> int:
    """The bytes that a trial is expected to send: at the rate of its caps and its machine's advertised network.

    A round trip is assumed to take 0.2 ms, unless the probe waits between messages.
    """
    if probe == "rtt":
        pause_s = max(float(params.get("interval_s", 0.0)), _ECHO_S)
        return math.ceil(2 * float(params["size_bytes"]) * _length_s(caps, probe, params) / pause_s)
    rate, requested = _rate(caps, probe, params), params.get("rate_bytes_per_s", "max")
    advertised = dict(candidate.offering.attributes).get("network_bytes_per_s")
    limits = [float(one) for one in (requested, advertised) if one not in {None, "max"} and one is not None]
    return math.ceil(min([rate, *limits]) * _length_s(caps, probe, params))


def _rate(caps: Mapping[str, float], probe: str, params: Mapping[str, str]) -> float:
    rate = caps.get("bytes_per_s", BYTES_PER_S)
    if probe == "tcp":  # the agent does not count its segments
        return rate
    return min(rate, caps.get("packets_per_s", PACKETS_PER_S) * float(params["size_bytes"]))


def _length_s(caps: Mapping[str, float], probe: str, params: Mapping[str, str]) -> float:
    length_s = sum(float(params.get(name, 0.0)) for name in ("warmup_s", "duration_s"))
    return length_s if probe == "rtt" else min(length_s, caps.get("burst_s", BURST_S))  # an echo is no bulk
