"""From a study's folder to what a reader is shown."""

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from cloudcmp import analysis, answer, compare, cost
from cloudcmp.analysis.facts import reported
from cloudcmp.app.command_uses import commands, commands_as_data
from cloudcmp.app.other_prices import bought, under_terms
from cloudcmp.app.other_prices import reprice as repriced
from cloudcmp.app.plan import read_terms
from cloudcmp.catalog import hint, metrics_with
from cloudcmp.errors import UserMistake
from cloudcmp.execute.spending import budget_of, spend_of
from cloudcmp.model.metric import Metric, Reduce
from cloudcmp.model.plan import Candidate, Plan
from cloudcmp.model.price import Purchase
from cloudcmp.model.result import Analysis, Estimate
from cloudcmp.model.trial import Attempt
from cloudcmp.model.values import Drawn
from cloudcmp.model.view import View
from cloudcmp.owned_folder import FOR_ALL, OwnedPath, write_whole
from cloudcmp.provision import ACCOUNT
from cloudcmp.report.redaction import Pseudonyms, hidden, known_ids
from cloudcmp.report.words import CellNames
from cloudcmp.store import NO_ROUNDS, REPLICATION_UNKNOWN, StudyStore
from cloudcmp.store.output_files import check_replaceable

_AT_LIST = "figures of cost take nothing off for the study's own terms: write them into a file for --terms"


def metrics_of(store: StudyStore) -> Mapping[str, Metric]:
    """The metrics that a study's cells belong to: the table's, and those that it brought along."""
    return metrics_with(store.plan.commands) | store.imported_metrics()


def pseudonyms(store: StudyStore) -> Pseudonyms:
    """The names that stand for a study's public addresses, accounts and machines wherever it is shown."""
    leased = {one.cloud_id: one.kind for one in store.leases() if one.cloud_id and one.provider != "simulated"}
    return Pseudonyms(store.pseudonym_key(), known_ids(store.plan, {**leased, **_accounts(store)}))


def _accounts(store: StudyStore) -> dict[str, str]:
    """The accounts that a study remembers, and the endpoints at which they are."""
    kept = (store.meta(ACCOUNT + one) for one in {candidate.runner for candidate in store.plan.candidates})
    parts = [said.partition(" at ") for said in kept if said]
    named = {id: "account" for id, _, _ in parts if any(map(str.isdigit, id))}  # not every cloud tells it
    return {**named, **{at: "endpoint" for _, _, at in parts if at}}


def view(
    folder: Path, *, reprice: bool = False, include_ids: bool = False, purchase: Purchase | None = None,
    terms: Path | None = None, drawn: bool = True,
) -> View:  # fmt: skip
    """Everything that a report shows of a study; `reprice` sets today's prices in place of the study's own, `purchase`
    those of another way of buying, and `terms` what a file of an account's terms makes of them: only figures of cost
    change, and the study keeps its own. What only a figure shows, series and distributions, is there where it is to be
    `drawn`.

    Public addresses, account ids and instance ids are pseudonyms, unless `include_ids`.

    Raises UserMistake where the folder holds no study, or with every fault of the terms; CorruptStore where a file does
    not hold what was acknowledged.
    """
    own = read_terms(terms) if terms else None
    with StudyStore.open(folder, write=False) as store:
        plan = _noted(store, repriced(store.plan) if reprice else store.plan)
        plan = replace(plan, terms=own) if own is not None else plan
        plan = bought(plan, purchase) if purchase else plan
        plan = under_terms(plan, terms.name, purchase) if terms else plan
        if plan.terms and not terms:
            plan = _told(plan, _AT_LIST)
        found = replace(_view(store, plan, metrics_of(store), drawn=drawn), under=own)
        return found if include_ids else hidden(found, pseudonyms(store))


def _noted(store: StudyStore, plan: Plan) -> Plan:
    """The plan with what an imported table left open among its notes: comparisons carry it as a mark."""
    return plan if store.meta(REPLICATION_UNKNOWN) is None else _told(plan, compare.REPLICATION_UNKNOWN)


