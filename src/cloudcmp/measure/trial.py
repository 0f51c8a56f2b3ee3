"""One probe run once: one agent, or a server and its client."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from enum import Enum

from cloudcmp.agent import Decoder, JobTarget, encode_job, expected_series
from cloudcmp.errors import LineLost, ProviderFault
from cloudcmp.measure.bench import Bench
from cloudcmp.measure.told import Work, believed, carry
from cloudcmp.measure.zones import apart, with_zones
from cloudcmp.model.plan import PlannedTrial
from cloudcmp.model.protocol import Channel, Instance
from cloudcmp.model.trial import Outcome, TrialResult
from cloudcmp.model.untrusted_text import one_line

READY_S = 10.0
LOOPBACK = "loopback"
_LEASE_MARGIN_S = 30.0
LINGER_S = 1.0  # how long an agent may take to leave once it has said that it ends

Gone = Callable[[], Awaitable[str | None]]
"""Asks the provider for evidence that the machine is gone."""


class Link(Enum):
    """What became of the connection to a launch's machines: it held, is there again, or leads to a restarted one."""

    HELD = "held"
    BACK = "back"
    RESTARTED = "restarted"


class OutOfReach(Exception):
    """Nobody knows what became of the machine: it can not be reached from here, and its provider says nothing of it."""


Again = Callable[[], Awaitable[Link]]
"""Sees to the connection, once; raises ProviderFault where the machine can not be reached any more."""


@dataclass(frozen=True, slots=True)
class Turn:
    """A trial's turn on a machine: `earlier` counts its attempts that ended by themselves.

    `other` is the launch's second machine, where the server of a trial between two machines runs;
    `caps` what such a trial may put on the network, in place of the agent's own defaults. `again` is for
    machines at the end of a connection that may break. `zones` are those of the launch's machines, where there are any.
    `work` is what the agent does for a trial of a command, `there` the files that the machine has by now.
    """

    trial: PlannedTrial
    earlier: int
    instance: Instance
    gone: Gone
    other: Instance | None = None
    again: Again | None = None
    caps: Mapping[str, float] | None = None
    zones: Sequence[str] = ()
    work: Work | None = None
    there: set[str] = field(default_factory=set)


async def run_trial(bench: Bench, turn: Turn) -> TrialResult:
    """What came of a trial, within its deadline and a grace; whatever the agent does, it is a result.

    A connection that breaks while the machine lives aborts the trial, and is made again for those that follow.
    Raises only what is not the candidate's doing: OutOfReach, a failing store, a missing agent, our own cancellation.
    """
    refused = apart(turn.trial, turn.zones)
    return with_zones(refused or await _run(bench, turn), turn.zones)


async def _run(bench: Bench, turn: Turn) -> TrialResult:
    probe = bench.probes[turn.trial.probe]
    try:
        result = await (_between_peers(bench, turn) if "server" in probe.roles else _alone(bench, turn))
    except LineLost as lost:
        return await _cut_off(turn, lost.faults[0].what)
    except (ProviderFault, OSError) as fault:
        return await _if_held(
            turn, TrialResult(Outcome.FAILED, (), one_line(f"the agent could not be started: {fault}"))
        )
    return await _if_held(turn, result) if result.outcome is Outcome.TIMEOUT else result


async def _if_held(turn: Turn, silent: TrialResult) -> TrialResult:
    """A result as it is where the machine could be heard all the time; else it is no word on the machine."""
    if turn.again is None:
        return silent
    try:
        held = await turn.again() is Link.HELD
    except ProviderFault as fault:
        return await _unreached(turn, f"{silent.why}: nothing came any more", fault)
    return silent if held else TrialResult(Outcome.ABORTED, (), f"{silent.why}: the connection was lost meanwhile")


async def _cut_off(turn: Turn, what: str) -> TrialResult:
    """The result of a trial whose connection broke: the machine is gone, restarted, out of reach, or quite well."""
    taken = await _taken(turn.gone)
    if taken is not None:
        return taken
    line = one_line(what)
    if turn.again is None:
        return TrialResult(Outcome.ABORTED, (), line)
    try:
        link = await turn.again()
    except ProviderFault as fault:
        return await _unreached(turn, line, fault)
    if link is Link.RESTARTED:
        return TrialResult(Outcome.FAILED, (), f"the machine restarted during the trial ({line})")
    return TrialResult(Outcome.ABORTED, (), f"{line}; the machine lives and is connected again")


async def _unreached(turn: Turn, line: str, fault: ProviderFault) -> TrialResult:
    """The result where the machine's provider knows what became of it; raises OutOfReach where it does not either."""
    taken = await _taken(turn.gone)
    if taken is None:
        raise OutOfReach(f"{line}; the machine is out of reach: {one_line(fault.faults[0].what)}") from fault
    return taken


async def _taken(gone: Gone) -> TrialResult | None:
    """The result where the provider says that the machine is gone; None where it does not, or does not answer."""
    with suppress(ProviderFault):
        evidence = await gone()
        if evidence is not None:
            return TrialResult(Outcome.PREEMPTED, (), f"the machine was taken away: {one_line(evidence)}")
    return None


async def _alone(
    bench: Bench, turn: Turn, *, role: str = "solo", target: JobTarget | None = None, secret: str | None = None
) -> TrialResult:
    """One agent from its job to its last byte."""
    trial, instance = turn.trial, turn.instance
    job = _job(bench, turn, instance, role, target=target, secret=secret)
    if turn.work:
        await carry(turn.work, instance, turn.there)
    series = expected_series(turn.work.cells if turn.work else trial.cells, bench.metrics)
    decoder = Decoder(series, trial.deadline_s, bench.read_histogram, prints=turn.work is not None)
    async with instance.start(job, trial, turn.earlier) as channel:
        late = await _late(channel.stdout(), decoder, trial.deadline_s + bench.grace_s)
        cut = (Outcome.TIMEOUT, f"no end within {trial.deadline_s:g} s") if late else None
        result = await _result(decoder, cut, channel, turn.gone)
    return await believed(turn.work, trial, result, decoder.texts) if turn.work else result


