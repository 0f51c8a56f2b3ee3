"""One probe run once: by one agent, or by several in a trial's cast."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field, replace

from cloudcmp.agent import Decoder, JobTarget, encode_job, expected_series
from cloudcmp.catalog import METRICS
from cloudcmp.errors import ConnectionLost, ProviderFault
from cloudcmp.execute.beside import LOAD_READY_S, ends_of, load_trial, processors, with_load
from cloudcmp.execute.cast import Agent, Gone, LaunchTargets, agents_of, bracketed, refuse_place, target_of, with_zones
from cloudcmp.execute.commands import CommandJob, parse_result, upload_files
from cloudcmp.execute.context import TrialContext
from cloudcmp.execute.lost_connection import after_lost_connection, if_connected, is_connected, preempted_by_provider
from cloudcmp.execute.vantages import endpoint_of
from cloudcmp.model.cast import NEIGHBOUR, DataSet, Role
from cloudcmp.model.plan import NATIVE, PlannedTrial
from cloudcmp.model.protocol import Instance, RunsOtherClient
from cloudcmp.model.remote import Channel
from cloudcmp.model.trial import Outcome, TrialResult
from cloudcmp.model.untrusted_text import one_line
from cloudcmp.plan import shared_caps, split_caps, vantage_of

READY_S = 10.0
_LEASE_MARGIN_S = 30.0
LINGER_S = 1.0  # the longest time that an agent may take to exit after its end record


@dataclass(frozen=True, slots=True)
class TrialTask:
    """A trial to be run on the targets of a launch.

    `earlier` counts its attempts that ended by themselves; `caps` bounds its traffic in place of the agent's defaults.
    `command` is set for a trial of a command; `uploaded` are the files that its machine already has; `data_sets` are
    the one of the service that the trial measures, as each of its machines reaches it.
    """

    trial: PlannedTrial
    earlier: int
    targets: LaunchTargets
    caps: Mapping[str, float] | None = None
    command: CommandJob | None = None
    uploaded: set[str] = field(default_factory=set)
    data_sets: Sequence[DataSet] = ()


async def run_trial(context: TrialContext, task: TrialTask) -> TrialResult:
    """Runs a trial within its deadline and a grace period; always returns a result.

    A connection that breaks while the machine lives aborts the trial, and is reopened for later trials. Raises only
    errors unrelated to the candidate: Unreachable, a failing store, a missing agent, cancellation.
    """
    targets = task.targets
    refused = refuse_place(task.trial, targets.zones, targets.regions)
    return with_zones(refused or await _run(context, task), targets.zones)


async def _run(context: TrialContext, task: TrialTask) -> TrialResult:
    vantage = vantage_of(task.trial)
    if vantage in task.targets.vantages.lost:
        return task.targets.vantages.missing(vantage)
    agents = agents_of(task.trial, task.targets)
    load = [one for one in agents if one.loads]
    measured = agents[: len(agents) - len(load)]
    try:
        result = await (_run_beside(context, task, measured, load) if load else _measure(context, task, measured))
    except ConnectionLost as lost:
        what = lost.faults[0].what
        if vantage in task.targets.vantages.machines and await is_connected(task.targets):
            return task.targets.vantages.lose(vantage, what)
        return await after_lost_connection(task.targets, what)
    except (ProviderFault, OSError) as fault:
        return await if_connected(
            task.targets, TrialResult(Outcome.FAILED, (), one_line(f"the agent could not be started: {fault}"))
        )
    if vantage:
        task.targets.vantages.learn(result)
    return await if_connected(task.targets, result) if result.outcome is Outcome.TIMEOUT else result


async def _run_agent(
    context: TrialContext,
    task: TrialTask,
    agent: Agent,
    others: Sequence[JobTarget] = (),
    secret: str | None = None,
    *,
    reports: bool = True,
) -> TrialResult:
    """One agent from its job to its last byte; only one that `reports` may send samples."""
    trial, command = task.trial, task.command
    job = _job(context, task, agent, others, secret)
    if command:
        await upload_files(command, agent.instance, task.uploaded)
    cells = command.cells if command else trial.cells
    series = expected_series(cells, context.metrics) if reports else {}
    decoder = Decoder(series, trial.deadline_s, context.read_histogram, prints=command is not None)
    async with _started(agent.instance, job, task) as channel:
        late = await read_output(channel.stdout(), decoder, trial.deadline_s + context.grace_s)
        cut = (Outcome.TIMEOUT, f"no end within {trial.deadline_s:g} s") if late else None
        result = await _result(decoder, cut, channel, task.targets.gone)
    return await parse_result(command, trial, result, decoder.texts) if command else result


async def _measure(context: TrialContext, task: TrialTask, agents: Sequence[Agent]) -> TrialResult:
    return await (_run_cast(context, task, agents) if len(agents) > 1 else _run_agent(context, task, agents[0]))


async def _run_beside(
    context: TrialContext, task: TrialTask, victims: Sequence[Agent], neighbours: Sequence[Agent]
) -> TrialResult:
    """A victim's agents while a neighbour loads the machine; invalid if the load does not begin, or does not last."""
    victims_caps, load_caps = split_caps(task.caps or {}, task.trial.probe, dict(task.trial.params))
    load = load_trial(task.trial, load_caps, single=len(task.targets.machines) < 2)
    decoder = Decoder(expected_series(load.cells, METRICS), load.deadline_s, context.read_histogram)
    loading = replace(task, trial=load, caps=load_caps)
    try:
        started = _loading(context, loading, dict(task.trial.params), neighbours)
        return await _beside(context, replace(task, caps=victims_caps), victims, load, decoder, started)
    except _NoLoad as fault:
        return fault.result


