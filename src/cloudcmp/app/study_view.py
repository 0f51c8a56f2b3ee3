"""Loads everything that readers are shown of a study."""

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from cloudcmp import analysis, answer, compare, cost
from cloudcmp.analysis.facts import reported
from cloudcmp.app.command_uses import commands
from cloudcmp.app.other_prices import bought, under_terms
from cloudcmp.app.other_prices import reprice as repriced
from cloudcmp.app.plan import read_terms
from cloudcmp.catalog import metrics_with
from cloudcmp.execute.spending import budget_of, spend_of
from cloudcmp.model.metric import Metric, Reduce
from cloudcmp.model.pairs import Analysis
from cloudcmp.model.plan import Plan
from cloudcmp.model.price import Purchase
from cloudcmp.model.result import Estimate
from cloudcmp.model.trial import Attempt
from cloudcmp.model.values import SeriesLimits
from cloudcmp.model.view import View
from cloudcmp.provision import ACCOUNT
from cloudcmp.report.redaction import Pseudonyms, hidden, known_ids
from cloudcmp.report.words import CellNames
from cloudcmp.store import NO_ROUNDS, REPLICATION_UNKNOWN, StudyStore

_AT_LIST = "figures of cost take nothing off for the study's own terms: write them into a file for --terms"


def metrics_of(store: StudyStore) -> Mapping[str, Metric]:
    """The metrics of a study's cells: those of the catalog, and its own."""
    return metrics_with(store.plan.commands) | store.imported_metrics()


def pseudonyms(store: StudyStore) -> Pseudonyms:
    """The pseudonyms of a study's public addresses, accounts and machines."""
    leased = {one.cloud_id: one.kind for one in store.leases() if one.cloud_id and one.provider != "simulated"}
    return Pseudonyms(store.pseudonym_key(), known_ids(store.plan, {**leased, **_accounts(store)}))


def _accounts(store: StudyStore) -> dict[str, str]:
    """The accounts that a study used, and their endpoints."""
    stored = (store.meta(ACCOUNT + one) for one in {candidate.runner for candidate in store.plan.candidates})
    parts = [account.partition(" at ") for account in stored if account]
    named = {id: "account" for id, _, _ in parts if any(map(str.isdigit, id))}  # some clouds give no id
    return {**named, **{at: "endpoint" for _, _, at in parts if at}}


def view(
    folder: Path, *, reprice: bool = False, include_ids: bool = False, purchase: Purchase | None = None,
    terms: Path | None = None, drawn: bool = True,
) -> View:  # fmt: skip
    """Everything that a report shows of a study.

    `reprice` uses today's prices, `purchase` those of another way to buy, and `terms` a file with an account's terms:
    only figures of cost change, and the folder stays as it is. `drawn` includes the series and distributions that only
    figures show. Public addresses, account ids and instance ids are pseudonyms, unless `include_ids`.

    Raises UserMistake if the folder holds no study, or with every fault of the terms; CorruptStore if a file differs
    from what was acknowledged.
    """
    own = read_terms(terms) if terms else None
    with StudyStore.open(folder, write=False) as store:
        plan = _noted(store, repriced(store.plan) if reprice else store.plan)
        plan = replace(plan, terms=own) if own is not None else plan
        plan = bought(plan, purchase) if purchase else plan
        plan = under_terms(plan, terms.name, purchase) if terms else plan
        if plan.terms and not terms:
            plan = _with_note(plan, _AT_LIST)
        found = replace(_view(store, plan, metrics_of(store), drawn=drawn), under=own)
        return found if include_ids else hidden(found, pseudonyms(store))


def _noted(store: StudyStore, plan: Plan) -> Plan:
    """The plan with a note if an imported table does not name its launches; comparisons show it as a mark."""
    return plan if store.meta(REPLICATION_UNKNOWN) is None else _with_note(plan, compare.REPLICATION_UNKNOWN)


def _with_note(plan: Plan, note: str) -> Plan:
    return replace(plan, quote=replace(plan.quote, notes=(*plan.quote.notes, note)))


