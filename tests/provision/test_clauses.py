"""The provider contract: every clause notices the provider that breaks it, and whatever came, nothing is left."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from cloudcmp.catalog import METRICS
from cloudcmp.errors import IncompleteListing, LostAnswer, NoCapacity, ProviderFault, Refused, Throttled, Unreached
from cloudcmp.execute.connections import open_provisioning
from cloudcmp.model.firewall import Admission
from cloudcmp.model.lease import (
    FIREWALL,
    INSTANCE,
    STATE_OF,
    CreateRequest,
    Handle,
    Lease,
    LeaseRow,
    Listing,
    TaggedResource,
)
from cloudcmp.model.offering import Offering, Truth
from cloudcmp.model.plan import Candidate, Launch
from cloudcmp.provider.simulated import SimulatedProvider
from cloudcmp.provider.time import VirtualTime
from cloudcmp.provision import Ledger
from cloudcmp.provision.contract import CLAUSES, TESTED, ContractResult, Ruling, differences, run_contract
from cloudcmp.provision.contract_run import LAUNCHES, ContractRun
from cloudcmp.stats import histogram

CANDIDATE = Candidate(0, "one", Offering("simulated", "nimbus", "small", 1, 2), "simulated", truth=Truth())


class Journal:
    """Rows in memory."""

    def __init__(self) -> None:
        self.rows: list[LeaseRow] = []

    def append_lease(self, row: LeaseRow) -> None:
        self.rows.append(row)

    def leases(self) -> tuple[Lease, ...]:
        return tuple(
            Lease(row.slot, row.attempt, STATE_OF[row.event], row.provider, row.region, row.kind, row.name, row.token,
                  row.cloud_id, row.at)
            for row in self.rows
        )  # fmt: skip


class Honest(SimulatedProvider):
    """A simulated cloud that counts what it is asked for."""

    def __init__(self) -> None:
        self.time = VirtualTime(1_700_000_000.0)
        super().__init__(METRICS, self.time, histogram.encode, (CANDIDATE,))
        self.creates: list[CreateRequest] = []

    async def create(self, request: CreateRequest) -> str:
        self.creates.append(request)
        return await super().create(request)

    @property
    def holds(self) -> list[str]:
        return [one.cloud_id for one in self._inventory if one.end is None]


class NoTokens(Honest):
    """Makes a machine for every request."""

    async def create(self, request: CreateRequest) -> str:
        return await super().create(replace(request, token=f"{request.token}-{len(self.creates)}"))


class DropsATag(Honest):
    async def create(self, request: CreateRequest) -> str:
        return await super().create(replace(request, tags=tuple(t for t in request.tags if "expires" not in t[0])))


class OtherName(Honest):
    async def create(self, request: CreateRequest) -> str:
        return await super().create(replace(request, name=request.name[:10]))


class ListsAll(Honest):
    """Lists whatever runs for every study."""

    async def find(
        self, study: str, token: str | None = None, *, region: str | None = None
    ) -> tuple[TaggedResource, ...]:
        return self._listed()


class ForgetsTokens(Honest):
    async def find(
        self, study: str, token: str | None = None, *, region: str | None = None
    ) -> tuple[TaggedResource, ...]:
        return await super().find(study, None, region=region)


class SweepsAll(Honest):
    async def leftovers(self) -> Listing:
        return Listing(self._listed())


class AsksForTheSchema(Honest):
    """Makes nothing that does not bear our schema, as the policy says."""

    async def create(self, request: CreateRequest) -> str:
        if "cloudcmp:schema" not in dict(request.tags):
            raise Refused.at("nimbus", "UnauthorizedOperation", "")
        return await super().create(request)


class TakesAnothers(AsksForTheSchema):
    """Lists another study's for this one, once there is one."""

    async def find(
        self, study: str, token: str | None = None, *, region: str | None = None
    ) -> tuple[TaggedResource, ...]:
        return self._listed() if len(self.holds) > 1 else await super().find(study, token, region=region)


class TellsOneToken(Honest):
    """Tells of whatever it lists the token that it was given last."""

    latest = ""

    async def create(self, request: CreateRequest) -> str:
        self.latest = request.token
        return await super().create(request)

    async def find(
        self, study: str, token: str | None = None, *, region: str | None = None
    ) -> tuple[TaggedResource, ...]:
        found = await super().find(study, token, region=region)
        return tuple(replace(one, token=token or self.latest) for one in found)


