"""A machine on its way, while its provider does not answer each time that it is looked at."""

import asyncio
from dataclasses import dataclass, field, replace

import pytest
from tests.provision.conftest import START, MemoryJournal, candidate_with

from cloudcmp.errors import (
    BadCredentials,
    ConnectionLost,
    IncompleteListing,
    Preempted,
    ProviderFault,
    Throttled,
    TooLate,
    Unreached,
)
from cloudcmp.model.lease import INSTANCE, Handle, Lease, LeaseState
from cloudcmp.model.offering import Billing, Faults
from cloudcmp.model.plan import Launch
from cloudcmp.model.remote import KeyPair
from cloudcmp.model.safety import MachineStatus
from cloudcmp.provider.time import VirtualTime
from cloudcmp.provision import Connector, Keys, Ledger, ProvisionContext, Stopwatch, set_up
from cloudcmp.provision.arrival import arrive
from cloudcmp.provision.pace import Pace

LEASE = Lease("launch-0", 1, LeaseState.LIVE, "far", "eu", INSTANCE, "n", "t", "i-1", START)


@dataclass
class Far:
    """A provider whose looks come one after the other: sights, or faults."""

    looks: list
    time: VirtualTime
    asked: list = field(default_factory=list)
    refuses: list = field(default_factory=list)
    creates: list = field(default_factory=list)
    watch: Stopwatch | None = None

    name = "far"
    simulated, billed, settle_s, parts, safeguards = False, True, 0.0, (INSTANCE,), ()

    def never(self, *_args, **_more):
        raise AssertionError("it is only looked at")

    offerings = host = check = find = leftovers = destroy = gone = resize = never
    billing = Billing()

    async def create(self, request) -> str:
        """Takes a second to answer; `refuses` says which calls it throttles, by their number."""
        number = len(self.creates)
        self.creates.append(self.time.monotonic())
        await self.time.sleep(1.0)
        if number in self.refuses:
            raise Throttled.at("far", "RequestLimitExceeded")
        return f"i-{number}"

    async def look(self, handle: Handle) -> MachineStatus:
        self.asked.append(handle)
        found = self.looks.pop(0) if len(self.looks) > 1 else self.looks[0]
        if isinstance(found, Exception):
            raise found
        return found


async def dialled(endpoint, within_s):
    raise AssertionError("nobody is dialled: the name says where it is")


def raising(fault):
    async def act(*_args):
        raise fault

    return act


async def connected(endpoint, within_s):
    """A shell that can only be closed."""

    class Line:
        async def close(self):
            pass

    return Line()


def arrived(looks, market="on-demand", system="windows", **settings):
    time = VirtualTime(START)
    far = Far(looks, time)
    watch = far.watch = Stopwatch(time)
    how = replace(Connector(time, dialled, None, KeyPair("", "")), **settings)
    windows = replace(candidate_with(Faults()), runner="far", options=(("market", market), ("os", system)))
    line = asyncio.run(arrive(how, far, LEASE, windows, Launch(0, 0, 0, None, 0.0, 1), watch, 600.0)).timeline
    return far, line


UP = MachineStatus("running", alias="box")


@pytest.mark.parametrize(
    "fault", [IncompleteListing.at("far", "no answer"), Throttled.at("far", "RequestLimitExceeded")]
)
def test_p31_a_look_that_is_not_answered_is_no_failure_of_the_machine(fault):
    far, line = arrived([fault, MachineStatus("pending"), fault, fault, UP], poll_s=1.0)
    assert len(far.asked) == 5
    assert line.running_s == pytest.approx(4.0)


def test_p31_p35_a_look_for_which_there_is_no_way_leaves_what_it_times_unknown():
    blind = Stopwatch(VirtualTime(START)).blind
    for fault in (IncompleteListing.at("far", "no answer"), Unreached.at("far", "no way")):
        far, _ = arrived([fault, UP], poll_s=1.0)
        assert far.watch.blind is isinstance(fault, Unreached)
    assert blind is False


@pytest.mark.parametrize("kind", [Unreached, Throttled, IncompleteListing])
def test_p31_a_login_that_breaks_while_its_provider_cannot_be_asked_is_no_word_on_the_machine(kind):
    dial = raising(ProviderFault.at("box", "no answer within 60 s"))
    with pytest.raises(kind):
        arrived([UP, kind.at("far", "no way")], system="linux", dial=dial, give_up_s=0.0)
    with pytest.raises(TooLate):
        arrived([UP], system="linux", dial=dial, give_up_s=0.0)


