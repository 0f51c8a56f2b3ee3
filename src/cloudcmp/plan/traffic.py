"""The expected and maximum traffic of a study, the casts and machines of a launch, and the duty of bulk transfers."""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

from cloudcmp.catalog import LOAD_START_S, PROBES, exchange_bytes, pair_run
from cloudcmp.model.cast import (
    FULL_RATE,
    INTENSITY,
    LOOPBACK,
    NEIGHBOUR,
    Cast,
    Role,
    is_network_load,
    machines_of,
    path_of,
)
from cloudcmp.model.plan import Candidate, LaunchUsage, Plan
from cloudcmp.model.promise import Promised
from cloudcmp.model.study import Caps
from cloudcmp.model.tool import PairRun
from cloudcmp.plan.candidates import LOCAL
from cloudcmp.plan.cast import cast_of
from cloudcmp.plan.tasks import Task
from cloudcmp.units import format_quantity, format_seconds

DUTY = 0.05
"""The default share of a launch's time in which bulk may flow between machines."""
MACHINES = 100
"""The default limit of machines at once: a typing error must not launch thousands."""
_STREAMS = frozenset({"tcp", "throttle", "share"})
_BULK = frozenset({*_STREAMS, "udp", "exchange"})
ALONE = frozenset({LOCAL, "ssh"})
"""Providers with one machine for a launch: there is no second machine of its kind."""


def between_machines(task: "Work") -> bool:
    """True if a task needs a path from one machine to another; a load beside it goes wherever its machines are."""
    return path_of(dict(task.params)) != LOOPBACK


class Work(Protocol):
    """A task or a trial: a probe with its parameters."""

    @property
    def probe(self) -> str: ...

    @property
    def params(self) -> tuple[tuple[str, str], ...]: ...


def cast_for(candidate: Candidate, work: Work) -> Cast:
    """The cast of a task on a launch of a candidate.

    One simulated machine plays both ends of a transfer; on a machine without a second one, a neighbour works on some of
    its processors.
    """
    sold = candidate.offering
    single = candidate.simulated or candidate.runner in ALONE
    served = not candidate.simulated
    return cast_of(
        work.probe, dict(work.params), sold.provider, sold.region, candidate.service, single=single, served=served
    )


def machines(candidate: Candidate, work: Iterable[Work]) -> int:
    """The number of machines in a launch of a candidate for this work: its count, or more if a cast has more."""
    return max([candidate.count, *(machines_of(cast_for(candidate, one)) for one in work)])


def machine_limit(plan: Plan) -> int:
    """The most machines that a study may have at once."""
    return plan.caps.machines or MACHINES


def duty(work: Iterable[tuple[str, Mapping[str, str], float]]) -> float:
    """The share of the time in which bulk flows between machines; `work` holds (probe, parameters, seconds)."""
    seconds = [
        ((_is_bulk(probe, params) and path_of(params) != LOOPBACK) or is_network_load(params), spent_s)
        for probe, params, spent_s in work
    ]
    whole_s = sum(spent_s for _, spent_s in seconds)
    return sum(spent_s for bulk, spent_s in seconds if bulk) / whole_s if whole_s > 0 else 0.0


def _is_bulk(probe: str, params: Mapping[str, str]) -> bool:
    tool = pair_run(probe, params)
    return probe in _BULK or (tool is not None and tool.bulk_s > 0)


def traffic_notes(candidates: Sequence[Candidate], tasks: Sequence[Sequence[Task]], caps: Caps) -> list[str]:
    """The plan's notes on traffic: the study's own caps, and candidates with more bulk than allowed."""
    notes = [f"caps of this study: {_caps_text(caps)}"] if caps != Caps() else []
    for one, some in zip(candidates, tasks, strict=True):
        share = duty((task.probe, dict(task.params), task.expected_s * task.runs) for task in some)
        notes += _over(one, share, caps)
    return notes


