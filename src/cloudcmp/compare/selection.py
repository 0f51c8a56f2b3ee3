"""What a study with a rule measures next: its deciding cells, each as a matrix of costs that the rule reads."""

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from cloudcmp.compare.comparisons import log_prices_of
from cloudcmp.compare.verdict import ALPHA, bars_of, deciding
from cloudcmp.cost import launch_costs
from cloudcmp.model.cell import Cell
from cloudcmp.model.metric import OVERALL, Better, Metric
from cloudcmp.model.plan import Plan, ToDecide
from cloudcmp.model.result import Estimate
from cloudcmp.model.selection import Dropped, DropReason, EndReason, Standing, Stop, StopRule
from cloudcmp.stats.check import Floats
from cloudcmp.stats.play import play
from cloudcmp.stats.selection import ENDS, Budget, Certify, Ranking, Rule, State


@dataclass(frozen=True, slots=True)
class NextRound:
    """The candidates of the next round, and what the rule has concluded so far.

    `leaving` says why each candidate that was measured so far is not among them. With no open cell, `over` is true and
    `standings` has every cell that could be compared.
    """

    measured: frozenset[int]
    leaving: tuple[Dropped, ...]
    standings: tuple[Standing, ...]
    over: bool


@dataclass(frozen=True, slots=True, eq=False)
class _Contest:
    """One deciding cell on one basis: `costs` has the shape (rounds, candidates), NaN where there is no value."""

    cell: str
    money: bool
    candidates: tuple[int, ...]
    costs: Floats
    rule: Rule
    state: State

    @classmethod
    def of(cls, cell: str, money: bool, candidates: tuple[int, ...], costs: Floats, rule: Rule) -> "_Contest":
        """Replays the rounds; a contest that has ended keeps the state of that round."""
        state = State.new(len(candidates))
        for row in costs:
            state = rule.judge(state.with_round(row))
            if state.ended:
                break
        return cls(cell, money, candidates, costs, rule, state)

    @property
    def ended(self) -> bool:
        return bool(self.state.ended)

    @property
    def leader(self) -> int:
        return self.candidates[int(self.state.lead)]

    def in_question(self) -> frozenset[int]:
        return frozenset(one for one, active in zip(self.candidates, self.state.active, strict=True) if active)

    def why(self, candidate: int) -> DropReason:
        """Why a candidate is not in question."""
        match self.rule:
            case Certify():
                behind = self.rule.behind(self.state)[self.candidates.index(candidate)]
                return DropReason.BEHIND if behind else DropReason.NOT_BETTER
            case Ranking():
                return DropReason.RANKED
            case _:
                return DropReason.NOT_WORTH_IT

    def standing(self) -> Standing:
        state, rule = self.state, self.rule
        reason = ENDS[int(state.ended)]
        if reason is None:
            raise ValueError(f"{self.cell} has not ended")
        ahead = -state.mean[int(state.lead)]
        if reason is EndReason.RANKED:
            ahead = (state.settled.sum(axis=1) - state.settled.sum(axis=0)).astype(np.float64)
        ahead[int(state.lead)] = np.inf
        return Standing(
            self.cell, self.money, reason, self.leader,
            equals=self._named(rule.equals(state).tolist()) if isinstance(rule, Certify) else (),
            order=tuple(self.candidates[at] for at in np.argsort(-ahead, kind="stable")),
            regret=float(rule.regret(state)) if isinstance(rule, Budget) else None,
        )  # fmt: skip

    def _named(self, flags: Sequence[bool]) -> tuple[int, ...]:
        return tuple(one for one, flag in zip(self.candidates, flags, strict=True) if flag)


