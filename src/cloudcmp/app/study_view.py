"""Loads everything that a study shows to its readers."""

import time
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from cloudcmp import analysis, compare, cost
from cloudcmp.analysis.facts import launch_facts, reported
from cloudcmp.analysis.levels import LaunchFacts
from cloudcmp.answer.outlook import outlooks
from cloudcmp.answer.selection import dropped_lines, end_lines
from cloudcmp.answer.words import in_words
from cloudcmp.app.command_uses import commands
from cloudcmp.app.other_prices import priced, with_note
from cloudcmp.catalog import metrics_with
from cloudcmp.execute.spending import budget_of, spend_of
from cloudcmp.model.metric import OVERALL, Metric, Reduce
from cloudcmp.model.pairs import Analysis
from cloudcmp.model.plan import Plan
from cloudcmp.model.price import Purchase
from cloudcmp.model.result import Estimate
from cloudcmp.model.steadiness import SteadinessView
from cloudcmp.model.trial import Attempt
from cloudcmp.model.values import SeriesLimits, StudyValues, TrialValues
from cloudcmp.model.view import View
from cloudcmp.provision import ACCOUNT
from cloudcmp.report.anonymity import anonymous
from cloudcmp.report.redaction import Pseudonyms, hidden, known_ids
from cloudcmp.report.words import CellNames
from cloudcmp.store import BLOCKS_ALLOWED, NO_ROUNDS, NO_TIMES, REPLICATION_UNKNOWN, StudyStore


def metrics_of(store: StudyStore) -> Mapping[str, Metric]:
    """The metrics of a study's cells: those of the catalog, and its own."""
    return metrics_with(store.plan.commands) | store.imported_metrics()


def pseudonyms(store: StudyStore) -> Pseudonyms:
    """The pseudonyms of a study's public addresses, accounts and machines."""
    leased = {one.cloud_id: one.kind for one in store.leases() if one.cloud_id and one.provider != "simulated"}
    return Pseudonyms(store.pseudonym_key(), known_ids(store.plan, {**leased, **_accounts(store)}))


def _accounts(store: StudyStore) -> dict[str, str]:
    """The accounts that a study used, and their endpoints."""
    stored = (store.meta(ACCOUNT + one) for one in store.plan.drivers)
    parts = [account.partition(" at ") for account in stored if account]
    named = {id: "account" for id, _, _ in parts if any(map(str.isdigit, id))}  # some clouds give no id
    return {**named, **{at: "endpoint" for _, _, at in parts if at}}


def view(
    folder: Path, *, reprice: bool = False, include_ids: bool = False, purchase: Purchase | None = None,
    terms: Path | None = None, drawn: bool = True, all_pairs: bool = False, allow_blocks: bool = False,
    steadiness: bool = False, anonymise: bool = False,
) -> View:  # fmt: skip
    """Return everything that a report shows about a study.

    `reprice` uses today's prices, `purchase` those of another way to buy, and `terms` a file with an account's terms:
    only figures of cost change, and the folder stays as it is. `drawn` includes the series and distributions that only
    figures show, and `steadiness` how steady the candidates are. `all_pairs` gives a verdict on every pair of many
    candidates, not only on each against the best, and `allow_blocks` also on sides of an imported table that were
    measured at different times, without rounds.
    Public addresses, account ids and instance ids are pseudonyms, unless `include_ids`. `anonymise` replaces the names
    of providers, regions and offerings as well.

    Raises UserMistake if the folder holds no study, or with every fault of the terms; CorruptStore if a file differs
    from what was acknowledged.
    """
    with StudyStore.open(folder, write=False) as store:
        plan = priced(noted(store), reprice=reprice, purchase=purchase, terms=terms)
        found = _view(store, plan, drawn=drawn, all_pairs=all_pairs, allow_blocks=allow_blocks,
                      steadiness=steadiness)  # fmt: skip
        found = replace(found, under=plan.terms if terms else None)
        found = found if include_ids else hidden(found, pseudonyms(store))
    return anonymous(found) if anonymise else found