def _told(plan: Plan, note: str) -> Plan:
    return replace(plan, quote=replace(plan.quote, notes=(*plan.quote.notes, note)))


def _without_rounds(store: StudyStore, estimates: tuple[Estimate, ...]) -> tuple[Estimate, ...]:
    """Estimates whose launches belong to no round where the imported table named none: then nothing is paired."""
    if store.meta(NO_ROUNDS) is None:
        return estimates
    return tuple(replace(one, rounds=(None,) * len(one.rounds)) for one in estimates)


def _view(store: StudyStore, plan: Plan, metrics: Mapping[str, Metric], *, drawn: bool) -> View:
    attempts = store.attempts()
    counted = tuple(attempt for attempt in attempts if not attempt.interrupted)
    totals = frozenset(name for name, metric in metrics.items() if metric.reduce is Reduce.TOTAL)
    measured = store.measured(totals, Drawn() if drawn else None)
    estimates = analysis.estimate(plan, measured.values, measured.histograms, metrics)
    estimates = cost.with_cost(plan, _without_rounds(store, estimates), metrics)
    facts = analysis.facts_of(plan, counted)
    comparisons, winners = compare.compare(
        plan, estimates, metrics, facts, replication_known=store.meta(REPLICATION_UNKNOWN) is None
    )
    words = answer.in_words(plan, estimates, comparisons, winners, metrics, _names(estimates))
    return View(
        plan=plan,
        metrics=dict(metrics),
        analysis=Analysis(estimates, comparisons, winners, words),
        attempts=counted,
        series=measured.series,
        cdfs=analysis.cdfs(plan, measured.histograms) if drawn else (),
        scaling=analysis.scaling(plan, estimates, counted),
        hosts=tuple((at, _flat(plan, counted, at)) for at in sorted(facts)),
        spend=spend_of(plan, store.lease_rows(), budget_of(store), time.time()),
        provenance=_provenance(store, plan),
        interruptions=(*_interruptions(plan, attempts), *_second_machines(store, plan)),
        commands=commands(plan),
        warnings=(*_unfinished(plan, counted), *plan.quote.notes, *analysis.quality(plan, counted)),
    )


def _names(estimates: Sequence[Estimate]) -> dict[str, str]:
    """What readers call the cells: the same words in sentences as in tables."""
    names = CellNames(one.cell for one in estimates)
    return {one.cell: names.short(one.cell) for one in estimates}


def _provenance(store: StudyStore, plan: Plan) -> tuple[tuple[str, str], ...]:
    """Where the numbers come from: versions, seed, dates, digests; in a simulated study every date is virtual."""
    virtual = " (virtual)" if plan.candidates and all(candidate.simulated for candidate in plan.candidates) else ""
    created = datetime.fromtimestamp(store.created_at, UTC).strftime("%Y-%m-%d %H:%M UTC") + virtual
    return (("study", plan.name), ("begun", created), ("seed", str(plan.seed)), *sorted(store.provenance.items()))


def _interruptions(plan: Plan, attempts: Sequence[Attempt]) -> tuple[str, ...]:
    """One line for each attempt that the controller's own end cut short: no failure of the candidate, and run again."""
    lines = []
    for attempt in attempts:
        if attempt.interrupted:
            trial = plan.trials[attempt.trial]
            launch = plan.launches[trial.launch]
            where = f"{plan.candidates[launch.candidate].id}, round {launch.round + 1}"
            lines.append(f"{where}: {trial.probe}, run {trial.run + 1}, was cut short and run again")
    return tuple(lines)


def _second_machines(store: StudyStore, plan: Plan) -> tuple[str, ...]:
    """One line for each launch whose trials ran on more than one machine, because the study was stopped within it."""
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


def _flat(plan: Plan, attempts: Sequence[Attempt], candidate: int) -> tuple[tuple[str, str], ...]:
    """What the agents of a candidate told of their machine, as sorted text pairs; from its first launch that told."""
    for attempt in attempts:
        if plan.launches[plan.trials[attempt.trial].launch].candidate == candidate:
            host = reported(attempt).get("host")
            if isinstance(host, dict) and host:
                return tuple(sorted(_pairs("", host)))
    return ()