def next_round(
    plan: Plan, estimates: Sequence[Estimate], metrics: Mapping[str, Metric], rounds: int, measured: Collection[int]
) -> NextRound:
    """Ask the rule of a study what to measure after its first `rounds`; values of later ones are ignored.

    `measured` are the candidates that were measured so far. Each deciding cell is a contest by performance and, where
    prices are known and differ, by work for money; with `budget`, by work for money alone. All contests share the error
    of 5 %. A candidate is measured as long as it is in question in one of them. One that failed too often can not lead:
    it takes part in no contest, and stays as long as any of them is open.
    """
    contests = list(_contests(plan, estimates, metrics, rounds))
    open_ = [one for one in contests if not one.ended]
    if contests and not open_:
        return NextRound(frozenset(measured), (), tuple(one.standing() for one in contests), True)
    in_a_contest = frozenset(at for one in contests for at in one.candidates)
    wanted = frozenset().union(*(one.in_question() for one in open_)) | (frozenset(measured) - in_a_contest)
    leaving = tuple(_dropped(at, rounds, open_) for at in sorted(frozenset(measured) - wanted))
    standings = tuple(one.standing() for one in contests if one.ended)
    return NextRound(wanted, leaving, standings, False)


def _dropped(candidate: int, rounds: int, contests: Sequence[_Contest]) -> Dropped:
    own = [one for one in contests if candidate in one.candidates]
    if not own:
        return Dropped(candidate, rounds, DropReason.DECIDED, contests[0].leader)
    reasons = {one.why(candidate) for one in own}
    reason = DropReason.NOT_BETTER if DropReason.NOT_BETTER in reasons else own[-1].why(candidate)
    return Dropped(candidate, rounds, reason, own[-1].leader)


def _contests(
    plan: Plan, estimates: Sequence[Estimate], metrics: Mapping[str, Metric], rounds: int
) -> Iterator[_Contest]:
    if plan.stop is None:
        raise ValueError("the study has no rule to stop")
    margins, bars = deciding(plan, dict.fromkeys(one.cell for one in estimates)), bars_of(plan, estimates)
    by_cell: dict[str, list[Estimate]] = {text: [] for text in margins}
    for one in estimates:
        if one.cell in by_cell and one.offered:
            by_cell[one.cell].append(one)
    prices = log_prices_of(plan)
    asked = [
        (text, some, shifts)
        for text, some in by_cell.items()
        if len(some) > 1
        for shifts in _bases(plan, some, metrics[Cell.parse(text).metric], prices)
    ]
    for text, some, shifts in asked:
        able = [one for one in some if (bar := bars[text, one.candidate]) is None or bar.lacks_launches]
        able = [one for one in able if shifts is None or one.candidate in shifts]
        if len(able) < 2:
            continue
        metric = metrics[Cell.parse(text).metric]
        rows = np.array([_costs(one, metric, (shifts or {}).get(one.candidate, 0.0), rounds) for one in able]).T
        candidates = tuple(one.candidate for one in able)
        rule = _rule(plan, margins[text] if metric.signed else None, len(some), candidates, len(asked))
        yield _Contest.of(text, shifts is not None, candidates, rows, rule)


def _bases(
    plan: Plan, some: Sequence[Estimate], metric: Metric, prices: Mapping[int, float]
) -> Iterator[Mapping[int, float] | None]:
    """The bases of a cell: None is performance, logarithms of prices are work for money."""
    own = {one.candidate: prices[one.candidate] for one in some if one.candidate in prices} if metric.is_work else {}
    by_money_alone = plan.stop is not None and plan.stop.rule is StopRule.BUDGET
    if not by_money_alone:
        yield None
    if len(own) > 1 and (by_money_alone or len(set(own.values())) > 1):
        yield own


def _costs(one: Estimate, metric: Metric, log_price: float, rounds: int) -> Floats:
    """The costs of one candidate by round: less is better, logarithms unless the metric can be 0."""
    costs = np.full(rounds, np.nan)
    for number, value in zip(one.rounds, one.values, strict=True):
        if number is None or number >= rounds or (value <= 0.0 and not metric.signed):
            continue
        size = value if metric.signed else math.log(value)
        costs[number] = log_price + (size if metric.better is Better.LOWER else -size)
    return costs


