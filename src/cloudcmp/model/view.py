"""All that a reader is shown of a study: the one argument of every report."""

from dataclasses import dataclass

from cloudcmp.model.command import CommandUse
from cloudcmp.model.metric import Metric
from cloudcmp.model.plan import Plan
from cloudcmp.model.result import Analysis, Scaling
from cloudcmp.model.safety import Spend
from cloudcmp.model.terms import Terms
from cloudcmp.model.trial import Attempt
from cloudcmp.model.values import Series


@dataclass(frozen=True, slots=True)
class Cdf:
    """The cumulative distribution of a latency over all launches of a candidate: seconds against shares."""

    candidate: int
    metric: str
    params: str
    x_s: tuple[float, ...]
    share: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class View:
    """What the report is made of.

    `hosts` holds for each candidate the facts that its agents told, as sorted text pairs;
    `spend` is None where nothing was billed; `under` are the terms of the figures of cost, None at list price.
    `provenance` holds versions, seed, dates and digests as text pairs; `interruptions` one line each.
    `commands` is what the plan has a shell run, which is what ran; the text of the study file is not asked for it.
    """

    plan: Plan
    metrics: dict[str, Metric]
    analysis: Analysis
    attempts: tuple[Attempt, ...]
    series: tuple[Series, ...] = ()
    cdfs: tuple[Cdf, ...] = ()
    hosts: tuple[tuple[int, tuple[tuple[str, str], ...]], ...] = ()
    provenance: tuple[tuple[str, str], ...] = ()
    interruptions: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    scaling: tuple[Scaling, ...] = ()
    spend: Spend | None = None
    under: Terms | None = None
    commands: tuple[CommandUse, ...] = ()