@dataclass(frozen=True, slots=True)
class Measured:
    """What a study measured, before any comparison: its estimates with their cost, and what is known beside them.

    `values` are what figures show, `launch_facts` what is known of each launch; `spans` the times of measurement of an
    imported table that names all of them.
    """

    plan: Plan
    metrics: Mapping[str, Metric]
    attempts: tuple[Attempt, ...]
    interrupted: tuple[Attempt, ...]
    estimates: tuple[Estimate, ...]
    values: StudyValues
    launch_facts: LaunchFacts
    spans: Mapping[tuple[str, int], tuple[float, float]]
    replication_known: bool
    blocks_allowed: bool

    @property
    def facts(self) -> dict[int, dict[str, str]]:
        """The facts that comparisons compare, for each candidate."""
        return analysis.facts_of(self.plan, self.attempts)

    @property
    def marks(self) -> dict[tuple[str, int], tuple[str, ...]]:
        """What a reader must know beside any verdict, for each cell and candidate."""
        return analysis.marks(self.plan, self.estimates, self.attempts)

    @property
    def warnings(self) -> tuple[str, ...]:
        """What a reader must know of the whole study."""
        return (
            *_unfinished(self.plan, self.attempts),
            *end_lines(self.plan),
            *dropped_lines(self.plan),
            *analysis.name_warnings(self.plan),
            *analysis.quality(self.plan, self.attempts),
            *self.plan.quote.notes,
        )

    @classmethod
    def of(cls, store: StudyStore, plan: Plan, *, drawn: bool) -> "Measured":
        """Read what a study measured; `plan` is its own, perhaps at other prices."""
        metrics, attempts = metrics_of(store), store.attempts()
        totals = frozenset(name for name, metric in metrics.items() if metric.reduce is Reduce.TOTAL)
        measured = store.measured(totals, SeriesLimits(whole=(analysis.DELAY,)) if drawn else None)
        known = LaunchFacts(plan, launch_facts(plan, attempts) if attempts else (), _begun(store, plan))
        estimates = analysis.estimate(plan, measured.values, measured.histograms, metrics, known)
        if weighed := analysis.overall(plan, estimates, metrics):
            estimates, metrics = (*weighed, *estimates), {OVERALL.name: OVERALL, **metrics}
        return cls(
            plan,
            metrics,
            tuple(one for one in attempts if not one.interrupted),
            tuple(one for one in attempts if one.interrupted),
            cost.with_cost(plan, _without_rounds(store, estimates), metrics),
            measured,
            known,
            _spans(store, plan, measured.values),
            store.meta(REPLICATION_UNKNOWN) is None,
            store.meta(BLOCKS_ALLOWED) is not None,
        )


def noted(store: StudyStore) -> Plan:
    """The plan with a note if an imported table does not name its launches; comparisons show it as a mark."""
    plan = store.plan
    return plan if store.meta(REPLICATION_UNKNOWN) is None else with_note(plan, compare.REPLICATION_UNKNOWN)


def _without_rounds(store: StudyStore, estimates: tuple[Estimate, ...]) -> tuple[Estimate, ...]:
    """The estimates, with unknown rounds if the imported table names none, so that nothing is paired."""
    if store.meta(NO_ROUNDS) is None:
        return estimates
    return tuple(replace(one, rounds=(None,) * len(one.rounds)) for one in estimates)


def _view(store: StudyStore, plan: Plan, *, drawn: bool, all_pairs: bool, allow_blocks: bool, steadiness: bool) -> View:
    measured = Measured.of(store, plan, drawn=drawn)
    metrics, facts = measured.metrics, measured.facts
    found = compare.compare(
        plan, measured.estimates, metrics, facts, replication_known=measured.replication_known, marks=measured.marks,
        spans=measured.spans, blocks_allowed=measured.blocks_allowed or allow_blocks, all_pairs=all_pairs,
    )  # fmt: skip
    compared = Analysis(measured.estimates, found.pairs, found.winners, found.money, found.money_winners)
    return View(
        plan=plan,
        metrics=dict(metrics),
        analysis=with_answer(plan, compared, metrics),
        attempts=measured.attempts,
        series=measured.values.series,
        cdfs=analysis.cdfs(plan, measured.values.histograms) if drawn else (),
        scaling=analysis.scaling(plan, measured.estimates, measured.attempts),
        hosts=hosts_of(plan, measured.attempts),
        spend=spend_of(plan, store.lease_rows(), budget_of(store), time.time()),
        provenance=_provenance(store, plan),
        interruptions=(*_interruptions(plan, measured.interrupted), *_second_machines(store, plan)),
        commands=commands(plan),
        effects=compare.effects_of(plan, measured.estimates, measured.values.values, metrics),
        delivered=compare.delivered_of(plan, measured.estimates),
        co_location=compare.co_location_of(plan, measured.estimates),
        services=analysis.services(plan, measured.estimates, measured.attempts, measured.values.whole),
        warnings=(
            *measured.warnings,
            *analysis.bursts(plan, measured.values.series, metrics, cell_names(measured.estimates)),
            *analysis.late_rounds(plan, {one.launch: one.begun_at for one in reversed(store.launches())}),
        ),
        steadiness=_steadiness(measured) if steadiness else None,
        not_run=_not_run(plan, measured.attempts),
    )


def _begun(store: StudyStore, plan: Plan) -> Callable[[int], float | None]:
    """Tells when a launch began (Unix time); None if that is unknown."""
    if not plan.imported:
        return {one.launch: one.begun_at for one in store.launches()}.get
    known = store.meta(NO_TIMES) is None
    return lambda launch: plan.start_at + plan.launches[launch].start_s if known else None


def _steadiness(measured: Measured) -> SteadinessView:
    """How steady the candidates are in the deciding cells."""
    plan, estimates, metrics = measured.plan, measured.estimates, measured.metrics
    decide = compare.deciding(plan, dict.fromkeys(one.cell for one in estimates))
    figures = analysis.steadiness(
        plan, [one for one in estimates if one.cell in decide], metrics, measured.values.values, measured.launch_facts
    )
    return SteadinessView(figures, compare.steady_pairs(plan, estimates, metrics))


