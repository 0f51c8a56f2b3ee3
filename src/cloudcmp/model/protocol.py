"""The seams: what real, local and simulated execution have in common."""

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Protocol, runtime_checkable

from cloudcmp.model.lease import CreateRequest, Found, Handle, Lease, Listing
from cloudcmp.model.offering import Billing, Offering
from cloudcmp.model.plan import Candidate, Launch, Plan, PlannedTrial
from cloudcmp.model.safety import Finding, MachineStatus, Safeguard
from cloudcmp.model.trial import Outcome

UNTOLD = "untold"
"""Stands for an account that a cloud does not tell."""


def nothing() -> None:
    """What is done at a moment of which nobody wants to know."""


class Clock(Protocol):
    """Where times come from: the wall for real studies, the plan for simulated ones."""

    def at(self, planned_s: float) -> float:
        """The Unix time (s) of a step that the plan puts `planned_s` seconds after its start."""
        ...


class Channel(Protocol):
    """A way to one agent process: the bytes that it prints, while its standard input is held open."""

    def stdout(self) -> AsyncIterator[bytes]:
        """What the agent prints, in pieces of any size, until it ends."""
        ...

    async def hang_up(self) -> None:
        """Close the agent's standard input, which tells it to stop."""
        ...

    async def last_words(self) -> str:
        """How the agent ended and the beginning of its error output, as it came: never shown uncleaned."""
        ...


class Instance(Protocol):
    """A launched machine on which agents can be started, one process a job."""

    @property
    def cpus(self) -> Sequence[int]:
        """The processors that jobs on this machine may use."""
        ...

    @property
    def address(self) -> str:
        """The address at which the machine's agents reach each other."""
        ...

    @property
    def folder(self) -> str | None:
        """The folder for test files, None where there is none."""
        ...

    def start(self, job: bytes, trial: PlannedTrial, earlier: int) -> AbstractAsyncContextManager[Channel]:
        """Start an agent on one job line; leaving the context ends it.

        `earlier` counts the trial's attempts that ended by themselves.
        """
        ...


@runtime_checkable
class AcceptsFiles(Instance, Protocol):
    """A machine to which files can be brought."""

    async def upload(self, files: Mapping[str, Path]) -> None:
        """Bring files, executable, into its folder, each under its relative name; raises ProviderFault, OSError."""
        ...


class Provider(Protocol):
    """One cloud. Blocking look-ups are plain methods; what happens during a study is async.

    Lifecycle calls raise the kinds of ProviderFault, told apart, with the provider's own code in the line.
    `parts` are the kinds of resources that a launch leases, in the order in which they are made; `safeguards` are told
    in the order of `safety.SAFEGUARDS`. `settle_s` is how long the absence of something new is not believed to be its
    end; 0 where `gone` answers on more than absence.
    """

    name: str
    simulated: bool
    billed: bool
    billing: Billing
    settle_s: float
    parts: tuple[str, ...]
    safeguards: tuple[Safeguard, ...]

    def offerings(self, region: str | None = None) -> tuple[Offering, ...]:
        """What can be had, with price, date and source where known."""
        ...

    def host(self, candidate: Candidate) -> str:
        """A name for the machine that a candidate shares with others; equal names never run at once."""
        ...

    async def check(self, candidates: Sequence[Candidate]) -> tuple[Finding, ...]:
        """What must hold before anything is created for these candidates, looked at without creating anything."""
        ...

    async def create(self, request: CreateRequest) -> str:
        """Ask for one resource, tags and token in the same call; returns its cloud id."""
        ...

    async def find(self, study: str, token: str | None = None, *, region: str | None = None) -> tuple[Found, ...]:
        """All that this study owns here, by tag, and by token when one is given; in one region, or where it may be.

        Raises IncompleteListing where the list is not complete.
        """
        ...

    async def leftovers(self) -> Listing:
        """Whatever bears our tags in all regions and of all kinds that we can make, whichever study made it."""
        ...

    async def destroy(self, handle: Handle) -> None:
        """Ask for a resource to be destroyed; destroying what is gone is no error."""
        ...

    async def gone(self, handle: Handle) -> str | None:
        """Evidence that a resource is gone, None while it is not seen gone; stopped is not gone."""
        ...


@runtime_checkable
class Direct(Provider, Protocol):
    """A provider whose machines need no SSH: this one, and the simulated ones."""

    async def connect(self, lease: Lease, candidate: Candidate, launch: Launch) -> Instance:
        """The launched machine, ready to run agents."""
        ...


@runtime_checkable
class NeedsPreparation(Protocol):
    """A provider that fetches or builds on this computer what its machines are made of."""

    async def prepare(self, candidates: Sequence[Candidate], say: Callable[[str], None]) -> None:
        """Have it there before anything is timed; `say` is told what takes long. Raises the kinds of ProviderFault."""
        ...


@runtime_checkable
class PlanSafeguards(Provider, Protocol):
    """A provider at which safeguards rest on what a plan asks for."""

    def safeguards_of(self, plan: Plan) -> tuple[Safeguard, ...]:
        """The safeguards as they are for a plan's own candidates and trials."""
        ...


@runtime_checkable
class SelfTerminating(Protocol):
    """A provider at which it rests on what is asked for whether a machine ends by itself at its time to live."""

    def ends(self, request: CreateRequest) -> bool:
        """Whether it is known that what is asked for does."""
        ...


@runtime_checkable
class Remote(Provider, Protocol):
    """A provider whose machines are reached by SSH."""

    async def look(self, handle: Handle) -> MachineStatus:
        """How a machine is now, and where it is reached once it runs."""
        ...

    async def resize(self, handle: Handle, offering: str, stopped: Callable[[], None] = nothing) -> None:
        """Make a machine another type of the same region, stopping and starting it; raises Refused where none can.

        `stopped` is called while it stands still.
        """
        ...


@runtime_checkable
class Untagged(Protocol):
    """A provider of whose clouds some keep no tags: what they list without any is known by its token alone."""

    may_lack_tags: bool


@runtime_checkable
class Zoned(Protocol):
    """A provider whose regions have zones, in one of which a machine can be asked for (option `zone`)."""

    async def zone(self, handle: Handle) -> str | None:
        """The zone in which a machine stands, None while that is not told."""
        ...


@runtime_checkable
class HasServerTime(Protocol):
    """A provider whose answers bear the time, by a clock that is not this machine's."""

    async def date(self) -> float | None:
        """The time there (Unix s), None where an answer bears none."""
        ...


@runtime_checkable
class Accounted(Protocol):
    """A provider whose things belong to an account: under the credentials of another one they look gone."""

    async def account(self) -> str:
        """The account that it acts in or UNTOLD, and with ` at ` the endpoint where one is named.

        Raises the kinds of ProviderFault.
        """
        ...


class Progress(Protocol):
    """Who wants to know how a study goes."""

    def begin(self, trials: int, expected_s: float) -> None:
        """A study starts or goes on, with this much left."""
        ...

    def launch(self, candidate: str, round: int) -> None:
        """A launch begins."""
        ...

    def trial(self, candidate: str, trial: PlannedTrial, outcome: Outcome, why: str) -> None:
        """A trial ended; `why` is empty or one line."""
        ...

    def money(self, text: str) -> None:
        """What has been spent so far, in one line."""
        ...

    def note(self, text: str) -> None:
        """Something that whoever watches should know, in one line."""
        ...

    def end(self) -> None:
        """Nothing more will come."""
        ...
