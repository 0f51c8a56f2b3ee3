"""Waits for a requested machine: until it runs, can be reached, and has an agent."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import TypeVar

from cloudcmp.errors import (
    ACCOUNT_FAULTS,
    CONTROLLER_FAULTS,
    IncompleteListing,
    Preempted,
    ProviderFault,
    Throttled,
    TooLate,
    Unreached,
    WrongHost,
)
from cloudcmp.model.lease import Handle, Lease
from cloudcmp.model.plan import Candidate, Launch
from cloudcmp.model.protocol import Direct, Instance, Provider, Remote
from cloudcmp.model.remote import Access, Dial, Endpoint, KeyPair, Shell
from cloudcmp.model.safety import MachineStatus, Timeline
from cloudcmp.provider.time import Time
from cloudcmp.provision.disks import mounted_volume

_Kind = TypeVar("_Kind", bound=ProviderFault)
_SSH_GREETING = b"SSH-"
_WINDOWS_PORTS = {"windows": (3389, 5985)}  # remote desktop, remote management
_SHORTEST_LOGIN_S = 1.0
_GREETING_S = 10.0  # a slow machine greets late
_MOST_ATTEMPTS = 6  # concurrent, so that one that hangs while the machine boots does not delay the step
_RECONNECT_LOGIN_S = 10.0  # a login hangs if the machine goes down


@dataclass(frozen=True, slots=True)
class Ready:
    """A machine on which agents run: the instance, and the guest's uptime (s) at that moment."""

    instance: Instance
    uptime_s: float | None


Deploy = Callable[[Shell, str, str, float], Awaitable[Ready]]
"""Installs the agent on a machine: the folder, the address for other machines, and its time to live (s)."""


@dataclass(frozen=True, slots=True)
class Connector:
    """How machines are reached: the client key, and the functions that dial and deploy.

    `poll_s` is the interval between polls, which limits the resolution of times; `give_up_s` is the limit for the whole
    arrival, `login_s` for one login.
    """

    time: Time
    dial: Dial
    deploy: Deploy
    client: KeyPair
    poll_s: float = 0.25
    give_up_s: float = 900.0
    login_s: float = 60.0


@dataclass(frozen=True, slots=True)
class Machine:
    """A machine of a launch: its lease, its connection, and the time of each step.

    `instance` is None if no agent can run (Windows); `endpoint` has the machine's current host key.
    """

    lease: Lease
    instance: Instance | None
    timeline: Timeline
    shell: Shell | None = None
    endpoint: Endpoint | None = None


class Start:
    """The time of a launch's first request, which later requests do not change."""

    def __init__(self) -> None:
        self.at: float | None = None

    def begin(self, moment: float) -> None:
        """Records that a request is about to be sent."""
        self.at = moment if self.at is None else self.at


class Stopwatch:
    """Times the steps of one machine, from the first request of its launch; until then from its own creation.

    Waiting for a turn and repeated requests are part of the time. `blind` is True if the provider was unreachable for a
    while: the machine may then have arrived earlier than its times say.
    """

    def __init__(self, time: Time, start: Start | None = None) -> None:
        self._time = time
        self._made = time.monotonic()
        self._start = start or Start()
        self._marks: dict[str, float] = {}
        self.blind = False

    def start(self) -> None:
        """Records that the request is about to be sent, for the first time or again."""
        self._start.begin(self._time.monotonic())

    def mark(self, step: str) -> None:
        """Records the first time of a step: `answered`, `running`, `reachable` or `usable`."""
        self._marks.setdefault(f"{step}_s", self.elapsed_s())

    def elapsed_s(self) -> float:
        """Returns the seconds since the launch's first request."""
        began = self._made if self._start.at is None else self._start.at
        return self._time.monotonic() - began

    def timeline(self, uptime_s: float | None = None) -> Timeline:
        """Returns the recorded times."""
        return Timeline(**self._marks, uptime_s=uptime_s)