def _spans(store: StudyStore, plan: Plan, values: TrialValues) -> dict[tuple[str, int], tuple[float, float]]:
    """The time span of each cell and candidate of an imported table that names all times; rounds pair measured ones."""
    return analysis.spans(plan, values) if plan.imported and store.meta(NO_TIMES) is None else {}


def with_answer(plan: Plan, found: Analysis, metrics: Mapping[str, Metric]) -> Analysis:
    """The analysis with the rounds that would settle what is undecided, and with the answer in words."""
    winners = (*found.winners, *found.money_winners)
    open_ = outlooks(plan, found.estimates, found.comparisons, found.money, winners, metrics)
    found = replace(found, outlooks=open_)
    return replace(found, answer=in_words(plan, found, metrics, cell_names(found.estimates)))


def cell_names(estimates: Sequence[Estimate]) -> dict[str, str]:
    """The readable names of cells, for sentences and tables."""
    return _short_names(dict.fromkeys(one.cell for one in estimates))


def cell_names_of(plan: Plan) -> dict[str, str]:
    """The readable names of the cells of a plan."""
    return _short_names(dict.fromkeys((*(cell for trial in plan.trials for cell in trial.cells), OVERALL.name)))


def _short_names(cells: Collection[str]) -> dict[str, str]:
    names = CellNames(cells)
    return {cell: names.short(cell) for cell in cells}


def _provenance(store: StudyStore, plan: Plan) -> tuple[tuple[str, str], ...]:
    """The origin of the numbers: versions, seed, dates, digests; all dates of a simulated study are virtual."""
    virtual = " (virtual)" if plan.candidates and all(candidate.simulated for candidate in plan.candidates) else ""
    created = datetime.fromtimestamp(store.created_at, UTC).strftime("%Y-%m-%d %H:%M UTC") + virtual
    return (("study", plan.name), ("begun", created), ("seed", str(plan.seed)), *sorted(store.provenance.items()))


def _interruptions(plan: Plan, attempts: Sequence[Attempt]) -> tuple[str, ...]:
    """One line for each attempt that ended with the controller: it is run again, and is no failure of the candidate."""
    lines = []
    for attempt in attempts:
        trial = plan.trials[attempt.trial]
        launch = plan.launches[trial.launch]
        where = f"{plan.candidates[launch.candidate].id}, round {launch.round + 1}"
        lines.append(f"{where}: {trial.probe}, run {trial.run + 1}, was interrupted and run again")
    return tuple(lines)


def _second_machines(store: StudyStore, plan: Plan) -> tuple[str, ...]:
    """One line for each launch whose trials ran on several machines because the study was stopped within it."""
    times = Counter(record.launch for record in store.launches())
    return tuple(
        f"{plan.candidates[launch.candidate].id}, round {launch.round + 1}: {times[launch.index]} machines, one after "
        "another, because the study was stopped in between"
        for launch in plan.launches
        if times[launch.index] > 1
    )


def _not_run(plan: Plan, counted: Sequence[Attempt]) -> int:
    return 0 if plan.imported else len(plan.trials) - len({attempt.trial for attempt in counted})


def _unfinished(plan: Plan, counted: Sequence[Attempt]) -> tuple[str, ...]:
    missing = _not_run(plan, counted)
    if not missing:
        return ()
    return (f"{missing} of {len(plan.trials)} trials were not run yet: continue with 'cloudcmp run --resume DIR'",)


def hosts_of(plan: Plan, attempts: Sequence[Attempt]) -> tuple[tuple[int, tuple[tuple[str, str], ...]], ...]:
    """The facts about each candidate's machine."""
    return tuple((one.index, _host_facts(plan, attempts, one.index)) for one in plan.candidates)


def _host_facts(plan: Plan, attempts: Sequence[Attempt], candidate: int) -> tuple[tuple[str, str], ...]:
    """Facts about a candidate's machine as sorted text pairs, from its first launch whose agent reported them."""
    for attempt in attempts:
        if plan.launches[plan.trials[attempt.trial].launch].candidate == candidate:
            host = reported(attempt).get("host")
            if isinstance(host, dict) and host:
                return tuple(sorted(_pairs("", host)))
    return ()


def _pairs(prefix: str, value: Any) -> list[tuple[str, str]]:
    """A fact and those nested in it, each under its path; unknown facts are left out."""
    if isinstance(value, dict):
        return [pair for key, item in value.items() for pair in _pairs(f"{prefix}.{key}" if prefix else str(key), item)]
    if isinstance(value, list) and any(isinstance(item, dict | list) for item in value):
        return [pair for at, item in enumerate(value) for pair in _pairs(f"{prefix}.{at}", item)]
    if value is None:
        return []
    if isinstance(value, float):
        return [(prefix, f"{value:.6g}")]
    return [(prefix, ", ".join(str(item) for item in value) if isinstance(value, list) else str(value))]
