"""Requests over what the machines in service carry, for every number of idle machines at once."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cloudcmp.answer.replay.lives import Lives
from cloudcmp.answer.replay.target import Floats
from cloudcmp.model.replay import LaunchTimes, Load

_RETRIES = 20
_MOST_SHIFT = float(np.log(10.0))
"""Of two or three launches almost anything follows; tenfold is enough to say so."""


@dataclass(frozen=True, slots=True, eq=False)
class Replay:
    """A load with the lives of machines, without the rows in which machines are enough however late they come.

    `hot` are the rows that a late machine may leave short; all others never are, with launches up to `latest_s`.
    """

    load: Load
    capacity: float
    lives: Lives
    hot: NDArray[np.bool_]

    @classmethod
    def of(cls, load: Load, capacity: float, lives: Lives, latest_s: float) -> "Replay":
        """The replay of launches that take `latest_s` at most."""
        every = cls(load, capacity, lives, np.ones(len(load.times), np.bool_))
        rows, short, _ = every._segments(np.full(len(lives.start), latest_s))
        hot = np.zeros(len(load.times), np.bool_)
        hot[rows[short > 0]] = True
        return cls(load, capacity, lives, hot)

    def over(self, launch_s: Floats) -> Floats:
        """Requests over capacity with 0, 1, 2, ... idle machines, for the launch time of each life; the last is 0.

        A request is over if it arrives while all machines in service have as many as they carry: it waits, is slow or
        is lost, which depends on the application.
        """
        _, short, seconds = self._segments(launch_s)
        lacking = short > 0
        short, seconds = short[lacking], seconds[lacking]
        floor = np.floor(short).astype(np.int64)
        size = int(floor.max()) + 2 if len(floor) else 1
        machines = _suffix_sums(np.bincount(floor, short * seconds, size).astype(np.float64))
        weight = _suffix_sums(np.bincount(floor, seconds, size).astype(np.float64))
        return np.maximum((machines - np.arange(size) * weight) * self.capacity, 0.0)

    def _segments(self, launch_s: Floats) -> tuple[NDArray[np.int64], Floats, Floats]:
        """For each time without an event in the hot rows: the row, machines lacking (negative: spare), seconds."""
        load, lives = self.load, self.lives
        arrival = np.where(lives.there, lives.start, lives.start + launch_s)
        serves = arrival < lives.end
        arrival, gone = np.sort(arrival[serves], kind="stable"), np.sort(lives.end[serves], kind="stable")
        events = np.concatenate([arrival, gone])
        row = np.searchsorted(load.times, events, side="right") - 1
        kept = (events < load.end) & self.hot[np.maximum(row, 0)]
        hot = np.flatnonzero(self.hot)
        begins = np.concatenate([load.times[hot], events[kept]])
        rows = np.concatenate([hot, row[kept]])
        order = np.argsort(begins, kind="stable")
        begins, rows = begins[order], rows[order]
        until = np.append(load.times[1:], load.end)[rows]
        until[:-1] = np.minimum(until[:-1], begins[1:])
        count = np.searchsorted(arrival, begins, side="right") - np.searchsorted(gone, begins, side="right")
        return rows, load.rates[rows] / self.capacity - count, until - begins


def _suffix_sums(values: Floats) -> Floats:
    return np.cumsum(values[::-1])[::-1]


def drawn_launches(
    measured: LaunchTimes, count: int, generator: np.random.Generator, *, resampled: bool
) -> tuple[Floats, Floats]:
    """Times until usable, and until paid, of `count` launches, drawn from the measured ones.

    With `resampled`, the measured launches are drawn anew first (the bootstrap), so that a result scatters as it would
    with other measured launches. A failed launch takes its time until it is given up, and is asked for again.
    """
    known = len(measured.usable)
    pool, factor = np.arange(known + measured.failures), 1.0
    if resampled:
        again = generator.choice(pool, len(pool))
        pool = again if (again < known).any() else np.arange(known)
        factor = _wider(measured.usable, pool[pool < known], generator)
    drawn = generator.choice(pool, count)
    lost = np.zeros(count)
    for _ in range(_RETRIES):
        failed = np.flatnonzero(drawn >= known)
        if not len(failed):
            break
        assert measured.failed is not None
        lost[failed] += measured.failed[drawn[failed] - known]
        drawn[failed] = generator.choice(pool, len(failed))
    drawn = np.where(drawn < known, drawn, 0)
    unpaid = np.zeros(count) if measured.running is None else lost + measured.running[drawn] * factor
    return lost + measured.usable[drawn] * factor, unpaid


def _wider(usable: Floats, pool: NDArray[np.int64], generator: np.random.Generator) -> float:
    """A factor to all resampled times with which their means scatter as Student's t, and not as the few values alone.

    Means of n resampled values scatter by sqrt((n - 1) / n) too little, and with the tails of a normal distribution.
    """
    known = len(usable)
    if known < 2 or (usable <= 0).any():
        return 1.0
    logs = np.log(usable)
    wider = float(np.sqrt(known / generator.chisquare(known - 1)))
    shift = float(logs[pool].mean() - logs.mean()) * (wider - 1)
    return float(np.exp(np.clip(shift, -_MOST_SHIFT, _MOST_SHIFT)))
