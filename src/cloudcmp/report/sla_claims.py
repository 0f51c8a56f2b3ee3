"""The tables of claims: what was proved, by window, what is left of error budgets, and what claims take."""

from collections.abc import Iterator, Sequence

from cloudcmp.answer.sla.sentences import clusters_words
from cloudcmp.answer.sla.words import (
    bounds_words,
    figure_name,
    long_words,
    share_words,
    span_words,
    target_words,
    time_words,
    value_words,
    window_words,
)
from cloudcmp.model.service_level import (
    Claim,
    ClaimFinding,
    ErrorBudget,
    Quantity,
    Requirement,
    Standing,
    WindowFinding,
)
from cloudcmp.model.sla import PlannedClaim
from cloudcmp.report.grids import Grid
from cloudcmp.report.table import Head
from cloudcmp.units import are, counted, format_bound, format_quantity

_MOST_WINDOWS = 12


def claim_grids(claims: Sequence[ClaimFinding], sure: str) -> Iterator[Grid]:
    """Every claim: its standing, the share that meets it (or the mean) with bounds, samples and clusters.

    Claims about one subject are one table; of several subjects each claim is a table.
    """
    subjects = tuple(dict.fromkeys(one.subject for one in claims))
    general = f"in general: bounds for times like these, each right in {sure} of cases"
    if len(subjects) == 1:
        whole = tuple((one.claim.text, *_fields(one)) for one in claims)
        figures = [f"{one.claim.text}: {words}" for one in claims if (words := _figure(one)) is not None]
        yield Grid(f"Claims about {subjects[0]}", ("claim", *_HEADS), whole, "; ".join([*figures, _GOOD, general]))
        return
    for text in dict.fromkeys(one.claim.text for one in claims):
        yield _of_subjects(text, [one for one in claims if one.claim.text == text], general)


def _of_subjects(text: str, some: Sequence[ClaimFinding], general: str) -> Grid:
    """A claim about several subjects; the number of samples stands below if it is the same for all."""
    counts = {f"{one.n:,} in {clusters_words(one)}" for one in some}
    rows = []
    for one in some:
        standing, value, bounds, n, _ = _fields(one)
        figure = None if one.figure is None else format_quantity(one.figure, one.unit)
        rows.append((one.subject, standing, value, bounds, *[n] * (len(counts) > 1), *[figure] * (not _is_good(one))))
    figures = [] if _is_good(some[0]) else [figure_name(some[0].claim)]
    numbers = map(Head, ["good", "in general", *["n"] * (len(counts) > 1), *figures])
    heads = (Head("of", numeric=False, whole=True), _STANDING, *numbers)
    same = [f"n = {counts.pop()} each"] if len(counts) == 1 else []
    return Grid(text, heads, tuple(rows), "; ".join([_GOOD, general, *same]))


_STANDING = Head("standing", numeric=False, whole=True)
_GOOD = "good: the share that meets the limit, or the mean"
_HEADS = (_STANDING, Head("good"), Head("in general"), Head("n"),
          Head("in", numeric=False, whole=True))  # fmt: skip


def _fields(one: ClaimFinding) -> tuple[str, ...]:
    value, bounds = value_words(one.claim, one.unit, one.value), bounds_words(one.claim, one.unit, one.bounds)
    return one.standing.value, value, bounds, f"{one.n:,}", clusters_words(one)


def _is_good(one: ClaimFinding) -> bool:
    """True if the claimed figure is the value itself, which has its own column."""
    return one.claim.quantity is Quantity.AVAILABILITY or one.claim.share is None


def _figure(one: ClaimFinding) -> str | None:
    if _is_good(one) or one.figure is None:
        return None
    words = f"the {figure_name(one.claim)} is {format_quantity(one.figure, one.unit)}"
    if one.figure_bounds is None:
        return words
    low = format_bound(one.figure_bounds.low, one.unit, upper=False)
    high = format_bound(one.figure_bounds.high, one.unit, upper=True)
    return f"{words} ({low} to {high})"


