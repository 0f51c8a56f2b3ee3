"""The environment of a study: its clock, providers, ledger, folders and limits."""

import hashlib
import os
import platform
from pathlib import Path

from cloudcmp import __version__, agent
from cloudcmp.agent.ssh import dial
from cloudcmp.catalog import metrics_with
from cloudcmp.errors import Fault, StorageFault, UserMistake
from cloudcmp.model.plan import Plan
from cloudcmp.model.protocol import Provider
from cloudcmp.owned_folder import OwnedPath
from cloudcmp.plan import machine_limit
from cloudcmp.provider.registry import ProviderOptions, make
from cloudcmp.provider.time import Time, VirtualTime, WallTime
from cloudcmp.provision import Accounts, Journal, Ledger, Limits
from cloudcmp.stats.histogram import encode
from cloudcmp.store import StudyStore

WORK = "work_folder"
"""The key of the note with the study's folder for test files."""


def open_providers(
    store: StudyStore, binary: Path | None = None, journal: Journal | None = None
) -> tuple[dict[str, Provider], Ledger]:
    """A study's providers and its ledger, on one clock; the ledger writes to `journal`, by default the store."""
    moment = time_of(store.plan)
    return providers_of(store, binary, moment), ledger_of(store, moment, journal)


def ledger_of(store: StudyStore, moment: Time, journal: Journal | None = None) -> Ledger:
    """A study's ledger, with its account notes in the store."""
    accounts = Accounts(store.meta, store.set_meta)
    return Ledger(journal or store, store.tag, moment, owner=owner_of(), accounts=accounts)


def work_of(store: StudyStore) -> OwnedPath:
    """The folder of the study's test files: the one with which it began, or its own.

    Links may lead to the folder that the user named; below it none is followed.
    """
    kept = store.meta(WORK)
    return OwnedPath(Path(kept)) if kept else OwnedPath(store.folder, ("work",))


def is_simulated(plan: Plan) -> bool:
    """True if every candidate is simulated; then time is virtual."""
    return all(candidate.simulated for candidate in plan.candidates)


def time_of(plan: Plan) -> Time:
    """Wall time, or virtual time if every candidate is simulated; raises UserMistake for a mixture."""
    if is_simulated(plan):
        return VirtualTime(plan.start_at)
    if any(candidate.simulated for candidate in plan.candidates):
        raise UserMistake.at(plan.name, "simulated and real candidates share no clock", "use --on simulated for all")
    return WallTime()


def agent_of(plan: Plan) -> Path | None:
    """The agent for this machine, None if all candidates are simulated; raises AgentMissing."""
    return None if is_simulated(plan) else agent.locate()


def providers_of(store: StudyStore, binary: Path | None, moment: Time) -> dict[str, Provider]:
    """The plan's providers; simulated clouds share the ledger's virtual time, so that a wait advances it.

    Virtual time goes on where a controller left it: else its last machines would seem too new to be gone.
    """
    plan = store.plan
    if isinstance(moment, VirtualTime):
        leases, _ = store.readable_leases()
        moment.reach(max((one.created_at for one in leases if one.created_at is not None), default=moment.now()))
    options = ProviderOptions(
        work=work_of(store),
        agent=binary,
        metrics=metrics_with(plan.commands),
        candidates=plan.leased,
        time=moment if isinstance(moment, VirtualTime) else None,
        encode_histogram=encode,
        dial=dial,
        study=store.tag,
    )
    return {name: make(name, options) for name in plan.drivers}


def make_folder(place: OwnedPath) -> None:
    """Creates a folder for test files; raises StorageFault, and NotOurs if a link is in its place."""
    try:
        with place.folder(make=True):
            return
    except OSError as error:
        fault = Fault(str(place.path), (error.strerror or "cannot be made").lower(), "name another folder with --dir")
        raise StorageFault(fault) from error


def limits_of(plan: Plan) -> Limits:
    """The limits of a study on machines at once and traffic."""
    return Limits(at_once=machine_limit(plan), traffic_bytes=plan.caps.bytes)


def owner_of() -> str:
    """A hash that distinguishes the users of one account; never a name."""
    return hashlib.sha256(f"{os.getuid()}\n{platform.node()}\n{Path.home()}".encode()).hexdigest()[:12]


def provenance_of(plan: Plan, binary: Path | None) -> dict[str, str]:
    """The provenance of a study: versions, digests, and the sources of its prices."""
    facts = {"cloudcmp": __version__}
    if binary is not None:
        facts["agent sha256"] = hashlib.sha256(binary.read_bytes()).hexdigest()
    for candidate in plan.candidates:
        price = candidate.offering.price
        if price is not None:
            dated = f", as of {price.as_of}" if price.as_of else ", no date"
            facts[f"price of {candidate.id}"] = f"{price.amount_per_hour} {price.currency}/h from {price.source}{dated}"
    return facts
