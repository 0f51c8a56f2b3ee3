"""Makes a plan from a study: all decisions before the first trial."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import filterfalse

from cloudcmp.catalog import metrics_with
from cloudcmp.errors import UserMistake
from cloudcmp.model.cast import LOOPBACK, ServiceKind, path_key, traffic_path
from cloudcmp.model.metric import OVERALL, Metric
from cloudcmp.model.plan import LEASE_MARGIN_S, Candidate, LaunchUsage, Plan, Quote, Traffic
from cloudcmp.model.study import FEWEST_LAUNCHES, CandidateSpec, Caps, Decide, Study
from cloudcmp.plan import traffic
from cloudcmp.plan.candidate_tasks import local_tasks, tasks_by_candidate
from cloudcmp.plan.candidates import LOCAL, OfferingsOf, PricedBy, only_name_known, resolve, unpriced
from cloudcmp.plan.cast import kinds_of
from cloudcmp.plan.path_checks import path_notes
from cloudcmp.plan.resize_target import unknown_price_notes
from cloudcmp.plan.schedule import rounds_of
from cloudcmp.plan.service_use import service_use
from cloudcmp.plan.tasks import Task, loopback_tasks, short_tasks, tasks_of
from cloudcmp.plan.traffic import caps_of, expected_bytes, machines, most_bytes
from cloudcmp.plan.trials import RoundTasks, launches_of, trials_of
from cloudcmp.plan.truth import with_truth
from cloudcmp.plan.vantages import admission_notes, vantage_in, vantages_of
from cloudcmp.units import format_seconds

MAX_TRIALS = 1_000_000
_SHORT_LAUNCHES = 2
# The CoV between launches that a plan assumes before any measurement; published clouds show 1 to 10 %.
ASSUMED_COV = 0.05
_ALPHA = 0.05
_POWER = 0.8


def make(
    study: Study,
    *,
    offerings_of: OfferingsOf,
    host_of: Callable[[Candidate], str],
    free: Callable[[Candidate], bool] = lambda _: False,
    priced: PricedBy = unpriced,
    on: str | None = None,
    short: bool = False,
    start_at: float,
) -> Plan:
    """The plan of a study, in quantities; `cost` adds the money.

    `offerings_of(provider, region)` returns a provider's offerings, () if the provider cannot be queried; `host_of`
    names the machine that a candidate shares with others; `free` returns whether a candidate's runner bills nothing;
    `priced` adds prices that neither the study nor the provider gives. `on` is the provider that stands in for all
    (`simulated`, `local`). `short` takes one run at the smallest sizes in at most two rounds that follow each other.
    `start_at` is the Unix time at which the plan begins. Raises UserMistake with one line for each candidate or task
    that is not available or does not fit.
    """
    notes: list[str] = []
    if short:
        launches = min(study.launches, _SHORT_LAUNCHES)
        study = replace(study, launches=launches, runs=1, sessions=(), every_s=None, for_s=None)
        notes.append(
            "short: one run, two rounds at most, no sessions, the smallest sizes; larger sizes are left out, and what "
            "takes long is made smaller, which its cells say"
        )
    specs = _without_services(study, notes) if on == LOCAL else study.candidates
    resolved = [_priced(one, priced) for one in resolve(specs, offerings_of, on)]
    notes += [f"price unknown: {line}" for line in dict.fromkeys(line for _, lines in resolved for line in lines)]
    candidates = tuple(one for one, _ in resolved)
    tasks = _tasks(study, candidates, on, short, notes)
    cells = tuple(dict.fromkeys(cell for task in tasks for cell in task.cells))
    commands = tuple(task.own for task in tasks if task.own)
    metrics = metrics_with(commands)
    vantages = vantages_of(study.vantages, tasks, candidates, offerings_of)
    points = tuple(one.point for one in vantages)
    candidates = with_truth(candidates, cells, study.seed, metrics, points)
    round_tasks = RoundTasks(
        candidates, tuple(map(host_of, candidates)), tasks_by_candidate(candidates, tasks, offerings_of)
    )
    notes += traffic.traffic_notes(candidates, round_tasks.tasks, study.caps)
    notes += traffic.extra_machine_notes(candidates, round_tasks.tasks)
    notes += path_notes(candidates, round_tasks.tasks)
    notes += admission_notes(candidates, round_tasks.tasks, vantages)
    notes += [
        f"{one.id}: its price an hour is that of the machine that asks, which no figure of the service counts"
        for one in candidates
        if one.service and one.offering.price
    ]
    for one in () if on else filterfalse(free, candidates):
        notes += unknown_price_notes(one, (task.becomes for task in round_tasks.of(one) if task.becomes))
    rounds = rounds_of(study, round_tasks.round_s(), start_at)
    trials_in_all = round_tasks.trials * len(rounds)
    if trials_in_all > MAX_TRIALS:
        raise UserMistake.at("study", f"{trials_in_all} trials are more than {MAX_TRIALS}", "split the study")
    planned = launches_of(round_tasks, rounds, study.seed)
    decide = _still_deciding(study.decide, cells, metrics, notes)
    weights = _still_weighed(study.weights, cells, notes)
    if weights and decide:
        decide = (Decide("", OVERALL.name), *decide)
    usage = usage_of(round_tasks, len(rounds), study.caps)
    notes += traffic.bytes_notes(candidates, usage, study.caps)
    checks, end_s = checks_of(study, len(rounds)), rounds[-1].start_s + round_tasks.round_s()
    return Plan(
        name=study.name,
        question=study.question,
        candidates=candidates,
        launches=planned,
        trials=trials_of(planned, round_tasks, study.seed),
        decide=decide,
        every_s=study.every_s,
        sessions=study.sessions,
        rounds=len(rounds),
        runs=study.runs,
        seed=study.seed,
        start_at=start_at,
        quote=_quote(study, round_tasks, end_s, len(rounds), decide, checks, notes),
        budget=study.budget,
        caps=study.caps,
        deadline_s=study.deadline_s,
        weights=weights,
        until=study.until,
        checks=checks,
        stop=study.stop,
        short=short,
        usage=usage,
        terms=study.terms,
        commands=commands,
        vantages=vantages,
    )


def _priced(candidate: Candidate, priced: PricedBy) -> tuple[Candidate, tuple[str, ...]]:
    """The candidate with listed prices in each of its regions, and a line for each unknown price."""
    near, lines = priced(candidate)
    if near.far is None:
        return near, lines
    far, more = priced(near.far)
    return replace(near, far=far), (*lines, *more)


def _without_services(study: Study, notes: list[str]) -> tuple[CandidateSpec, ...]:
    """The candidates that this machine can stand in for, or asks already; raises UserMistake if there are none."""
    machines = tuple(one for one in study.candidates if one.service is None or (one.from_place or "")[:1] == (LOCAL,))
    if not machines:
        raise UserMistake.at("--on local", "this machine cannot stand in for a service", "use --on simulated")
    left_out = len(study.candidates) - len(machines)
    notes += [f"left out: {left_out} services, for which this machine cannot stand in"] if left_out else []
    return machines


def _tasks(
    study: Study, candidates: Sequence[Candidate], on: str | None, short: bool, notes: list[str]
) -> tuple[Task, ...]:
    """The tasks of each launch that the runner can do; adds notes on those left out."""
    tasks = tasks_of(study.probes, study.runs)
    local = any(one.runner == LOCAL and not _is_endpoint(one) for one in candidates)
    if on == LOCAL:
        had = {one.service.kind for one in candidates if one.service}
        if asked := dict.fromkeys(task.probe for task in tasks if {*kinds_of(task.probe, dict(task.params))} - had):
            missing_services = f"this machine has no such service: {', '.join(asked)}"
            notes.append(f"left out: {missing_services}")
            tasks = tuple(task for task in tasks if task.probe not in asked)
            if not tasks:
                raise UserMistake.at("--on local", missing_services, "use --on simulated")
        tasks, absent = local_tasks(tasks)
        if absent:
            notes.append(f"left out: this machine cannot do it to itself: {', '.join(absent)}")
        if any(traffic.between_machines(task) for task in tasks):
            tasks = loopback_tasks(tasks)
            notes.append("network probes go over loopback on this machine: they say nothing of a network")
        if any(map(vantage_in, tasks)):
            notes.append("pages are served by this machine: they say nothing of how far the candidates are")
    elif local:
        _refuse_paths(tasks)
    if any(candidate.runner != candidate.offering.provider for candidate in candidates):
        notes.append(f"{on} stands in for every candidate: the numbers are not those of the clouds that are named")
    if on is None:
        unknown = (f"{one.offering.provider} {one.offering.name}" for one in candidates if only_name_known(one))
        notes += [f"{name}: nothing is known of this offering but its name" for name in dict.fromkeys(unknown)]
    return short_tasks(tasks) if short else tasks


def _is_endpoint(one: Candidate) -> bool:
    return one.service is not None and one.service.kind is ServiceKind.HTTP


def _refuse_paths(tasks: Sequence[Task]) -> None:
    """Raise UserMistake for a path between machines: one machine has no network between its agents."""
    for task in tasks:
        if traffic.between_machines(task):
            params = dict(task.params)
            key = path_key(params)
            what = f"{key}: {params[key]} cannot be measured on one machine"
            raise UserMistake.at(f"probe {task.probe}", what, f"write {key}: {LOOPBACK}, or take another provider")


def _still_deciding(
    decide: Sequence[Decide], cells: Sequence[str], metrics: Mapping[str, Metric], notes: list[str]
) -> tuple[Decide, ...]:
    """The cells that decide and are measured; adds notes on those left out."""
    known = {*cells, *(cell.partition(" ")[0] for cell in cells)}
    left = tuple(one for one in decide if one.cell in known)
    gone = [one.cell for one in decide if one.cell not in known]
    if gone:
        notes.append(f"left out of what should decide: {gone[0]}{f' and {len(gone) - 1} more' if gone[1:] else ''}")
    if gone and not left:
        notes.append("no cell that should decide is left: every cell decides")
    for one in left:
        if metrics[one.cell.partition(" ")[0]].signed and one.margin is None:
            notes.append(f"{one.cell} has no margin: nothing can be practically the same in it")
    return left


def _still_weighed(
    weights: Sequence[tuple[str, float]], cells: Sequence[str], notes: list[str]
) -> tuple[tuple[str, float], ...]:
    """The weights of what is measured; adds a note on all, because they are the study's choice and no measurement."""
    known = {*cells, *(cell.partition(" ")[0] for cell in cells)}
    left = tuple((text, weight) for text, weight in weights if text in known)
    if left:
        notes.append(
            f"overall weighs {', '.join(f'{text} by {weight:g}' for text, weight in left)}: the study's choice"
        )
    if len(left) < len(weights):
        notes.append(f"left out of what is weighed: {', '.join(text for text, _ in weights if text not in known)}")
    return left


