"""A provider's contract tried out for real, on the user's own account, within a budget, and all of it released."""

import asyncio
import ipaddress
import json
import shutil
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from decimal import ROUND_UP, Decimal
from pathlib import Path
from typing import NoReturn

from cloudcmp import agent
from cloudcmp.agent.ssh import dial
from cloudcmp.app import plan as planning
from cloudcmp.app import run as running
from cloudcmp.app.check import preflight, refuse
from cloudcmp.app.preparation import prepare as get_ready
from cloudcmp.app.provider_clients import brief, opened, wanted
from cloudcmp.catalog import METRICS, hint
from cloudcmp.errors import AgentMissing, BudgetSpent, CloudcmpError, UserMistake
from cloudcmp.execute.environment import tools
from cloudcmp.execute.interruptible import ask, unheld
from cloudcmp.execute.interruption import Stopping
from cloudcmp.execute.ssh_setup import open_provisioning
from cloudcmp.execute.teardown import Leave, RunEnd, faults_of, leave_at_once, lines_left, untouched
from cloudcmp.model.lease import FIREWALL
from cloudcmp.model.offering import Offering
from cloudcmp.model.plan import Candidate, Plan
from cloudcmp.model.protocol import Provider
from cloudcmp.provider.registry import ProviderOptions, make
from cloudcmp.provision import Release
from cloudcmp.provision.clauses import CLAUSES
from cloudcmp.provision.contract import TESTED, Held, Ruling, differences, hold
from cloudcmp.provision.contract_run import LAUNCHES, MACHINES_MOST, ContractRun
from cloudcmp.provision.prices import price_to_create
from cloudcmp.provision.waiting import aside
from cloudcmp.store import StudyStore
from cloudcmp.units import Money, format_money, format_seconds, parse_money, parse_price_per_hour

TTL_S = 1800.0
_MOST_ADDRESSES = 256
_STEP = Decimal("0.000001")


@dataclass(frozen=True, slots=True)
class Tryout:
    """What is about to be tried out: `worst` is the most that it can cost, None where nothing is billed.

    `allow` are the addresses that its firewalls let in.
    """

    provider: str
    plan: Plan
    text: str
    folder: Path
    worst: Money | None
    budget: Money | None
    allow: str = ""

    @property
    def candidate(self) -> Candidate:
        """The machines that are made."""
        return self.plan.candidates[0]


@dataclass(frozen=True, slots=True)
class Proved:
    """What came of a try-out: the rulings, how they differ from where it was tested, and what is left.

    One that was `interrupted` has no rulings of the clauses that were not tried any more.
    """

    tryout: Tryout
    rulings: tuple[Ruling, ...]
    differs: tuple[str, ...]
    left: tuple[str, ...]
    interrupted: bool = False

    @property
    def begun(self) -> bool:
        """Whether anything could be made, so that there was something to tell."""
        return any(one.clause == "create" and one.holds for one in self.rulings)

    @property
    def broken(self) -> tuple[Ruling, ...]:
        """The clauses that do not hold."""
        return tuple(one for one in self.rulings if one.holds is False)


def prepare(
    provider: str, *, budget: str | None, region: str | None, offering: str | None, price: str | None,
    allow: str | None = None, out: Path | None = None,
) -> Tryout:  # fmt: skip
    """What a try-out takes, before anything is created.

    Raises UserMistake for what is unknown or mistyped, an unknown price and a missing budget of a billed provider;
    BudgetSpent where the worst case is above the budget.
    """
    (name,) = wanted([provider])
    made, unavailable = opened([name])
    if unavailable:
        raise UserMistake.at(name, unavailable[0].what, unavailable[0].next)
    if budget is None and made[name].billed:
        raise UserMistake.at("--budget", f"machines of {name} cost money", "say how much: --budget '1 USD'")
    allowed = None if budget is None else _money("--budget", budget)
    addresses = _addresses(made[name], allow)
    text = _study_text(_chosen(made[name], region, offering), price, budget)
    plan = planning.plan_text(text, f"check-{name}.yaml")
    worst = _worst(made[name], plan.candidates[0], allowed)
    if worst is not None and allowed is not None and worst.amount > allowed.amount:
        what = f"the worst case is {format_money(worst)}, above the budget of {format_money(allowed)}"
        raise BudgetSpent.at(name, what, "raise --budget, or name a cheaper --offering")
    return Tryout(name, plan, text, running.new_folder(plan, out), worst, allowed, addresses)