async def _between_peers(bench: Bench, turn: Turn) -> TrialResult:
    """A server agent, then the client whose samples count; the trial is ok only where both streams are."""
    trial, secret = turn.trial, bench.secret()
    serving_on, address, client = _ends(turn)
    host = _host_in(address)
    job = _job(bench, turn, serving_on, "server", f"{host}:0", JobTarget("client", client), secret)
    serving = Decoder({}, trial.deadline_s, bench.read_histogram, listens=True)
    async with serving_on.start(job, trial, turn.earlier) as server:
        stream = server.stdout()
        late = await _late(stream, serving, min(READY_S, trial.deadline_s), until_ready=True)
        if serving.address is None or serving.fault is not None:
            cut = (Outcome.TIMEOUT, "it did not say where it listens") if late else None
            return _unfit(await _result(serving, cut, server, turn.gone))
        if serving.address.rpartition(":")[0] != host:
            return _unfit(TrialResult(Outcome.INVALID, (), f"it listens on {serving.address}, not on its own address"))
        draining = asyncio.create_task(_late(stream, serving, trial.deadline_s + 2 * bench.grace_s))
        try:
            result = await _alone(
                bench, turn, role="client", target=JobTarget("server", serving.address), secret=secret
            )
            await server.hang_up()
            await asyncio.wait([draining], timeout=LINGER_S)
            if draining.done() and not serving.ended:
                draining.result()  # raises where the server's own connection broke
        finally:
            await _cancelled(draining)
    return _of_both(result, serving)


def _job(
    bench: Bench,
    turn: Turn,
    instance: Instance,
    role: str,
    listen: str | None = None,
    target: JobTarget | None = None,
    secret: str | None = None,
) -> bytes:
    """The job line for one end of a trial; both ends of one between peers are held to the same caps."""
    return encode_job(
        turn.work.asked if turn.work else turn.trial,
        cpus=instance.cpus,
        folder=instance.folder,
        role=role,
        listen=listen,
        targets=(target,) if target else (),
        secret=secret,
        caps=turn.caps if target else None,
        lease_s=lease_s(bench, turn.trial),
    )


def lease_s(bench: Bench, trial: PlannedTrial) -> float:
    """How long an agent's process may live, whatever becomes of us: its deadline, and time to be read to the end."""
    return trial.deadline_s + 3 * bench.grace_s + _LEASE_MARGIN_S


def _ends(turn: Turn) -> tuple[Instance, str, str]:
    """Where the server runs, its address, and the address of its client."""
    here = dict(turn.trial.params).get("path", LOOPBACK) == LOOPBACK
    if turn.other is not None and not here:
        return turn.other, turn.other.address, turn.instance.address
    address = "127.0.0.1" if here else turn.instance.address
    return turn.instance, address, address


async def _result(decoder: Decoder, cut: tuple[Outcome, str] | None, channel: Channel, gone: Gone) -> TrialResult:
    """What a stream says that nobody reads any more; where it broke off, whether its machine or its process did."""
    if decoder.ended or decoder.fault is not None:
        return decoder.result()
    taken = await _taken(gone)
    if taken is not None:
        return decoder.result((taken.outcome, taken.why))
    result = decoder.result(cut)
    words = one_line(await channel.last_words()) if cut is None else ""
    return replace(result, why=f"{result.why} ({words})") if words else result


def _unfit(server: TrialResult) -> TrialResult:
    """The result of a trial whose server never served; one that ended well before its client came has failed."""
    outcome = Outcome.FAILED if server.outcome is Outcome.OK else server.outcome
    return TrialResult(outcome, (), f"server: {server.why or 'it ended before it listened'}", server.facts)


def _of_both(client: TrialResult, serving: Decoder) -> TrialResult:
    """The client's result, unless the server's stream gives reason to doubt it."""
    if client.outcome is not Outcome.OK:
        return client
    server = serving.result((Outcome.TIMEOUT, "it did not end when it was told to"))
    # A server that was told to stop while it still listened reports so: that is no fault.
    if server.outcome in {Outcome.OK, Outcome.ABORTED}:
        return client
    return TrialResult(server.outcome, (), f"server: {server.why}", client.facts)


def _host_in(address: str) -> str:
    """The address as it stands before a port: in brackets where it is an IPv6 one."""
    return f"[{address}]" if ":" in address else address


async def _late(stream: AsyncIterator[bytes], decoder: Decoder, limit_s: float, *, until_ready: bool = False) -> bool:
    """Feed the decoder until the stream ends or turns out bad; whether the limit came first.

    After the end record only a moment is left for the stream to close. `until_ready` returns once a server listens.
    """
    try:
        async with asyncio.timeout(limit_s) as limit:
            async for piece in stream:
                decoder.feed(piece)
                if decoder.fault is not None or (until_ready and decoder.address is not None):
                    return False
                if decoder.ended:
                    limit.reschedule(asyncio.get_running_loop().time() + LINGER_S)
    except TimeoutError:
        return not decoder.ended
    except LineLost:
        if not decoder.ended:
            raise
    return False


async def _cancelled(task: asyncio.Task[bool]) -> None:
    """Stop a reader; how it ended shows in its decoder."""
    task.cancel()
    await asyncio.wait([task])
    if not task.cancelled():
        task.exception()  # taken here, or it is complained of when the task goes