async def arrive(
    connector: Connector,
    provider: Provider,
    lease: Lease,
    candidate: Candidate,
    launch: Launch,
    watch: Stopwatch,
    ttl_s: float,
    access: Access | None = None,
) -> Machine:
    """Waits until agents run on a lease's machine, and returns it.

    Raises WrongHost if another machine answers, Preempted if its provider takes it back, TooLate if it is not up in
    time, ConnectionLost if it runs and the connection broke, CONTROLLER_FAULTS and ACCOUNT_FAULTS if its provider
    cannot be asked, and ProviderFault if it ends or is not as it should be.
    """
    if isinstance(provider, Direct):
        instance = await provider.connect(lease, candidate, launch)
        watch.mark("usable")
        return Machine(lease, instance, watch.timeline())
    handle = lease.handle()
    if not isinstance(provider, Remote) or handle is None:
        raise ProviderFault.at(lease.name, "there is no way to reach it", "cloudcmp cleanup")
    status = await _wait_running(connector, provider, handle, watch, candidate)
    watch.mark("running")
    system = dict(candidate.options).get("os", "linux")
    await _wait_reachable(
        connector, provider, handle, status, _WINDOWS_PORTS.get(system, (status.port,)), watch, candidate
    )
    watch.mark("reachable")
    if system in _WINDOWS_PORTS:
        return Machine(lease, None, watch.timeline())
    try:
        shell, endpoint = await _log_in(connector, status, access, watch)
        ready = await _deploy(connector, shell, status, candidate, ttl_s)
    except WrongHost:
        raise
    except ProviderFault:
        await _check_running(provider, handle, candidate)
        raise
    watch.mark("usable")
    return Machine(lease, ready.instance, watch.timeline(ready.uptime_s), shell, endpoint)


async def reconnect(
    connector: Connector,
    provider: Provider,
    machine: Machine,
    candidate: Candidate,
    ttl_s: float,
    within_s: float,
    watch: Stopwatch,
) -> Machine:
    """Waits until agents run again on a machine that went down; accepts only its known host key.

    `watch` is a new stopwatch, which records whether the provider was reachable all the time. Raises TimeoutError if
    the machine is not back in time, ProviderFault if it ends or is unknown.
    """
    handle = machine.lease.handle()
    if not isinstance(provider, Remote) or handle is None or machine.endpoint is None:
        raise ProviderFault.at(machine.lease.name, "there is no way to reach it again", "cloudcmp cleanup")
    if machine.shell is not None:
        await machine.shell.close()
    limited = replace(connector, give_up_s=within_s, login_s=_RECONNECT_LOGIN_S)
    try:
        status = await _wait_running(limited, provider, handle, watch, candidate)
        await _wait_reachable(limited, provider, handle, status, (status.port,), watch, candidate)
        endpoint = replace(machine.endpoint, address=status.address or "", port=status.port)
        shell = await _dial(limited, endpoint, watch)
    except (*CONTROLLER_FAULTS, *ACCOUNT_FAULTS):
        raise
    except ProviderFault:
        if watch.elapsed_s() >= within_s:
            raise TimeoutError from None
        raise
    ready = await _deploy(connector, shell, status, candidate, ttl_s)
    return replace(machine, instance=ready.instance, shell=shell, endpoint=endpoint)


async def _deploy(
    connector: Connector, shell: Shell, status: MachineStatus, candidate: Candidate, ttl_s: float
) -> Ready:
    """Installs the agent, with its test files on the volume if there is one."""
    try:
        folder = await mounted_volume(shell, candidate.volume) or status.folder
        return await connector.deploy(shell, folder, status.peer_address or status.address or "127.0.0.1", ttl_s)
    except BaseException:
        await shell.close()
        raise


async def _wait_running(
    connector: Connector, provider: Remote, handle: Handle, watch: Stopwatch, candidate: Candidate
) -> MachineStatus:
    """Waits until the machine runs and has an address; returns its status."""
    while True:
        status = await _poll_status(connector, provider, handle, watch)
        if status.state in {"stopped", "gone"}:
            raise _ended_fault(handle, f"it is {status.state} before it was up", status, candidate)
        if status.state == "running" and (status.address or status.alias):
            return status
        await _wait(connector, handle, watch, f"it is still {status.state}", status.why)


