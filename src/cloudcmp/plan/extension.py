"""Changes the rounds of a plan that have not begun: adds some like those that it has, or takes unneeded ones away."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace

from cloudcmp.catalog import PROBES, metrics_with
from cloudcmp.errors import UserMistake
from cloudcmp.model.metric import When
from cloudcmp.model.plan import Candidate, Launch, Plan, PlannedTrial
from cloudcmp.model.study import FEWEST_LAUNCHES
from cloudcmp.plan.planner import detectable_ratios
from cloudcmp.plan.trials import generator, seed_of
from cloudcmp.units import format_seconds

MOST_ROUNDS = 10_000
_PHASES = (When.ARRIVAL, When.DURING, When.LAST, When.RELEASE)


def with_more_rounds(plan: Plan, more: int, host_of: Callable[[Candidate], str]) -> Plan:
    """Return the plan with `more` further rounds and the number of launches that were seen before as a look.

    The added launches have the trials of the first round, in an order drawn from the study's seed, and follow the last
    round. `host_of` names the machine that a candidate shares with others. The quote has the trials and the time of the
    longer plan; `cost` adds the money.

    Raises UserMistake for a study with sessions or a fixed interval between rounds, whose next times nobody has chosen,
    and if the longer plan exceeds the study's deadline.
    """
    if plan.sessions or plan.every_s is not None:
        what = "the rounds of this study have times of their own, and no further ones"
        raise UserMistake.at("--more", what, "plan another study with more launches")
    if not 1 <= more <= MOST_ROUNDS:
        raise UserMistake.at("--more", f"{more} is no number of rounds", f"write 1 to {MOST_ROUNDS}")
    measured = still_measured(plan)
    pattern = _Pattern.of(plan, host_of)
    launches, trials = pattern.after(plan, range(plan.rounds, plan.rounds + more), measured)
    expected_s = plan.quote.expected_s + more * pattern.round_s(measured)
    if plan.deadline_s is not None and expected_s > plan.deadline_s:
        what = f"the plan takes {format_seconds(expected_s)}, longer than {format_seconds(plan.deadline_s)}"
        raise UserMistake.at("--more", what, "add fewer rounds")
    rounds = plan.rounds + more
    # An open rule is asked after the added rounds too; one that is done is not, nor is `until`.
    goes_on = plan.stop is not None and plan.ended is None
    return _with_usage(
        replace(
            plan,
            launches=tuple(launches),
            trials=tuple(trials),
            rounds=rounds,
            looks=(*plan.looks, len(plan.launches)),
            until=None,
            checks=tuple(range(FEWEST_LAUNCHES, rounds + 1)) if goes_on else plan.checks,
            quote=replace(
                plan.quote,
                expected_s=expected_s,
                detectable=detectable_ratios(
                    [cell for cell, _ in plan.quote.detectable],
                    plan.candidates,
                    rounds,
                    metrics_with(plan.commands),
                    len(plan.looks) + 1,
                    every_look=plan.stop is not None,
                ),
            ),
        )
    )


def shortened(plan: Plan, rounds: int) -> Plan:
    """Return the plan with only its first rounds, after which it has ended; `cost` adds the money.

    Raises ValueError if trials of later rounds stand among earlier ones.
    """
    launches, trials = _first_rounds(plan, rounds)
    expected_s = plan.quote.expected_s * rounds / plan.rounds
    shorter = replace(plan, launches=launches, trials=trials, rounds=rounds)
    return _with_usage(replace(shorter, quote=replace(plan.quote, expected_s=expected_s)))


def with_measured(plan: Plan, rounds: int, measured: Collection[int], host_of: Callable[[Candidate], str]) -> Plan:
    """Return the plan whose rounds after the first `rounds` measure only these candidates; `cost` adds the money.

    Raises ValueError if trials of later rounds stand among earlier ones.
    """
    before, trials_before = _first_rounds(plan, rounds)
    pattern = _Pattern.of(plan, host_of)
    shorter = replace(plan, launches=before, trials=trials_before)
    launches, trials = pattern.after(shorter, range(rounds, plan.rounds), measured)
    whole_s = plan.quote.expected_s
    if plan.every_s is None:
        whole_s += (plan.rounds - rounds) * (pattern.round_s(measured) - pattern.round_s(still_measured(plan)))
    quote = replace(plan.quote, expected_s=whole_s)
    return _with_usage(replace(plan, launches=tuple(launches), trials=tuple(trials), quote=quote))


def still_measured(plan: Plan) -> frozenset[int]:
    """Return the candidates of the last round: those that no rule has dropped."""
    return frozenset(one.candidate for one in plan.launches if one.round == plan.rounds - 1)


def _first_rounds(plan: Plan, rounds: int) -> tuple[tuple[Launch, ...], tuple[PlannedTrial, ...]]:
    launches = tuple(one for one in plan.launches if one.round < rounds)
    trials = tuple(one for one in plan.trials if one.launch < len(launches))
    if launches != plan.launches[: len(launches)] or trials != plan.trials[: len(trials)]:
        raise ValueError("the rounds of this plan do not follow each other")
    return launches, trials


def _with_usage(plan: Plan) -> Plan:
    """Return the plan with the number of its launches of each candidate, and of its trials."""
    counts = Counter(one.candidate for one in plan.launches)
    usage = tuple(replace(one, launches=counts[one.candidate]) for one in plan.usage)
    return replace(plan, usage=usage, quote=replace(plan.quote, trials=len(plan.trials)))


class _Pattern:
    """The first round of a plan: its candidates, the trials of a launch of each, and how long they take."""

    def __init__(self, candidates: Sequence[int], hosts: Sequence[str], trials: Sequence[Sequence[PlannedTrial]],
                 before_s: Sequence[float], launch_s: Sequence[float]) -> None:  # fmt: skip
        self._candidates, self._hosts = candidates, dict(zip(candidates, hosts, strict=True))
        self._trials = dict(zip(candidates, trials, strict=True))
        self._before_s = dict(zip(candidates, before_s, strict=True))
        self._launch_s = dict(zip(candidates, launch_s, strict=True))

    def round_s(self, measured: Collection[int]) -> float:
        """The length of a round of some candidates: that of its busiest host."""
        busy: dict[str, float] = {}
        for at in measured:
            busy[self._hosts[at]] = busy.get(self._hosts[at], 0.0) + self._launch_s[at]
        return max(busy.values(), default=0.0)

    @classmethod
    def of(cls, plan: Plan, host_of: Callable[[Candidate], str]) -> "_Pattern":
        first = sorted((one for one in plan.launches if one.round == 0), key=lambda one: one.candidate)
        by_launch: dict[int, list[PlannedTrial]] = {one.index: [] for one in first}
        for trial in plan.trials:
            if trial.launch in by_launch:
                by_launch[trial.launch].append(trial)
        trials = [sorted(by_launch[one.index], key=_task_key) for one in first]
        during = [[one for one in some if PROBES[one.probe].when is not When.ARRIVAL] for some in trials]
        before = [
            min((one.start_s for one in some), default=launch.start_s) - launch.start_s
            for some, launch in zip(during, first, strict=True)
        ]
        lengths = [start + sum(one.expected_s for one in some) for start, some in zip(before, during, strict=True)]
        candidates = [one.candidate for one in first]
        return cls(candidates, [host_of(plan.candidates[at]) for at in candidates], trials, before, lengths)

    def after(
        self, plan: Plan, numbers: Iterable[int], measured: Collection[int]
    ) -> tuple[list[Launch], list[PlannedTrial]]:
        """The launches and trials of a plan, and those of further rounds of some candidates."""
        launches, trials = list(plan.launches), list(plan.trials)
        for number in numbers:
            for launch in self.launches(plan, number, len(launches), measured):
                launches.append(launch)
                trials += self.trials(plan, launch, len(trials))
        return launches, trials

    def launches(self, plan: Plan, number: int, first: int, measured: Collection[int]) -> list[Launch]:
        """The launches of a round, in drawn order; those on one host follow each other."""
        order = [at for at in self._candidates if at in measured]
        generator(plan.seed, "order", number).shuffle(order)
        starts_s = number * (self.round_s(self._candidates) if plan.every_s is None else plan.every_s)
        free: dict[str, float] = {}
        launches: list[Launch] = []
        for at in order:
            start = free.get(self._hosts[at], starts_s)
            free[self._hosts[at]] = start + self._launch_s[at]
            seed = seed_of(plan.seed, "launch", at, number)
            launches.append(Launch(first + len(launches), at, number, None, start, seed))
        return launches

    def trials(self, plan: Plan, launch: Launch, first: int) -> list[PlannedTrial]:
        """The trials of a launch, phase by phase; those among others are shuffled."""
        pattern = self._trials[launch.candidate]
        during = [one for one in pattern if PROBES[one.probe].when is When.DURING]
        generator(plan.seed, "trials", launch.index).shuffle(during)
        phases = {When.DURING: during}
        ordered = [
            one
            for phase in _PHASES
            for one in phases.get(phase, [one for one in pattern if PROBES[one.probe].when is phase])
        ]
        start_s = launch.start_s + self._before_s[launch.candidate]
        trials: list[PlannedTrial] = []
        for index, one in enumerate(ordered, first):
            arrives = PROBES[one.probe].when is When.ARRIVAL
            own_start_s = launch.start_s if arrives else start_s
            seed = seed_of(plan.seed, "trial", index)
            trials.append(replace(one, index=index, launch=launch.index, start_s=own_start_s, seed=seed))
            start_s += 0.0 if arrives else one.expected_s
        return trials


def _task_key(one: PlannedTrial) -> tuple[str, tuple[tuple[str, str], ...], int]:
    return one.probe, one.params, one.run
