"""Loads everything that a study shows to its readers."""

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from cloudcmp import analysis, answer, compare, cost
from cloudcmp.analysis.facts import reported
from cloudcmp.app.command_uses import commands
from cloudcmp.app.plan import billing_of, offerings_of, quoted, read_terms
from cloudcmp.catalog import metrics_with
from cloudcmp.cost import account_pricing
from cloudcmp.cost import offering_prices as catalogue
from cloudcmp.cost.account_pricing import apply_terms
from cloudcmp.cost.account_terms import commitment_for, effective_per_hour
from cloudcmp.cost.parts import with_system
from cloudcmp.cost.rules import shares_of
from cloudcmp.execute.spending import budget_of, spend_of
from cloudcmp.model.bill import BillLine, Use
from cloudcmp.model.metric import Metric, Reduce
from cloudcmp.model.offering import Price
from cloudcmp.model.pairs import Analysis
from cloudcmp.model.plan import Candidate, Plan, Quote
from cloudcmp.model.price import Item, Purchase
from cloudcmp.model.result import Estimate
from cloudcmp.model.terms import Commitment
from cloudcmp.model.trial import Attempt
from cloudcmp.model.values import SeriesLimits, TrialValues
from cloudcmp.model.view import View
from cloudcmp.plan import list_prices_apply
from cloudcmp.provider.registry import names
from cloudcmp.provision import ACCOUNT
from cloudcmp.report.redaction import Pseudonyms, hidden, known_ids
from cloudcmp.report.words import CellNames
from cloudcmp.store import BLOCKS_ALLOWED, NO_ROUNDS, NO_TIMES, REPLICATION_UNKNOWN, StudyStore

_AT_LIST = "costs are at list price, without the study's own terms: write the terms into a file for --terms"


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
    terms: Path | None = None, drawn: bool = True, all_pairs: bool = False,
) -> View:  # fmt: skip
    """Return everything that a report shows about a study.

    `reprice` uses today's prices, `purchase` those of another way to buy, and `terms` a file with an account's terms:
    only figures of cost change, and the folder stays as it is. `drawn` includes the series and distributions that only
    figures show. `all_pairs` gives a verdict on every pair of many candidates, not only on each against the best.
    Public addresses, account ids and instance ids are pseudonyms, unless `include_ids`.

    Raises UserMistake if the folder holds no study, or with every fault of the terms; CorruptStore if a file differs
    from what was acknowledged.
    """
    own = read_terms(terms) if terms else None
    with StudyStore.open(folder, write=False) as store:
        plan = _noted(store, at_todays_prices(store.plan) if reprice else store.plan)
        plan = replace(plan, terms=own) if own is not None else plan
        plan = bought(plan, purchase) if purchase else plan
        plan = under_terms(plan, terms.name, purchase) if terms else plan
        if plan.terms and not terms:
            plan = _with_note(plan, _AT_LIST)
        found = replace(_view(store, plan, metrics_of(store), drawn=drawn, all_pairs=all_pairs), under=own)
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


def _view(store: StudyStore, plan: Plan, metrics: Mapping[str, Metric], *, drawn: bool, all_pairs: bool) -> View:
    attempts = store.attempts()
    counted = tuple(attempt for attempt in attempts if not attempt.interrupted)
    totals = frozenset(name for name, metric in metrics.items() if metric.reduce is Reduce.TOTAL)
    measured = store.measured(totals, SeriesLimits() if drawn else None)
    estimates = analysis.estimate(plan, measured.values, measured.histograms, metrics)
    estimates = cost.with_cost(plan, _without_rounds(store, estimates), metrics)
    facts = analysis.facts_of(plan, counted)
    found = compare.compare(
        plan, estimates, metrics, facts, replication_known=store.meta(REPLICATION_UNKNOWN) is None,
        marks=analysis.marks(plan, estimates, counted), spans=_spans(store, plan, measured.values),
        blocks_allowed=store.meta(BLOCKS_ALLOWED) is not None, all_pairs=all_pairs,
    )  # fmt: skip
    compared = Analysis(estimates, found.pairs, found.winners, found.money, found.money_winners)
    return View(
        plan=plan,
        metrics=dict(metrics),
        analysis=with_answer(plan, compared, metrics),
        attempts=counted,
        series=measured.series,
        cdfs=analysis.cdfs(plan, measured.histograms) if drawn else (),
        scaling=analysis.scaling(plan, estimates, counted),
        hosts=tuple((at, _host_facts(plan, counted, at)) for at in sorted(facts)),
        spend=spend_of(plan, store.lease_rows(), budget_of(store), time.time()),
        provenance=_provenance(store, plan),
        interruptions=(*_interruptions(plan, attempts), *_second_machines(store, plan)),
        commands=commands(plan),
        warnings=(
            *_unfinished(plan, counted),
            *analysis.name_warnings(plan),
            *analysis.quality(plan, counted),
            *plan.quote.notes,
        ),
    )


