"""The results of a study: estimates, comparisons and verdicts."""

from dataclasses import dataclass, field
from enum import StrEnum

from cloudcmp.units import Money

NOT_IN_DOCUMENTS = {"in_documents": False}
"""The metadata of fields that JSON documents leave out: values for code, whose words the documents hold."""


class Verdict(StrEnum):
    """The verdict on one candidate against another in one cell."""

    BETTER = "better"
    WORSE = "worse"
    SAME = "practically the same"
    CANNOT_TELL = "cannot tell yet"


class Basis(StrEnum):
    """The quantity of two candidates that a comparison compares: the metric itself, or the work for one unit of
    money."""

    PERFORMANCE = "performance"
    MONEY = "work per money"


class NoVerdict(StrEnum):
    """Why a pair of candidates has no better verdict than `cannot tell yet`, or no figures at all."""

    BARRED = "BARRED"
    """A candidate failed or has no values: it can neither win nor lose."""
    BLOCKS = "BLOCKS"
    """They were measured at different times, and no rounds pair them."""
    UNLIKE = "UNLIKE"
    """They differ in a property that excludes a verdict."""
    NOT_COMPARABLE = "NOT_COMPARABLE"
    """No round has both, or a value is 0 or below."""
    TOO_FEW = "TOO_FEW"
    """Fewer rounds with both, or fewer launches, than a verdict needs."""
    TOO_WIDE = "TOO_WIDE"
    """The interval is too wide."""
    TOO_WIDE_FOR_ALL = "TOO_WIDE_FOR_ALL"
    """The pair alone would be distinguished; corrected for all questions of the family it is not."""


@dataclass(frozen=True, slots=True)
class Clause:
    """One part of a reason, in words: its subject (empty: the pair), and the statement.

    `lacks_launches` is true if more launches would remove the reason.
    """

    subject: str
    text: str
    lacks_launches: bool = False

    def __str__(self) -> str:
        return f"{self.subject}: {self.text}" if self.subject else self.text


@dataclass(frozen=True, slots=True)
class Bounds:
    """A two-sided interval with its confidence (0.95, 0.90)."""

    low: float
    high: float
    confidence: float = 0.95


@dataclass(frozen=True, slots=True)
class Estimate:
    """A candidate's figures in one cell, over launches; in the metric's unit. None is unknown, never zero.

    `n_ok` of `n_started` trials gave values; `n` launches did. `values` are the launch values in plan order, `rounds`
    their rounds (None if unknown). `offered` is false if the plan does not give the candidate this cell; `reason` is,
    in words, why there is no estimate. `value` follows the plan's whole order of aggregation (launches within sessions,
    then sessions); without sessions it is the plan's reduction of launches, median or mean.
    """

    candidate: int
    cell: str
    n_started: int
    n_ok: int
    n: int
    values: tuple[float, ...]
    rounds: tuple[int | None, ...]
    sessions: tuple[str | None, ...]
    median: float | None = None
    median_bounds: Bounds | None = None
    mean: float | None = None
    mean_bounds: Bounds | None = None
    p5: float | None = None
    p95: float | None = None
    cov: float | None = None
    between_share: float | None = None
    cost_per_task: Money | None = None
    work_per_money: float | None = None
    warnings: tuple[str, ...] = ()
    reason: str = ""
    value: float | None = None
    offered: bool = field(default=True, metadata=NOT_IN_DOCUMENTS)


@dataclass(frozen=True, slots=True)
class Comparison:
    """Candidate `a` against candidate `b` in one cell; `effect` is a/b, or a - b for a metric that can be 0.

    `p_paired` decides, after Holm over the family (`p_adjusted`); for exploratory cells `p_adjusted` is
    Benjamini-Hochberg's and `verdict` is None. `p_same` is the p value of the two one-sided tests for `practically the
    same`, after Holm over the same family. `hodges_lehmann` and `cliffs_delta` are also None if they were not requested
    (`CellPairs.between`). `detectable` is the smallest true effect found with 80 % power. `no_verdict` is why there is
    no better verdict, and `reason` is its text. On the basis of money, `effect` is the ratio of the work for one unit
    of money, and more is better.
    """

    cell: str
    a: int
    b: int
    n: int
    decides: bool
    by_difference: bool
    effect: float | None
    bounds: Bounds | None
    bounds_90: Bounds | None
    p_paired: float | None
    p_adjusted: float | None
    p_welch: float | None
    hodges_lehmann: float | None
    cliffs_delta: float | None
    detectable: float | None
    verdict: Verdict | None
    reason: str = ""
    marks: tuple[str, ...] = ()
    no_verdict: NoVerdict | None = field(default=None, metadata=NOT_IN_DOCUMENTS)
    p_same: float | None = None
    basis: Basis = Basis.PERFORMANCE


@dataclass(frozen=True, slots=True)
class Winner:
    """The winners of one cell: best first; `starred` is the cheapest of those practically the same as the best.

    `reason` describes the undecided pairs; `left_out` has a sentence for each candidate that could not win.
    """

    cell: str
    winners: tuple[int, ...]
    starred: int | None
    reason: str = ""
    left_out: tuple[str, ...] = field(default=(), metadata=NOT_IN_DOCUMENTS)
    basis: Basis = Basis.PERFORMANCE


@dataclass(frozen=True, slots=True)
class Outlook:
    """The number of further rounds that would probably give an undecided pair a verdict.

    `chance` is the probability of that verdict after them; None if too few rounds were measured to know.
    """

    cell: str
    basis: Basis
    a: int
    b: int
    rounds: int
    chance: float | None


@dataclass(frozen=True, slots=True)
class Share:
    """The share of events, `k` of `n`, as a ratio with its exact 95 % interval; n is at least 1."""

    k: int
    n: int
    value: float
    bounds: Bounds


@dataclass(frozen=True, slots=True)
class Scaling:
    """How fast one candidate's machines arrive; `cell` is its scaling latency.

    `provisioning` and `booting` are the cells of its parts, None if the guest's uptime cannot be read. `by` is the
    study's reduction of launches, median or mean. `in_time` gives for each deadline (s) the share of the started
    launches whose machines were all usable by then; a failed launch is not in time. `failed` is the share that failed.
    `poll_s` is the longest poll interval of the controller, None if unknown.
    """

    candidate: int
    cell: str
    provisioning: str | None
    booting: str | None
    by: str
    in_time: tuple[tuple[float, Share], ...]
    failed: Share | None
    poll_s: float | None = None
