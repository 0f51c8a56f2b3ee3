"""Makes a plan from a study file; creates nothing and spends nothing."""

import time
from dataclasses import replace
from pathlib import Path

from cloudcmp import cost
from cloudcmp import plan as planner
from cloudcmp import study as studies
from cloudcmp.catalog import hint, metrics_with
from cloudcmp.cost import offering_prices as catalogue
from cloudcmp.cost.service_prices import with_service_prices
from cloudcmp.errors import ProviderFault, UserMistake
from cloudcmp.model.offering import Billing, Offering
from cloudcmp.model.plan import Candidate, Plan
from cloudcmp.model.protocol import PlanSafeguards, Provider
from cloudcmp.model.safety import Safeguard
from cloudcmp.model.study import Study
from cloudcmp.model.terms import Terms
from cloudcmp.provider.registry import billed_names, has_driver, make, names, names_in_study
from cloudcmp.store import StudyStore

# A Monday at midnight, UTC: the start of virtual time in every simulated study.
VIRTUAL_START = 1767571200.0


def plan_file(
    path: Path | None, *, on: str | None, short: bool, seed: int | None, terms: Path | None = None
) -> tuple[Plan, str]:
    """Return the plan of a study file and the file's text without comments; without a file, those of this machine.

    `terms` is a file with the account's terms, instead of the study's own.

    Raises UserMistake with every fault of the file, or if `on` is not a provider.
    """
    if on is not None and on not in names():
        raise UserMistake.at("--on", f"unknown provider {on!r}", hint(on, names(), "cloudcmp list providers"))
    if path is None:
        offerings = make("local").offerings()
        return _planned(studies.default_study(offerings), on, short, seed), studies.default_text(offerings)
    # Nothing is billed if another provider stands in for every candidate.
    billed = billed_names() if on is None else frozenset()
    read = studies.read(path, providers=known_providers(), billed=billed)
    if terms is not None:
        read = replace(read, terms=read_terms(terms))
    return _planned(read, on, short, seed), studies.without_comments(path.read_text(encoding="utf-8"))


def read_terms(path: Path) -> Terms:
    """The account's terms of a file; raises UserMistake with all its faults."""
    return studies.read_terms(path, providers=known_providers())


def plan_demo(*, seed: int | None) -> tuple[Plan, str]:
    """The plan of three simulated clouds with planted truth, and its text."""
    text = studies.demo_text()
    read = studies.read_text(text, "demo.yaml", providers=known_providers())
    return _planned(read, None, False, seed), text


def plan_text(text: str, name: str) -> Plan:
    """The plan of a study's text under a file `name`; raises UserMistake with all its faults."""
    read = studies.read_text(text, name, providers=known_providers(), billed=billed_names())
    return _planned(read, None, False, None)


def plan_stored(folder: Path) -> Plan:
    """The plan in a study's folder, as `run --resume` continues it.

    Raises UserMistake if the folder holds no study, or an imported table.
    """
    with StudyStore.open(folder, write=False) as store:
        plan = store.plan
    if plan.imported:
        raise UserMistake.at(str(folder), "an imported table has nothing to run", "use compare or report")
    return plan


def anonymous(plan: Plan) -> Plan:
    """The plan without the names of providers, offerings and places, and without the lines of its commands."""
    from cloudcmp.report.anonymous_answers import anonymous_quote

    return anonymous_quote(plan)


def known_providers() -> frozenset[str]:
    """Providers that a candidate may name: those with a driver, and those with published offerings."""
    return frozenset(names_in_study()) | planner.published_providers()


def _planned(read: Study, on: str | None, short: bool, seed: int | None) -> Plan:
    if seed is not None:
        read = replace(read, seed=seed)
    simulated = on == "simulated" or all(one.provider == "simulated" for one in read.candidates)
    plan = planner.make(
        read,
        offerings_of=offerings_of if on is None else _offerings_without_account,
        host_of=host_of,
        free=_free,
        priced=_priced if on is None else planner.unpriced,
        on=on,
        short=short,
        start_at=VIRTUAL_START if simulated else time.time(),
    )
    return _with_rule(quoted(plan), given=on is None and not short)


def _with_rule(plan: Plan, *, given: bool) -> Plan:
    """The plan with the launches that its rule would take.

    Raises UserMistake if the rule could never end the study; if the study is not run as it was `given`, a note says so,
    and all launches are run.
    """
    if plan.stop is None:
        return plan
    from cloudcmp import compare  # only a study with a rule pays for its statistics

    faults = compare.rule_faults(plan, metrics_with(plan.commands))
    if faults and given:
        raise UserMistake.at("stop", faults[0], "write stop: fixed, or what is missing")
    if faults:
        note = f"all launches are run: {faults[0]}"
        quote = replace(plan.quote, notes=(*plan.quote.notes, note))
        return replace(plan, stop=None, checks=(), quote=quote)
    return replace(plan, quote=replace(plan.quote, to_decide=compare.to_decide(plan, plan.quote.assumed_cov)))


def _priced(candidate: Candidate) -> tuple[Candidate, tuple[str, ...]]:
    """The candidate with the price book's prices of its machine and of its service, and why one is unknown."""
    priced, unknown = catalogue.price(candidate)
    with_service, more = with_service_prices(priced)
    return with_service, (*unknown, *more)


def quoted(plan: Plan) -> Plan:
    """The plan with a quote by the current price book."""
    return cost.with_quote(plan, cost.Market(billing_of, catalogue.rate_of, _costs_nothing))


def offerings_of(provider: str, region: str | None) -> tuple[Offering, ...]:
    """A provider's offerings in a region or everywhere, with the price book's prices where it lists none.

    If the provider cannot be asked, the offerings are those of the price book: a quote needs no credentials, and the
    preflight of a run checks them.
    """
    if provider not in names():
        return catalogue.book_offerings(provider, region)
    try:
        return catalogue.with_prices(make(provider).offerings(region))
    except (ProviderFault, UserMistake):  # no answer, no credentials, no endpoint, no extra
        return catalogue.book_offerings(provider, region)


def _offerings_without_account(provider: str, region: str | None) -> tuple[Offering, ...]:
    """Return the offerings if another provider stands in; none of a billed provider, so that no account is needed."""
    return () if provider in names() and make(provider).billed else offerings_of(provider, region)


def _free(candidate: Candidate) -> bool:
    """True if nothing is billed for a candidate's machine; a provider without a driver counts as billed."""
    return candidate.runner in names() and not make(candidate.runner).billed


def _costs_nothing(candidate: Candidate) -> bool:
    """True if nothing is billed for a candidate: neither its machine nor the requests to its service."""
    return _free(candidate) and not planner.is_billed(candidate)


def billing_of(provider: str) -> Billing:
    """A provider's billing; the coarsest for a provider without a driver."""
    return make(provider).billing if provider in names() else Billing()


def host_of(candidate: Candidate) -> str:
    """The host that a candidate shares with others; its own id for a provider without a driver."""
    return make(candidate.runner).host(candidate) if candidate.runner in names() else candidate.id


def safeguards(plan: Plan) -> dict[str, tuple[Safeguard, ...]]:
    """The safeguards of each provider of a plan that has a driver."""
    return {name: _safeguards(make(name), plan) for name in plan.drivers if has_driver(name)}


def _safeguards(provider: Provider, plan: Plan) -> tuple[Safeguard, ...]:
    return provider.safeguards_of(plan) if isinstance(provider, PlanSafeguards) else provider.safeguards
