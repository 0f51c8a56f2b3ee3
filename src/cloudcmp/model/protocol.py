"""The protocols that real, local and simulated execution share."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Protocol, runtime_checkable

from cloudcmp.model.cast import DataSet, Service
from cloudcmp.model.lease import CreateRequest, Handle, Lease, Listing, TaggedResource
from cloudcmp.model.offering import Billing, Offering
from cloudcmp.model.plan import Candidate, Launch, Plan, PlannedTrial
from cloudcmp.model.remote import Channel
from cloudcmp.model.safety import Finding, MachineStatus, Safeguard
from cloudcmp.model.trial import Outcome

UNKNOWN_ACCOUNT = "untold"
"""The name of an account that a cloud does not name."""


def do_nothing() -> None:
    """The default of callbacks: does nothing."""


class Clock(Protocol):
    """The clock of a study: wall time for real studies, planned time for simulated ones."""

    def at(self, planned_s: float) -> float:
        """The Unix time (s) of a step that the plan puts `planned_s` seconds after its start."""


class Instance(Protocol):
    """A launched machine on which agents can be started, one process per job."""

    @property
    def cpus(self) -> Sequence[int]:
        """The processors that jobs on this machine may use."""

    @property
    def address(self) -> str:
        """The address at which the machine's agents reach each other."""

    @property
    def folder(self) -> str | None:
        """The folder for test files, None if there is none."""

    def start(self, job: bytes, trial: PlannedTrial, earlier: int) -> AbstractAsyncContextManager[Channel]:
        """Starts an agent on one job line; leaving the context ends it.

        `earlier` counts the trial's attempts that ended by themselves.
        """


@runtime_checkable
class RunsOtherClient(Instance, Protocol):
    """A machine on which a provider's own client can measure in place of the agent: this one."""

    def start_other_client(self, job: bytes) -> AbstractAsyncContextManager[Channel]:
        """Starts the program that measures a library or a command, on one job line; leaving the context ends it."""


@runtime_checkable
class AcceptsFiles(Instance, Protocol):
    """A machine to which files can be uploaded."""

    async def upload(self, files: Mapping[str, Path]) -> None:
        """Uploads files, executable, into its folder, each under its relative name; raises ProviderFault, OSError."""


class Provider(Protocol):
    """One cloud. Blocking look-ups are plain methods; calls during a study are async.

    Lifecycle calls raise the kinds of ProviderFault, with the provider's own code in the line. `parts` are the kinds of
    resources that a launch leases, in the order of their creation; `safeguards` are in the order of
    `safety.SAFEGUARDS`. `settle_s` is how long a new resource may be missing from lists without being gone; 0 if `gone`
    relies on more than absence.
    """

    name: str
    simulated: bool
    billed: bool
    billing: Billing
    settle_s: float
    parts: tuple[str, ...]
    safeguards: tuple[Safeguard, ...]

    def offerings(self, region: str | None = None) -> tuple[Offering, ...]:
        """The offerings, with price, date and source if known."""

    def host(self, candidate: Candidate) -> str:
        """A name for the machine that a candidate shares with others; equal names never run at once."""

    async def check(self, candidates: Sequence[Candidate]) -> tuple[Finding, ...]:
        """The preflight findings for these candidates; creates nothing."""

    async def create(self, request: CreateRequest) -> str:
        """Requests one resource, with tags and token in the same call; returns its cloud id."""

    async def find(
        self, study: str, token: str | None = None, *, region: str | None = None
    ) -> tuple[TaggedResource, ...]:
        """The resources of a study, by tag, and by token if one is given; in one region, or in all.

        Raises IncompleteListing if the list is not complete.
        """

    async def leftovers(self) -> Listing:
        """All resources with cloudcmp's tags, of every study, kind and region."""

    async def destroy(self, handle: Handle) -> None:
        """Requests the deletion of a resource; deleting one that is gone is no error."""

    async def gone(self, handle: Handle) -> str | None:
        """Evidence that a resource is gone, None while there is none; stopped is not gone."""