def _without_rounds(store: StudyStore, estimates: tuple[Estimate, ...]) -> tuple[Estimate, ...]:
    """The estimates, with unknown rounds if the imported table names none, so that nothing is paired."""
    if store.meta(NO_ROUNDS) is None:
        return estimates
    return tuple(replace(one, rounds=(None,) * len(one.rounds)) for one in estimates)


def _view(store: StudyStore, plan: Plan, metrics: Mapping[str, Metric], *, drawn: bool) -> View:
    attempts = store.attempts()
    counted = tuple(attempt for attempt in attempts if not attempt.interrupted)
    totals = frozenset(name for name, metric in metrics.items() if metric.reduce is Reduce.TOTAL)
    measured = store.measured(totals, SeriesLimits() if drawn else None)
    estimates = analysis.estimate(plan, measured.values, measured.histograms, metrics)
    estimates = cost.with_cost(plan, _without_rounds(store, estimates), metrics)
    facts = analysis.facts_of(plan, counted)
    comparisons, winners = compare.compare(
        plan, estimates, metrics, facts, replication_known=store.meta(REPLICATION_UNKNOWN) is None
    )
    words = answer.in_words(plan, estimates, comparisons, winners, metrics, cell_names(estimates))
    return View(
        plan=plan,
        metrics=dict(metrics),
        analysis=Analysis(estimates, comparisons, winners, words),
        attempts=counted,
        series=measured.series,
        cdfs=analysis.cdfs(plan, measured.histograms) if drawn else (),
        scaling=analysis.scaling(plan, estimates, counted),
        hosts=tuple((at, _host_facts(plan, counted, at)) for at in sorted(facts)),
        spend=spend_of(plan, store.lease_rows(), budget_of(store), time.time()),
        provenance=_provenance(store, plan),
        interruptions=(*_interruptions(plan, attempts), *_second_machines(store, plan)),
        commands=commands(plan),
        warnings=(*_unfinished(plan, counted), *plan.quote.notes, *analysis.quality(plan, counted)),
    )


def cell_names(estimates: Sequence[Estimate]) -> dict[str, str]:
    """The readable names of cells, for sentences and tables."""
    names = CellNames(one.cell for one in estimates)
    return {one.cell: names.short(one.cell) for one in estimates}


def _provenance(store: StudyStore, plan: Plan) -> tuple[tuple[str, str], ...]:
    """The origin of the numbers: versions, seed, dates, digests; all dates of a simulated study are virtual."""
    virtual = " (virtual)" if plan.candidates and all(candidate.simulated for candidate in plan.candidates) else ""
    created = datetime.fromtimestamp(store.created_at, UTC).strftime("%Y-%m-%d %H:%M UTC") + virtual
    return (("study", plan.name), ("begun", created), ("seed", str(plan.seed)), *sorted(store.provenance.items()))


def _interruptions(plan: Plan, attempts: Sequence[Attempt]) -> tuple[str, ...]:
    """One line for each attempt that ended with the controller: it is run again, and is no failure of the candidate."""
    lines = []
    for attempt in attempts:
        if attempt.interrupted:
            trial = plan.trials[attempt.trial]
            launch = plan.launches[trial.launch]
            where = f"{plan.candidates[launch.candidate].id}, round {launch.round + 1}"
            lines.append(f"{where}: {trial.probe}, run {trial.run + 1}, was cut short and run again")
    return tuple(lines)


def _second_machines(store: StudyStore, plan: Plan) -> tuple[str, ...]:
    """One line for each launch whose trials ran on several machines because the study was stopped within it."""
    times = Counter(record.launch for record in store.launches())
    return tuple(
        f"{plan.candidates[launch.candidate].id}, round {launch.round + 1}: {times[launch.index]} machines, one after "
        "another, because the study was stopped on the way"
        for launch in plan.launches
        if times[launch.index] > 1
    )


def _unfinished(plan: Plan, counted: Sequence[Attempt]) -> tuple[str, ...]:
    missing = len(plan.trials) - len({attempt.trial for attempt in counted})
    if plan.imported or not missing:
        return ()
    return (f"{missing} of {len(plan.trials)} trials were not run yet: go on with 'cloudcmp run --resume DIR'",)


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
