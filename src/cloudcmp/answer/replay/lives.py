"""The lives of single machines that follow from the wanted number: who is asked for when, and given back when."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cloudcmp.answer.replay.target import Floats, Steps
from cloudcmp.errors import UserMistake
from cloudcmp.model.offering import Billing

MOST = 2**16 - 1
"""The most machines at once that are replayed."""
MOST_LIVES = 5_000_000
"""The most launches of a trace that are replayed; they take a gigabyte."""


@dataclass(frozen=True, slots=True, eq=False)
class Lives:
    """One row for each life of a machine: its place from 1 up, when it is asked for, and when it is given back.

    The newest machine is given back first, so place n is filled exactly while at least n machines are wanted. `there`
    are the machines that run when the trace begins, `open` those that run on when it ends.
    """

    place: NDArray[np.uint16]
    start: Floats
    end: Floats
    there: NDArray[np.bool_]
    open: NDArray[np.bool_]

    def above(self, places: int) -> "Lives":
        """The lives at higher places."""
        kept = self.place > places
        return Lives(self.place[kept], self.start[kept], self.end[kept], self.there[kept], self.open[kept])


def lives_of(steps: Steps) -> Lives:
    """The lives of the machines of a step function, in time that is linear in their number.

    Raises UserMistake for more launches than can be replayed.
    """
    times = np.append(steps.times, steps.end)
    counts = np.concatenate([[0], steps.counts, [0]])
    change = np.diff(counts)
    number = np.abs(change)
    lowest = np.minimum(counts[:-1], counts[1:])
    if number.sum() > 2 * MOST_LIVES:
        what = f"{number.sum() // 2:,} launches are too many to replay"
        raise UserMistake.at("--load", what, "give a larger --capacity, or a longer --cool-down")
    first = np.cumsum(number) - number
    within = np.arange(number.sum()) - np.repeat(first, number)
    place = (np.repeat(lowest, number) + within + 1).astype(np.uint16)
    moment = np.repeat(np.arange(len(times)), number)
    # At each place, asking and giving back alternate, so neighbours in the order of places are one life.
    order = np.argsort(place, kind="stable")
    begun, ended = moment[order[0::2]], moment[order[1::2]]
    return Lives(place[order[0::2]], times[begun], times[ended], begun == 0, ended == len(times) - 1)


def paid_seconds(seconds: Floats, billing: Billing) -> Floats:
    """The seconds that are billed for so many seconds of use, each as `Billing.paid_s` counts them."""
    beyond = np.maximum(seconds - billing.minimum_s, 0.0)
    steps = np.ceil(beyond / billing.step_s) * billing.step_s if billing.step_s > 0 else beyond
    return np.where(beyond > 0, np.maximum(seconds, billing.minimum_s + steps), billing.minimum_s)


def billed_seconds(lives: Lives, unpaid_s: Floats, billing: Billing) -> Floats:
    """The seconds that each life costs, `unpaid_s` being those before the provider calls a machine running.

    A life that goes on after the trace costs what it took so far; one given back before it ran costs the minimum.
    """
    used = np.maximum(lives.end - lives.start - np.where(lives.there, 0.0, unpaid_s), 0.0)
    return np.where(lives.open, used, paid_seconds(used, billing))
