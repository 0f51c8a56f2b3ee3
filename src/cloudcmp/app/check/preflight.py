"""Checks whether a study can start; creates nothing."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path

from cloudcmp import agent
from cloudcmp.agent.ssh import dial
from cloudcmp.app.check.vantage_points import vantage_findings
from cloudcmp.app.command_uses import notice
from cloudcmp.app.concurrent import Say, run_concurrently
from cloudcmp.app.provider_clients import UnavailableProvider, brief, open_clients, select
from cloudcmp.catalog import METRICS, metrics_with
from cloudcmp.errors import AgentMissing, CloudcmpError, Fault, NoCredentials, OutsideFault, Refused, UserMistake
from cloudcmp.model.check import SETUP, ProviderFinding
from cloudcmp.model.offering import Offering
from cloudcmp.model.plan import Candidate, Plan, hourly_cost
from cloudcmp.model.protocol import NeedsPreparation, Provider
from cloudcmp.model.safety import Finding
from cloudcmp.plan import check_runnable
from cloudcmp.provider.common.blocking_calls import run_in_thread
from cloudcmp.provider.registry import ProviderOptions, billed_names, has_driver, make, names
from cloudcmp.provision import price_to_create
from cloudcmp.units import Money

LOOK_S = 60.0
"""Deadline of a provider for a check; `CANDIDATE_S` is added for each candidate of a study."""
CANDIDATE_S = 5.0
_LIST_S = 60.0
_AGAIN = "check the network and try again: it must answer before a study starts"
_DAY_S = 86400.0
_INSTALLED = Path(__file__)
_MISTAKES = frozenset({"price", "plan", "image", "capability", "account", "settings", "vantage"})
"""Kinds of findings that the study's author can fix."""
_TRIPLES = {
    "x86_64": "x86_64-unknown-linux",
    "amd64": "x86_64-unknown-linux",
    "aarch64": "aarch64-unknown-linux",
    "arm64": "aarch64-unknown-linux",
}


async def check(
    providers: Mapping[str, Provider],
    candidates: Sequence[Candidate] = (),
    unavailable: Sequence[UnavailableProvider] = (),
    *,
    budget: Money | None = None,
    now: Callable[[], float] = time.time,
    within_s: float | None = None,
    say: Say | None = None,
) -> tuple[ProviderFinding, ...]:
    """Check each provider and its candidates; never raises for a provider that fails.

    All providers are queried at once; findings are in the order of `providers`. A provider that does not answer within
    `within_s` seconds (by default `deadline_s`) is a finding. `say` reports which ones are still awaited.
    """
    within_s = deadline_s(candidates) if within_s is None else within_s
    own = {name: [one for one in candidates if name in one.drivers] for name in providers}
    found: dict[str, list[Finding]] = {name: [] for name in providers}
    today = date.fromtimestamp(now())
    checks = {name: _check(one, own[name], budget, today, found[name]) for name, one in providers.items()}
    late = await run_concurrently(checks, within_s, say)
    findings = [ProviderFinding(one.provider, Finding("extra", False, one.what, one.next)) for one in unavailable]
    for name, provider in providers.items():
        some = found[name]
        if name in late:
            some = [*some, Finding("answer", False, f"it did not answer within {within_s:g} s", _AGAIN)]
        findings += [ProviderFinding(name, one) for one in (*some, *_ours(provider, own[name], some, now()))]
    return tuple(findings)


def deadline_s(candidates: Sequence[Candidate]) -> float:
    """Deadline of a provider for all questions about these candidates (s)."""
    return LOOK_S + CANDIDATE_S * len(candidates)


def _ours(provider: Provider, own: Sequence[Candidate], found: Sequence[Finding], now: float) -> Iterator[Finding]:
    """Yield our own findings: the agent and the clock; for a cloud that is not set up, only a wrong clock."""
    answered = not any(one.what in {*SETUP, "answer"} and one.ok is False for one in found)
    if answered or own:
        yield from _agents(provider, own)
    clock = _clock(provider, now)
    if all(one.what != "clock" for one in found) and (answered or clock.ok is not None):
        yield clock


async def _check(
    provider: Provider, own: Sequence[Candidate], budget: Money | None, today: date, found: list[Finding]
) -> None:
    """Add findings as they arrive, so that a check that is cancelled keeps the earlier ones."""
    ends = [end for one in own for end in one.ends]
    found += await _provider_findings(provider, ends)
    found += await _price_findings(provider, ends, budget, today)


async def preflight(providers: Mapping[str, Provider], plan: Plan, say: Say | None = None) -> tuple[Finding, ...]:
    """The findings for a plan, each text preceded by its provider's name; pass them to `refuse`."""
    return tuple(
        Finding(one.finding.what, one.finding.ok, f"{one.provider}: {one.finding.text}", one.finding.next)
        for one in await check(providers, plan.leased, budget=plan.budget, say=say)
    )


def refuse(findings: Sequence[Finding]) -> None:
    """Raise the findings that are not ok: UserMistake if the study's author can fix all of them, else OutsideFault."""
    bad = [one for one in findings if one.ok is False]
    if not bad:
        return
    faults = [Fault(one.what, one.text, one.next or "see: cloudcmp check") for one in bad]
    raise (UserMistake if all(one.what in _MISTAKES for one in bad) else OutsideFault)(*faults)


async def prepare(plan: Plan, say: Say) -> None:
    """Have the providers of a plan fetch and build what they need on this computer, outside of any measured time.

    Raises the kinds of ProviderFault.
    """
    options = ProviderOptions(metrics=metrics_with(plan.commands), candidates=plan.leased)
    for name in plan.drivers:
        provider = make(name, options)
        if isinstance(provider, NeedsPreparation):
            await provider.prepare([one for one in plan.leased if name in one.drivers], say)


