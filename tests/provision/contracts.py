"""The contract of providers, tried on one cloud that the environment points to, and what must come of it."""

import asyncio
import random
from dataclasses import replace
from typing import Any

from tests.emulated.standing import Standing

from cloudcmp.execute.connections import open_provisioning
from cloudcmp.model.lease import Lease, LeaseRow
from cloudcmp.model.plan import Candidate, Launch
from cloudcmp.model.protocol import Provider
from cloudcmp.provider.time import WallTime
from cloudcmp.provision import Ledger, Patience
from cloudcmp.provision.contract import TESTED, ContractResult, differences, run_contract
from cloudcmp.provision.contract_run import LAUNCHES, ContractRun
from cloudcmp.provision.pace import Pace, Tempo

PATIENCE = Patience(grace_s=2.0, poll_s=0.2, give_up_s=10.0, listings=2)
_ALLOWED = "192.0.2.7/32"


class Unread:
    """Rows that nobody reads again."""

    def append_lease(self, row: LeaseRow) -> None:
        """Write a row."""

    def leases(self) -> tuple[Lease, ...]:
        """Nothing of an earlier process."""
        return ()


def stage(driver: Provider, wanted: Candidate, study: str = "study-a") -> ContractRun:
    """Where the clauses are tried: a ledger, a driver, and as many launches as they take."""
    launches = [Launch(index, 0, index, None, 0.0, index) for index in range(LAUNCHES)]
    time = WallTime()
    ledger = Ledger(Unread(), study, time, pace=Pace(time, random.random, Tempo(interval_s=0.05)))
    office = open_provisioning(ledger, [driver])
    return ContractRun(office, driver, wanted, launches, 600.0, PATIENCE, _ALLOWED)


def held(driver: Provider, wanted: Candidate, study: str = "study-a") -> ContractResult:
    """What comes of the contract on one provider."""
    return asyncio.run(run_contract(stage(driver, wanted, study)))


def of(name: str, wanted: Candidate) -> Candidate:
    """A candidate as another provider of the same driver has it."""
    return replace(wanted, runner=name, offering=replace(wanted.offering, provider=name))


def is_as_said(name: str, found: ContractResult, cloud: Standing[Any]) -> None:
    """What came of it is what is said of the provider, in both directions, and nothing is left."""
    assert differences(name, found.rulings) == ()
    assert {one.clause for one in found.rulings if one.holds is False} == set(TESTED[name].broken)
    assert found.left == ()
    assert cloud.alive() == []
