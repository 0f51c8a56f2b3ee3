"""One probe run once: one agent, or a server and its client."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, replace

from cloudcmp.agent import Decoder, clean, encode_job, expected_series
from cloudcmp.errors import ProviderFault
from cloudcmp.measure.bench import Bench
from cloudcmp.model.plan import PlannedTrial
from cloudcmp.model.protocol import Instance
from cloudcmp.model.trial import Outcome, TrialResult

READY_S = 10.0
LINGER_S = 1.0  # how long an agent may take to leave once it has said that it ends

Gone = Callable[[], Awaitable[str | None]]
"""Asks the provider for evidence that the machine is gone."""


@dataclass(frozen=True, slots=True)
class Turn:
    """A trial's turn on a machine: `earlier` counts its attempts that ended by themselves."""

    trial: PlannedTrial
    earlier: int
    instance: Instance
    gone: Gone


async def run_trial(bench: Bench, turn: Turn) -> TrialResult:
    """What came of a trial, within its deadline and a grace; whatever the agent does, it is a result.

    Raises only what is not the candidate's doing: a failing store, a missing agent, our own cancellation.
    """
    probe = bench.probes[turn.trial.probe]
    try:
        if "server" in probe.roles:
            return await _between_peers(bench, turn)
        return await _alone(bench, turn)
    except (ProviderFault, OSError) as fault:
        return TrialResult(Outcome.FAILED, (), clean(f"the agent could not be started: {fault}"))


async def _alone(
    bench: Bench, turn: Turn, *, role: str = "solo", peer: str | None = None, secret: str | None = None
) -> TrialResult:
    """One agent from its job to its last byte."""
    trial, instance = turn.trial, turn.instance
    job = encode_job(trial, cpus=instance.cpus, folder=instance.folder, role=role, peer=peer, secret=secret)
    decoder = Decoder(expected_series(trial.cells, bench.metrics), trial.deadline_s, bench.read_histogram)
    cut: tuple[Outcome, str] | None = None
    words = ""
    async with instance.start(job, trial, turn.earlier) as channel:
        try:
            await _read(channel.stdout(), decoder, trial.deadline_s + bench.grace_s)
        except TimeoutError:
            cut = (Outcome.TIMEOUT, f"no end within {trial.deadline_s:g} s")
        if not decoder.ended and decoder.fault is None:
            words = await channel.last_words()
    if not decoder.ended and decoder.fault is None:
        with suppress(ProviderFault):
            taken = await turn.gone()
            cut = cut if taken is None else (Outcome.PREEMPTED, f"the machine was taken away: {clean(taken)}")
    result = decoder.result(cut)
    return replace(result, why=f"{result.why} ({clean(words)})") if cut is None and words else result


async def _between_peers(bench: Bench, turn: Turn) -> TrialResult:
    """A server agent, then the client whose samples count; the trial is ok only where both streams are."""
    trial, instance, secret = turn.trial, turn.instance, bench.secret()
    job = encode_job(
        trial,
        cpus=instance.cpus,
        folder=instance.folder,
        role="server",
        peer=f"{_host_in(instance.address)}:0",
        secret=secret,
    )
    serving = Decoder({}, trial.deadline_s, bench.read_histogram, listens=True)
    async with instance.start(job, trial, turn.earlier) as server:
        stream = server.stdout()
        with suppress(TimeoutError):
            await _read(stream, serving, min(READY_S, trial.deadline_s), until_ready=True)
        address = serving.address
        if address is None or serving.fault is not None:
            said = serving.result((Outcome.FAILED, "the server did not say where it listens"))
            return replace(
                said, samples=(), why=f"server: {said.why or 'it did not listen'}", outcome=_not_ok(said.outcome)
            )
        if address.rpartition(":")[0] != _host_in(instance.address):
            return TrialResult(
                Outcome.INVALID, (), f"server: it listens on {address}, which is not its machine's address"
            )
        draining = asyncio.create_task(_read(stream, serving, trial.deadline_s + bench.grace_s))
        try:
            result = await _alone(bench, turn, role="client", peer=address, secret=secret)
            await server.hang_up()
            await asyncio.wait([draining], timeout=LINGER_S)
        finally:
            await _cancelled(draining)
    return _of_both(result, serving)


def _of_both(client: TrialResult, serving: Decoder) -> TrialResult:
    """The client's result, unless the server's stream gives reason to doubt it."""
    if client.outcome is not Outcome.OK:
        return client
    server = serving.result((Outcome.TIMEOUT, "it did not end when it was told to"))
    # A server that was told to stop while it still listened reports so: that is no fault.
    if server.outcome in {Outcome.OK, Outcome.ABORTED}:
        return client
    return TrialResult(server.outcome, (), f"server: {server.why}", client.facts)


def _not_ok(outcome: Outcome) -> Outcome:
    """A server that ends well before its client came has failed."""
    return Outcome.FAILED if outcome is Outcome.OK else outcome


def _host_in(address: str) -> str:
    """The address as it stands before a port: in brackets where it is an IPv6 one."""
    return f"[{address}]" if ":" in address else address


async def _read(stream: AsyncIterator[bytes], decoder: Decoder, limit_s: float, *, until_ready: bool = False) -> None:
    """Feed the decoder until the stream ends or turns out bad; TimeoutError after the limit.

    After the end record only a moment is left for the stream to close. `until_ready` returns once a server listens.
    """
    try:
        async with asyncio.timeout(limit_s) as limit:
            async for piece in stream:
                decoder.feed(piece)
                if decoder.fault is not None or (until_ready and decoder.address is not None):
                    return
                if decoder.ended:
                    limit.reschedule(asyncio.get_running_loop().time() + LINGER_S)
    except TimeoutError:
        if not decoder.ended:
            raise


async def _cancelled(task: asyncio.Task[None]) -> None:
    """Stop a reader; how it ended shows in its decoder."""
    task.cancel()
    await asyncio.wait([task])
    if not task.cancelled():
        task.exception()  # taken here, or it is complained of when the task goes