def _rule(plan: Plan, margin: float | None, offered: int, candidates: Sequence[int], contests: int) -> Rule:
    """The rule for one contest: its share of the error is that of all candidates that the plan gives the cell."""
    stop, k = plan.stop, len(candidates)
    if stop is None:
        raise ValueError("the study has no rule to stop")
    tolerance, alpha = margin or math.log1p(stop.tolerance), ALPHA / contests
    match stop.rule:
        case StopRule.CERTIFY:
            return Certify(tolerance, alpha * (k - 1) / (offered - 1))
        case StopRule.RANKING:
            return Ranking(tolerance, alpha * (k * (k - 1)) / (offered * (offered - 1)))
        case StopRule.BUDGET:
            costs = launch_costs(plan)
            if stop.spend is None or costs is None:
                raise ValueError("a rule about money needs the spend and all prices")
            return Budget(
                float(stop.spend.amount), np.array([float(costs[at].amount) for at in candidates]), plan.rounds
            )


def rule_faults(plan: Plan, metrics: Mapping[str, Metric]) -> tuple[str, ...]:
    """Return what keeps the rule of a planned study from ever ending it, a sentence each; empty if nothing does."""
    stop, weighed = plan.stop, (OVERALL.name,) if plan.weights else ()
    cells = deciding(plan, dict.fromkeys((*weighed, *(cell for trial in plan.trials for cell in trial.cells))))
    known = {text: OVERALL if text in weighed else metrics[Cell.parse(text).metric] for text in cells}
    if stop is None:
        return ()
    if len(plan.candidates) < 2:
        return ("one candidate leaves nothing to choose",)
    if stop.rule is StopRule.BUDGET:
        return tuple(_budget_faults(plan, stop, known.values()))
    lacking = [text for text, margin in cells.items() if known[text].signed and not margin]
    return tuple(f"{text} can be 0 or negative, so it needs a margin in decide" for text in lacking)


def _budget_faults(plan: Plan, stop: Stop, metrics: Collection[Metric]) -> Iterator[str]:
    costs, spend = launch_costs(plan), stop.spend
    if costs is None:
        yield "a price is unknown, so no launch can be weighed against the loss that it avoids"
    elif spend is None or any(one.currency != spend.currency for one in costs):
        yield "the spend is in another currency than the prices"
    if not log_prices_of(plan) or not any(one.is_work for one in metrics):
        yield "no measurement that decides is work for money: a rate, a score, or the time of a task"


_AHEAD = (0.10, 0.05, 0.02)
_MARKETS, _AT_ONCE = 200, 20_000


def to_decide(plan: Plan, cov: float) -> tuple[ToDecide, ...]:
    """Return the launches that the rule of a planned study would take, by how far the best is ahead of all others.

    Simulated studies of one deciding cell, with normal launches that vary by `cov`, from a fixed seed. Several cells
    that decide take at least as many: the one that is hardest to decide counts.
    """
    candidates = tuple(one.index for one in plan.candidates)
    count, sd = max(20, min(_MARKETS, _AT_ONCE // len(candidates) ** 2)), math.sqrt(math.log1p(cov**2))
    rule = _rule(plan, None, len(candidates), candidates, 1)
    found = []
    for ahead in _AHEAD:
        truth = np.where(np.arange(len(candidates)) == 0, 0.0, math.log1p(ahead))
        rng = np.random.default_rng(20101)
        played = play(rule, lambda _: truth + sd * rng.standard_normal((count, truth.size)), (count, truth.size),  # noqa: B023
                      plan.rounds)  # fmt: skip
        ended = played.ended != 0
        found.append(ToDecide(
            ahead, int(np.median(played.launches)), int(np.quantile(played.launches, 0.9)), float(ended.mean()),
            float((played.lead == 0).mean()),
        ))  # fmt: skip
    return tuple(found)


def came_back(dropped: Sequence[Dropped], measured: Collection[int], rounds: int) -> tuple[Dropped, ...]:
    """Return the dropped candidates; those that are measured again from a round on say so."""
    return tuple(
        replace(one, back=rounds) if one.back is None and one.candidate in measured else one for one in dropped
    )
