"""The simulated clouds: planted truth, virtual time, planted faults."""

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import TYPE_CHECKING

from cloudcmp.errors import LostAnswer, NoCapacity, ProviderFault, Refused, UserMistake
from cloudcmp.model.cast import Role
from cloudcmp.model.cell import Cell
from cloudcmp.model.frames import note, sample
from cloudcmp.model.lease import CreateRequest, Handle, Lease, Listing, TaggedResource
from cloudcmp.model.metric import Metric
from cloudcmp.model.offering import Billing, CellTruth, Faults, Offering, Price
from cloudcmp.model.plan import Candidate, Launch, PlannedTrial
from cloudcmp.model.remote import Channel
from cloudcmp.model.safety import Finding, Safeguard
from cloudcmp.owned_folder import OwnedPath
from cloudcmp.provider.common.unbilled import Unbilled
from cloudcmp.provider.simulated.inventory import Inventory, Resource
from cloudcmp.provider.simulated.stream import Fate, SimulatedChannel, encode, frame_of, hello, ready
from cloudcmp.provider.time import VirtualTime

PROVIDER = "simulated"
_AS_OF = date(2026, 1, 1)

# region: (name, vCPUs, memory in GiB, USD per hour); equal sizes differ slightly, as in real clouds.
_TYPES: dict[str, tuple[tuple[str, float, float, str], ...]] = {
    "nimbus": (("small", 1, 2, "0.0210"), ("medium", 2, 8, "0.0960"), ("large", 4, 16, "0.1920")),
    "stratus": (("small", 1, 2, "0.0190"), ("medium", 2, 8, "0.1010"), ("large", 4, 15, "0.1890")),
    "cumulus": (("small", 1, 1.75, "0.0180"), ("medium", 2, 7.5, "0.0880"), ("large", 4, 16, "0.2010")),
}


def offerings(region: str | None = None) -> tuple[Offering, ...]:
    """The instance types of one simulated cloud, or of all, with planted prices."""
    return tuple(
        Offering(PROVIDER, cloud, name, vcpus, memory, "general", Price(Decimal(price), "USD", "planted", _AS_OF), ())
        for cloud, types in _TYPES.items()
        for name, vcpus, memory, price in types
        if region in {None, cloud}
    )


if TYPE_CHECKING:
    from cloudcmp.provider.simulated.values import Encode

SAFEGUARDS = (
    Safeguard("teardown", True, "a launch's machine ends with it, in virtual time"),
    Safeguard("cleanup", True, "by the study's folder, which holds the state of the simulated clouds"),
    Safeguard("death", False, "no machine ends by itself; none costs money"),
    Safeguard("sweep", False, "simulated clouds lie within their study's folder and go with it"),
)

_ADDRESS = "127.0.0.1"
_SERVER = f"{_ADDRESS}:4711"
_CREATION = 2  # separates the draws of faults from each other and from those of values
_RUNNING = 3


@dataclass(frozen=True, slots=True)
class World:
    """The common part of all simulated machines: the table of metrics, the time, and the histogram encoder."""

    metrics: Mapping[str, Metric]
    time: VirtualTime
    encode_histogram: "Encode"