@pytest.mark.parametrize("kind", [Unreached, Throttled, IncompleteListing])
def test_p31_a_connection_that_breaks_while_a_machine_is_made_ready_is_told_as_that(kind):
    broken = {"dial": connected, "deploy": raising(ConnectionLost.at("box", "the connection broke"))}
    with pytest.raises(ConnectionLost):
        arrived([UP], system="linux", **broken)
    with pytest.raises(kind):
        arrived([UP, kind.at("far", "no way")], system="linux", **broken)
    with pytest.raises(ProviderFault, match="it is gone before it was usable"):
        arrived([UP, MachineStatus("gone")], system="linux", **broken)


def test_p31_a_machine_that_is_waited_for_in_vain_is_told_apart_from_one_that_ends():
    for look in (MachineStatus("pending"), MachineStatus("running", "127.0.0.1", 1)):
        with pytest.raises(TooLate):
            arrived([look], poll_s=1.0, give_up_s=5.0)
    with pytest.raises(ProviderFault) as ended:
        arrived([MachineStatus("stopped", taken=False)])
    assert not isinstance(ended.value, TooLate)


def test_p24_looks_that_are_never_answered_end_in_time():
    fault = IncompleteListing.at("far", "no answer")
    with pytest.raises(ProviderFault, match="no answer"):
        arrived([fault], poll_s=1.0, give_up_s=30.0)


def test_credentials_that_are_not_taken_any_more_end_it_at_once():
    with pytest.raises(BadCredentials):
        arrived([BadCredentials.at("far", "ExpiredToken"), UP], poll_s=1.0)


ENDS = [
    ("spot", MachineStatus("gone", why="Spot instance termination", taken=True), True),
    ("on-demand", MachineStatus("gone", why="taken back", taken=True), True),
    ("spot", MachineStatus("gone"), True),
    ("spot", MachineStatus("gone", why="Client.InternalError: bad image", taken=False), False),
    ("on-demand", MachineStatus("gone"), False),
    ("on-demand", MachineStatus("stopped", why="InternalError", taken=False), False),
]


@pytest.mark.parametrize(("market", "sight", "taken"), ENDS)
def test_p36_a_machine_that_ends_on_its_way_was_taken_only_where_its_provider_may_have_taken_it(market, sight, taken):
    for before in ([MachineStatus("pending")], [MachineStatus("running", "127.0.0.1", 1)]):  # port 1: nobody listens
        with pytest.raises(ProviderFault, match=f"it is {sight.state} before it") as fault:
            arrived([*before, sight], market, poll_s=1.0)
        assert isinstance(fault.value, Preempted) is taken


@pytest.mark.parametrize("refuses", [[], [0], [1], [0, 1, 2]])
def test_p35_all_machines_of_a_batch_are_timed_from_the_first_request(refuses):
    """One machine after the other has its turn, and a throttled request is repeated: both are part of the wait."""
    time = VirtualTime(START)
    far = Far([UP], time, refuses=refuses)
    windows = replace(candidate_with(Faults()), runner="far", options=(("os", "windows"),))
    connector = Connector(time, dialled, None, KeyPair("", ""), poll_s=1.0)
    ledger = Ledger(MemoryJournal(), "study-a", time, pace=Pace(time, lambda: 1.0))
    office = ProvisionContext(ledger, connector, Keys(lambda: KeyPair("", ""), lambda *_: ""))
    watches, seen = [], []

    async def look(handle):
        seen.append(time.monotonic())
        return UP

    far.look = look
    machines = asyncio.run(set_up(office, far, windows, Launch(0, 0, 0, None, 0.0, 1), 600.0, watches, 3))
    assert len(far.creates) == 3 + len(refuses)
    lines = [machine.timeline for machine in machines]
    assert max(line.running_s for line in lines) == max(line.reachable_s for line in lines)
    assert sorted(line.running_s for line in lines) == [when - far.creates[0] for when in seen]
    assert min(line.answered_s for line in lines) >= 1.0
    if not refuses:
        assert max(line.answered_s for line in lines) >= far.creates[-1] - far.creates[0] + 1.0
