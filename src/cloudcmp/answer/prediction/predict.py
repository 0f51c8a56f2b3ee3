"""The prediction of an application on the offerings of a market."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from cloudcmp.answer.choice.attributes import BURSTABLE
from cloudcmp.answer.choice.from_study import SERVICE
from cloudcmp.answer.choice.lookup import numbers_of
from cloudcmp.answer.prediction.columns import operation_costs
from cloudcmp.answer.prediction.fetched import with_vantages
from cloudcmp.answer.prediction.model import Times, by_demands, home_time, row_of, times_of
from cloudcmp.answer.prediction.times import Resources, Values, resources
from cloudcmp.catalog.parameters import nearest
from cloudcmp.errors import UserMistake
from cloudcmp.model.application import Application, ApplicationKind
from cloudcmp.model.market import COST, Market, Numbers, OfferKey, Texts
from cloudcmp.model.prediction import Aim, Counted, Lack, LeftOut, Predicted, Prediction
from cloudcmp.model.result import Bounds

Floats = NDArray[np.float64]

CONFIDENCE = 0.90
_HOUR_S = 3600.0
_GIB = 2**30
_UNITS = {ApplicationKind.PAGES: 1000, ApplicationKind.STATIC: 1000}


def predict(application: Application, market: Market, aim: Aim, confidence: float = CONFIDENCE) -> Prediction:
    """Predict the time and the cost of an application on every offering of a market that has what it needs.

    Raises UserMistake if the sources have no measurement that its demands need, or not the machine where its processor
    time was measured and fewer than two that ran it.
    """
    application = with_vantages(application, market)
    home = row_of(market.keys, application.home) if application.home else None
    ran, notes = _ran(application, market)
    reference = (home,) if home is not None else tuple(ran)
    found = resources(market, application, reference)
    if found.uses_cpu and home is None and len(ran) < 2:
        raise _homeless(application, notes)
    if application.elapsed_s is not None and home is not None and home not in ran:
        alone = by_demands(found, found.benchmarks[0] if found.benchmarks else None, Values(), home).time[home, 0]
        if np.isfinite(alone):
            ran[home] = home_time(application.elapsed_s, float(alone))
            if ran[home] < application.elapsed_s:
                notes.append(f"on {market.keys[home]} it took {application.elapsed_s:.3g} s, of which other work took "
                             f"{application.elapsed_s - ran[home]:.2g} s: its own counters count")  # fmt: skip
    times = times_of(found, home, ran, confidence)
    if not np.isfinite(times.time).any():
        raise _unmeasured(application, found)
    left_out = tuple(_left_out(found, times, tuple(ran) if home is None and found.uses_cpu else ()))
    out = {one.key for one in left_out}
    candidates = [one for one in _candidates(found, times, ran, confidence) if one.key not in out]
    candidates = _sorted(candidates, aim, market)
    return Prediction(
        name=application.name, kind=application.kind, aim=aim, currency=market.currency,
        units=_UNITS.get(application.kind, 1), parts=tuple(one.name for one in application.parts),
        candidates=tuple(_excluded(candidates, aim)), left_out=left_out, basis=times.basis, confidence=confidence,
        benchmark=found.benchmarks[0].name if found.benchmarks and found.uses_cpu else "",
        explained=times.explained, ran=len(ran), error=times.error,
        home=market.keys[home] if home is not None else None, home_ratio=times.home_ratio,
        counted=tuple(_counted(found, known=True)), uncounted=tuple(_counted(found, known=False)),
        simulated=any(one.key in market.simulated for one in candidates), notes=(*notes, *market.notes),
    )  # fmt: skip


def _ran(application: Application, market: Market) -> tuple[dict[int, float], list[str]]:
    """The times that the application took on offerings of the market: as its file says, and by its own column."""
    ran, notes = {}, []
    if application.ran_cell:
        column = numbers_of(market, application.ran_cell, "measured_by")
        ran = {row: float(one) for row, one in enumerate(column.value) if np.isfinite(one) and one > 0}
    for one in application.ran:
        row = row_of(market.keys, one.key)
        if row is None:
            notes.append(f"{one.key}, which ran it, is {_not_there(one.key, market)}: its time does not count")
        else:
            ran[row] = one.time_s
    return ran, notes


def _not_there(key: OfferKey, market: Market) -> str:
    """Why an offering is not found: it is in a source twice, in several regions, or not at all, with one like it."""
    if any((one.provider, one.name) == (key.provider, key.name) for one in market.keys):
        return "in a source twice, or in several regions and its own is not written"
    names = sorted({one.name for one in market.keys if one.provider == key.provider})
    near = nearest(key.name, names)
    return f"in no source (did you mean {near}?)" if near else "in no source"


def _homeless(application: Application, notes: Sequence[str]) -> UserMistake:
    if application.home is None and notes:
        return UserMistake.at(application.name, notes[0], "two times are needed, each of an offering of the sources")
    if application.home is None:
        what = "its processor time has no home, and fewer than two machines of the sources ran it"
        return UserMistake.at(application.name, what, "write home:, or two times under measured:")
    what = f"{application.home}, where its processor time was measured, is in no source"
    advice = f"measure it with the same probes: cloudcmp run STUDY with the candidate {application.home.name}"
    return UserMistake.at(application.name, what, advice)


def _unmeasured(application: Application, found: Resources) -> UserMistake:
    lacking = [f"{one.demand} ({one.cell})" for one in _counted(found, known=False)]
    if found.uses_cpu and not found.benchmarks:
        lacking.append("cpu (any probe of processors with threads: one)")
    elif found.uses_cpu and found.needs_processors:
        lacking.append("how many processors each machine has (vcpus), which threads that run at once need")
    what = f"no source measures {', '.join(lacking) or 'a machine and what it needs'}"
    return UserMistake.at(application.name, what, "add a study that does; see 'cloudcmp list probes'")


def _counted(found: Resources, *, known: bool) -> Iterator[Counted]:
    """Yield each demand with its column once, or those without one with the cell that they need."""
    seen: dict[Counted, None] = {}
    for part in found.application.parts:
        for demand in part.demands:
            column = found.cells.get((part.name, demand.name))
            if demand.cell is not None and (column is not None) == known:
                seen[Counted(demand.name, column.name if column else str(demand.cell))] = None
    yield from seen


def _left_out(found: Resources, times: Times, sizes: Sequence[int]) -> Iterator[LeftOut]:
    """Yield the offerings without a prediction; those that only ask a service are none to run on.

    `sizes` are the rows whose numbers of processors are not to be exceeded, empty if a profile says how many are used.
    """
    memory = found.market.columns.get("memory_gib")
    needed = found.application.memory_bytes
    count = found.market.columns.get("vcpus")
    processors = count.value if isinstance(count, Numbers) else np.full(len(found.market.keys), np.nan)
    seen = processors[list(sizes)]
    seen = seen[np.isfinite(seen)]
    fewest, most = (float(seen.min()), float(seen.max())) if len(seen) else (math.nan, math.nan)
    for row, key in enumerate(found.market.keys):
        if not np.isfinite(times.time[row]):
            if not found.uses_cpu or found.benchmarks[0].one.value[row] > 0:
                yield LeftOut(key, Lack.UNMEASURED, "a measurement that the demands need")
        elif needed and isinstance(memory, Numbers) and memory.value[row] * _GIB < needed:
            yield LeftOut(key, Lack.MEMORY, f"{memory.value[row]:.3g} GiB, it takes {needed / _GIB:.3g} GiB")
        elif len(seen) and not fewest <= processors[row] <= most:
            own = f"{processors[row]:g}" if np.isfinite(processors[row]) else "an unknown number of"
            ran_on = f"{fewest:g}" if fewest == most else f"{fewest:g} to {most:g}"
            yield LeftOut(key, Lack.SIZE, f"{own} processors, it ran on {ran_on}")


def _candidates(found: Resources, times: Times, ran: dict[int, float], confidence: float) -> Iterator[Predicted]:
    price, charges = _price(found.market), _charges(found)
    billed = _billed_s(found, times)
    units = _UNITS.get(found.application.kind, 1)
    services = _services(found.market, times)
    burstable = _burstable(found.market)
    for row in np.flatnonzero(np.isfinite(times.time) & ~services):
        time, bounds = float(times.time[row]), _bounds(times.low[row], times.high[row], confidence)
        if int(row) in ran:
            time, bounds = ran[int(row)], None
        scale = float(billed[row] / times.time[row])
        cost = units * (time * scale * price[row] / _HOUR_S + charges[row])
        spread = None
        if bounds is not None and np.isfinite(cost):
            ends = [units * (one * scale * price[row] / _HOUR_S + charges[row]) for one in (bounds.low, bounds.high)]
            spread = Bounds(float(ends[0]), float(ends[1]), confidence)
        yield Predicted(
            found.market.keys[row], time, float(times.overlapped[row]), float(times.serial[row]),
            tuple(float(one[row]) for one in times.parts), bounds, float(cost) if np.isfinite(cost) else None, spread,
            ran.get(int(row)), burstable=burstable[row],
        )  # fmt: skip


def _services(market: Market, times: Times) -> NDArray[np.bool_]:
    """The rows of services whose region has another row with a time: a machine, or the first of its services."""
    column = market.columns.get(SERVICE)
    kinds = column.value if isinstance(column, Texts) else ("",) * len(market.keys)
    rows = sorted(range(len(kinds)), key=lambda row: bool(kinds[row]))
    first: dict[tuple[str, str], int] = {}
    for row in rows:
        if np.isfinite(times.time[row]):
            first.setdefault(market.keys[row][:2], row)
    return np.array([bool(kind) and first.get(market.keys[row][:2]) != row for row, kind in enumerate(kinds)], np.bool_)


def _burstable(market: Market) -> list[bool | None]:
    column = market.columns.get(BURSTABLE)
    words = column.value if isinstance(column, Texts) else ("",) * len(market.keys)
    return [{"yes": True, "no": False}.get(one) for one in words]


def _bounds(low: float, high: float, confidence: float) -> Bounds | None:
    return Bounds(float(low), float(high), confidence) if np.isfinite(low) and np.isfinite(high) else None


def _price(market: Market) -> Floats:
    column = market.columns.get(COST)
    return column.value if isinstance(column, Numbers) else np.full(len(market.keys), np.nan)


def _billed_s(found: Resources, times: Times) -> Floats:
    """Seconds of a whole machine for one unit: a program's or job's own, of a page those of one processor's share."""
    kind = found.application.kind
    if kind is ApplicationKind.PROGRAM:
        return times.time
    weights = np.array([one.weight for one in found.application.parts])
    if kind is ApplicationKind.JOBS:
        workers = np.array([one.workers for one in found.application.parts])
        parts = np.array(times.parts)
        whole = (parts * weights[:, None]).sum(axis=0)
        machines: Floats = times.time * (parts * (weights * workers)[:, None]).sum(axis=0) / whole
        return machines
    count = found.market.columns.get("vcpus")
    processors = count.value if isinstance(count, Numbers) else np.ones(len(times.time))
    used: Floats = times.cpu_s / np.where(np.isfinite(processors), processors, 1.0)
    return used


