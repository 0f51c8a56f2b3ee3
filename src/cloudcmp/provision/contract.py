"""Tests the provider contract on any account with real machines.

All clauses use the same machines, in order; each one holds, does not hold or stays undecided. Everything that was made
is released at the end.
"""

import asyncio
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from cloudcmp.errors import CloudcmpError
from cloudcmp.model.lease import Handle, Lease
from cloudcmp.provider.longtail.table import CLOUDS
from cloudcmp.provision.clauses import CLAUSES
from cloudcmp.provision.contract_run import Clause, ClauseBroken, ContractRun, Inconclusive
from cloudcmp.provision.destruction import Release
from cloudcmp.provision.lifecycle import release_all
from cloudcmp.provision.progress import best_effort, run_with_progress


@dataclass(frozen=True, slots=True)
class Ruling:
    """The result of one clause; `holds` is None if it is undecided."""

    clause: str
    text: str
    holds: bool | None
    why: str = ""

    @property
    def words(self) -> str:
        """The result in words."""
        return _WORDS[self.holds]


@dataclass(frozen=True, slots=True)
class ContractResult:
    """The results of all clauses, and of releasing what they made."""

    rulings: tuple[Ruling, ...]
    releases: tuple[Release, ...]

    @property
    def left(self) -> tuple[Release, ...]:
        """The releases without evidence."""
        return tuple(one for one in self.releases if one.evidence is None)


async def run_contract(
    run: ContractRun,
    clauses: Sequence[Clause] | None = None,
    stop: asyncio.Event | None = None,
    say: Callable[[str], None] = lambda _: None,
) -> ContractResult:
    """Tests every clause in order, then releases everything; never raises if a provider fails.

    `say` gets each clause before its test, and what is awaited at the end. Setting `stop` aborts the current clause
    without a ruling, and skips the others.
    """
    stop, say = stop or asyncio.Event(), best_effort(say)
    rulings: list[Ruling] = []
    releases: tuple[Release, ...] = ()
    try:
        tried = CLAUSES if clauses is None else clauses
        for number, clause in enumerate(tried, 1):
            if stop.is_set():
                break
            say(f"trying {number} of {len(tried)}: {clause.name}")
            ruling = await _run_unless_stopped(stop, _decide(run, clause))
            if ruling is None:
                break
            rulings.append(ruling)
    finally:
        if run.machine is not None and run.machine.shell is not None:
            with suppress(Exception):  # the machine is destroyed anyway
                await run.machine.shell.close()
        doubles = [await _end_double(run, lease) for lease in run.doubles]
        named, ledger = {run.provider.name: run.provider}, run.context.ledger
        releases = (*doubles, *await run_with_progress(release_all(ledger, named), ledger, named, say))
    return ContractResult(tuple(rulings), releases)