def prove(tryout: Tryout, say: Callable[[str], None] = lambda _: None, leave: Leave | None = None) -> Proved:
    """Try the contract out, with a ledger on the disk until all is seen gone.

    The folder stays where something is left, so that `cloudcmp cleanup` works, also after a crash. With `leave` the
    first signal ends the clauses, and `say` tells it; at the second one all is asked to go, and `leave` ends the
    process. Raises what the preflight refuses, before anything is created.
    """
    say = aside(say)
    binary = _agent(tryout)
    _look_first(tryout, say)
    plan, began = tryout.plan, time.time()
    created_at = plan.start_at if tryout.candidate.simulated else began
    store = StudyStore.create(
        tryout.folder, plan, study_text=tryout.text, provenance={"by": "cloudcmp check --live"}, created_at=created_at
    )
    came: list[Held] = []
    clean = False  # until it was seen: whatever is raised meanwhile, the ledger is what cleanup goes by
    try:
        with store:
            try:
                unheld(_try_out(tryout, store, binary, say, leave, came))
                clean = not came[0].left
            except BaseException as error:
                clean = _told_with(error, tryout, store, came, say)
                raise
    finally:
        if clean:
            shutil.rmtree(tryout.folder, ignore_errors=True)
    rulings, left = came[0].rulings, lines_left(came[0].releases)
    return Proved(tryout, rulings, differences(tryout.provider, rulings), left, len(rulings) < len(CLAUSES))


def _look_first(tryout: Tryout, say: Callable[[str], None]) -> None:
    """Refuse what the provider would refuse, before there is anything that whoever interrupts it could leave."""
    say(f"looking first: {tryout.provider}")
    means = ProviderOptions(metrics=METRICS, candidates=tryout.plan.candidates, dial=dial)
    refuse(ask(preflight({tryout.provider: make(tryout.provider, means)}, tryout.plan, say)))
    ask(get_ready(tryout.plan, say))


def _told_with(
    error: BaseException, tryout: Tryout, store: StudyStore, came: Sequence[Held], say: Callable[[str], None]
) -> bool:
    """Tell what is not seen gone with what ended a try-out, for nothing else will; whether it is known to be nothing.

    Where nothing came of it, only a ledger in which nothing was ever asked for says so.
    """
    nothing = False
    try:
        lines = lines_left(came[0].releases) if came else untouched(store, "not seen gone")
        nothing = not (lines if came else store.leases())
    except CloudcmpError as unread:
        lines = (f"what it made may be there: {brief(unread)}",)
    faults = faults_of(tryout.folder, lines)
    if isinstance(error, CloudcmpError):
        error.faults = (*error.faults, *faults)
    else:
        for fault in faults:
            say(fault.line())
    return nothing


def told_before(tryout: Tryout) -> tuple[str, ...]:
    """What is about to happen, and what it costs at worst."""
    one = tryout.candidate.offering
    money = "nothing is billed there" if tryout.worst is None else f"at worst {format_money(tryout.worst)}"
    return (
        f"{one.provider}/{one.region}/{one.name}: at most {MACHINES_MOST} machines, each for at most "
        f"{format_seconds(TTL_S)}; {money}.",
        f"Until all is seen gone, what was made is kept in {tryout.folder}: cloudcmp cleanup {tryout.folder}",
    )


def told_after(proved: Proved) -> tuple[str, ...]:
    """How it differs from what cloudcmp was tested against, as the last block."""
    tested = TESTED.get(proved.tryout.provider)
    against = f"Tested against {tested.against}, not on a real account." if tested else "Never tested before."
    ended = f"{len(proved.left)} LEFT." if proved.left else "All that was made is seen gone."
    if proved.interrupted:
        tried = f"Stopped on request: {len(proved.rulings)} of {len(CLAUSES)} promises were tried."
        return (tried, ended, against, *proved.differs)
    return (ended, against, *(proved.differs or ("Nothing differs here.",)))


def table(proved: Proved) -> tuple[tuple[str, ...], Sequence[tuple[str, ...]]]:
    """The columns and rows of the clauses."""
    marks = {True: "+", False: "!", None: "?"}
    return ("clause", "promise", "here", "why"), [
        (one.clause, one.text, f"{marks[one.holds]} {one.words}", one.why) for one in proved.rulings
    ]


def as_data(proved: Proved) -> dict[str, object]:
    """What came of a try-out as a JSON document's data."""
    tested = TESTED.get(proved.tryout.provider)
    return {
        "provider": proved.tryout.provider,
        "offering": proved.tryout.candidate.offering,
        "worst_cost": proved.tryout.worst,
        "budget": proved.tryout.budget,
        "clauses": proved.rulings,
        "tested_against": tested.against if tested else None,
        "differs": proved.differs,
        "interrupted": proved.interrupted,
        "left": proved.left,
    }


