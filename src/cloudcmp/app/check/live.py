"""Tests a provider's contract on the user's own account, within a budget, and releases everything."""

import asyncio
import ipaddress
import json
import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from decimal import ROUND_UP, Decimal
from pathlib import Path
from typing import NoReturn

from cloudcmp import agent
from cloudcmp.agent.ssh import dial
from cloudcmp.app import plan as planning
from cloudcmp.app.check.preflight import preflight, refuse
from cloudcmp.app.check.preflight import prepare as prepare_providers
from cloudcmp.app.provider_clients import brief, open_clients, select
from cloudcmp.app.study_folder import new_folder
from cloudcmp.catalog import METRICS, hint
from cloudcmp.errors import AgentMissing, BudgetSpent, CloudcmpError, UserMistake
from cloudcmp.execute.connections import open_provisioning
from cloudcmp.execute.environment import open_providers
from cloudcmp.execute.interruption import StopSignals, run_interruptible
from cloudcmp.execute.teardown import Leave, RunEnd, faults_of, leave_at_once, lines_left, open_lease_lines
from cloudcmp.model.check import LiveCheck
from cloudcmp.model.lease import FIREWALL
from cloudcmp.model.offering import Offering
from cloudcmp.model.plan import Candidate
from cloudcmp.model.protocol import Provider
from cloudcmp.provider.registry import ProviderOptions, make
from cloudcmp.provision import Release
from cloudcmp.provision.clauses import CLAUSES
from cloudcmp.provision.contract import ContractResult, Ruling, differences, run_contract
from cloudcmp.provision.contract_run import LAUNCHES, MACHINES_MOST, ContractRun
from cloudcmp.provision.prices import price_to_create
from cloudcmp.provision.progress import best_effort
from cloudcmp.store import StudyStore
from cloudcmp.units import Money, format_money, parse_money, parse_price_per_hour

TTL_S = 1800.0
_MOST_ADDRESSES = 256
_STEP = Decimal("0.000001")


@dataclass(frozen=True, slots=True)
class LiveCheckResult:
    """The result of a live check: the rulings, how they differ from what was tested, and what is left.

    If `interrupted`, clauses that were not tried have no ruling.
    """

    check: LiveCheck
    rulings: tuple[Ruling, ...]
    differs: tuple[str, ...]
    left: tuple[str, ...]
    interrupted: bool = False

    @property
    def begun(self) -> bool:
        """True if anything could be created, so that other clauses could be tried."""
        return any(one.clause == "create" and one.holds for one in self.rulings)

    @property
    def broken(self) -> tuple[Ruling, ...]:
        """The clauses that do not hold."""
        return tuple(one for one in self.rulings if one.holds is False)


def prepare(
    provider: str, *, budget: str | None, region: str | None, offering: str | None, price: str | None,
    allow: str | None = None, out: Path | None = None,
) -> LiveCheck:  # fmt: skip
    """Plan a live check; nothing is created.

    Raises UserMistake for unknown or mistyped words, an unknown price, and a billed provider without a budget;
    BudgetSpent if the worst case is above the budget.
    """
    (name,) = select([provider])
    made, unavailable = open_clients([name])
    if unavailable:
        raise UserMistake.at(name, unavailable[0].what, unavailable[0].next)
    if budget is None and made[name].billed:
        raise UserMistake.at("--budget", f"machines of {name} cost money", "give a budget: --budget '1 USD'")
    allowed = None if budget is None else _money("--budget", budget)
    addresses = _addresses(made[name], allow)
    text = _study_text(_chosen(made[name], region, offering), price, budget)
    plan = planning.plan_text(text, f"check-{name}.yaml")
    worst = _worst(made[name], plan.candidates[0], allowed)
    if worst is not None and allowed is not None and worst.amount > allowed.amount:
        what = f"the worst case is {format_money(worst)}, above the budget of {format_money(allowed)}"
        raise BudgetSpent.at(name, what, "raise --budget, or name a cheaper --offering")
    return LiveCheck(name, plan, text, new_folder(plan.name, out), worst, allowed, addresses)


