"""The arrival times of machines: in two parts, and the chance that all are usable by a deadline."""

from collections.abc import Iterator, Mapping, Sequence

from cloudcmp.analysis.facts import note, reported
from cloudcmp.model.cell import Cell
from cloudcmp.model.plan import Plan, steps_of
from cloudcmp.model.result import Bounds, Estimate, Scaling, Share
from cloudcmp.model.trial import Attempt
from cloudcmp.stats.describe import share_interval

METRIC = "scaling_latency_s"
DEADLINES_S = (60.0, 120.0, 300.0, 600.0)
_PARTS = ("provisioning_latency_s", "booting_latency_s")


def scaling(plan: Plan, estimates: Sequence[Estimate], attempts: Sequence[Attempt]) -> tuple[Scaling, ...]:
    """The scaling of each candidate, by its scaling cells; empty if none was requested.

    The chance that all machines of a launch are usable by a deadline is the share of the started launches that were,
    for 60, 120, 300 and 600 s and the study's own `within_s`, with its exact interval (Clopper and Pearson). A failed
    launch was not in time, whenever its machines might have arrived. The two parts are cells of their own, reduced over
    launches by the plan's order of aggregation; medians of parts need not add up to the median of the whole, means do.
    Candidates that cannot have the cell are left out. It does not tell how fast anything else scales: an application
    starts later than its machine.
    """
    params_of = {cell: dict(trial.params) for trial in plan.trials for cell in trial.cells if _is_scaling(cell)}
    known = {(one.candidate, one.cell) for one in estimates if one.offered}
    polls = _polls(plan, attempts)
    by = steps_of(plan)[1]
    scalings = []
    for one in estimates:
        if not _is_scaling(one.cell) or not one.offered:
            continue
        params = Cell.parse(one.cell).params
        parts = [str(Cell(part, params)) for part in _PARTS]
        split = parts if all((one.candidate, part) in known for part in parts) else [None, None]
        within = params_of.get(one.cell, {}).get("within_s")
        deadlines = sorted({*DEADLINES_S, *([float(within)] if within else [])})
        scalings.append(
            Scaling(
                candidate=one.candidate,
                cell=one.cell,
                provisioning=split[0],
                booting=split[1],
                by=by,
                in_time=tuple(_in_time(one, deadlines)),
                failed=_share(one.n_started - one.n_ok, one.n_started),
                poll_s=polls.get(one.candidate),
            )
        )
    return tuple(sorted(scalings, key=lambda one: one.candidate))


def _is_scaling(cell: str) -> bool:
    return cell.partition(" ")[0] == METRIC


def _in_time(one: Estimate, deadlines: Sequence[float]) -> Iterator[tuple[float, Share]]:
    for deadline_s in deadlines:
        share = _share(sum(value <= deadline_s for value in one.values), one.n + one.n_started - one.n_ok)
        if share is not None:
            yield deadline_s, share


def _share(k: int, n: int) -> Share | None:
    if n < 1:
        return None
    interval = share_interval(k, n)
    return Share(k, n, k / n, Bounds(interval.low, interval.high))


def _polls(plan: Plan, attempts: Sequence[Attempt]) -> Mapping[int, float]:
    """The longest poll interval of the controller for each candidate."""
    longest: dict[int, float] = {}
    for attempt in attempts:
        poll_s = note(reported(attempt), "poll_s")
        if isinstance(poll_s, int | float):
            candidate = plan.launches[plan.trials[attempt.trial].launch].candidate
            longest[candidate] = max(longest.get(candidate, 0.0), float(poll_s))
    return longest
