"""Adds rounds to the plan of a study that has ended, like those that it has, and takes unneeded ones away."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from cloudcmp.catalog import PROBES, metrics_with
from cloudcmp.errors import UserMistake
from cloudcmp.model.metric import When
from cloudcmp.model.plan import Candidate, Launch, Plan, PlannedTrial
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
    pattern = _Pattern.of(plan, host_of)
    launches, trials = list(plan.launches), list(plan.trials)
    for number in range(plan.rounds, plan.rounds + more):
        for launch in pattern.launches(plan, number, len(launches)):
            launches.append(launch)
            trials += pattern.trials(plan, launch, len(trials))
    expected_s = plan.quote.expected_s + more * pattern.round_s
    if plan.deadline_s is not None and expected_s > plan.deadline_s:
        what = f"the plan takes {format_seconds(expected_s)}, longer than {format_seconds(plan.deadline_s)}"
        raise UserMistake.at("--more", what, "add fewer rounds")
    rounds = plan.rounds + more
    return replace(
        plan,
        launches=tuple(launches),
        trials=tuple(trials),
        rounds=rounds,
        looks=(*plan.looks, len(plan.launches)),
        until=None,
        usage=tuple(replace(one, launches=rounds) for one in plan.usage),
        quote=replace(
            plan.quote,
            trials=len(trials),
            expected_s=expected_s,
            detectable=detectable_ratios(
                [cell for cell, _ in plan.quote.detectable],
                plan.candidates,
                rounds,
                metrics_with(plan.commands),
                len(plan.looks) + 1,
            ),
        ),
    )


def shortened(plan: Plan, rounds: int) -> Plan:
    """Return the plan with only its first rounds, after which it has ended; `cost` adds the money.

    Raises ValueError if trials of later rounds stand among earlier ones.
    """
    launches = tuple(one for one in plan.launches if one.round < rounds)
    trials = tuple(one for one in plan.trials if one.launch < len(launches))
    if launches != plan.launches[: len(launches)] or trials != plan.trials[: len(trials)]:
        raise ValueError("the rounds of this plan do not follow each other")
    note = f"it stopped after {rounds} of {plan.rounds} rounds, because every interval was tight enough"
    quote = replace(
        plan.quote,
        trials=len(trials),
        expected_s=plan.quote.expected_s * rounds / plan.rounds,
        notes=(*plan.quote.notes, note),
    )
    usage = tuple(replace(one, launches=rounds) for one in plan.usage)
    return replace(plan, launches=launches, trials=trials, rounds=rounds, usage=usage, quote=quote)


class _Pattern:
    """The first round of a plan: its candidates, the trials of a launch of each, and how long they take."""

    def __init__(self, candidates: Sequence[int], hosts: Sequence[str], trials: Sequence[Sequence[PlannedTrial]],
                 before_s: Sequence[float], launch_s: Sequence[float]) -> None:  # fmt: skip
        self._candidates, self._hosts = candidates, dict(zip(candidates, hosts, strict=True))
        self._trials = dict(zip(candidates, trials, strict=True))
        self._before_s = dict(zip(candidates, before_s, strict=True))
        self._launch_s = dict(zip(candidates, launch_s, strict=True))
        busy: dict[str, float] = {}
        for at in candidates:
            busy[self._hosts[at]] = busy.get(self._hosts[at], 0.0) + self._launch_s[at]
        self.round_s = max(busy.values(), default=0.0)

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

    def launches(self, plan: Plan, number: int, first: int) -> list[Launch]:
        """The launches of a round, in drawn order; those on one host follow each other."""
        order = list(self._candidates)
        generator(plan.seed, "order", number).shuffle(order)
        starts_s = number * self.round_s
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