class SweepsNothing(Honest):
    async def leftovers(self) -> Listing:
        return Listing(())


class CanNotSweep(Honest):
    async def leftovers(self) -> Listing:
        raise IncompleteListing.at("nimbus", "UnauthorizedOperation", "")


class NeverUp(Honest):
    async def connect(self, lease: Lease, candidate: Candidate, launch: Launch) -> Any:
        raise ProviderFault.at("nimbus", "it never came up", "")


class GoneTooEarly(Honest):
    async def gone(self, handle: Handle) -> str | None:
        return f"{handle.cloud_id} is gone"


class TakesAll(Honest):
    """Destroying one ends all."""

    async def destroy(self, handle: Handle) -> None:
        for cloud_id in self.holds:
            self._inventory.end(cloud_id, "destroyed")


class OnlyOnce(Honest):
    async def destroy(self, handle: Handle) -> None:
        resource = self._inventory.get(handle.cloud_id)
        if resource is None or resource.end is not None:
            raise Refused.at(handle.cloud_id, "InvalidInstanceID.NotFound", "")
        await super().destroy(handle)


class OfferedTwice(Honest):
    def offerings(self, region: str | None = None) -> tuple[Offering, ...]:
        return super().offerings(region) * 2


class Fenced(Honest):
    """Has a firewall before each machine."""

    parts = (FIREWALL, INSTANCE)
    admits = Admission(("192.0.2.7/32",), True)

    async def admitted(self, firewall: Handle) -> Admission:
        return self.admits


def held(
    provider: Honest, say: Callable[[str], None] = lambda _: None, allow: str = ""
) -> tuple[ContractResult, dict[str, Ruling]]:
    """What comes of the whole contract on one cloud."""
    ledger = Ledger(Journal(), "study-a", provider.time)
    launches = [Launch(index, 0, index, None, 10.0 * index, index) for index in range(LAUNCHES)]
    stage = ContractRun(open_provisioning(ledger, [provider]), provider, CANDIDATE, launches, 1800.0, allow=allow)
    found = asyncio.run(run_contract(stage, say=say))
    return found, {one.clause: one for one in found.rulings}


def test_an_honest_provider_keeps_every_clause_that_can_be_told() -> None:
    provider = Honest()
    found, rulings = held(provider)
    assert [one.clause for one in found.rulings] == [clause.name for clause in CLAUSES]
    assert {name for name, one in rulings.items() if one.holds is None} == set(TESTED["simulated"].unknown)
    assert all(one.holds for name, one in rulings.items() if name not in TESTED["simulated"].unknown)
    assert differences("simulated", found.rulings) == ()
    assert found.left == ()
    assert provider.holds == []


BREAKS: dict[str, type[Honest]] = {
    "offerings": OfferedTwice,
    "same token": NoTokens,
    "by token": ForgetsTokens,
    "by name": OtherName,
    "tags": DropsATag,
    "not another": ListsAll,
    "leftovers": SweepsNothing,
    "decoy": SweepsAll,
    "kept": TellsOneToken,
    "reached": NeverUp,
    "destroy": GoneTooEarly,
    "only that": TakesAll,
    "again": OnlyOnce,
}


@pytest.mark.parametrize("clause", BREAKS)
def test_a_broken_clause_is_noticed_and_told_apart(clause: str) -> None:
    provider = BREAKS[clause]()
    found, rulings = held(provider)
    assert rulings[clause].holds is False
    assert rulings[clause].why
    assert any(line.startswith(f"{clause}: does not hold here") for line in differences("simulated", found.rulings))
    if clause not in {"destroy", "again"}:
        assert provider.holds == []