def run(
    check: LiveCheck, say: Callable[[str], None] = lambda _: None, leave: Leave | None = None, *,
    step: Callable[[str], None] | None = None,
) -> LiveCheckResult:  # fmt: skip
    """Test all clauses, with a ledger on the disk until everything is confirmed gone.

    `step`, by default `say`, reports each step; `say` reports what is left, and what a signal does. The folder stays if
    something is left, so that `cloudcmp cleanup` works, also after a crash. With `leave`, the first signal ends the
    clauses; at the second one all deletions are requested, and `leave` ends the process. Raises the faults of the
    preflight before anything is created.
    """
    say, step = best_effort(say), best_effort(step or say)
    binary = _agent(check)
    _preflight(check, step)
    plan, began = check.plan, time.time()
    created_at = plan.start_at if check.candidate.simulated else began
    store = StudyStore.create(
        check.folder, plan, study_text=check.text, provenance={"by": "cloudcmp check --live"}, created_at=created_at
    )
    results: list[ContractResult] = []
    clean = False  # until this is True, cleanup needs the ledger after any error
    try:
        with store:
            try:
                run_interruptible(_try_clauses(check, store, binary, say, step, leave, results))
                clean = not results[0].left
            except BaseException as error:
                clean = _add_left(error, check, store, results, say)
                raise
    finally:
        if clean:
            shutil.rmtree(check.folder, ignore_errors=True)
    rulings, left = results[0].rulings, lines_left(results[0].releases)
    return LiveCheckResult(check, rulings, differences(check.provider, rulings), left, len(rulings) < len(CLAUSES))


def _preflight(check: LiveCheck, say: Callable[[str], None]) -> None:
    """Run the preflight before creating anything."""
    say(f"checking first: {check.provider}")
    options = ProviderOptions(metrics=METRICS, candidates=check.plan.candidates, dial=dial)
    refuse(run_interruptible(preflight({check.provider: make(check.provider, options)}, check.plan, say)))
    run_interruptible(prepare_providers(check.plan, say))


def _add_left(
    error: BaseException, check: LiveCheck, store: StudyStore, results: list[ContractResult], say: Callable[[str], None]
) -> bool:
    """Add leftovers to the error that ended the check; returns True if certainly nothing is left.

    Without results, only a ledger in which nothing was ever requested proves that.
    """
    nothing = False
    try:
        lines = lines_left(results[0].releases) if results else open_lease_lines(store, "not seen gone")
        nothing = not (lines if results else store.leases())
    except CloudcmpError as unread:
        lines = (f"what it created may still exist: {brief(unread)}",)
    faults = faults_of(check.folder, lines)
    if isinstance(error, CloudcmpError):
        error.faults = (*error.faults, *faults)
    else:
        for fault in faults:
            say(fault.line())
    return nothing


async def _try_clauses(
    check: LiveCheck, store: StudyStore, binary: Path | None, say: Callable[[str], None], step: Callable[[str], None],
    leave: Leave | None, results: list[ContractResult],
) -> None:  # fmt: skip
    """Test the clauses; appends the result to `results`, where an interruption cannot lose it."""
    providers, ledger = open_providers(store, binary)
    provisioning = open_provisioning(ledger, providers.values())
    provider, launches = providers[check.provider], check.plan.launches[:LAUNCHES]
    contract = ContractRun(provisioning, provider, check.candidate, launches, TTL_S, allow=check.allow)
    if leave is None:
        results.append(await run_contract(contract, say=step))
        return
    stop = asyncio.Event()
    stopping = StopSignals(stop, lambda _: say("ending everything that was created; once more to leave at once"))

    async def work() -> None:
        results.append(await run_contract(contract, stop=stop, say=step))

    with stopping.handled():
        if not await stopping.run_unless_hurried(work()):
            await leave_at_once(ledger, providers, check.folder, _with_doubles(contract, leave))