class _NoLoad(Exception):
    """The load of a neighbour did not begin."""

    def __init__(self, result: TrialResult) -> None:
        super().__init__(result.why)
        outcome = result.outcome if result.outcome is Outcome.PREEMPTED else Outcome.INVALID
        self.result = TrialResult(outcome, (), f"neighbour: {result.why or 'it ended before its load began'}")


@asynccontextmanager
async def _loading(
    context: TrialContext, task: TrialTask, params: Mapping[str, str], neighbours: Sequence[Agent]
) -> AsyncIterator[Channel]:
    """The agent that reports a neighbour's load; one on the network has another agent, which listens first."""
    if len(neighbours) < 2:
        job = _job(context, task, neighbours[0], (), None)
        async with neighbours[0].instance.start(job, task.trial, task.earlier) as channel:
            yield channel
        return
    server, client = ends_of(neighbours, params)
    secret = context.secret()
    job = _job(context, task, server, [JobTarget(client.role.value, address=client.host)], secret, listens=True)
    listening = Decoder({}, task.trial.deadline_s, context.read_histogram, listens=True)
    async with server.instance.start(job, task.trial, task.earlier) as serving:
        late = await read_output(serving.stdout(), listening, READY_S, until_ready=True)
        if listening.address is None or listening.fault is not None:
            cut = (Outcome.TIMEOUT, "it did not say where it listens") if late else None
            raise _NoLoad(await _result(listening, cut, serving, task.targets.gone))
        at = [JobTarget(server.role.value, address=listening.address)]
        job = _job(context, task, client, at, secret)
        async with client.instance.start(job, task.trial, task.earlier) as channel:
            yield channel


async def _beside(
    context: TrialContext,
    task: TrialTask,
    victims: Sequence[Agent],
    load: PlannedTrial,
    decoder: Decoder,
    started: AbstractAsyncContextManager[Channel],
) -> TrialResult:
    """The victims' result beside a load, whose samples go to its decoder."""
    async with started as channel:
        stream = channel.stdout()
        late = await read_output(stream, decoder, LOAD_READY_S, until_sampled=True)
        if not decoder.samples:
            cut = (Outcome.TIMEOUT, f"no load within {LOAD_READY_S:g} s") if late else None
            raise _NoLoad(await _result(decoder, cut, channel, task.targets.gone))
        clock = asyncio.get_running_loop().time
        draining, began_s = asyncio.create_task(read_output(stream, decoder, load.deadline_s)), clock()
        try:
            result = await _measure(context, task, victims)
            took_s = clock() - began_s
            await channel.hang_up()
            await asyncio.wait([draining], timeout=LINGER_S)
        finally:
            await _cancel(draining)
    if decoder.fault is not None and result.outcome is Outcome.OK:
        return TrialResult(Outcome.INVALID, (), f"neighbour: {decoder.fault}", result.facts)
    return with_load(result, dict(task.trial.params)[NEIGHBOUR], load, decoder.samples, took_s)


