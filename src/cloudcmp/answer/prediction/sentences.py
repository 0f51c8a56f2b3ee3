"""A prediction in words: why the first of the short list, what it rests on, and what to mind."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from cloudcmp.model.application import ApplicationKind
from cloudcmp.model.prediction import Aim, Basis, Counted, Explanation, Lack, Predicted, Prediction
from cloudcmp.model.result import Bounds
from cloudcmp.units import format_quantity

_FAR = 1.25
"""A time at home that differs this much from the model's shows that the demands do not tell the whole."""

_NAMED = 3
"""Measurements that are named."""


def with_sentences(found: Prediction) -> Prediction:
    """Return the prediction with its words: `reason`, `rests_on`, `cautions`."""
    return replace(
        found, reason=tuple(_reason(found)), rests_on=tuple(_rests_on(found)), cautions=tuple(_cautions(found))
    )


def time_words(one: Predicted) -> str:
    """`12.3 s (90 % interval 11.0 to 14.1 s)`, or that it was measured."""
    text = format_quantity(one.time_s, "s")
    if one.ran_s is not None:
        return f"{text} (it ran there)"
    return f"{text}{interval_words(one.interval, 's')}"


def cost_words(found: Prediction, one: Predicted) -> str:
    """`0.0123 USD`, with what it is for."""
    if one.cost is None:
        return "cost unknown"
    return f"{one.cost:.3g} {found.currency} {unit_words(found)}"


def unit_words(found: Prediction) -> str:
    """What a cost is for."""
    match found.kind:
        case ApplicationKind.PAGES:
            return "for 1,000 pages"
        case ApplicationKind.STATIC:
            return "for 1,000 files"
        case ApplicationKind.JOBS:
            return "a job"
        case ApplicationKind.PROGRAM:
            return "a run"


def interval_words(bounds: Bounds | None, unit: str) -> str:
    """` (90 % interval 11.0 s to 14.1 s)`; empty without one."""
    if bounds is None:
        return ""
    low, high = format_quantity(bounds.low, unit), format_quantity(bounds.high, unit)
    return f" ({bounds.confidence * 100:g} % interval {low} to {high})"


def _demand_words(some: Sequence[Counted]) -> str:
    """`table_latency_s of get, put; queue_latency_s of send`."""
    by_metric: dict[str, dict[str, None]] = {}
    for one in some:
        by_metric.setdefault(one.cell.partition(" ")[0], {})[one.demand] = None
    return "; ".join(f"{metric} of {', '.join(names)}" for metric, names in by_metric.items())


def _reason(found: Prediction) -> Iterator[str]:
    if len(found.candidates) < 2:
        yield "It is the only candidate that could be predicted."
        return
    word = "shortest time" if found.aim is Aim.TIME else "least cost"
    yield f"It has the {word} of {len(found.candidates)} candidates."
    out = sum(one.excluded for one in found.candidates)
    if found.basis is Basis.NONE:
        return
    open_ = len(found.candidates) - out - 1
    yield (f"{out} are surely behind it by their intervals, {open_} may be as good." if found.basis is Basis.LEFT_OUT
           else f"{out} are behind it by their measurements' intervals, {open_} may be as good.")  # fmt: skip


def _power_words(explained: Sequence[Explanation]) -> str:
    """`a (to the power of 0.62), b (0.21), c (0.17)`: those of the largest exponents, and how many more."""
    if len(explained) == 1:
        return explained[0].name
    first, *some = [f"{one.name} ({{}}{one.exponent:.2f})" for one in explained[:_NAMED]]
    words = ", ".join([first.format("to the power of "), *(one.format("") for one in some)])
    more = len(explained) - _NAMED
    return f"{words} and {more} more" if more > 0 else words


def _rests_on(found: Prediction) -> Iterator[str]:
    if found.counted:
        yield f"measured: {_demand_words(found.counted)}"
    if found.basis is Basis.LEFT_OUT:
        yield f"{found.ran} machines that ran it; its time follows {_power_words(found.explained)}"
        yield f"error with one of them left out: {(found.error or 0.0) * 100:.0f} % (root mean square)"
        return
    if found.benchmark:
        yield f"processor time follows {found.benchmark}, from {found.home or 'the machines that ran it'}"
    if found.home_ratio is not None:
        yield f"at home it took {found.home_ratio:.2f} times what the demands say: all times are scaled by that"


def _cautions(found: Prediction) -> Iterator[str]:
    if found.simulated:
        yield "numbers are SIMULATED: planted values, not measured"
    if found.basis is Basis.LAUNCHES:
        yield ("intervals show only how the measurements scatter between launches, not the error of the model: run the "
               "application on two candidates and write their times under `measured:`")  # fmt: skip
    if found.basis is Basis.NONE:
        yield "there is no interval: measurements are single ones, and fewer than two machines ran the application"
    burstable = sum(one.burstable is True for one in found.candidates)
    if burstable:
        yield (f"{burstable} burstable or shared machines come last: their speed was measured while credits lasted, or "
               "as the neighbours let it")  # fmt: skip
    sizes = sum(one.lack is Lack.SIZE for one in found.left_out)
    if sizes:
        yield (f"{sizes} candidates have more or fewer processors than those that ran it, and no profile says what it "
               "does with them: run it on one of the size that you want")  # fmt: skip
    if found.uncounted:
        yield f"not in the times, because no source measures it: {_demand_words(found.uncounted)}"
    if found.home_ratio is not None and not 1 / _FAR <= found.home_ratio <= _FAR:
        yield "the demands explain the time at home badly: profile it again on a machine without other work"
    if len(found.short_list) == 1:
        yield "a short list needs more candidates: add sources"