def _charges(found: Resources) -> Floats:
    """What the operations of one unit cost at every offering; NaN if a price is unknown."""
    application = found.application
    total = np.zeros(len(found.market.keys))
    weight = sum(one.weight for one in application.parts)
    for part in application.parts:
        for charged in part.charged:
            each = operation_costs(found.market, charged.op, charged.size_bytes)
            total = total + each * charged.count * part.tasks * part.weight / weight
        if part.moves_out:
            total = total + np.nan
    return total


def _sorted(candidates: Sequence[Predicted], aim: Aim, market: Market) -> list[Predicted]:
    if aim is Aim.COST:
        priced = [one for one in candidates if one.cost is not None]
        if not priced:
            what = "no source has every price that its cost needs" if market.currency else "no source has a price"
            raise UserMistake.at("--minimise", what, "add a table of prices, or use --minimise time")
        unpriced = [one for one in candidates if one.cost is None]
        ranked = [*sorted(priced, key=lambda one: (one.cost or 0.0, one.key)),
                  *sorted(unpriced, key=lambda one: (one.time_s, one.key))]  # fmt: skip
    else:
        ranked = sorted(candidates, key=lambda one: (one.time_s, one.key))
    return sorted(ranked, key=lambda one: one.burstable is True)


def _excluded(candidates: Sequence[Predicted], aim: Aim) -> Iterator[Predicted]:
    """Yield the candidates; one is excluded if the low end of its interval is above the high end of the best one's."""
    best = candidates[0] if candidates else None
    limit = _ends(best, aim)[1] if best is not None else None
    for one in candidates:
        low = _ends(one, aim)[0]
        yield replace(one, excluded=limit is not None and low is not None and low > limit)


def _ends(one: Predicted, aim: Aim) -> tuple[float | None, float | None]:
    value = one.time_s if aim is Aim.TIME else one.cost
    bounds = one.interval if aim is Aim.TIME else one.cost_interval
    if one.ran_s is not None:
        return value, value
    return (bounds.low, bounds.high) if bounds is not None else (None, None)