async def _run_unless_stopped(stop: asyncio.Event, work: Coroutine[Any, Any, Ruling]) -> Ruling | None:
    """Returns a ruling, None if the stop came first."""
    task, stopped = asyncio.create_task(work), asyncio.create_task(stop.wait())
    try:
        await asyncio.wait({task, stopped}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        stopped.cancel()
        task.cancel()
        await asyncio.wait({task})
    return None if task.cancelled() else task.result()


async def _decide(run: ContractRun, clause: Clause) -> Ruling:
    holds: bool | None = None
    try:
        await clause.attempt(run)
        holds, why = True, ""
    except ClauseBroken as broken:
        holds, why = False, str(broken)
    except (Inconclusive, CloudcmpError, OSError) as unknown:
        why = " ".join(str(unknown).split())
    return Ruling(clause.name, clause.text, holds, why)


CHECKED: Mapping[str, str] = {
    "credentials": "whether they are there and taken",
    "account": "whose they are, and whether it is the one that the study names",
    "clock": "whether this machine's clock agrees with the provider's",
    "capability": "whether the region, the offering and what safety rests on are there on this installation",
    "image": "whether the operating system's image is there",
    "rights": "whether what a study needs to make and to end may be done",
    "quota": "whether the account's limits leave room",
    "host": "whether this machine, or the one that is named, can run the agent",
    "isolation": "how a victim and its neighbour are kept apart on this machine",
}
"""What a provider checks before a study, by kind of finding."""


@dataclass(frozen=True, slots=True)
class TestRecord:
    """What a provider was tested against, and the clauses that do not hold or are undecided there, with reasons.

    `checked` are the kinds of findings that it gave there for a study that can run.
    """

    against: str
    unknown: Mapping[str, str] = field(default_factory=dict)
    broken: Mapping[str, str] = field(default_factory=dict)
    checked: tuple[str, ...] = ()

    def holds(self, clause: str) -> bool | None:
        """Returns the result of a clause there."""
        return False if clause in self.broken else None if clause in self.unknown else True


_NO_FIREWALL = {"firewall": "its machines stand behind no firewall of their launch's"}
_NO_SSH = {
    **_NO_FIREWALL,
    "wrong host": "it is not reached by SSH",
    "unknown offering": "it stands in for any offering",
}
_EMULATED = "an emulator (moto behind a proxy that adds what it lacks) with SSH servers behind its addresses"
_ARM = "an emulator of the tests' own, driven through Azure's official clients, with SSH servers behind its addresses"
_PREFLIGHT = ("credentials", "account", "clock", "image", "rights", "quota")
_LONG_TAIL = "an emulation of the tests' own, reached through apache-libcloud, with SSH servers behind its addresses"
_EMULATED_OPENSTACK = (
    "an emulator of the tests' own (Keystone, Nova, Neutron, Cinder, Glance), driven through openstacksdk, with SSH "
    "servers behind its addresses"
)


TESTED: Mapping[str, TestRecord] = {
    **{
        name: TestRecord(_LONG_TAIL, {}, {"firewall": f"it admits {one.open_to}"} if one.open_to else {}, _PREFLIGHT)
        for name, one in CLOUDS.items()
    },
    "aws": TestRecord(_EMULATED, checked=_PREFLIGHT),
    "azure": TestRecord(_ARM, checked=_PREFLIGHT),
    "ec2": TestRecord(
        f"{_EMULATED}, with tokens, filters and guest shutdown switched off",
        unknown={"offerings": "this cloud does not list its instance types"},
        broken={"same token": "this cloud ignores tokens: a second machine is seen by its tags, and ended"},
        checked=("capability", *_PREFLIGHT),
    ),
    "gcp": TestRecord(
        "an emulator of the tests' own, driven through Google's client, with SSH servers behind its addresses",
        checked=("capability", *_PREFLIGHT),
    ),
    "local": TestRecord("the machine that the tests run on", _NO_SSH, checked=("host", "isolation")),
    "netns": TestRecord("namespaces of the machine that the tests run on", _NO_SSH, checked=("host",)),
    "openstack": TestRecord(_EMULATED_OPENSTACK, checked=("capability", *_PREFLIGHT)),
    "qemu": TestRecord("guests of the machine that the tests run on", _NO_FIREWALL, checked=("host", "image", "quota")),
    "rackspace": TestRecord(
        "the same emulation as openstack, which has nothing of Rackspace's own", checked=("capability", *_PREFLIGHT)
    ),
    "simulated": TestRecord("its own planted clouds", _NO_SSH, checked=("host",)),
    "ssh": TestRecord(
        "an SSH server of the tests' own",
        unknown={**_NO_FIREWALL, "wrong host": "the user's own SSH configuration knows its key"},
        checked=("host",),
    ),
}
"""The test record of each provider: clauses that are not named hold there. No real cloud account was ever used."""
_WORDS = {True: "holds", False: "does not hold", None: "undecided"}


def differences(provider: str, rulings: Sequence[Ruling]) -> tuple[str, ...]:
    """Returns a line for each clause whose result differs from the test record."""
    tested = TESTED.get(provider)
    if tested is None:
        return (f"{provider} was not tested against anything before: each line above is news",)
    lines = []
    for one in rulings:
        before = tested.holds(one.clause)
        if one.holds is not before:
            why = f" ({one.why})" if one.why else ""
            lines.append(f"{one.clause}: {one.words} here{why}; {_WORDS[before]} where tested")
    return tuple(lines)


async def _end_double(run: ContractRun, lease: Lease) -> Release:
    """Ends a resource that is not in the ledger: only this run knows of it."""
    handle, time, why = Handle(lease.kind, lease.region, lease.cloud_id or ""), run.context.ledger.time, "still there"
    began = time.monotonic()
    while time.monotonic() - began <= run.waits.give_up_s:
        try:
            await run.provider.destroy(handle)
            evidence = await run.provider.gone(handle)
            if evidence is not None:
                return Release(lease, evidence)
        except Exception as fault:  # of any kind: the rest must still be ended
            why = str(fault) or type(fault).__name__
        await time.sleep(run.waits.poll_s)
    return Release(lease, None, why)