def windows_grid(found: ClaimFinding) -> Grid:
    """The windows of a claim, broken ones first; what nobody saw is once bad, once good."""
    order = {Standing.BROKEN: 0, Standing.CANNOT_TELL: 1, Standing.MET: 2}
    ranked = sorted(found.windows, key=lambda one: (order[one.standing], one.start))
    rows = [_window(found, one) for one in ranked[:_MOST_WINDOWS]]
    more = len(ranked) - len(rows)
    notes = ["at least, at most: bounds of the whole window, what nobody saw counted as bad, and as good"]
    notes += [f"{counted(more, 'more window')} {are(more)} in --json"] if more else []
    heads = ("window", "standing", Head("n"), Head("bad"), Head("seen"), Head("at least"), Head("at most"),
             Head("unseen"))  # fmt: skip
    return Grid(f"{found.claim.text}, {found.subject}: windows in UTC", heads, tuple(rows), "; ".join(notes))


def _window(found: ClaimFinding, one: WindowFinding) -> tuple[str | None, ...]:
    low, high = (
        None if end is None else value_words(found.claim, found.unit, end, upper=upper)
        for end, upper in ((one.low, False), (one.high, True))
    )
    return (
        window_words(found.claim, one), one.standing.value, f"{one.n:,}",
        None if one.misses is None else f"{one.misses:,}", value_words(found.claim, found.unit, one.value), low, high,
        share_words(one.unseen),
    )  # fmt: skip


def budget_grid(found: ClaimFinding) -> Grid:
    """How fast the error budget of the last window is spent."""
    budget = found.budget
    assert budget is not None  # only claims with one are asked
    rows = tuple(
        (
            span_words(one.span_s),
            f"{one.n:,}",
            f"{one.rate:.3g}",
            f"{format_bound(one.bounds.low, '1', upper=False)} to {format_bound(one.bounds.high, '1', upper=True)}",
        )
        for one in budget.burns
    )
    spent = time_words(budget.spent_s)
    most = f", {time_words(budget.spent_at_most_s)} if all that nobody saw was bad" if _differ(budget) else ""
    allowed = time_words(budget.allowed_s)
    note = f"budget of the last window: {allowed}, spent: {spent}{most}; a rate of 1 spends it by the end"
    return Grid(f"{found.claim.text}, {found.subject}: burn rate of the error budget",
                (Head("last", numeric=False), Head("n"), Head("rate"), Head("bounds")), rows, note)  # fmt: skip


def _differ(budget: ErrorBudget) -> bool:
    return budget.spent_at_most_s - budget.spent_s >= 60.0


def needs_grid(claims: Sequence[tuple[Claim, Requirement]]) -> Grid:
    """What proves the claims that are not met."""
    seen: dict[str, tuple[Claim, Requirement]] = {}
    for claim, requirement in claims:
        seen.setdefault(claim.text, (claim, requirement))
    return _requirements("What would prove it: independent samples", list(seen.values()))


def planned_grid(planned: Sequence[PlannedClaim], sure: str) -> Grid:
    """What claims without samples take."""
    grid = _requirements("What claims take: independent samples", [(one.claim, one.requirement) for one in planned])
    return Grid(
        grid.title, grid.heads, grid.rows, f"{grid.note}; each claim is then proved with {sure} confidence".lstrip("; ")
    )


def _requirements(title: str, claims: Sequence[tuple[Claim, Requirement]]) -> Grid:
    rows = []
    for claim, one in claims:
        counts = {needed.misses: f"{needed.samples:,}" for needed in one.needed}
        every = None if one.every_s is None else time_words(one.every_s)
        share = None if claim.share is None else target_words(claim.share)
        rows.append((claim.text, share, *(counts.get(misses) for misses in (0, 1, 5)), every))
    days = next((one.days for _, one in claims if one.days), ())
    note = ""
    if days:
        words = ", ".join(f"{long_words(one.days * 86400)} if they last {span_words(one.outage_s)}" for one in days)
        note = f"in general an availability takes long, because outages last: {words} on average and none is seen"
    heads = ("claim", Head("share"), Head("0 bad"), Head("1 bad"), Head("5 bad"), Head("one every"))
    return Grid(title, heads, tuple(rows), note)
