"""Departure times of queues: machines that share their speed, that serve in order, and several with one queue.

All functions take arrival times in order and service times at full speed, shape (n,), in seconds.
"""

import heapq
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]


def in_order(arrive: Floats, size: Floats) -> Floats:
    """Departures from a server that serves one task after the other, in the order of arrival.

    Source: Lindley's recursion, D(i) = max(A(i), D(i - 1)) + S(i), solved for all i at once.
    """
    done = np.cumsum(size)
    return done + np.maximum.accumulate(arrive - (done - size))


def shared_queue(arrive: Floats, size: Floats, servers: int) -> Floats:
    """Departures from several servers with one queue: the next task goes to the first that is idle.

    Source: Kiefer and Wolfowitz, "On the theory of queues with many servers", 1955. With equal service times tasks
    leave in their order, so that each server gets every so many-th.
    """
    if servers == 1:
        return in_order(arrive, size)
    if len(size) and np.ptp(size) == 0.0:
        depart = np.empty_like(arrive)
        for one in range(min(servers, len(size))):
            depart[one::servers] = in_order(arrive[one::servers], size[one::servers])
        return depart
    free = [-np.inf] * servers
    ends = []
    for at, needs in zip(arrive.tolist(), size.tolist(), strict=True):
        end = max(at, free[0]) + needs
        heapq.heapreplace(free, end)
        ends.append(end)
    return np.array(ends)


def sharing(arrive: Floats, size: Floats, first: Indices) -> Floats:
    """Departures from servers that serve all their tasks at once, each at an equal share of the speed.

    Tasks of a server stand together, in order of arrival; `first` is the index of each server's first task. Exact for
    any service times. A server's busy periods are independent of each other: those of equal tasks are advanced
    together, the others task by task.
    Source: processor sharing, Kleinrock, "Time-shared systems: a theoretical treatment", J. ACM 14(2), 1967.
    """
    depart = np.empty_like(arrive)
    if not len(arrive):
        return depart
    starts = _busy_starts(arrive, size, first)
    lengths = np.diff(np.append(starts, len(arrive)))
    single = starts[lengths == 1]
    depart[single] = arrive[single] + size[single]
    many = lengths > 1
    starts, lengths = starts[many], lengths[many]
    equal = _are_equal(size, starts, lengths)
    burst = equal & (arrive[starts] == arrive[starts + lengths - 1])
    _leave_together(arrive, size, starts[burst], lengths[burst], depart)
    lined = equal & ~burst
    _advance_equal(arrive, size, starts[lined], lengths[lined], depart)
    for start, length in zip(starts[~equal].tolist(), lengths[~equal].tolist(), strict=True):
        depart[start : start + length] = _one_by_one(arrive[start : start + length], size[start : start + length])
    return depart


def _busy_starts(arrive: Floats, size: Floats, first: Indices) -> Indices:
    """The indices of the tasks that find their server idle."""
    ends = np.append(first[1:], len(arrive))
    starts = []
    for begin, end in zip(first.tolist(), ends.tolist(), strict=True):
        if begin == end:
            continue
        done = in_order(arrive[begin:end], size[begin:end])
        idle = arrive[begin + 1 : end] >= done[:-1]
        starts.append(np.concatenate([[begin], np.flatnonzero(idle) + begin + 1]))
    return np.concatenate(starts)


def _are_equal(size: Floats, starts: Indices, lengths: Indices) -> NDArray[np.bool_]:
    """True for each busy period whose tasks need equal times."""
    changes = np.concatenate([[0], np.cumsum(size[1:] != size[:-1])])
    return np.asarray(changes[starts] == changes[starts + lengths - 1])


def _leave_together(arrive: Floats, size: Floats, starts: Indices, lengths: Indices, depart: Floats) -> None:
    """Equal tasks that came at once leave at once, when all are done."""
    if len(starts):
        whole = np.repeat(starts - np.cumsum(lengths) + lengths, lengths) + np.arange(int(lengths.sum()))
        depart[whole] = np.repeat(arrive[starts] + lengths * size[starts], lengths)


def _advance_equal(arrive: Floats, size: Floats, starts: Indices, lengths: Indices, depart: Floats) -> None:
    """Advance busy periods of equal tasks together, one event of each at a time; they leave in order of arrival.

    The virtual time of a busy period is the service that a task has got which was there from its beginning: it grows
    by 1/n a second while n tasks are there, and a task leaves when it has grown by the task's own service time.
    """
    order = np.argsort(-lengths, kind="stable")
    start, length = starts[order], lengths[order]
    leaves_at = np.empty_like(arrive)  # in virtual time
    come = np.ones(len(start), np.intp)
    gone = np.zeros(len(start), np.intp)
    leaves_at[start] = need = size[start]
    now, virtual = arrive[start], np.zeros(len(start))
    shorter = -length
    for event in range(1, 2 * int(length[0]) if len(start) else 1):
        active = int(np.searchsorted(shorter, -(event // 2), side="left"))
        some = slice(0, active)
        here = come[some] - gone[some]
        coming = start[some] + come[some]
        arrival = np.where(come[some] < length[some], arrive[np.minimum(coming, len(arrive) - 1)], np.inf)
        going = start[some] + gone[some]
        target = leaves_at[going]
        leaving = np.where(here > 0, now[some] + (target - virtual[some]) * here, np.inf)
        is_arrival = arrival < leaving
        moment = np.where(is_arrival, arrival, leaving)
        virtual[some] = np.where(
            is_arrival, virtual[some] + (moment - now[some]) / np.maximum(here, 1), target
        )  # fmt: skip
        now[some] = moment
        came = coming[is_arrival]
        leaves_at[came] = virtual[some][is_arrival] + need[some][is_arrival]
        depart[going[~is_arrival]] = moment[~is_arrival]
        come[some] += is_arrival
        gone[some] += ~is_arrival


def _one_by_one(arrive: Floats, size: Floats) -> list[float]:
    """Departures of one busy period of any service times."""
    depart = [0.0] * len(arrive)
    for job, moment in _departures(arrive.tolist(), size.tolist()):
        depart[job] = moment
    return depart


def _departures(arrive: list[float], size: list[float]) -> Iterator[tuple[int, float]]:
    here: list[tuple[float, int]] = []  # virtual time of leaving, task
    now, virtual = arrive[0], 0.0
    for job, moment in enumerate(arrive):
        while here:
            leaving = now + (here[0][0] - virtual) * len(here)
            if leaving > moment:
                virtual += (moment - now) / len(here)
                break
            virtual, gone = heapq.heappop(here)
            now = leaving
            yield gone, now
        now = moment
        heapq.heappush(here, (virtual + size[job], job))
    while here:
        now += (here[0][0] - virtual) * len(here)
        virtual, gone = heapq.heappop(here)
        yield gone, now