def _spans(store: StudyStore, plan: Plan, values: TrialValues) -> dict[tuple[str, int], tuple[float, float]]:
    """The time span of each cell and candidate of an imported table that names all times; rounds pair measured ones."""
    return analysis.spans(plan, values) if plan.imported and store.meta(NO_TIMES) is None else {}


def with_answer(plan: Plan, found: Analysis, metrics: Mapping[str, Metric]) -> Analysis:
    """The analysis with the rounds that would settle what is undecided, and with the answer in words."""
    winners = (*found.winners, *found.money_winners)
    outlooks = answer.outlooks(plan, found.estimates, found.comparisons, found.money, winners, metrics)
    found = replace(found, outlooks=outlooks)
    return replace(found, answer=answer.in_words(plan, found, metrics, cell_names(found.estimates)))


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


def _unfinished(plan: Plan, counted: Sequence[Attempt]) -> tuple[str, ...]:
    missing = len(plan.trials) - len({attempt.trial for attempt in counted})
    if plan.imported or not missing:
        return ()
    return (f"{missing} of {len(plan.trials)} trials were not run yet: continue with 'cloudcmp run --resume DIR'",)


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


# Sources of prices that users gave; no list has them.
_UNLISTED = {"study file", "imported"}
_Priced = tuple[Price | None, str]
"""A price, and a line that describes it or says why it is unknown."""


def at_todays_prices(plan: Plan) -> Plan:
    """The plan at today's prices of providers and price lists; an offering that is no longer listed has no price.

    A price that the study itself gives stays.
    """
    return replace(plan, candidates=tuple(map(_repriced, plan.candidates)))


def bought(plan: Plan, purchase: Purchase) -> Plan:
    """The plan at the prices of another way to buy, with a note for each candidate; numbers and intervals stay.

    On-demand and spot prices are as listed now; a spot price moves, so its date is shown. Reserved is the study's own
    commitment for the type, else the cheapest in a price list, at the hourly cost if every hour of its term is used.
    The note says from how many hours on it is cheaper than on demand.
    """
    price_of: dict[Purchase, Callable[[Candidate], _Priced]] = {
        Purchase.ON_DEMAND: _on_demand, Purchase.SPOT: _spot, Purchase.RESERVED: partial(_reserved, plan)
    }  # fmt: skip
    candidates, lines = [], []
    for one in plan.candidates:
        price, line = price_of[purchase](one)
        candidates.append(replace(one, offering=replace(one.offering, price=price)))
        lines.append(f"{one.id}: {line}")
    notes = (*plan.quote.notes, *dict.fromkeys(lines))
    return replace(plan, candidates=tuple(candidates), quote=replace(plan.quote, notes=notes))


def under_terms(plan: Plan, name: str, purchase: Purchase | None = None) -> Plan:
    """The plan with its terms applied to each candidate's hourly price, and a note for each; `name` is the terms' file.

    If `purchase` is given, no further commitment applies. The quote's sum under the terms is known only if the price
    book still has the prices with which the study was planned.
    """
    if purchase is not None:
        plan = replace(plan, terms=replace(plan.terms, commitments=()))
    terms = plan.terms
    candidates, lines = [], [f"costs use the terms of {name}, not the study's own"]
    for one in plan.candidates:
        spot = dict(one.options).get("market") == "spot"
        way = purchase or (Purchase.SPOT if spot else Purchase.ON_DEMAND)
        found, line = apply_terms(one, terms, billing_of(one.offering.provider), way)
        candidates.append(found)
        lines.append(line)
    if terms.support or terms.credits:
        lines.append("costs exclude support plans and credits, which apply to a whole bill")
    notes = (*plan.quote.notes, *dict.fromkeys(lines))
    quote = replace(_quoted_under(plan), notes=notes)
    return replace(plan, candidates=tuple(candidates), quote=quote)