def _quote(
    study: Study,
    round_tasks: RoundTasks,
    end_s: float,
    rounds: int,
    decide: Sequence[Decide],
    checks: Sequence[int],
    notes: list[str],
) -> Quote:
    if study.deadline_s is not None and end_s > study.deadline_s:
        what = f"the plan takes {format_seconds(end_s)}, longer than {format_seconds(study.deadline_s)}"
        raise UserMistake.at("deadline", what, "write a later deadline, fewer launches or fewer probes")
    if rounds < FEWEST_LAUNCHES and len(round_tasks.candidates) > 1:
        notes.append(f"fewer than {FEWEST_LAUNCHES} rounds: no verdict will be given")
    deciding = _deciding_cells(decide, round_tasks.all_tasks)
    metrics = metrics_with(task.own for task in round_tasks.all_tasks if task.own)
    every_look = study.stop is not None
    return Quote(
        trials=round_tasks.trials * rounds,
        expected_s=end_s,
        expected_cost=None,
        worst_cost=None,
        detectable=detectable_ratios(
            deciding, round_tasks.candidates, rounds, metrics, stops=len(checks) + 1, every_look=every_look
        ),
        assumed_cov=ASSUMED_COV,
        notes=tuple(notes),
    )


def _deciding_cells(decide: Sequence[Decide], tasks: Sequence[Task]) -> tuple[str, ...]:
    """The cells that decide: those that are named or whose metric is, or all if none is named."""
    cells = dict.fromkeys(cell for task in tasks for cell in task.cells)
    named = {one.cell for one in decide}
    return tuple(cell for cell in cells if not named or cell in named or cell.partition(" ")[0] in named)