async def _wait_reachable(
    connector: Connector,
    provider: Remote,
    handle: Handle,
    status: MachineStatus,
    ports: tuple[int, ...],
    watch: Stopwatch,
    candidate: Candidate,
) -> None:
    """Waits until a port answers. A forwarded port that accepts connections for a sleeping guest does not count."""
    if status.alias:
        return
    attempts: set[asyncio.Task[bool]] = set()
    try:
        while True:
            if len(attempts) < _MOST_ATTEMPTS:
                attempts |= {asyncio.create_task(_has_greeting(status.address or "", port)) for port in ports}
            await asyncio.wait(attempts, timeout=connector.poll_s, return_when=asyncio.FIRST_COMPLETED)
            ended = {task for task in attempts if task.done()}
            if any(task.result() for task in ended):
                return
            attempts -= ended
            now = await _poll_status(connector, provider, handle, watch)
            if now.state in {"stopped", "gone"}:
                raise _ended_fault(handle, f"it is {now.state} before it could be reached", now, candidate)
            if ended:  # a closed port fails at once: pause
                await _wait(connector, handle, watch, "it runs and cannot be reached", now.why)
            elif watch.elapsed_s() > connector.give_up_s:
                raise _arrival_fault(
                    handle, f"it runs and cannot be reached after {connector.give_up_s:g} s", now.why, TooLate
                )
    finally:
        for task in attempts:
            task.cancel()


async def _poll_status(connector: Connector, provider: Remote, handle: Handle, watch: Stopwatch) -> MachineStatus:
    """Returns a machine's status, `unknown` while its provider does not answer."""
    try:
        return await provider.look(handle)
    except (IncompleteListing, Throttled, Unreached) as fault:
        if watch.elapsed_s() > connector.give_up_s:
            raise
        watch.blind |= isinstance(fault, Unreached)
        return MachineStatus("unknown", why=str(fault))


async def _has_greeting(address: str, port: int) -> bool:
    try:
        async with asyncio.timeout(_GREETING_S):
            reader, writer = await asyncio.open_connection(address, port)
            try:
                return (
                    port in _WINDOWS_PORTS["windows"] or await reader.readexactly(len(_SSH_GREETING)) == _SSH_GREETING
                )
            finally:
                writer.close()
    except (OSError, TimeoutError, asyncio.IncompleteReadError):
        return False


async def _log_in(
    connector: Connector, status: MachineStatus, access: Access | None, watch: Stopwatch
) -> tuple[Shell, Endpoint]:
    """Connects to the launched machine and to no other; replaces the host key that it was given at once."""
    injected = access.host.public if access else ""
    endpoint = Endpoint(
        status.address or "", status.port, status.user, status.host_key or injected, connector.client, status.alias
    )
    shell = await _dial(connector, endpoint, watch)
    if injected and not status.host_key and not status.alias:
        try:
            endpoint = replace(endpoint, host_key=await shell.rotate())
        except BaseException:
            await shell.close()
            raise
    return shell, endpoint


async def _dial(connector: Connector, endpoint: Endpoint, watch: Stopwatch) -> Shell:
    """Connects, with retries until the time limit, because a server is up before its users exist."""
    while True:
        try:
            return await connector.dial(
                endpoint, min(connector.login_s, max(_SHORTEST_LOGIN_S, connector.give_up_s - watch.elapsed_s()))
            )
        except WrongHost:
            raise
        except ProviderFault as fault:
            if watch.elapsed_s() > connector.give_up_s:
                raise TooLate(*fault.faults) from fault
            await connector.time.sleep(connector.poll_s)


async def _wait(connector: Connector, handle: Handle, watch: Stopwatch, what: str, why: str) -> None:
    if watch.elapsed_s() > connector.give_up_s:
        raise _arrival_fault(handle, f"{what} after {connector.give_up_s:g} s", why, TooLate)
    await connector.time.sleep(connector.poll_s)


async def _check_running(provider: Remote, handle: Handle, candidate: Candidate) -> None:
    """Raises the reason if a machine that refuses logins has ended.

    If the provider cannot be asked either, raises that fault: the controller may be offline.
    """
    try:
        now = await provider.look(handle)
    except (*CONTROLLER_FAULTS, *ACCOUNT_FAULTS):
        raise
    except ProviderFault:
        return
    if now.state in {"stopped", "gone"}:
        raise _ended_fault(handle, f"it is {now.state} before it was usable", now, candidate)


def _ended_fault(handle: Handle, what: str, status: MachineStatus, candidate: Candidate) -> ProviderFault:
    """Returns the fault of a machine that ended before it arrived: Preempted if its provider says or may mean so."""
    spot = dict(candidate.options).get("market") == "spot"
    kind = Preempted if status.taken or (status.taken is None and spot) else ProviderFault
    return _arrival_fault(handle, what, status.why, kind)


def _arrival_fault(handle: Handle, what: str, why: str, kind: type[_Kind]) -> _Kind:
    return kind.at(handle.cloud_id, f"{what} ({why})" if why else what, "see the provider's console")