def _quoted_under(plan: Plan) -> Quote:
    """The plan's own quote, with the terms applied."""
    again = quoted(plan).quote if len(plan.usage) == len(plan.candidates) else None
    if again is None or again.expected_cost is None or again.expected_cost != plan.quote.expected_cost:
        why = "there is no quote" if plan.quote.expected_cost is None else "prices have changed since it was planned"
        return replace(plan.quote, own=(BillLine("your terms", None, "", None, None, why),), with_terms=None)
    return replace(plan.quote, own=again.own, with_terms=again.with_terms)


def _repriced(candidate: Candidate) -> Candidate:
    offering, volume = candidate.offering, candidate.volume
    if offering.price is None or offering.provider not in names():
        return candidate
    if volume is not None and volume.price is not None and volume.price.source not in _UNLISTED:
        bare = replace(candidate, volume=replace(volume, price=None))
        candidate = replace(candidate, volume=catalogue.price(bare)[0].volume)
    if offering.price.source in _UNLISTED:
        return candidate
    return replace(candidate, offering=replace(offering, price=_today(candidate)))


def _today(candidate: Candidate) -> Price | None:
    """The hourly on-demand price of a candidate's machine, by its provider or else the newest price list.

    A provider's offerings are priced for Linux on shared machines; any other kind is looked up as requested.
    """
    wanted = candidate.offering
    known = offerings_of(wanted.provider, wanted.region) if list_prices_apply(candidate) else ()
    for offering in known:
        if (offering.region, offering.name) == (wanted.region, wanted.name) and offering.price is not None:
            return offering.price
    return catalogue.price(replace(candidate, offering=replace(wanted, price=None)))[0].offering.price


def _on_demand(candidate: Candidate) -> _Priced:
    own = candidate.offering.price
    if own is not None and own.source in _UNLISTED and dict(candidate.options).get("market") != "spot":
        return own, f"on demand, as the study says: {_described(own)}"
    price = _today(candidate)
    return price, f"on demand: {_described(price)}" if price else "on demand: no price is known"


def _spot(candidate: Candidate) -> _Priced:
    price, why = catalogue.price_for_purchase(candidate, Purchase.SPOT)
    if price is None:
        return None, f"spot: no price is known ({why})"
    dated = f"of {price.as_of}" if price.as_of else "without a date"
    return price, f"spot: {_described(price)}, the price {dated}, which changes"


def _reserved(plan: Plan, candidate: Candidate) -> _Priced:
    own = _own(plan, candidate) or catalogue.commitment_of(candidate)
    if own is None:
        return None, "reserved: no price is known, neither in the study's terms nor in a price list"
    each, hour = effective_per_hour(own), _on_demand(candidate)[0]
    price = Price(each.amount, each.currency, f"{own.purchase.value} for {own.term_months} months")
    if hour is None or hour.currency != each.currency:
        known = f"{price.source}: {each.amount:.6g} {each.currency}/h if it runs all the time"
        return price, f"{known}; no on-demand price is known to compare with"
    sold = candidate.offering
    monthly = shares_of(sold.provider, sold.name) if hour.source not in _UNLISTED else ()
    return price, account_pricing.describe(own, hour.amount_per_hour, monthly)


def _own(plan: Plan, candidate: Candidate) -> Commitment | None:
    sold = candidate.offering
    use = Use(sold.provider, sold.region, Item.INSTANCE, sold.name)
    return commitment_for(with_system(use, candidate), plan.terms)


def _described(price: Price) -> str:
    return f"{price.amount_per_hour:.6g} {price.currency}/h ({price.source})"