@runtime_checkable
class Direct(Provider, Protocol):
    """A provider whose machines need no SSH: this machine, and the simulated ones."""

    async def connect(self, lease: Lease, candidate: Candidate, launch: Launch) -> Instance:
        """The launched machine, ready to run agents."""


@runtime_checkable
class NeedsPreparation(Protocol):
    """A provider that fetches or builds machine images on this computer."""

    async def prepare(self, candidates: Sequence[Candidate], say: Callable[[str], None]) -> None:
        """Prepares the images before anything is timed; `say` reports long steps. Raises the kinds of ProviderFault."""


@runtime_checkable
class PlanSafeguards(Provider, Protocol):
    """A provider whose safeguards depend on the plan."""

    def safeguards_of(self, plan: Plan) -> tuple[Safeguard, ...]:
        """The safeguards for a plan's candidates and trials."""


@runtime_checkable
class SelfTerminating(Protocol):
    """A provider whose machines end by themselves at their time to live, depending on the request."""

    def ends(self, request: CreateRequest) -> bool:
        """True if the requested machine is known to end by itself."""


@runtime_checkable
class Remote(Provider, Protocol):
    """A provider whose machines are reached by SSH."""

    async def look(self, handle: Handle) -> MachineStatus:
        """The status of a machine, and its address once it runs."""

    async def resize(self, handle: Handle, offering: str, stopped: Callable[[], None] = do_nothing) -> None:
        """Resizes a machine to another type of its region, with a stop and a start; raises Refused if it cannot.

        `stopped` is called while the machine is stopped.
        """


@runtime_checkable
class HoldsData(Provider, Protocol):
    """A provider of data sets in storage services."""

    async def data_set(self, service: Service, handle: Handle, until: float) -> DataSet:
        """What an agent needs to use a data set until a time (Unix s); raises the kinds of ProviderFault."""


class Served(Protocol):
    """A running command that serves a service."""

    def ended(self) -> str | None:
        """How it ended and the beginning of what it printed, None while it runs."""


@runtime_checkable
class Serves(Instance, Protocol):
    """A machine on which a study's own command can serve a service."""

    def serve(self, command: str, environ: Mapping[str, str]) -> AbstractAsyncContextManager[Served]:
        """Runs a shell command until the context is left; `environ` is added to its variables."""


@runtime_checkable
class Untagged(Protocol):
    """A provider with clouds that keep no tags: their resources are identified by token alone."""

    may_lack_tags: bool


@runtime_checkable
class Zoned(Protocol):
    """A provider whose regions have zones; a request can name one (option `zone`)."""

    async def zone(self, handle: Handle) -> str | None:
        """The zone of a machine, None while it is unknown."""


@runtime_checkable
class HasServerTime(Protocol):
    """A provider whose responses carry the time of its own clock."""

    async def date(self) -> float | None:
        """The provider's time (Unix s), None if a response carries none."""


@runtime_checkable
class Accounted(Protocol):
    """A provider whose resources belong to an account: with another account's credentials they look gone."""

    async def account(self) -> str:
        """The account in use or UNKNOWN_ACCOUNT, followed by ` at ` and the endpoint if one is configured.

        Raises the kinds of ProviderFault.
        """


class Progress(Protocol):
    """The receiver of a study's progress."""

    def begin(self, trials: int, expected_s: float) -> None:
        """A study starts or continues, with this much left."""

    def replan(self, trials: int, expected_s: float) -> None:
        """Later rounds changed: this much is left now."""

    def launch(self, candidate: str, round: int) -> None:
        """A launch begins."""

    def trial(self, candidate: str, trial: PlannedTrial, outcome: Outcome, why: str) -> None:
        """A trial ended; `why` is empty or one line."""

    def money(self, text: str) -> None:
        """The money spent so far, in one line."""

    def step(self, text: str) -> None:
        """A step that takes a while, in one line."""

    def note(self, text: str) -> None:
        """Something that the user must know, in one line."""

    def end(self) -> None:
        """The study ends; nothing more is reported."""