def detectable_ratios(
    cells: Sequence[str],
    candidates: Sequence[Candidate],
    rounds: int,
    metrics: Mapping[str, Metric],
    look: int = 0,
    stops: int = 1,
    every_look: bool = False,
) -> tuple[tuple[str, float], ...]:
    """For each deciding cell the smallest true difference (a ratio - 1) that is found with 80 % power.

    The paired t test over rounds on log launch values, at Holm's first step (0.05 / questions) and the error that a
    `look` may spend (the first one at one of `stops` moments), or at the evidence of a study with a rule, which holds
    at `every_look`; for launches that vary by `ASSUMED_COV`. The questions
    are all pairs in all cells, and once more by work for money where prices are known. Cells compared by differences
    have no ratio and are left out; so is all with fewer than two candidates or six rounds, which give no verdict.
    """
    # scipy takes a third of a second to import: only a quote pays for it.
    from cloudcmp.stats.evidence import fixed_level
    from cloudcmp.stats.looks import share_of_look
    from cloudcmp.stats.power import detectable_log_difference

    questions = len(cells) * _pairs(len(candidates))
    if not questions or rounds < FEWEST_LAUNCHES:
        return ()
    priced = [one.offering.price for one in candidates if one.offering.price is not None and not one.service]
    if len({price.currency for price in priced}) == 1:
        questions += _pairs(len(priced)) * sum(metrics[cell.partition(" ")[0]].is_work for cell in cells)
    sd = math.sqrt(2 * math.log1p(ASSUMED_COV**2))
    level = _ALPHA / questions * (1.0 if every_look else share_of_look(look, stops))
    level = fixed_level(rounds, level) if every_look else level
    difference = detectable_log_difference(sd, rounds, level, _POWER) if level > 0.0 else None
    if difference is None:
        return ()
    ratio = math.expm1(difference)
    return tuple((cell, ratio) for cell in cells if not metrics[cell.partition(" ")[0]].signed)