async def check_providers(named: Sequence[str], say: Say | None = None) -> tuple[ProviderFinding, ...]:
    """Check the named providers, or all; raises UserMistake for an unknown one.

    If none is named, a provider that is not set up (no extra, no credentials, no endpoint) is unknown, not wrong.
    """
    providers, unavailable = open_clients(select(named), ProviderOptions(metrics=METRICS))
    findings = await check(providers, (), unavailable, say=say)
    return findings if named else tuple(map(_optional, findings))


def _optional(one: ProviderFinding) -> ProviderFinding:
    """The finding with "not set up" as unknown: a provider that was not named need not be set up."""
    if one.finding.what not in SETUP or one.finding.ok is not False:
        return one
    return replace(one, finding=replace(one.finding, ok=None))


async def check_plan(plan: Plan, say: Say | None = None) -> tuple[ProviderFinding, ...]:
    """Check the providers of a plan for its candidates, and whether the plan itself can be run."""
    options = ProviderOptions(metrics=metrics_with(plan.commands), candidates=plan.leased, dial=dial)
    providers, unavailable = open_clients([one for one in plan.drivers if has_driver(one)], options)
    runnable, checked = _runnable(plan), await check(providers, plan.leased, unavailable, budget=plan.budget, say=say)
    if any(one.finding.ok is False for one in (*runnable, *checked)):
        return (*runnable, *checked)
    return (*runnable, *checked, *await vantage_findings(plan, providers))


def _runnable(plan: Plan) -> list[ProviderFinding]:
    try:
        check_runnable(plan, names(), billed_names(plan.candidates))
    except UserMistake as mistake:
        return [
            ProviderFinding("study", Finding("plan", False, f"{one.where}: {one.what}", one.next))
            for one in mistake.faults
        ]
    here = notice(plan)
    return [ProviderFinding("study", Finding("plan", True, f"it can be run; {here}" if here else "it can be run"))]


async def _provider_findings(provider: Provider, candidates: Sequence[Candidate]) -> list[Finding]:
    """The provider's own findings; a provider that fails to answer is a finding too."""
    try:
        return list(await provider.check(candidates))
    except NoCredentials as fault:
        return [Finding("credentials", False, brief(fault))]
    except ImportError as error:
        missing = error.name or str(error)
        return [Finding("extra", False, f"{missing} is not installed", f"add the extra: cloudcmp[{provider.name}]")]
    except UserMistake as mistake:
        return [Finding("settings", False, f"{one.where}: {one.what}", one.next) for one in mistake.faults]
    except (CloudcmpError, OSError) as fault:
        return [Finding("answer", False, brief(fault), _AGAIN)]


async def _price_findings(
    provider: Provider, candidates: Sequence[Candidate], budget: Money | None, today: date
) -> list[Finding]:
    """Check whether each candidate has a usable price, because nothing billed is created without one.

    The price is of a machine: where only data sets are made, there is none to check.
    """
    candidates = [one for one in candidates if one.runner == provider.name]
    if not candidates:
        return []
    if not provider.billed:
        unknown = [one.id for one in candidates if hourly_cost(one) is None]
        if not unknown:
            return [Finding("price", True, f"a price is known for each of {len(candidates)}")]
        what = f"no price is known for {', '.join(unknown)}"
        return [Finding("price", None, f"{what}; nothing is billed there, and no cost is shown")]
    found = []
    listed = {region: await _offerings(provider, region) for region in {one.offering.region for one in candidates}}
    for one in candidates:
        currency = budget.currency if budget else one.offering.price.currency if one.offering.price else ""
        try:
            price_to_create(one, currency, today, listed[one.offering.region])
        except Refused as fault:
            found += [Finding("price", False, f"{each.where}: {each.what}", each.next) for each in fault.faults]
    return found or [Finding("price", True, f"a price is known for each of {len(candidates)}")]


async def _offerings(provider: Provider, region: str) -> tuple[Offering, ...]:
    """Return the provider's offerings in a region; empty if it does not answer, which is a separate finding."""
    try:
        return await run_in_thread(lambda: provider.offerings(region), provider.name, _LIST_S)
    except (CloudcmpError, ImportError, OSError):
        return ()


def _agents(provider: Provider, candidates: Sequence[Candidate]) -> list[Finding]:
    """Whether there is an agent for each architecture that is known in advance."""
    if provider.simulated:
        return []
    if provider.name in {"local", "netns"} or not candidates:
        return [_agent(agent.this_triple())]
    kinds = {dict(one.offering.attributes).get("architecture", "") for one in candidates}
    return [_agent(_TRIPLES.get(kind.lower())) for kind in sorted(kinds)]


def _agent(triple: str | None) -> Finding:
    if triple is None:
        return Finding("agent", None, "the required agent is only known once the machine runs")
    try:
        agent.locate(triple)
    except AgentMissing as missing:
        fault = missing.faults[0]
        return Finding("agent", False, fault.what, fault.next)
    return Finding("agent", True, f"there is one for {triple}")


def _clock(provider: Provider, now: float) -> Finding:
    """Compare our own clock, on which times to live depend, with the date of the installation."""
    installed = _INSTALLED.stat().st_mtime
    if now < installed - _DAY_S:
        return Finding("clock", False, "this machine's clock is before the day cloudcmp was installed", "set the clock")
    if provider.billed:
        return Finding("clock", None, "the provider gave no time to compare this machine's clock with")
    return Finding("clock", True, "this machine's clock is after the day cloudcmp was installed")
