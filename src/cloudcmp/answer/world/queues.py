"""Departure times of queues: machines that share their speed, that serve in order, and several with one queue.

All functions take arrival times in order and service times at full speed, shape (n,), in seconds.
"""

import heapq

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]


def in_order(arrive: Floats, size: Floats, free: float = -np.inf) -> Floats:
    """Departures from a server that serves one task after the other, in the order of arrival; it is busy until `free`.

    Source: Lindley's recursion, D(i) = max(A(i), D(i - 1)) + S(i), solved for all i at once.
    """
    done = np.cumsum(size)
    return done + np.maximum(np.maximum.accumulate(arrive - (done - size)), free)


def shared_queue(arrive: Floats, size: Floats, free: Floats) -> Floats:
    """Departures from several servers with one queue: the next task goes to the first that is idle.

    `free` has the time until which each server is busy, in order.
    Source: Kiefer and Wolfowitz, "On the theory of queues with many servers", 1955. With equal service times tasks
    leave in their order, so that each server gets every so many-th.
    """
    if len(size) and np.ptp(size) == 0.0:
        depart = np.empty_like(arrive)
        for one in range(min(len(free), len(size))):
            own = slice(one, None, len(free))
            depart[own] = in_order(arrive[own], size[own], float(free[one]))
        return depart
    until = free.tolist()
    ends = []
    for at, needs in zip(arrive.tolist(), size.tolist(), strict=True):
        end = max(at, until[0]) + needs
        heapq.heapreplace(until, end)
        ends.append(end)
    return np.array(ends)


def sharing(arrive: Floats, size: Floats, first: Indices) -> Floats:
    """Departures from servers that serve all their tasks at once, each at an equal share of the speed.

    Tasks of a server stand together, in order of arrival; `first` is the index of each server's first task. Exact for
    any service times. A server's busy periods are independent of each other: those of equal tasks are advanced
    together, the others task by task. Equal tasks that come to a server at once leave it at once.
    Source: processor sharing, Kleinrock, "Time-shared systems: a theoretical treatment", J. ACM 14(2), 1967.
    """
    if not len(arrive):
        return np.empty_like(arrive)
    same = (arrive[1:] == arrive[:-1]) & (size[1:] == size[:-1])
    same[first[1:] - 1] = False
    heads = np.concatenate([[0], np.flatnonzero(~same) + 1])
    if len(heads) == len(arrive):
        return _sharing(arrive, size, np.ones(len(arrive), np.intp), first)
    count = np.diff(np.append(heads, len(arrive)))
    return np.repeat(_sharing(arrive[heads], size[heads], count, np.searchsorted(heads, first)), count)


def _sharing(arrive: Floats, size: Floats, count: Indices, first: Indices) -> Floats:
    """Departures of groups of `count` equal tasks each."""
    work = size * count
    depart: Floats = arrive + work  # of a group alone; the others follow
    starts = _busy_starts(arrive, work, first)
    lengths = np.diff(np.append(starts, len(arrive)))
    many = lengths > 1
    starts, lengths = starts[many], lengths[many]
    equal = _are_equal(size, starts, lengths)
    _advance_equal(arrive, size, count, starts[equal], lengths[equal], depart)
    own = _members(starts[~equal], lengths[~equal])
    depart[own] = _one_by_one(arrive[own], size[own], count[own], lengths[~equal])
    return depart


def _members(starts: Indices, lengths: Indices) -> Indices:
    """The indices of all groups of some busy periods, one period after the other."""
    ends = np.cumsum(lengths)
    return np.arange(ends[-1] if len(ends) else 0) + np.repeat(starts - ends + lengths, lengths)


def _busy_starts(arrive: Floats, work: Floats, first: Indices) -> Indices:
    """The indices of the groups that find their server idle."""
    ends = np.append(first[1:], len(arrive))
    starts = []
    for begin, end in zip(first.tolist(), ends.tolist(), strict=True):
        if begin == end:
            continue
        done = in_order(arrive[begin:end], work[begin:end])
        idle = arrive[begin + 1 : end] >= done[:-1]
        starts.append(np.concatenate([[begin], np.flatnonzero(idle) + begin + 1]))
    return np.concatenate(starts)


def _are_equal(size: Floats, starts: Indices, lengths: Indices) -> NDArray[np.bool_]:
    """True for each busy period whose tasks need equal times."""
    changes = np.concatenate([[0], np.cumsum(size[1:] != size[:-1])])
    return np.asarray(changes[starts] == changes[starts + lengths - 1])


def _advance_equal(
    arrive: Floats, size: Floats, count: Indices, starts: Indices, lengths: Indices, depart: Floats
) -> None:  # fmt: skip
    """Advance busy periods of equal tasks together, one event of each at a time; they leave in order of arrival.

    The virtual time of a busy period is the service that a task has got which was there from its beginning: it grows
    by 1/n a second while n tasks are there, and a task leaves when it has grown by the task's own service time.
    """
    order = np.argsort(-lengths, kind="stable")
    start, shorter = starts[order], -lengths[order]
    before = np.concatenate([[0], np.cumsum(count)])  # tasks of all groups before one
    last = start - shorter - 1
    leaves_at = np.empty_like(arrive)  # in virtual time
    coming, going = start + 1, start.copy()
    leaves_at[start] = need = size[start]
    now, virtual = arrive[start], np.zeros(len(start))
    for event in range(1, -2 * int(shorter[0]) if len(start) else 1):
        active = int(np.searchsorted(shorter, -(event // 2), side="left"))
        come, gone, virtually = coming[:active], going[:active], virtual[:active]
        here = before[come] - before[gone]
        arrival = arrive[np.minimum(come, last[:active])]
        arrival[come > last[:active]] = np.inf
        target = leaves_at[gone]
        leaving = now[:active] + (target - virtually) * here
        leaving[here == 0] = np.inf
        is_arrival = arrival < leaving
        moment = np.where(is_arrival, arrival, leaving)
        virtually[:] = np.where(is_arrival, virtually + (moment - now[:active]) / np.maximum(here, 1), target)
        now[:active] = moment
        came = come[is_arrival]
        leaves_at[came] = virtually[is_arrival] + need[:active][is_arrival]
        depart[gone[~is_arrival]] = moment[~is_arrival]
        come += is_arrival
        gone += ~is_arrival


def _one_by_one(arrive: Floats, size: Floats, count: Indices, lengths: Indices) -> list[float]:
    """Departures of busy periods of groups of any service times; `lengths` has the groups of each period."""
    depart = [0.0] * len(arrive)
    moments, needs, many = arrive.tolist(), size.tolist(), count.tolist()
    here: list[tuple[float, int]] = []  # virtual time of leaving, group
    first = 0
    for length in lengths.tolist():
        now, virtual, present = moments[first], 0.0, 0
        for group in range(first, first + length):
            moment = moments[group]
            while here:
                leaving = now + (here[0][0] - virtual) * present
                if leaving > moment:
                    virtual += (moment - now) / present
                    break
                virtual, gone = heapq.heappop(here)
                depart[gone] = now = leaving
                present -= many[gone]
            now = moment
            heapq.heappush(here, (virtual + needs[group], group))
            present += many[group]
        while here:
            now += (here[0][0] - virtual) * present
            virtual, gone = heapq.heappop(here)
            depart[gone] = now
            present -= many[gone]
        first += length
    return depart