@dataclass(frozen=True, slots=True)
class SimulatedInstance:
    """A simulated machine, whose agents report the planted truth at once; calls `on_preemption` at a preemption."""

    world: World
    candidate: Candidate
    launch: Launch
    truth: Mapping[str, CellTruth]
    faults: Faults
    on_preemption: Callable[[], None]
    address: str = _ADDRESS
    folder: str | None = None

    @property
    def cpus(self) -> Sequence[int]:
        """As many processors as the offering has."""
        return range(max(1, int(self.candidate.offering.vcpus or 1)))

    def start(self, job: bytes, trial: PlannedTrial, earlier: int) -> AbstractAsyncContextManager[Channel]:
        """Runs a simulated agent on the job; faults affect only the agent that reports samples."""
        offering = self.candidate.offering
        greeting = hello(offering.vcpus, offering.memory_gib)
        job_fields = json.loads(job)
        frames = [greeting, ready(_SERVER)] if job_fields.get("listen") else [greeting]
        reports = job_fields["role"] != Role.SERVER and (job_fields["role"] != Role.PEER or job_fields.get("listen"))
        if not reports:
            return SimulatedChannel(encode(frames), Fate.ENDS, 0.0, self.on_preemption)
        if trial.probe in {"neighbour", "traffic"}:
            return SimulatedChannel(encode([*frames, *_steady(trial)]), Fate.ENDS, 0.0, self.on_preemption)
        from cloudcmp.provider.simulated.services import notes_of
        from cloudcmp.provider.simulated.values import Moment, readings

        moment = Moment(self.world.time.at(trial.start_s), trial.start_s)
        results = readings(
            trial, self.launch.seed, earlier, moment, self.truth, self.world.metrics, self.world.encode_histogram
        )
        notes = [note(key, value) for key, value in notes_of(trial, results).items()]
        fate, fault_at = _fate(self.faults, trial.seed, earlier)
        return SimulatedChannel(encode([*frames, *map(frame_of, results), *notes]), fate, fault_at, self.on_preemption)


def _steady(load: PlannedTrial) -> Iterator[dict[str, object]]:
    """The rates of a neighbour that works all the time; what it takes from the victim is planted in the victim."""
    cell = Cell.parse(load.cells[0])
    for second in range(1, int(float(dict(load.params)["duration_s"])) + 1):
        yield sample(cell.metric, dict(cell.params), float(second), 1000.0)


