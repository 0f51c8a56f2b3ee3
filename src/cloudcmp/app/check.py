"""What must hold before anything is created, looked at without creating anything."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path

from cloudcmp import agent
from cloudcmp.agent.ssh import dial
from cloudcmp.app.command_uses import notice
from cloudcmp.app.concurrent import Say, side_by_side
from cloudcmp.app.provider_clients import UnavailableProvider, brief, opened, wanted
from cloudcmp.catalog import METRICS, metrics_with
from cloudcmp.errors import AgentMissing, CloudcmpError, Fault, NoCredentials, OutsideFault, Refused, UserMistake
from cloudcmp.model.offering import Offering
from cloudcmp.model.plan import Candidate, Plan, hourly_cost
from cloudcmp.model.protocol import Provider
from cloudcmp.model.safety import Finding
from cloudcmp.plan import check_runnable
from cloudcmp.provider.common.blocking_calls import run_in_thread
from cloudcmp.provider.registry import ProviderOptions, make, names
from cloudcmp.provision import price_to_create
from cloudcmp.report.check_summary import SET_UP, Checked
from cloudcmp.units import Money

LOOK_S = 60.0
"""How long a provider may take to answer a check, and `CANDIDATE_S` how much longer for each candidate of a study."""
CANDIDATE_S = 5.0
_LIST_S = 60.0
_AGAIN = "check the network and try again: it must answer before a study begins"
_DAY_S = 86400.0
_INSTALLED = Path(__file__)
_MISTAKES = frozenset({"price", "plan", "image", "capability", "account", "settings"})
"""Findings that the study's author can mend; all others lie outside."""
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
) -> tuple[Checked, ...]:
    """What each provider finds of its own candidates, and what we find; never raises for a provider that fails.

    All are asked at once, and told in the order given. One that does not answer `within_s` seconds (by default
    `deadline_s`) is a finding of its own; `say` is told who is waited for.
    """
    within_s = deadline_s(candidates) if within_s is None else within_s
    own = {name: [one for one in candidates if one.runner == name] for name in providers}
    found: dict[str, list[Finding]] = {name: [] for name in providers}
    today = date.fromtimestamp(now())
    looks = {name: _look(one, own[name], budget, today, found[name]) for name, one in providers.items()}
    late = await side_by_side(looks, within_s, say)
    told = [Checked(one.provider, Finding("extra", False, one.what, one.next)) for one in unavailable]
    for name, provider in providers.items():
        some = [*found[name], *([_late(within_s)] if name in late else ())]
        told += [Checked(name, one) for one in (*some, *_ours(provider, own[name], some, now()))]
    return tuple(told)


def deadline_s(candidates: Sequence[Candidate]) -> float:
    """How long a provider may take to answer all that it is asked (s)."""
    return LOOK_S + CANDIDATE_S * len(candidates)


def _ours(provider: Provider, own: Sequence[Candidate], found: Sequence[Finding], now: float) -> Iterator[Finding]:
    """What we can tell of the agent and the clock; of a cloud that is not set up only that our clock is wrong."""
    answered = not any(one.what in {*SET_UP, "answer"} and one.ok is False for one in found)
    if answered or own:
        yield from _agents(provider, own)
    clock = _clock(provider, now)
    if all(one.what != "clock" for one in found) and (answered or clock.ok is not None):
        yield clock


async def _look(
    provider: Provider, own: Sequence[Candidate], budget: Money | None, today: date, found: list[Finding]
) -> None:
    """Add what is found as soon as it is: whoever is cut short has told that much."""
    found += await _asked(provider, own)
    found += await _priced(provider, own, budget, today)


def _late(within_s: float) -> Finding:
    return Finding("answer", False, f"it did not answer within {within_s:g} s", _AGAIN)


async def preflight(providers: Mapping[str, Provider], plan: Plan, say: Say | None = None) -> tuple[Finding, ...]:
    """What was found before a run of the plan, each with its provider's name before the text.

    What is not ok refuses the run: give it to `refuse`.
    """
    told = await check(providers, plan.candidates, budget=plan.budget, say=say)
    return tuple(
        Finding(one.finding.what, one.finding.ok, f"{one.provider}: {one.finding.text}", one.finding.next)
        for one in told
    )


def refuse(findings: Sequence[Finding]) -> None:
    """Raise what is not ok, a line each: UserMistake where the study can mend all of it, else OutsideFault."""
    bad = [one for one in findings if one.ok is False]
    if not bad:
        return
    faults = [Fault(one.what, one.text, one.next or "see: cloudcmp check") for one in bad]
    raise (UserMistake if all(one.what in _MISTAKES for one in bad) else OutsideFault)(*faults)


