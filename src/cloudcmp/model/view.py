"""The view of a study: the one argument of every report."""

from dataclasses import dataclass

from cloudcmp.model.co_location import CoLocation
from cloudcmp.model.command import CommandUse
from cloudcmp.model.history import History
from cloudcmp.model.isolation import Effect
from cloudcmp.model.metric import Metric
from cloudcmp.model.pairs import Analysis
from cloudcmp.model.plan import Plan
from cloudcmp.model.promise import Delivered
from cloudcmp.model.reach import WideAreaAnswer
from cloudcmp.model.result import Scaling
from cloudcmp.model.safety import Spend
from cloudcmp.model.services import NO_SERVICES, Services
from cloudcmp.model.steadiness import SteadinessView
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
    """The data of a report.

    `hosts` holds for each candidate the facts from its agents, as sorted text pairs; `spend` is None if nothing was
    billed; `under` are the account terms of the cost figures, None at list price. `provenance` holds versions, seed,
    dates and digests as text pairs; `interruptions` one line each. `commands` are the shell lines that ran, from the
    plan and not from the study file. `steadiness` is None if it was not asked for. `history` has the deciding cells
    over time, None for a study of one day. `not_run` counts planned trials that no attempt was made of, 0 of an
    imported table.
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
    services: Services = NO_SERVICES
    effects: tuple[Effect, ...] = ()
    delivered: tuple[Delivered, ...] = ()
    co_location: tuple[CoLocation, ...] = ()
    steadiness: SteadinessView | None = None
    history: History | None = None
    reach: WideAreaAnswer | None = None
    not_run: int = 0