def bytes_notes(candidates: Sequence[Candidate], usage: Iterable[LaunchUsage], caps: Caps) -> list[str]:
    """A line for each path between machines with the bytes that all launches of a study send over it.

    Those among guests of this host disturb nobody and cost nothing: they are not counted.
    """
    sums: dict[str, tuple[int, int]] = {}
    for one in usage:
        if candidates[one.candidate].runner in OWN_GUESTS:
            continue
        for sent in one.traffic:
            expected, most = sums.get(sent.path, (0, 0))
            sums[sent.path] = expected + sent.expected_bytes * one.launches, most + sent.most_bytes * one.launches
    limit = math.inf if caps.bytes is None else caps.bytes
    texts = {path: [format_quantity(min(limit, size), "B") for size in both] for path, both in sums.items()}
    return [f"between machines ({path}): {some} expected, {most} at most" for path, (some, most) in texts.items()]


def extra_machine_notes(candidates: Sequence[Candidate], tasks: Sequence[Sequence[Task]]) -> list[str]:
    """A line for each candidate whose launches take more machines than its count."""
    notes = []
    for one, some in zip(candidates, tasks, strict=True):
        needed = machines(one, some)
        if needed > one.count:
            reads = one.service is not None and all(
                task.probe == _CONSISTENCY for task in some if between_machines(task)
            )
            loads = all(NEIGHBOUR in dict(task.params) for task in some if machines_of(cast_for(one, task)) > one.count)
            why = "one reads what the other has written" if reads else "for what goes between them"
            if loads:
                why = "the other one loads what the first one measures"
                why += ", and their traffic goes to the rest" if needed > 2 else ""
            counted = "both" if needed == 2 else "all"
            notes.append(f"{one.id}: each launch takes {needed} machines, {why}; the cost counts {counted}")
    return notes


def duty_excess(plan: Plan) -> list[str]:
    """A line for each candidate whose bulk transfers take more of a launch than the study allows."""
    lines = []
    for one in plan.candidates:
        launches = {launch.index for launch in plan.launches if launch.candidate == one.index}
        trials = [trial for trial in plan.trials if trial.launch in launches]
        share = duty((trial.probe, dict(trial.params), trial.expected_s) for trial in trials)
        lines += _over(one, share, plan.caps)
    return lines


def _over(one: Candidate, share: float, caps: Caps) -> list[str]:
    allowed = DUTY if caps.duty is None else caps.duty
    if one.simulated or one.runner in OWN_GUESTS | ALONE or share <= allowed:
        return []
    part, most = format_quantity(share, "ratio"), format_quantity(allowed, "ratio")
    return [f"{one.id}: bulk flows between machines for {part} of a launch, more than {most}"]


def _caps_text(caps: Caps) -> str:
    parts = (
        ("burst", caps.burst_s and format_seconds(caps.burst_s)),
        ("rate", caps.bytes_per_s and format_quantity(caps.bytes_per_s, "B/s")),
        ("packets", caps.packets_per_s and f"{caps.packets_per_s:g}/s"),
        ("duty", caps.duty and format_quantity(caps.duty, "ratio")),
        ("bytes", caps.bytes and format_quantity(caps.bytes, "B")),
        ("machines", caps.machines and str(caps.machines)),
    )
    return ", ".join(f"{name} {text}" for name, text in parts if text)


OWN_GUESTS = frozenset({"netns", "qemu"})
"""Providers whose machines and networks are on this host, so that traffic disturbs nobody else."""
WIDE = 1e11  # no cap on rates among guests of this host: more than its memory can copy
LOAD_S = 600.0  # a load on the network lasts no longer than the measurement that it is beside by more than this
LONG_S = 604800.0  # no cap on bursts either: a week is the longest that an agent accepts
MOST_BYTES = 2**60
# The agent's default caps between machines, and the longest delay with which it cuts a burst.
BURST_S, BYTES_PER_S, PACKETS_PER_S, LATE_S = 60.0, 5e9 / 8, 5e5, 2.0
_ECHO_S = 2e-4  # the assumed length of a round trip
_SEGMENT_BYTES = 66  # an empty segment on the wire
_CONNECT_SEGMENTS = 4
_CONSISTENCY = "consistency"
# A barrier's ticks, there and back, and its rounds of clock comparisons besides its own.
_TICKS_BYTES, _COMPARISONS = 16, 64
# The most changes of a trial, the least time of each, and the bytes with which one is ordered and answered.
_CHANGES, _CHANGE_S, _ORDER_BYTES = 200, 0.1, 2048