async def _run_cast(context: TrialContext, task: TrialTask, agents: Sequence[Agent]) -> TrialResult:
    """An agent that listens, then those that connect to it; the trial is ok only if all streams are.

    A client reports its measurements with its server; among peers, the listening one reports.
    """
    trial, secret = task.trial, context.secret()
    first, *others = agents
    peers = first.role is Role.PEER
    job = _job(
        context, task, first, [JobTarget(one.role.value, address=one.host) for one in others], secret, listens=True
    )
    series = expected_series(trial.cells, context.metrics) if peers else {}
    listening = Decoder(series, trial.deadline_s, context.read_histogram, listens=True)
    async with first.instance.start(job, trial, task.earlier) as channel:
        stream = channel.stdout()
        late = await read_output(stream, listening, min(READY_S, trial.deadline_s), until_ready=True)
        if listening.address is None or listening.fault is not None:
            cut = (Outcome.TIMEOUT, "it did not say where it listens") if late else None
            return _never_served(first, await _result(listening, cut, channel, task.targets.gone))
        own, _, port = listening.address.rpartition(":")
        if own != first.listen.rpartition(":")[0]:
            what = f"it listens on {listening.address}, not on its own address"
            return _never_served(first, TrialResult(Outcome.INVALID, (), what))
        at = JobTarget(first.role.value, address=f"{bracketed(first.host)}:{port}")
        limit_s = trial.deadline_s + (1 if peers else 2) * context.grace_s
        draining = asyncio.create_task(read_output(stream, listening, limit_s))
        connected = [
            asyncio.create_task(
                _run_agent(context, task, one, (at, *_other_peers(one, others)), secret, reports=not peers)
            )
            for one in others
        ]
        try:
            if peers:
                late = await draining
                cut = (Outcome.TIMEOUT, f"no end within {trial.deadline_s:g} s") if late else None
                result = await _result(listening, cut, channel, task.targets.gone)
                await asyncio.wait(connected, timeout=context.grace_s)
            else:
                result = await connected[0]
                await channel.hang_up()
                await asyncio.wait([draining], timeout=LINGER_S)
                if draining.done() and not listening.ended:
                    draining.result()  # raises if the server's own connection broke
            ended = [task_.result() if task_.done() else None for task_ in connected]
        finally:
            await _cancel(draining, *connected)
    return _merge_peers(result, ended) if peers else _merge_client_and_server(result, listening)


def _other_peers(own: Agent, others: Sequence[Agent]) -> list[JobTarget]:
    """The peers besides the listening one, as an agent among them sees them; none for the only client."""
    return [JobTarget(one.role.value, address=one.host) for one in others if one is not own]


def _of_other_client(trial: PlannedTrial, instance: Instance) -> RunsOtherClient | None:
    """The machine if a provider's own client measures on it: no other gets what that client signs in with."""
    is_other = dict(trial.params).get("client", NATIVE) != NATIVE
    return instance if is_other and isinstance(instance, RunsOtherClient) else None


def _started(instance: Instance, job: bytes, task: TrialTask) -> AbstractAsyncContextManager[Channel]:
    machine = _of_other_client(task.trial, instance)
    return machine.start_other_client(job) if machine else instance.start(job, task.trial, task.earlier)


def _job(
    context: TrialContext,
    task: TrialTask,
    agent: Agent,
    others: Sequence[JobTarget],
    secret: str | None,
    *,
    listens: bool = False,
) -> bytes:
    """The job line of one agent of a trial.

    Agents that talk to each other have the same caps, and those that use a service share them.
    """
    by_other = _of_other_client(task.trial, agent.instance) is not None
    data_set = task.data_sets[agent.number - 1] if task.data_sets else None
    service, credentials = target_of(data_set, by_other_client=by_other) if data_set else (None, {})
    endpoint = None if others or agent.role is not Role.VANTAGE else endpoint_of(task.trial, task.targets.vantages)
    targets = (*others, *filter(None, (service, endpoint)))
    shared = service is not None and others and task.caps is not None
    caps = shared_caps(task.caps or {}, writes=listens) if shared else task.caps
    return encode_job(
        task.command.trial if task.command else task.trial,
        cpus=processors(agent, alone=len(task.targets.machines) < 2),
        folder=agent.instance.folder,
        role=agent.role.value if targets or agent.role is Role.NEIGHBOUR else Role.SOLO.value,
        listen=agent.listen if listens else None,
        targets=targets,
        secret=secret,
        credentials=credentials,
        caps=caps if targets else None,
        lease_s=lease_s(context, task.trial),
    )