def _with_doubles(contract: ContractRun, leave: Leave) -> Leave:
    """A `leave` that also reports resources created twice; removes the folder if nothing is left."""

    def leave_all(ending: RunEnd) -> NoReturn:
        lines = lines_left(Release(one, None, "created twice, not asked to go") for one in contract.doubles)
        if not (ending.left or lines):
            shutil.rmtree(ending.folder, ignore_errors=True)
        leave(replace(ending, left=(*ending.left, *lines)))

    return leave_all


def _agent(check: LiveCheck) -> Path | None:
    if check.candidate.simulated:
        return None
    try:
        return agent.locate()
    except AgentMissing:
        if check.provider == "local":
            raise
        return None  # another agent may be needed; the preflight names it


def _addresses(provider: Provider, allow: str | None) -> str:
    """Return the addresses that a firewall admits: only those that the user names, never all."""
    if FIREWALL not in provider.parts:
        return ""
    next_ = "name the address from which you log in: --allow 203.0.113.7/32"
    if allow is None:
        raise UserMistake.at("--allow", f"{provider.name} admits only named addresses", next_)
    for one in allow.split(","):
        try:
            network = ipaddress.ip_network(one.strip())
        except ValueError as error:
            raise UserMistake.at("--allow", str(error), next_) from error
        if network.num_addresses > _MOST_ADDRESSES:
            raise UserMistake.at("--allow", f"{network} has too many addresses to admit", next_)
    return allow


def _money(option: str, text: str) -> Money:
    try:
        return parse_money(text)
    except ValueError as error:
        raise UserMistake.at(option, str(error), "write e.g. --budget '1 USD'") from error


def _chosen(provider: Provider, region: str | None, offering: str | None) -> Offering:
    """Return the named offering, else the cheapest, else the smallest."""
    sold = provider.offerings(region)
    if not sold and region is not None:
        regions = sorted({one.region for one in provider.offerings()})
        raise UserMistake.at(
            "--region",
            f"nothing is sold in {region!r}",
            hint(region, regions, f"cloudcmp list offerings {provider.name}"),
        )
    if not sold:
        what = "it lists no offerings to test: its machines are only known from a study"
        raise UserMistake.at(provider.name, what, "test a study on it with: cloudcmp run STUDY.yaml --short")
    if offering is not None:
        named = [one for one in sold if one.name == offering]
        if not named:
            listing = f"cloudcmp list offerings {provider.name}"
            known = sorted({one.name for one in sold})
            raise UserMistake.at("--offering", f"there is no {offering!r}", hint(offering, known, listing))
        return named[0]
    return min(sold, key=lambda one: (one.price is None, one.price.amount_per_hour if one.price else 0,
                                      one.vcpus or 0.0, one.memory_gib or 0.0))  # fmt: skip


def _study_text(chosen: Offering, price: str | None, budget: str | None) -> str:
    """Return the text of a study of this candidate, so that the ledger and `cloudcmp cleanup` work as for any study."""
    fields = {"provider": chosen.provider, "region": chosen.region, "offering": chosen.name}
    if price is not None:
        try:
            parse_price_per_hour(price)
        except ValueError as error:
            raise UserMistake.at("--price", *str(error).split("; ", 1)) from error
        fields["price"] = price
    candidate = ", ".join(f"{key}: {json.dumps(value)}" for key, value in fields.items())
    lines = ["schema: 1", f"question: Does {chosen.provider} keep its promises on this account?", "candidates:",
             f"  - {{{candidate}}}", "probes:", "  - {probe: fma}", f"launches: {LAUNCHES}", "runs: 1"]  # fmt: skip
    return "\n".join([*lines, *([f"budget: {budget}"] if budget is not None else []), ""])


def _worst(provider: Provider, candidate: Candidate, budget: Money | None) -> Money | None:
    """Return the worst-case cost of the check: every machine for its whole time to live, as it is billed."""
    if not provider.billed or budget is None:
        return None
    priced = price_to_create(candidate, budget.currency, datetime.now(UTC).date(), provider.offerings())
    paid_s = Decimal(repr(provider.billing.paid_s(TTL_S)))
    return Money((priced.per_hour * paid_s / 3600 * MACHINES_MOST).quantize(_STEP, ROUND_UP), priced.currency)