async def check_providers(named: Sequence[str], say: Say | None = None) -> tuple[Checked, ...]:
    """Check the providers that were named, or all; raises UserMistake for an unknown one.

    Where none is named, one that is not set up (no extra, no credentials, no endpoint) is unknown, not wrong.
    """
    providers, unavailable = opened(wanted(named), ProviderOptions(metrics=METRICS))
    told = await check(providers, (), unavailable, say=say)
    return told if named else tuple(_not_set_up(one) for one in told)


def _not_set_up(one: Checked) -> Checked:
    """A provider that nobody asked for need not be set up: that is no fault, and no more can be told of it."""
    if one.finding.what not in SET_UP or one.finding.ok is not False:
        return one
    return replace(one, finding=replace(one.finding, ok=None))


async def check_plan(plan: Plan, say: Say | None = None) -> tuple[Checked, ...]:
    """Check the providers of a plan for its candidates, and whether the plan itself can be run."""
    runners = tuple(dict.fromkeys(one.runner for one in plan.candidates))
    means = ProviderOptions(metrics=metrics_with(plan.commands), candidates=plan.candidates, dial=dial)
    providers, unavailable = opened([one for one in runners if one in names()], means)
    return (*_runnable(plan), *await check(providers, plan.candidates, unavailable, budget=plan.budget, say=say))


def _runnable(plan: Plan) -> list[Checked]:
    try:
        check_runnable(plan, names(), [name for name in names() if make(name).billed])
    except UserMistake as mistake:
        return [
            Checked("study", Finding("plan", False, f"{one.where}: {one.what}", one.next)) for one in mistake.faults
        ]
    here = notice(plan)
    return [Checked("study", Finding("plan", True, f"it can be run; {here}" if here else "it can be run"))]


async def _asked(provider: Provider, candidates: Sequence[Candidate]) -> list[Finding]:
    """What the provider itself finds; one that cannot be asked is a finding too."""
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


async def _priced(
    provider: Provider, candidates: Sequence[Candidate], budget: Money | None, today: date
) -> list[Finding]:
    """Whether what costs money has a price that says something: nothing billed is created on any other."""
    if not candidates:
        return []
    if not provider.billed:
        unknown = [one.id for one in candidates if hourly_cost(one) is None]
        if not unknown:
            return [Finding("price", True, f"a price is known for each of {len(candidates)}")]
        what = f"no price is known for {', '.join(unknown)}"
        return [Finding("price", None, f"{what}; nothing is billed there, and no cost is shown")]
    found = []
    listed = {region: await _listed(provider, region) for region in {one.offering.region for one in candidates}}
    for one in candidates:
        currency = budget.currency if budget else one.offering.price.currency if one.offering.price else ""
        try:
            price_to_create(one, currency, today, listed[one.offering.region])
        except Refused as fault:
            found += [Finding("price", False, f"{each.where}: {each.what}", each.next) for each in fault.faults]
    return found or [Finding("price", True, f"a price is known for each of {len(candidates)}")]


async def _listed(provider: Provider, region: str) -> tuple[Offering, ...]:
    """What the provider sells in a region; nothing where it cannot be asked, which is a finding of its own."""
    try:
        return await run_in_thread(lambda: provider.offerings(region), provider.name, _LIST_S)
    except (CloudcmpError, ImportError, OSError):
        return ()


def _agents(provider: Provider, candidates: Sequence[Candidate]) -> list[Finding]:
    """Whether there is an agent for each kind of machine that is known before it runs."""
    if provider.simulated:
        return []
    if provider.name == "local" or not candidates:
        return [_agent(agent.this_triple())]
    kinds = {dict(one.offering.attributes).get("architecture", "") for one in candidates}
    return [_agent(_TRIPLES.get(kind.lower())) for kind in sorted(kinds)]


def _agent(triple: str | None) -> Finding:
    if triple is None:
        return Finding("agent", None, "which one is needed is only known once the machine runs")
    try:
        agent.locate(triple)
    except AgentMissing as missing:
        fault = missing.faults[0]
        return Finding("agent", False, fault.what, fault.next)
    return Finding("agent", True, f"there is one for {triple}")


def _clock(provider: Provider, now: float) -> Finding:
    """Our own clock, on which times to live rest, against the installation's date: the provider says nothing of it."""
    installed = _INSTALLED.stat().st_mtime
    if now < installed - _DAY_S:
        return Finding("clock", False, "this machine's clock is before the day cloudcmp was installed", "set the clock")
    if provider.billed:
        return Finding("clock", None, "the provider told no time to hold this machine's clock against")
    return Finding("clock", True, "this machine's clock is after the day cloudcmp was installed")
