"""The machines of a market that can be replayed: those with launch times and a capacity."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cloudcmp.answer.choice.lookup import columns_of, numbers_of
from cloudcmp.answer.replay.policies import Server
from cloudcmp.errors import UserMistake
from cloudcmp.model.cell import Cell
from cloudcmp.model.market import COST, Market, Numbers, OfferKey
from cloudcmp.model.metric import Better
from cloudcmp.model.offering import Billing
from cloudcmp.model.replay import Lack, LaunchTimes, MachineType, Range
from cloudcmp.model.result import Bounds

Floats = NDArray[np.float64]

USABLE, RUNNING = "scaling_latency_s", "running_latency_s"
DRAWN = "drawn"
_REQUESTS = frozenset({"op/s", "1/s", "task/s", "row/s", ""})
_PERCENTILES = (0.05, 0.5, 0.95)
_ADVICE = "measure it with the probe scaling, or give --launch-time '90 s'"


@dataclass(frozen=True, slots=True)
class LaunchRule:
    """How launch times follow from the measured ones: drawn, or all at a `percentile`, or all of `seconds`."""

    text: str = DRAWN
    percentile: float | None = None
    seconds: float | None = None


def servers_of(
    market: Market, capacity: float | str, rule: LaunchRule, failures: Mapping[OfferKey, Sequence[float]],
    billing_of: Callable[[str], Billing],
) -> tuple[list[tuple[MachineType, Server]], list[tuple[OfferKey, Lack]]]:  # fmt: skip
    """Return the machines that can be replayed, and those whose launches were measured but that cannot.

    `capacity` is a number of requests per second, or the name of the column that has it for each machine. `failures`
    are the seconds that failed launches took.

    Raises UserMistake if no launch was measured, if no machine has a capacity, and for a column of another quantity.
    """
    serving = capacity if isinstance(capacity, float) else _capacity_column(market, capacity)
    found: list[tuple[MachineType, Server]] = []
    left: list[tuple[OfferKey, Lack]] = []
    for row, key in enumerate(market.keys):
        launches = _launch_times(market, row, rule, failures.get(key, ()))
        if launches is None:
            continue
        serves = Range(serving) if isinstance(serving, float) else _capacity(serving, row)
        if isinstance(launches, Lack) or serves is None:
            left.append((key, launches if isinstance(launches, Lack) else Lack.CAPACITY))
            continue
        found.append(_described(market, row, serves, launches, billing_of))
    if not found and not left:
        raise UserMistake.at("scale", "no source measured how long machines take to come", _ADVICE)
    if not found:
        lacks = {lack for _, lack in left}
        if lacks == {Lack.SINGLE}:
            raise UserMistake.at("scale", "only launches of several machines at once were measured", _ADVICE)
        raise UserMistake.at("--capacity", f"no machine with measured launches has {capacity!r}", "write e.g. 250")
    return found, left


def _described(
    market: Market, row: int, serves: Range, launches: LaunchTimes, billing_of: Callable[[str], Billing]
) -> tuple[MachineType, Server]:
    key = market.keys[row]
    price = market.columns.get(COST)
    amount = float(price.value[row]) if isinstance(price, Numbers) else math.nan
    known = amount if math.isfinite(amount) and amount > 0 else None
    low, middle, high = np.quantile(launches.usable, _PERCENTILES).tolist()
    billing = billing_of(key.provider)
    machine = MachineType(
        key=key,
        capacity=serves,
        price=known,
        launches=len(launches.usable) + launches.failures,
        failed=launches.failures,
        usable=(low, middle, high),
        paid_from_request=launches.running is None,
        minimum_s=billing.minimum_s,
        step_s=billing.step_s,
        simulated=key in market.simulated,
    )
    return machine, Server(serves.value, launches, known, billing)


def _launch_times(market: Market, row: int, rule: LaunchRule, failures: Sequence[float]) -> LaunchTimes | Lack | None:
    """The launch times of a machine; None if nothing was measured."""
    if rule.seconds is not None:
        return LaunchTimes(np.array([rule.seconds]), fixed=True)
    batch = False
    for name, column in sorted(market.columns.items()):
        if not isinstance(column, Numbers) or name.partition(" ")[0] != USABLE or not np.isfinite(column.value[row]):
            continue
        cell = Cell.parse(name)
        if cell.get("count") not in {None, "1"}:
            batch = True
            continue
        running = market.columns.get(str(Cell(RUNNING, cell.params)))
        return _ruled(*_paired(column, running if isinstance(running, Numbers) else None, row), rule, failures)
    return Lack.SINGLE if batch else None


def _paired(column: Numbers, running: Numbers | None, row: int) -> tuple[Floats, Floats | None]:
    """The times of each launch until it could be used, and until it was called running where all have that."""
    if column.launches is None:
        return column.value[row : row + 1], None
    known = np.isfinite(column.launches[row])
    usable = column.launches[row][known]
    if running is None or running.launches is None:
        return usable, None
    called = running.launches[row][known]
    return usable, called if np.isfinite(called).all() else None


def _ruled(usable: Floats, running: Floats | None, rule: LaunchRule, failures: Sequence[float]) -> LaunchTimes:
    if rule.percentile is not None:
        at = np.quantile(usable, [rule.percentile])
        return LaunchTimes(at, None if running is None else np.quantile(running, [rule.percentile]), fixed=True)
    return LaunchTimes(usable, running, np.array(failures, np.float64) if failures else None)


def _capacity_column(market: Market, name: str) -> Numbers:
    if name not in market.columns and not columns_of(market, name):
        advice = "write a number such as 250, or a column that 'cloudcmp recommend SOURCE --columns' lists"
        raise UserMistake.at("--capacity", f"no source has a column {name!r}", advice)
    column = numbers_of(market, name, "--capacity")
    if column.unit not in _REQUESTS or column.better is Better.LOWER or column.name == COST:
        what = f"{column.name!r} is in {column.unit}, and is no number of requests per second"
        raise UserMistake.at("--capacity", what, "name a rate in op/s, or write a number such as 250")
    return column


def _capacity(column: Numbers, row: int) -> Range | None:
    value = float(column.value[row])
    if not (math.isfinite(value) and value > 0):
        return None
    if column.launches is None:
        return Range(value)
    from cloudcmp.stats.describe import t_interval  # scipy takes a second to load

    launches = column.launches[row][np.isfinite(column.launches[row])]
    interval = t_interval(np.log(launches)) if (launches > 0).all() else None
    return Range(value, None if interval is None else Bounds(math.exp(interval.low), math.exp(interval.high)))


def parsed_rule(text: str) -> LaunchRule:
    """The rule of `drawn`, of a percentile such as `p95`, or of a time such as `90 s`.

    Raises UserMistake for any other text.
    """
    from cloudcmp.units import parse_seconds

    if text == DRAWN:
        return LaunchRule()
    if text[:1] == "p" and text[1:].isascii() and text[1:].isdigit() and 0 <= int(text[1:]) <= 100:
        return LaunchRule(text, percentile=int(text[1:]) / 100)
    try:
        seconds = parse_seconds(text)
    except ValueError:
        raise UserMistake.at("--launch-time", f"{text!r} is no launch time", "write drawn, p95 or '90 s'") from None
    if seconds < 0:
        raise UserMistake.at("--launch-time", f"{text!r} is less than nothing", "write e.g. '90 s'")
    return LaunchRule(text, seconds=seconds)
