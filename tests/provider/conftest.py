"""Plans in small, for providers."""

from collections.abc import Iterator, Mapping

import pytest
from tests.emulated.ec2 import Ec2, ec2
from tests.emulated.gce import Gce, gce
from tests.emulated.longtail import LongTail
from tests.emulated.pointed import pointed
from tests.emulated.tail import NAMES, emulated

from cloudcmp.catalog import METRICS, cells_of, expected_s, fill
from cloudcmp.model.lease import INSTANCE, CreateRequest, Handle, Lease, LeaseState
from cloudcmp.model.offering import CellTruth, Faults, Offering, Truth
from cloudcmp.model.plan import Candidate, Launch, PlannedTrial
from cloudcmp.owned_folder import OwnedPath
from cloudcmp.provider.simulated import SimulatedProvider
from cloudcmp.provider.time import VirtualTime
from cloudcmp.stats import histogram

START = 1_700_006_400.0  # a midnight, so that a daily cycle begins at its zero


class Plans:
    """Pieces of plans and providers, for tests."""

    start = START

    @staticmethod
    def trial(probe: str, index: int = 0, start_s: float = 0.0, seed: int = 1, **params: str) -> PlannedTrial:
        filled = fill(probe, params)
        cells = tuple(str(cell) for cell in cells_of(probe, filled))
        return PlannedTrial(
            index, 0, probe, tuple(sorted(filled.items())), cells, 0, start_s, expected_s(probe, filled), 30.0, seed
        )

    @staticmethod
    def candidate(
        cells: Mapping[str, CellTruth] | None = None, faults: Faults | None = None, boot_s: float | None = None
    ) -> Candidate:
        offering = Offering("simulated", "nimbus", "medium", 2, 8, "general")
        truth = Truth(tuple((cells or {}).items()), boot_s, faults or Faults())
        return Candidate(0, "nimbus/medium", offering, "simulated", truth=truth)

    @staticmethod
    def simulated(
        candidate: Candidate, state: OwnedPath | None = None, time: VirtualTime | None = None
    ) -> SimulatedProvider:
        return SimulatedProvider(METRICS, time or VirtualTime(START), histogram.encode, (candidate,), state)

    @staticmethod
    def request(token: str = "token-1", seed: int = 5, at: float = START, offering: str = "1cpu") -> CreateRequest:
        tags = (("cloudcmp:attempt", "1"), ("cloudcmp:slot", "launch-0"), ("cloudcmp:study", "study-a"))
        return CreateRequest(
            "launch-0", 1, "instance", f"cloudcmp-{token}", token, "nimbus", offering, 3600.0, tags, 0, 0, seed, at
        )

    @staticmethod
    def handle(cloud_id: str, region: str = "nimbus") -> Handle:
        return Handle(INSTANCE, region, cloud_id)

    @staticmethod
    def launch(index: int = 0, seed: int = 5) -> Launch:
        return Launch(index, 0, index, None, 0.0, seed)

    @staticmethod
    def lease(request: CreateRequest, cloud_id: str, provider: str) -> Lease:
        return Lease(
            request.slot, 1, LeaseState.LIVE, provider, request.region, request.kind, request.name, request.token,
            cloud_id, request.at,
        )  # fmt: skip


@pytest.fixture(scope="session")
def plans() -> type[Plans]:
    """Pieces of plans and providers."""
    return Plans


@pytest.fixture(params=NAMES)
def tail(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[LongTail]:
    """Each emulated cloud of the long tail in turn, nothing wrong yet, that this process's environment points to."""
    with pointed(emulated(request.param).make(), monkeypatch) as one:
        yield one


@pytest.fixture
def cloud(monkeypatch: pytest.MonkeyPatch) -> Iterator[Ec2]:
    """An emulated EC2 in which nothing goes wrong yet, that this process's environment points to."""
    with pointed(ec2(), monkeypatch) as one:
        yield one


@pytest.fixture
def gce_cloud(monkeypatch: pytest.MonkeyPatch) -> Iterator[Gce]:
    """An emulated Compute Engine in which nothing goes wrong yet, that this process's environment points to."""
    with pointed(gce(), monkeypatch) as one:
        yield one
