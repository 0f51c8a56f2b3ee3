"""The sheets of scaling: how fast each candidate's machines become usable, for the report and the terminal."""

from collections.abc import Sequence

from cloudcmp.model.result import Bounds, Estimate, Scaling, Share
from cloudcmp.report.numbers import UNKNOWN, known
from cloudcmp.report.report_model import CellView, StudyView
from cloudcmp.report.sheets.sheet import Column, Field, Sheet, captioned, row
from cloudcmp.units import format_quantity

TITLE = "How fast it scales"
_SPREAD = "5 % to 95 %"


def sheets(study: StudyView) -> tuple[Sheet, ...]:
    """Return the parts of each candidate's scaling latency, and its chance to meet a deadline; empty if not
    measured."""
    some = study.view.scaling
    return (_parts(study, some), _in_time(study, some)) if some else ()


def figure_of(study: StudyView, one: Scaling, cell: str | None) -> tuple[CellView, Estimate] | None:
    """The view and the estimate of one of a candidate's cells; None if there is none."""
    view = study.by_cell.get(cell or "")
    estimate = view.estimates.get(one.candidate) if view else None
    return (view, estimate) if view and estimate else None


def centre(one: Scaling, estimate: Estimate) -> tuple[float | None, Bounds | None]:
    """Return an estimate's mean or median, as the study aggregates launches, with its interval."""
    if one.by == "mean":
        return estimate.mean, estimate.mean_bounds
    return estimate.median, estimate.median_bounds


def in_words(share: Share | None) -> str:
    """Format a share as its count, and the interval in percent."""
    if share is None:
        return UNKNOWN
    return f"{share.k}/{share.n} ({100 * share.bounds.low:.0f}–{100 * share.bounds.high:.0f} %)"


def note(some: Sequence[Scaling], shown: str = "") -> str:
    """Return a note on the numbers: the statistic, what else is shown, and the poll interval of the controller."""
    polls = [one.poll_s for one in some if one.poll_s is not None]
    poll_s = format_quantity(max(polls), "s") if polls else ""
    fine = f" The controller polled every {poll_s}: no time is more precise." if polls else ""
    add_up = " Medians of parts need not add up to the median of the whole." if some[0].by == "median" else ""
    return f"Each is the {some[0].by} over launches{shown}.{add_up}{fine}"


_IN_TIME = "All machines usable by a deadline"
_IN_TIME_NOTE = (
    "Launches whose machines were all usable in time, of those started; a failed launch was not. In brackets: exact "
    "95 % interval of the probability (Clopper and Pearson)."
)


def brief(study: StudyView, names: Sequence[str]) -> tuple[tuple[str, tuple[str, ...], list[list[str]], str], ...]:
    """Return the same for a terminal: title, heads, rows and note of each table; `names` are short candidate names.

    Deadlines that no more launches meet than an earlier one are only in the report.
    """
    some = study.view.scaling
    if not some:
        return ()
    shown = _telling(some)
    parts, late = [], []
    for one in some:
        cells = (one.cell, one.provisioning, one.booting)
        fields = (_field(study, one, cell).text for cell in cells)
        parts.append([names[one.candidate], *fields, in_words(one.failed)])
        late.append([names[one.candidate], *(in_words(dict(one.in_time).get(deadline)) for deadline in shown)])
    title = captioned(study.origin, TITLE)
    rest = "" if len(shown) == len(deadlines(some)) else f" No more launches are in time by {deadlines(some)[-1]:g} s."
    return (
        (title, ("candidate", "until usable", "provisioning", "booting", "failed"), parts, note(some)),
        (_IN_TIME, ("within", *(f"{one:g} s" for one in shown)), late, _IN_TIME_NOTE + rest),
    )


def _telling(some: Sequence[Scaling]) -> tuple[float, ...]:
    """Return the deadlines up to the first one that as many launches meet as the last one."""
    times = deadlines(some)
    counts = [[share.k if (share := dict(one.in_time).get(deadline)) else 0 for one in some] for deadline in times]
    return times[: counts.index(counts[-1]) + 1] if times else ()


def _parts(study: StudyView, some: Sequence[Scaling]) -> Sheet:
    titles = (
        Column("candidate"),
        Column("until usable", True),
        Column(_SPREAD, True),
        Column("provisioning", True),
        Column("booting", True),
        Column("n", True),
        Column("failed", True),
    )
    rows = []
    for one in some:
        figure = figure_of(study, one, one.cell)
        spread = UNKNOWN
        if figure and known(figure[1].p5) and known(figure[1].p95):
            spread = f"{figure[0].scale.number(figure[1].p5)} to {figure[0].scale.quantity(figure[1].p95)}"
        cells = (one.cell, one.provisioning, one.booting)
        whole, provisioning, booting = (_field(study, one, cell) for cell in cells)
        failed = Field(in_words(one.failed), figure[1].reason if figure else "")
        rows.append(
            row(
                study.candidates[one.candidate].id,
                whole,
                spread,
                provisioning,
                booting,
                str(figure[1].n if figure else 0),
                failed,
            )
        )
    return Sheet(
        captioned(study.origin, "From request to usable"),
        titles,
        tuple(rows),
        note(some, ", with its 95 % interval below"),
    )


def _field(study: StudyView, one: Scaling, cell: str | None) -> Field:
    figure = figure_of(study, one, cell)
    if figure is None:
        return Field(UNKNOWN)
    value, bounds = centre(one, figure[1])
    if not known(value):
        return Field("no value", kind="unsure")
    return Field(figure[0].scale.quantity(value), figure[0].scale.interval(bounds) if bounds else "no interval")


def deadlines(some: Sequence[Scaling]) -> tuple[float, ...]:
    """All deadlines that any candidate has a share for."""
    return tuple(sorted({deadline for one in some for deadline, _ in one.in_time}))


def _in_time(study: StudyView, some: Sequence[Scaling]) -> Sheet:
    times = deadlines(some)
    titles = (Column("candidate"), *(Column(f"within {one:g} s", True) for one in times))
    rows = tuple(
        row(study.candidates[one.candidate].id, *(in_words(dict(one.in_time).get(deadline)) for deadline in times))
        for one in some
    )
    return Sheet(captioned(study.origin, _IN_TIME), titles, rows, _IN_TIME_NOTE)