def caps_of(caps: Caps, runner: str) -> dict[str, float]:
    """The study's caps on a trial, wide ones among guests of this host; empty for the agent's own defaults."""
    own = runner in OWN_GUESTS
    limits = {
        "burst_s": caps.burst_s or (LONG_S if own else None),
        "bytes_per_s": caps.bytes_per_s or (WIDE if own else None),
        "packets_per_s": caps.packets_per_s or (WIDE if own else None),
        "bytes": MOST_BYTES if own else None,
    }
    return {name: value for name, value in limits.items() if value is not None}


def most_bytes(caps: Mapping[str, float], probe: str, params: Mapping[str, str]) -> int:
    """The upper bound of bytes that a trial sends and receives, from the caps on rates and its length.

    Those of a neighbour's load on the network are among them.
    """
    return _most_of_probe(caps, probe, params) + most_of_load(caps, params)


def most_of_load(caps: Mapping[str, float], params: Mapping[str, str]) -> int:
    """The upper bound of bytes of the load beside a trial; 0 without one on the network."""
    if not is_network_load(params):
        return 0
    asked = params[INTENSITY]
    rate = caps.get("bytes_per_s", BYTES_PER_S)
    if asked != FULL_RATE:
        rate = min(rate, float(asked))
    return math.ceil(rate * (longest_load_s(caps, params) + LATE_S))


def longest_load_s(caps: Mapping[str, float], params: Mapping[str, str]) -> float:
    """The longest time for which a neighbour may load the network beside one trial with these parameters."""
    return min(caps.get("burst_s", BURST_S), float(params.get("duration_s", 0.0)) + LOAD_S)


def split_caps(
    caps: Mapping[str, float], probe: str, params: Mapping[str, str]
) -> tuple[dict[str, float], dict[str, float]]:
    """The caps of a trial's own agents, and those of the load beside it: together they send no more bytes."""
    load = most_of_load(caps, params)
    if "bytes" not in caps or not load:
        return dict(caps), dict(caps)
    share = load / (load + _most_of_probe(caps, probe, params))
    of_load = max(1, math.floor(caps["bytes"] * share))
    return {**caps, "bytes": max(1, caps["bytes"] - of_load)}, {**caps, "bytes": of_load}


def _most_of_probe(caps: Mapping[str, float], probe: str, params: Mapping[str, str]) -> int:
    if probe == _CONSISTENCY:
        return 2 * _CHANGES * _ORDER_BYTES
    if tool := pair_run(probe, params):
        return _bytes_of_tool(tool, _rate_of_tool(tool, caps), min(tool.bulk_s, caps.get("burst_s", BURST_S)) + LATE_S)
    if not _sends(probe):
        return 0
    if probe in _COUNTED:
        return _COUNTED[probe](params)
    return _limited(math.ceil(_rate(caps, probe, params) * (_length_s(caps, probe, params) + LATE_S)), params)


def expected_bytes(caps: Mapping[str, float], probe: str, params: Mapping[str, str], candidate: Candidate) -> int:
    """The bytes that a trial is expected to send: at the rate of its caps, or of its machine's promised network.

    A round trip is assumed to take 0.2 ms, unless the probe waits between messages. A load on the network goes on for
    as long as its victim is measured.
    """
    if tool := pair_run(probe, params):
        promised = candidate.offering.promised_rate(Promised.NETWORK) or math.inf
        return _bytes_of_tool(tool, min(promised, _rate_of_tool(tool, caps)), tool.bulk_s)
    return _expected_of_probe(caps, probe, params, candidate) + _expected_of_load(caps, params, candidate)