def lease_s(context: TrialContext, trial: PlannedTrial) -> float:
    """The longest life of an agent's process, even without a controller: its deadline, and time to read its output."""
    return trial.deadline_s + 3 * context.grace_s + _LEASE_MARGIN_S


async def _result(decoder: Decoder, cut: tuple[Outcome, str] | None, channel: Channel, gone: Gone) -> TrialResult:
    """The result of a stream that has been read; if it broke off, finds out if its machine or its process ended."""
    if decoder.ended or decoder.fault is not None:
        return decoder.result()
    preempted = await preempted_by_provider(gone)
    if preempted is not None:
        return decoder.result((preempted.outcome, preempted.why))
    result = decoder.result(cut)
    words = one_line(await channel.last_words()) if cut is None else ""
    return replace(result, why=f"{result.why} ({words})") if words else result


def _never_served(agent: Agent, ended: TrialResult) -> TrialResult:
    """The result of a trial whose listening agent never served; an agent that ended well before that has failed."""
    outcome = Outcome.FAILED if ended.outcome is Outcome.OK else ended.outcome
    why = ended.why or "it ended before it listened"
    return TrialResult(outcome, (), f"{agent.role.value}: {why}", ended.facts)


def _merge_client_and_server(client: TrialResult, server: Decoder) -> TrialResult:
    """The client's result, unless the server's stream gives reason to doubt it."""
    if client.outcome is not Outcome.OK:
        return client
    ended = server.result((Outcome.TIMEOUT, "it did not end when it was told to"))
    # A server that is stopped while it still listens reports `aborted`: that is not a fault.
    if ended.outcome in {Outcome.OK, Outcome.ABORTED}:
        return client
    return TrialResult(ended.outcome, (), f"server: {ended.why}", client.facts)


def _merge_peers(first: TrialResult, others: Sequence[TrialResult | None]) -> TrialResult:
    """The first peer's result, unless another peer's stream gives reason to doubt it."""
    for number, other in enumerate(others, start=2):
        if other is None and first.outcome is Outcome.OK:
            why = f"peer {number}: it did not end with its group"
            return TrialResult(Outcome.TIMEOUT, (), why, first.facts)
        if other is not None and other.outcome not in {Outcome.OK, Outcome.ABORTED}:
            return TrialResult(other.outcome, (), f"peer {number}: {other.why}", first.facts)
    return first


async def read_output(
    stream: AsyncIterator[bytes], decoder: Decoder, limit_s: float, *, until_ready: bool = False,
    until_sampled: bool = False,
) -> bool:  # fmt: skip
    """Feeds the decoder until the stream ends or is invalid; returns True if the limit came first.

    After the end record only a moment is left for the stream to close. `until_ready` returns once an agent listens,
    `until_sampled` once a sample came.
    """
    try:
        async with asyncio.timeout(limit_s) as limit:
            async for piece in stream:
                decoder.feed(piece)
                ready = (until_ready and decoder.address is not None) or (until_sampled and decoder.samples)
                if decoder.fault is not None or ready:
                    return False
                if decoder.ended:
                    limit.reschedule(asyncio.get_running_loop().time() + LINGER_S)
    except TimeoutError:
        return not decoder.ended
    except ConnectionLost:
        if not decoder.ended:
            raise
    return False


async def _cancel(*tasks: "asyncio.Task[bool] | asyncio.Task[TrialResult]") -> None:
    """Stops readers; their decoders hold how each ended."""
    for task in tasks:
        task.cancel()
    await asyncio.wait(tasks)
    for task in tasks:
        if not task.cancelled():
            task.exception()  # retrieved here, or asyncio complains when the task is freed