def _pairs(prefix: str, value: Any) -> list[tuple[str, str]]:
    """A fact and all within it, each with the way to it; nothing for what is unknown."""
    if isinstance(value, dict):
        return [pair for key, item in value.items() for pair in _pairs(f"{prefix}.{key}" if prefix else str(key), item)]
    if isinstance(value, list) and any(isinstance(item, dict | list) for item in value):
        return [pair for at, item in enumerate(value) for pair in _pairs(f"{prefix}.{at}", item)]
    if value is None:
        return []
    if isinstance(value, float):
        return [(prefix, f"{value:.6g}")]
    return [(prefix, ", ".join(str(item) for item in value) if isinstance(value, list) else str(value))]


def only(shown: View, metric: str | None) -> View:
    """The view with just one metric's cells, or one cell; verdicts stay those of the whole family.

    Raises UserMistake where the study has no such cell.
    """
    if metric is None:
        return shown
    cells = {one.cell for one in shown.analysis.estimates}
    kept = {cell for cell in cells if _named(cell, metric)}
    if not kept:
        nearest = hint(metric, cells | {cell.split(" ", 1)[0] for cell in cells}, "cloudcmp compare DIR")
        raise UserMistake.at("--metric", f"the study has no cell {metric!r}", nearest)
    found = shown.analysis
    estimates = tuple(one for one in found.estimates if one.cell in kept)
    comparisons = found.comparisons.only(kept)
    winners = tuple(one for one in found.winners if one.cell in kept)
    # Told from the whole family: what it takes to tell two apart must not depend on what is shown.
    names = _names(estimates)
    words = answer.in_words(shown.plan, found.estimates, found.comparisons, winners, shown.metrics, names)
    scaling = tuple(one for one in shown.scaling if one.cell in kept)
    return replace(shown, analysis=Analysis(estimates, comparisons, winners, words), scaling=scaling)


def _named(cell: str, wanted: str) -> bool:
    """Whether a metric's name, or a metric with some of the parameters, names a cell; as in a study's `decide`."""
    name, _, params = wanted.strip().partition(" ")
    metric, _, known = cell.partition(" ")
    return name == metric and set(filter(None, params.split(";"))) <= set(known.split(";"))


def as_data(shown: View) -> dict[str, Any]:
    """The view as the JSON document's data: candidates, estimates, comparisons, winners, the answer in words."""
    plan = shown.plan
    return {
        "study": plan.name,
        "question": plan.question,
        "simulated": any(candidate.simulated for candidate in plan.candidates),
        "offered": None if plan.imported else answer.offered(plan, shown.attempts),
        "candidates": [_candidate(candidate) for candidate in plan.candidates],
        "estimates": shown.analysis.estimates,
        "comparisons": shown.analysis.comparisons,
        "winners": shown.analysis.winners,
        "scaling": shown.scaling,
        "spend": shown.spend,
        "under": shown.under,
        "answer": shown.analysis.answer,
        "interruptions": shown.interruptions,
        "commands": commands_as_data(shown.commands),
    }


def _candidate(candidate: Candidate) -> dict[str, Any]:
    return {
        "index": candidate.index,
        "id": candidate.id,
        "offering": candidate.offering,
        "runner": candidate.runner,
        "volume": str(candidate.volume) if candidate.volume else None,
        "count": candidate.count,
        "differs": candidate.differs,
    }


def write_report(shown: View, path: Path) -> Path:
    """Write the HTML report; the file is there whole or not at all, in the place of a link that has its name.

    Raises UserMistake where another file is there.
    """
    from cloudcmp.report import html

    check_replaceable(path, "report of cloudcmp", html.is_report)
    path.parent.mkdir(parents=True, exist_ok=True)
    with OwnedPath(path.parent).folder() as folder:
        write_whole(folder, path.name, html.render(shown).encode(), FOR_ALL)
    return path


def write_figures(shown: View, folder: Path) -> tuple[Path, ...]:
    """Write each figure as SVG and PNG with its data as CSV."""
    from cloudcmp.report import figures

    folder.mkdir(parents=True, exist_ok=True)
    return tuple(figures.write_figures(shown, folder))