def checks_of(study: Study, rounds: int) -> tuple[int, ...]:
    """The numbers of rounds after which a study may stop early; all are enough for a verdict.

    With `until`, a third and two thirds; with a rule, every number, and the last one, so that the end is told.
    """
    if study.stop is not None:
        return tuple(range(FEWEST_LAUNCHES, rounds + 1))
    if study.until is None:
        return ()
    thirds = (max(FEWEST_LAUNCHES, math.ceil(part * rounds / 3)) for part in (1, 2))
    return tuple(sorted({one for one in thirds if one < rounds}))


def _pairs(count: int) -> int:
    return count * (count - 1) // 2


TIMER_S = 60.0
"""The longest delay of a machine's own timer after its time to live."""


def usage_of(round_tasks: RoundTasks, rounds: int, caps: Caps) -> tuple[LaunchUsage, ...]:
    """The usage of each candidate's launches.

    A lease is the one that a run requests: all deadlines of a launch's trials and `LEASE_MARGIN_S`. Does not count the
    second machine of an interrupted launch when a study is resumed.
    """
    return tuple(_launch_usage(round_tasks, one, rounds, caps) for one in round_tasks.candidates)


def _launch_usage(round_tasks: RoundTasks, candidate: Candidate, rounds: int, caps: Caps) -> LaunchUsage:
    tasks = round_tasks.of(candidate)
    resized = [task for task in tasks if task.becomes]
    return LaunchUsage(
        candidate=candidate.index,
        launches=rounds,
        machines=machines(candidate, tasks),
        expected_s=round_tasks.launch_s(candidate),
        worst_s=sum(task.deadline_s * task.runs for task in tasks) + LEASE_MARGIN_S + TIMER_S,
        starts=sum(task.runs for task in resized),
        becomes=tuple(task.becomes for task in resized if task.becomes),
        after_s=sum(task.expected_s * task.runs for task in resized),
        traffic=_traffic(candidate, tasks, caps),
        service=service_use(candidate, tasks),
    )


def _traffic(candidate: Candidate, tasks: Sequence[Task], caps: Caps) -> tuple[Traffic, ...]:
    """The traffic between the machines of a launch, by path; empty if they are simulated."""
    if candidate.simulated:
        return ()
    by_path: dict[str, Traffic] = {}
    allowed = caps_of(caps, candidate.runner)
    for task in tasks:
        params = dict(task.params)
        path = traffic_path(params, single=candidate.runner in traffic.ALONE)
        if path == LOOPBACK or task.by_controller:
            continue
        had = by_path.get(path, Traffic(path, 0, 0))
        expected = expected_bytes(allowed, task.probe, params, candidate) * task.runs
        most = most_bytes(allowed, task.probe, params) * task.runs
        if caps.bytes is not None:
            expected, most = min(expected, caps.bytes), min(most, caps.bytes)
        by_path[path] = Traffic(path, had.expected_bytes + expected, had.most_bytes + most)
    return tuple(by_path.values())