@pytest.mark.parametrize(
    ("admits", "holds", "why"),
    [
        (Admission(("192.0.2.7/32",), True), True, ""),
        (Admission(("192.0.2.7/32",), True, ("0.0.0.0/0 to tcp 22-22",)), False, "admits others: 0.0.0.0/0"),
        (Admission(("192.0.2.7/32", "198.51.100.0/24"), True), False, "admits others: 198.51.100.0/24"),
        (Admission((), True), False, "does not admit the controller"),
        (Admission(("198.51.100.1/32",), True), False, "admits others"),
        (Admission(("192.0.2.7/32",), False), False, "does not admit the launch's other machines"),
    ],
)
def test_a_firewall_admits_the_launch_and_the_controller_alone(admits: Admission, holds: bool, why: str) -> None:
    provider = Fenced()
    provider.admits = admits
    _, rulings = held(provider, allow="192.0.2.7")
    assert (rulings["firewall"].holds, why in rulings["firewall"].why) == (holds, True)


@pytest.mark.parametrize(("kind", "holds"), [(AsksForTheSchema, True), (TakesAnothers, False)])
def test_where_nothing_may_lack_our_schema_the_decoy_is_another_studys(kind: type[Honest], holds: bool) -> None:
    provider = kind()
    _, rulings = held(provider)
    assert rulings["decoy"].holds is holds
    assert rulings["only that"].holds is True
    assert provider.holds == []


def test_a_double_is_ended_as_well() -> None:
    provider = NoTokens()
    found, _ = held(provider)
    assert len(provider.creates) == 3
    assert provider.holds == []
    assert found.left == ()


@pytest.mark.parametrize("kind", [NoCapacity, Refused, Throttled, Unreached, LostAnswer])
def test_where_nothing_can_be_made_nothing_can_be_told(kind: type[ProviderFault]) -> None:
    class Closed(Honest):
        async def create(self, request: CreateRequest) -> str:
            raise kind.at("nimbus", "no", "")

    found, rulings = held(Closed())
    assert rulings["create"].holds is None
    assert "no" in rulings["create"].why
    assert {one.holds for name, one in rulings.items() if name != "offerings"} == {None}
    assert found.left == ()


def test_a_list_that_cannot_be_had_is_no_broken_clause() -> None:
    _, rulings = held(CanNotSweep())
    assert rulings["leftovers"].holds is None
    assert "UnauthorizedOperation" in rulings["leftovers"].why


def test_an_interrupted_try_out_leaves_nothing() -> None:
    class Interrupted(Honest):
        async def find(
            self, study: str, token: str | None = None, *, region: str | None = None
        ) -> tuple[TaggedResource, ...]:
            if study.startswith("no-study"):
                raise KeyboardInterrupt
            return await super().find(study, token, region=region)

    provider = Interrupted()
    with pytest.raises(KeyboardInterrupt):
        held(provider)
    assert provider.holds == []


def test_what_will_not_go_is_left_and_told() -> None:
    class Sticks(Honest):
        async def destroy(self, handle: Handle) -> None:
            raise Refused.at(handle.cloud_id, "UnauthorizedOperation: TerminateInstances", "")

    found, rulings = held(Sticks())
    assert rulings["destroy"].holds is False
    assert found.left
    assert all("TerminateInstances" in one.why for one in found.left)


def test_every_intent_is_written_before_its_create() -> None:
    order: list[str] = []

    class Ordered(Honest):
        async def create(self, request: CreateRequest) -> str:
            order.append(f"create {request.token}")
            return await super().create(request)

    class Written(Journal):
        def append_lease(self, row: LeaseRow) -> None:
            order.append(f"{row.event.value} {row.token}")
            super().append_lease(row)

    provider = Ordered()
    ledger = Ledger(Written(), "study-a", provider.time)
    launches = [Launch(index, 0, index, None, 0.0, index) for index in range(LAUNCHES)]
    asyncio.run(run_contract(ContractRun(open_provisioning(ledger, [provider]), provider, CANDIDATE, launches, 1800.0)))
    creates = [line for line in order if line.startswith("create")]
    assert len(creates) == 3
    for line in creates:
        assert order.index(f"INTENT {line.removeprefix('create ')}") < order.index(line)


def test_a_provider_that_was_never_tested_is_news() -> None:
    assert "each line above is news" in differences("elsewhere", ())[0]


def test_each_clause_is_told_before_it_is_tried() -> None:
    said: list[str] = []
    held(Honest(), said.append)
    assert said == [f"trying {number} of {len(CLAUSES)}: {one.name}" for number, one in enumerate(CLAUSES, 1)]
