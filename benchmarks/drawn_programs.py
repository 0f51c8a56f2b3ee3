"""Clouds and programs that are drawn: what each program needs is planted, so the time that it takes is known."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cloudcmp.model.application import Application, ApplicationKind, CellWish, Demand, Part, Way
from cloudcmp.model.market import Market, Numbers, OfferKey
from cloudcmp.model.metric import Better

Floats = NDArray[np.float64]
CLOUDS = 10


def numbers(name: str, value: Floats, unit: str, better: Better) -> Numbers:
    """A measured column of a market."""
    return Numbers(name, value, unit, better, is_measured=True)


@dataclass(frozen=True)
class Planted:
    """A drawn market, the applications' demands as profiled on the first cloud, and their true times (apps, clouds)."""

    market: Market
    applications: tuple[Application, ...]
    truth: Floats


PROBE_NOISE, PROFILE_NOISE = 0.02, 0.05
UNEXPLAINED = (0.03, 0.15)
"""The spread of what no demand explains, as a standard deviation of the logarithm, drawn for each application."""


def drawn(rng: np.random.Generator, applications: int = 4) -> Planted:
    """Clouds that differ in processors, memory, disks and networks, and programs that need each differently."""
    fast = rng.normal(0, 0.25, CLOUDS)
    core, memory, disk, net = (np.exp(fast + rng.normal(0, 0.2, CLOUDS)) for _ in range(4))
    vcpus = rng.choice([2.0, 4.0, 8.0], CLOUDS)
    gain = 1 + (vcpus - 1) * rng.uniform(0.5, 1.0, CLOUDS)

    def seen(value: Floats) -> Floats:
        return value * np.exp(rng.normal(0, PROBE_NOISE, CLOUDS))

    columns = [
        Numbers("vcpus", vcpus),
        numbers("task_time_s size=full;task=cpu;threads=one", seen(2 / core), "s", Better.LOWER),
        numbers("task_time_s size=full;task=cpu;threads=all", seen(2 / core / gain), "s", Better.LOWER),
        numbers("triad_bytes_per_s store=plain;threads=one", seen(1e10 * memory), "B/s", Better.HIGHER),
        numbers("chase_latency_s pages=4k;size_bytes=67108864", seen(8e-8 / memory), "s", Better.LOWER),
        numbers("disk_bytes_per_s op=read;threads=one", seen(2e8 * disk), "B/s", Better.HIGHER),
        numbers("tcp_bytes_per_s streams=1", seen(1e8 * net), "B/s", Better.HIGHER),
    ]
    keys = tuple(OfferKey("drawn", "", f"cloud-{at}") for at in range(CLOUDS))
    market = Market(keys, {one.name: one for one in columns}, simulated=frozenset(keys))
    found = [_program(rng, core, memory, disk, net, vcpus, gain, keys) for _ in range(applications)]
    return Planted(market, tuple(one for one, _ in found), np.array([times for _, times in found]))


def _program(
    rng: np.random.Generator, core: Floats, memory: Floats, disk: Floats, net: Floats, vcpus: Floats, gain: Floats,
    keys: Sequence[OfferKey],
) -> tuple[Application, Floats]:  # fmt: skip
    bound, waits = rng.uniform(0, 0.7), rng.uniform(0, 1)
    single = rng.uniform(0.2, 1.0)
    read, moved = 2e8 * rng.exponential(2.0), 1e8 * rng.exponential(1.0)
    cpu_s = 10 * rng.uniform(0.5, 2)
    slow = (1 - bound) * core[0] / core + bound * memory[0] / memory
    at_once = 1 + (np.minimum(4, vcpus) - 1) * (gain - 1) / (vcpus - 1)
    transfer = read / (2e8 * disk) + moved / (1e8 * net)
    times = cpu_s * slow * (single + (1 - single) / at_once) + waits * transfer
    noise = rng.uniform(*UNEXPLAINED)
    times = times * np.exp(rng.normal(0, noise, CLOUDS))

    def counted(value: float) -> float:
        return value * float(np.exp(rng.normal(0, PROFILE_NOISE)))

    demands = (
        Demand("cpu", Way.CPU, counted(cpu_s)),
        Demand("read", Way.BYTES, counted(read), CellWish("disk_bytes_per_s", (("op", "read"),))),
        Demand("network", Way.BYTES, counted(moved), CellWish("tcp_bytes_per_s")),
    )
    return Application(
        "program", ApplicationKind.PROGRAM, (Part("program", demands),), keys[0], elapsed_s=float(times[0]),
        blocked_s=counted(float(waits * transfer[0])), parallel=((1, single), (4, 1 - single)),
    ), times  # fmt: skip
