"""A journal in memory, clouds that misbehave, and one plan."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from cloudcmp.catalog import METRICS
from cloudcmp.errors import StorageFault
from cloudcmp.model.lease import STATE_OF, CreateRequest, Handle, Lease, LeaseEvent, LeaseRow, TaggedResource
from cloudcmp.model.offering import Faults, Offering, Truth
from cloudcmp.model.plan import Candidate, Launch
from cloudcmp.provider.simulated import SimulatedProvider
from cloudcmp.provider.simulated.inventory import Resource
from cloudcmp.provider.time import VirtualTime
from cloudcmp.provision import Ledger
from cloudcmp.stats import histogram

START = 1_700_000_000.0


class MemoryJournal:
    """Rows in a list that outlives ledgers; `fails` says which events cannot be written."""

    def __init__(self, log: list[str] | None = None) -> None:
        self.rows: list[LeaseRow] = []
        self.fails: set[LeaseEvent] = set()
        self.log = [] if log is None else log

    def append_lease(self, row: LeaseRow) -> None:
        if row.event in self.fails:
            raise StorageFault.at("study.db", "no space left on the disk")
        self.rows.append(row)
        self.log.append(row.event.value)

    def leases(self) -> tuple[Lease, ...]:
        leases: dict[tuple[str, int], Lease] = {}
        for row in self.rows:
            before = leases.get((row.slot, row.attempt))
            leases[row.slot, row.attempt] = Lease(
                row.slot, row.attempt, STATE_OF[row.event], row.provider, row.region, row.kind, row.name, row.token,
                row.cloud_id or (before.cloud_id if before else None), row.at,
            )  # fmt: skip
        return tuple(leases.values())

    def name(self, slot: str, cloud_id: str) -> None:
        """Has the rows of a slot name another thing, as whoever writes the file could."""
        self.rows = [replace(row, cloud_id=cloud_id) if row.slot == slot else row for row in self.rows]

    @property
    def events(self) -> list[str]:
        return [row.event.value for row in self.rows]


class Cloud(SimulatedProvider):
    """A simulated cloud that logs its calls, may be told to fail at some, and counts what it holds."""

    def __init__(self, faults: Faults, log: list[str], state: Path | None = None, start: float = START) -> None:
        self.time = VirtualTime(start)
        candidate = candidate_with(faults)
        super().__init__(METRICS, self.time, histogram.encode, (candidate,), state)
        self.log = log
        self.before: dict[str, Callable[[], None]] = {}

    def _call(self, name: str) -> None:
        self.log.append(name)
        self.before.get(name, lambda: None)()

    async def create(self, request: CreateRequest) -> str:
        self._call("create")
        return await super().create(request)

    async def find(
        self, study: str, token: str | None = None, *, region: str | None = None
    ) -> tuple[TaggedResource, ...]:
        self._call("find")
        return await super().find(study, token, region=region)

    async def destroy(self, handle: Handle) -> None:
        self._call("destroy")
        await super().destroy(handle)

    async def gone(self, handle: Handle) -> str | None:
        self._call("gone")
        return await super().gone(handle)

    @property
    def holds(self) -> list[str]:
        """What the cloud really runs, whatever it lists."""
        return [resource.cloud_id for resource in self._inventory if resource.end is None]


def candidate_with(faults: Faults) -> Candidate:
    offering = Offering("simulated", "nimbus", "small", 1, 2, "general")
    return Candidate(0, "nimbus/small", offering, "simulated", truth=Truth(faults=faults))


class World:
    """One study on one cloud; `restart` is a new controller on the same disk and cloud."""

    def __init__(self, faults: Faults | None = None) -> None:
        self.log: list[str] = []
        self.cloud = Cloud(faults or Faults(), self.log)
        self.candidate = candidate_with(faults or Faults())
        self.journal = MemoryJournal(self.log)
        self.new_ledger = lambda: Ledger(self.journal, "study-a", self.cloud.time)
        self.ledger = self.new_ledger()

    def restart(self) -> None:
        self.ledger = self.new_ledger()

    @staticmethod
    def launch(index: int = 0, seed: int = 5) -> Launch:
        return Launch(index, 0, index, None, 10.0 * index, seed)

    def foreign(self) -> str:
        """A machine of somebody else's study in the same account, there from the start."""
        tags = (("cloudcmp:schema", "1"), ("cloudcmp:slot", "launch-0"), ("cloudcmp:study", "another-study"))
        self.cloud._inventory.add(Resource("sim-foreign", "cloudcmp-foreign", "foreign", tags, START, START, "nimbus"))
        return "sim-foreign"


@pytest.fixture
def world() -> Callable[..., World]:
    """Makes worlds with faults."""
    return World