async def _try_out(
    tryout: Tryout, store: StudyStore, binary: Path | None, say: Callable[[str], None], leave: Leave | None,
    came: list[Held],
) -> None:  # fmt: skip
    """Try the contract out; what came of it is kept outside, where no interruption can take it away."""
    providers, ledger = tools(store, binary)
    office = open_provisioning(ledger, providers.values())
    provider, launches = providers[tryout.provider], tryout.plan.launches[:LAUNCHES]
    stage = ContractRun(office, provider, tryout.candidate, launches, TTL_S, allow=tryout.allow)
    if leave is None:
        came.append(await hold(stage, say=say))
        return
    stop = asyncio.Event()
    stopping = Stopping(stop, lambda _: say("ending all that was made; once more to leave at once"))

    async def work() -> None:
        came.append(await hold(stage, stop=stop, say=say))

    with stopping.heeding():
        if not await stopping.unless_hurried(work()):
            await leave_at_once(ledger, providers, tryout.folder, _with_doubles(stage, leave))


def _with_doubles(stage: ContractRun, leave: Leave) -> Leave:
    """Tells also what was made beside the ledger, which is found by its tags; nothing is kept where nothing is left."""

    def leave_all(ending: RunEnd) -> NoReturn:
        lines = lines_left(Release(one, None, "made twice, not asked to go") for one in stage.doubles)
        if not (ending.left or lines):
            shutil.rmtree(ending.folder, ignore_errors=True)
        leave(replace(ending, left=(*ending.left, *lines)))

    return leave_all


def _agent(tryout: Tryout) -> Path | None:
    if tryout.candidate.simulated:
        return None
    try:
        return agent.locate()
    except AgentMissing:
        if tryout.provider == "local":
            raise
        return None  # another one may be needed: the preflight says which


def _addresses(provider: Provider, allow: str | None) -> str:
    """Who may log in, where a firewall is made: only addresses that the user names, never everybody."""
    if FIREWALL not in provider.parts:
        return ""
    next_ = "say from where you log in: --allow 203.0.113.7/32"
    if allow is None:
        raise UserMistake.at("--allow", f"{provider.name} keeps everybody out who is not named", next_)
    for one in allow.split(","):
        try:
            network = ipaddress.ip_network(one.strip())
        except ValueError as error:
            raise UserMistake.at("--allow", str(error), next_) from error
        if network.num_addresses > _MOST_ADDRESSES:
            raise UserMistake.at("--allow", f"{network} are too many to let in", next_)
    return allow


def _money(option: str, text: str) -> Money:
    try:
        return parse_money(text)
    except ValueError as error:
        raise UserMistake.at(option, str(error), "write e.g. --budget '1 USD'") from error


def _chosen(provider: Provider, region: str | None, offering: str | None) -> Offering:
    """The offering that was named, else the cheapest, else the smallest."""
    sold = provider.offerings(region)
    if not sold and region is not None:
        regions = sorted({one.region for one in provider.offerings()})
        raise UserMistake.at(
            "--region",
            f"nothing is sold in {region!r}",
            hint(region, regions, f"cloudcmp list offerings {provider.name}"),
        )
    if not sold:
        what = "it lists nothing to try out: its machines are only known from a study"
        raise UserMistake.at(provider.name, what, "try out a study on it with: cloudcmp run STUDY.yaml --short")
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
    """A study of this one candidate, so that the ledger and `cloudcmp cleanup` are those of any study."""
    fields = {"provider": chosen.provider, "region": chosen.region, "offering": chosen.name}
    if price is not None:
        try:
            parse_price_per_hour(price)
        except ValueError as error:
            raise UserMistake.at("--price", str(error), "write e.g. --price '0.01 USD/h'") from error
        fields["price"] = price
    candidate = ", ".join(f"{key}: {json.dumps(value)}" for key, value in fields.items())
    lines = ["schema: 1", f"question: Does {chosen.provider} keep its promises on this account?", "candidates:",
             f"  - {{{candidate}}}", "probes:", "  - {probe: fma}", f"launches: {LAUNCHES}", "runs: 1"]  # fmt: skip
    return "\n".join([*lines, *([f"budget: {budget}"] if budget is not None else []), ""])


def _worst(provider: Provider, candidate: Candidate, budget: Money | None) -> Money | None:
    """The most that a try-out can cost: every machine for its whole time to live, as it is billed."""
    if not provider.billed or budget is None:
        return None
    priced = price_to_create(candidate, budget.currency, datetime.now(UTC).date(), provider.offerings())
    paid_s = Decimal(repr(provider.billing.paid_s(TTL_S)))
    return Money((priced.per_hour * paid_s / 3600 * MACHINES_MOST).quantize(_STEP, ROUND_UP), priced.currency)
