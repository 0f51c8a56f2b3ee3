"""The rates that providers promise of their offerings, and how much of them a study found delivered."""

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date
from enum import StrEnum

from cloudcmp.model.result import Bounds


class Promised(StrEnum):
    """What a provider promises a rate of: the network, the way to network volumes, or a machine's own disk."""

    NETWORK = "network"
    VOLUME_THROUGHPUT = "volume_throughput"
    VOLUME_IOPS = "volume_iops"
    DISK_THROUGHPUT = "disk_throughput"
    DISK_IOPS = "disk_iops"

    @property
    def unit(self) -> str:
        """The unit of its rates: B/s or op/s."""
        return "op/s" if self in {Promised.VOLUME_IOPS, Promised.DISK_IOPS} else "B/s"


@dataclass(frozen=True, slots=True)
class Promise:
    """A rate that a provider promises of an offering, in B/s or op/s as `of` says; None is unknown, never zero.

    `baseline` holds for any length of time; `up_to` is the highest rate, which may hold for a while only. `op` is
    `read` or `write` if the promise is of that direction alone. `source` names where it was read, on the day `as_of`;
    `words` are the provider's own, empty if it gives numbers.
    """

    of: Promised
    baseline: float | None
    up_to: float | None
    source: str
    as_of: date | None = None
    op: str = ""
    words: str = ""

    @property
    def cap(self) -> float | None:
        """The highest promised rate."""
        return self.baseline if self.up_to is None else self.up_to


def positive(value: object) -> float | None:
    """A finite number above zero, or a text of one, as a float; None for anything else, so that zero is unknown."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if 0.0 < number < math.inf else None


def promise_of(
    of: Promised, baseline: object, up_to: object, source: str, as_of: date | None = None, *, op: str = "",
    words: str = "", factor: float = 1.0,
) -> tuple[Promise, ...]:  # fmt: skip
    """A provider's promise as a tuple of one; empty if neither rate is known.

    `factor` converts the provider's unit to B/s or op/s. A highest rate below the baseline contradicts it, and is
    unknown.
    """
    low, high = (None if one is None else positive(one * factor) for one in (positive(baseline), positive(up_to)))
    if low is not None and high is not None and high < low:
        high = None
    return () if low is None and high is None else (Promise(of, low, high, source, as_of, op, words),)


_SPEED = re.compile(
    r"\s*(?P<most>up\s*to\s+)?(?:\d+\s*x\s*)?(?P<number>\d+(?:\.\d+)?)\s*(?P<unit>giga|mega|g|m)b(?:ps|its?|it/s)\s*",
    re.IGNORECASE,
)
_BYTES_PER_S = {"g": 1e9 / 8, "m": 1e6 / 8}


def speed_in_words(text: str) -> tuple[float | None, float | None]:
    """The baseline and the highest rate (B/s) in words such as `Up to 12.5 Gigabit` or `10 Gigabit`.

    Of several cards (`4x 100 Gigabit`) it is the rate of one. `Moderate` and other words without a rate are unknown.
    """
    match = _SPEED.fullmatch(text)
    if match is None:
        return None, None
    rate = positive(float(match["number"]) * _BYTES_PER_S[match["unit"][0].lower()])
    return (None, rate) if match["most"] else (rate, None)


_STEMS = {
    Promised.NETWORK: ("network", "bytes_per_s"),
    Promised.VOLUME_THROUGHPUT: ("volume", "bytes_per_s"),
    Promised.VOLUME_IOPS: ("volume", "iops"),
    Promised.DISK_THROUGHPUT: ("own_disk", "bytes_per_s"),
    Promised.DISK_IOPS: ("own_disk", "iops"),
}
_BASELINE, _UP_TO = "", "up_to"


def _attribute(of: Promised, op: str, level: str) -> str:
    stem, unit = _STEMS[of]
    return "_".join(filter(None, (stem, op, level, unit)))


_NAMES = {_attribute(of, op, level): (of, op, level)
          for of in Promised for op in ("", "read", "write") for level in (_BASELINE, _UP_TO)}  # fmt: skip


def as_attributes(promises: Iterable[Promise]) -> dict[str, str]:
    """The rates of promises as attributes of an offering (`network_bytes_per_s`, `network_up_to_bytes_per_s`, ...)."""
    found: dict[str, str] = {}
    for one in promises:
        for level, rate in ((_BASELINE, one.baseline), (_UP_TO, one.up_to)):
            if rate is not None:
                found.setdefault(_attribute(one.of, one.op, level), f"{rate:.12g}")
    return found


def from_attributes(attributes: Mapping[str, str], source: str, as_of: date | None = None) -> tuple[Promise, ...]:
    """The promises among an offering's attributes, by the names of `as_attributes`."""
    found: dict[tuple[Promised, str], dict[str, str]] = {}
    for name, text in attributes.items():
        if name in _NAMES:
            of, op, level = _NAMES[name]
            found.setdefault((of, op), {})[level] = text
    return tuple(
        promise
        for (of, op), rates in sorted(found.items())
        for promise in promise_of(of, rates.get(_BASELINE), rates.get(_UP_TO), source, as_of, op=op)
    )


def is_promise(attribute: str) -> bool:
    """True for an attribute's name that holds a promised rate."""
    return attribute in _NAMES


class Delivery(StrEnum):
    """How a measured rate stands to the promised one."""

    AT_CAP = "at the promised cap"
    AT_BASELINE = "at the promised baseline"
    ABOVE = "more than promised"
    BELOW = "less than the promised baseline"
    UNDER_CAP = "under the promised cap"
    UNDECIDED = "cannot tell yet"


@dataclass(frozen=True, slots=True)
class Delivered:
    """A measured rate over the promised one, of one candidate.

    `cell` is the fastest of the `settings` that were measured of the promise in one place; `value` is its median over
    `n` launches with the 95 % interval, in the unit of the promise. `of_baseline` and `of_up_to` are the value divided
    by the promised rates, with intervals; None if that rate is unknown. `alike` counts the other settings whose
    interval lies at the same level.
    """

    candidate: int
    cell: str
    promise: Promise
    n: int
    value: float
    bounds: Bounds | None
    of_baseline: float | None
    of_baseline_bounds: Bounds | None
    of_up_to: float | None
    of_up_to_bounds: Bounds | None
    delivery: Delivery
    reason: str = ""
    settings: int = 1
    alike: int = 0