class SimulatedProvider(Unbilled):
    """Clouds with known truth. Nothing is billed; every number and every fault follows from the plan's seeds.

    `candidates` are the plan's own, each with its truth in every cell of the plan; without them only look-ups work.
    `state_file` keeps the resources across processes. `encode_histogram` takes nanoseconds.
    """

    name = PROVIDER
    simulated = True
    billing = Billing()  # whole hours, as of the clouds that bill coarsest
    settle_s = 300.0
    safeguards: tuple[Safeguard, ...] = SAFEGUARDS

    def __init__(
        self,
        metrics: Mapping[str, Metric],
        time: VirtualTime,
        encode_histogram: "Encode",
        candidates: Sequence[Candidate] = (),
        state_file: OwnedPath | None = None,
    ) -> None:
        self._world = World(metrics, time, encode_histogram)
        self._candidates = {candidate.index: candidate for candidate in candidates}
        truths = {index: one.truth for index, one in self._candidates.items()}
        self._truths = {index: dict(truth.cells) if truth else {} for index, truth in truths.items()}
        self._inventory = Inventory(state_file)
        # The cloud's time continued without a client: a successor starts no earlier than the last creation.
        time.reach(max((resource.made_at for resource in self._inventory), default=time.now()))

    def offerings(self, region: str | None = None) -> tuple[Offering, ...]:
        """The instance types of the three simulated clouds."""
        return offerings(region)

    def host(self, candidate: Candidate) -> str:
        """A name of the candidate's own: simulated machines share no host."""
        return f"{self.name}/{candidate.id}"

    async def check(self, candidates: Sequence[Candidate]) -> tuple[Finding, ...]:  # noqa: ARG002
        """Checks nothing: there is no account, quota or cost."""
        return (Finding("host", True, "simulated: every number is planted"),)

    async def create(self, request: CreateRequest) -> str:
        """Creates a machine at the request's time; idempotent by token.

        Raises NoCapacity or LostAnswer as planted (after the latter the machine exists), and Refused for a token whose
        machine has ended.
        """
        faults = self._faults(request.candidate)
        capacity_draw, lost_draw = _draws(request.seed, _CREATION)[:2]
        where = f"{request.region}/{request.offering}"
        cloud_id = f"sim-{hashlib.sha256(request.token.encode()).hexdigest()[:16]}"
        existing = self._inventory.get(cloud_id)
        if existing is not None:
            if existing.end is not None:
                raise Refused.at(where, "the machine of this token has ended", "ask with a new token")
            return cloud_id
        if capacity_draw < faults.capacity:
            raise NoCapacity.at(where, "the simulated cloud has none left", "it is planted: see faults.capacity")
        self._world.time.reach(request.at)
        made_at, visible_at = float(request.at), float(request.at + faults.stale_list_s)
        tags = tuple(sorted(request.tags))
        resource = Resource(
            cloud_id, request.name, request.token, tags, made_at, visible_at, request.region, kind=request.kind
        )
        self._inventory.add(resource)
        if lost_draw < faults.lost_answer:
            raise LostAnswer.at(where, "the answer to the request was lost", "look for the machine by its token")
        return cloud_id

    async def find(
        self, study: str, token: str | None = None, *, region: str | None = None
    ) -> tuple[TaggedResource, ...]:
        """Running machines with the study's tag or the token; new ones may not be listed yet."""
        return tuple(
            resource
            for resource in self._listed()
            if (("cloudcmp:study", study) in resource.tags or (token is not None and token == resource.token))
            and region in {None, resource.region}
        )

    async def leftovers(self) -> Listing:
        """Running machines with the schema tag, of any study."""
        return Listing(tuple(resource for resource in self._listed() if "cloudcmp:schema" in dict(resource.tags)))

    async def destroy(self, handle: Handle) -> None:
        """Ends the machine at once."""
        self._inventory.end(handle.cloud_id, "destroyed")

    async def gone(self, handle: Handle) -> str | None:
        """How the machine ended, None while it runs."""
        cloud_id = handle.cloud_id
        resource = self._inventory.get(cloud_id)
        return f"{cloud_id} does not exist" if resource is None else resource.end and f"{cloud_id} {resource.end}"

    async def connect(self, lease: Lease, candidate: Candidate, launch: Launch) -> SimulatedInstance:
        """The machine, after its planted boot time in virtual time."""
        cloud_id = lease.cloud_id or ""
        resource = self._inventory.get(cloud_id)
        if resource is None or resource.end is not None:
            raise ProviderFault.at(cloud_id, "the simulated machine is gone", "run the study again with --resume")
        truth = self._candidates[candidate.index].truth
        await self._world.time.sleep((truth.boot_s if truth else None) or 0.0)
        return SimulatedInstance(
            self._world,
            candidate,
            launch,
            self._truths[candidate.index],
            self._faults(candidate.index),
            lambda: self._inventory.end(cloud_id, "was taken back by the cloud"),
        )

    def _listed(self) -> tuple[TaggedResource, ...]:
        now = self._world.time.now()
        return tuple(
            TaggedResource(one.cloud_id, one.name, one.token, one.tags, "running", one.kind, one.region)
            for one in self._inventory
            if one.end is None and one.visible_at <= now
        )

    def _faults(self, index: int) -> Faults:
        candidate = self._candidates.get(index)
        if candidate is None:
            raise UserMistake.at(
                "simulated", f"candidate {index} is not of its plan", "make the provider from the plan"
            )
        return candidate.truth.faults if candidate.truth else Faults()


def _draws(*seeds: int) -> list[float]:
    """Four uniform numbers that the seeds determine."""
    import numpy as np  # not imported to list offerings

    numbers: list[float] = np.random.Generator(np.random.PCG64(np.random.SeedSequence(seeds))).random(4).tolist()
    return numbers


def _fate(faults: Faults, seed: int, earlier: int) -> tuple[Fate, float]:
    """The planted fault of one run, and the share of its output before it."""
    hang, garbage, preemption, fault_at = _draws(seed, earlier, _RUNNING)
    if preemption < faults.preemption:
        return Fate.PREEMPTED, fault_at
    if hang < faults.hang:
        return Fate.HANGS, fault_at
    return (Fate.GARBAGE if garbage < faults.garbage else Fate.ENDS), fault_at