def _expected_of_load(caps: Mapping[str, float], params: Mapping[str, str], candidate: Candidate) -> int:
    if not is_network_load(params):
        return 0
    length_s = min(float(params.get("duration_s", 1.0)) + LOAD_START_S, longest_load_s(caps, params))
    own = {"rate_bytes_per_s": params[INTENSITY], "size_bytes": "1448"}
    return math.ceil(min(_rates(caps, "traffic", own, candidate)) * length_s)


def _rates(caps: Mapping[str, float], probe: str, params: Mapping[str, str], candidate: Candidate) -> list[float]:
    """The rates that each bound what a probe sends: that of its caps, its own, and the promised one."""
    requested = params.get("rate_bytes_per_s", FULL_RATE)
    promised = candidate.offering.promised_rate(Promised.NETWORK) or math.inf
    return [_rate(caps, probe, params), promised, math.inf if requested == FULL_RATE else float(requested)]


def _expected_of_probe(caps: Mapping[str, float], probe: str, params: Mapping[str, str], candidate: Candidate) -> int:
    if probe == _CONSISTENCY:
        return math.ceil(min(_CHANGES, float(params["duration_s"]) / _CHANGE_S)) * _ORDER_BYTES
    if probe in _COUNTED:
        return _COUNTED[probe](params)
    if probe == "rtt":
        pause_s = max(float(params.get("interval_s", 0.0)), _ECHO_S)
        return math.ceil(2 * float(params["size_bytes"]) * _length_s(caps, probe, params) / pause_s)
    if not _sends(probe):
        return 0
    if probe == "connect":
        return math.ceil(_CONNECT_SEGMENTS * _SEGMENT_BYTES * _length_s(caps, probe, params) / _ECHO_S)
    return _limited(math.ceil(min(_rates(caps, probe, params, candidate)) * _length_s(caps, probe, params)), params)


def _rate_of_tool(tool: PairRun, caps: Mapping[str, float]) -> float:
    """The highest rate of a tool between two machines, bytes/s: the agent tells the tool its caps."""
    datagrams = caps.get("packets_per_s", PACKETS_PER_S) * tool.packet_bytes if tool.packet_bytes else math.inf
    return min(caps.get("bytes_per_s", BYTES_PER_S), datagrams, tool.rate_bytes_per_s)


def _bytes_of_tool(tool: PairRun, rate: float, length_s: float) -> int:
    """The bytes of a tool between two machines: its packets and their answers, or what it sends at a rate."""
    return 2 * tool.packets * tool.packet_bytes if tool.packets else math.ceil(rate * length_s)


def _sends(probe: str) -> bool:
    """True if agents send each other what they measure; the victim of a load on the network may not."""
    return bool({Role.CLIENT, Role.PEER} & set(PROBES[probe].roles))


def _limited(sent: int, params: Mapping[str, str]) -> int:
    """The bytes of a trial, if its own limit lets it send so many."""
    limit = params.get("limit_bytes", "none")
    return sent if limit == "none" else min(sent, int(limit))


def _rate(caps: Mapping[str, float], probe: str, params: Mapping[str, str]) -> float:
    rate = caps.get("bytes_per_s", BYTES_PER_S)
    if probe in _STREAMS:  # the agent does not count their segments
        return rate
    return min(rate, caps.get("packets_per_s", PACKETS_PER_S) * float(params.get("size_bytes", _SEGMENT_BYTES)))


def _barrier_bytes(params: Mapping[str, str]) -> int:
    return _TICKS_BYTES * (int(params["peers"]) - 1) * (int(params["rounds"]) + _COMPARISONS)


_COUNTED = {"barrier": _barrier_bytes, "exchange": exchange_bytes}
"""Probes whose parameters say how many bytes all agents of a trial send together."""


def _length_s(caps: Mapping[str, float], probe: str, params: Mapping[str, str]) -> float:
    length_s = sum(float(params.get(name, 0.0)) for name in ("warmup_s", "duration_s"))
    return length_s if probe == "rtt" else min(length_s, caps.get("burst_s", BURST_S))  # an echo is not bulk
