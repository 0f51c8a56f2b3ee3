"""Adds up what became of messages: response times by base and hour, and the work of each data centre."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cloudcmp.answer.world.serve import Served
from cloudcmp.answer.world.traffic import Floats, Traffic
from cloudcmp.model.scenario import DAY_S, Deployment, Scenario

HOURS = 24


@dataclass(frozen=True, slots=True)
class RunFigures:
    """One run's figures: by base, by base and hour of shape (bases, 24), and by centre; NaN where there is none."""

    overall: float
    within: float
    base_mean: Floats
    base_within: Floats
    lowest: Floats
    highest: Floats
    requests: Floats
    by_hour: Floats
    processing: Floats
    centre_requests: Floats
    centre_bytes: Floats
    machine_hours: tuple[float, ...]


class Tally:
    """The sums of a run. Means are weighted by requests; CloudAnalyst's means of a base are over its messages."""

    def __init__(self, scenario: Scenario, deployment: Deployment) -> None:
        bases, centres = len(scenario.bases), len(deployment.machines)
        self._messages_count = scenario.cloudanalyst
        self._target = scenario.search.target_s if scenario.search and scenario.search.share else None
        self._sizes = np.array([one.request_bytes + one.response_bytes for one in scenario.bases], float)
        self._requests, self._time, self._inside = (np.zeros(bases) for _ in range(3))
        self._own, self._own_time = (np.zeros(bases * HOURS) for _ in range(2))
        self._lowest, self._highest = np.full(bases, np.inf), np.full(bases, -np.inf)
        self._work, self._processing, self._bytes = (np.zeros(centres) for _ in range(3))
        self._machine_hours: tuple[float, ...] = ()

    def add(self, sent: Traffic, served: Served) -> None:
        """Add messages with what became of them."""
        times, weights = served.returned - sent.sent, sent.requests.astype(np.float64)
        own = np.ones_like(weights) if self._messages_count else weights
        hour = sent.base.astype(np.int32) * HOURS + (sent.sent % DAY_S // 3600).astype(np.int32)
        _add(self._requests, sent.base, weights)
        _add(self._time, sent.base, times * weights)
        if self._target is not None:
            _add(self._inside, sent.base, np.where(times <= self._target, weights, 0.0))
        _add(self._own, hour, own)
        _add(self._own_time, hour, times * own)
        for base in range(len(self._lowest)):
            some = times[sent.base == base]
            self._lowest[base] = some.min(initial=self._lowest[base])
            self._highest[base] = some.max(initial=self._highest[base])
        _add(self._work, served.centre, weights)
        _add(self._processing, served.centre, (served.done - served.arrived) * weights)
        _add(self._bytes, served.centre, weights * self._sizes[sent.base])
        self._machine_hours = served.machine_hours

    def figures(self) -> RunFigures:
        """The figures of the run; `overall` is NaN without messages."""
        own, own_time = (one.reshape(-1, HOURS) for one in (self._own, self._own_time))
        known = self._target is not None
        return RunFigures(
            float(self._time.sum() / self._requests.sum()) if self._requests.any() else np.nan,
            float(self._inside.sum() / self._requests.sum()) if known and self._requests.any() else np.nan,
            _ratio(own_time.sum(axis=1), own.sum(axis=1)),
            _ratio(self._inside, self._requests) if known else np.full(len(own), np.nan),
            self._lowest,
            self._highest,
            self._requests,
            _ratio(own_time, own),
            _ratio(self._processing, self._work),
            self._work,
            self._bytes,
            self._machine_hours,
        )


def _add(total: Floats, group: NDArray[Any], values: Floats) -> None:
    total += np.bincount(group, values, len(total))


def _ratio(above: Floats, below: Floats) -> Floats:
    ratio: Floats = np.divide(above, below, out=np.full(above.shape, np.nan), where=below > 0)
    return ratio
