"""The service of a launch: the command that serves it, if any, its data set, and the access that its trials get."""

import asyncio
import secrets
import socket
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from urllib.parse import urlsplit

from cloudcmp.errors import ProviderFault, Refused, Unreached
from cloudcmp.execute.cast import DataSetOf, cast_in, no_data_set
from cloudcmp.execute.context import LaunchContext
from cloudcmp.model.cast import DataSet, Service, ServiceKind, machines_of
from cloudcmp.model.lease import DATA_SET, Handle
from cloudcmp.model.plan import PlannedTrial
from cloudcmp.model.protocol import HoldsData, Served, Serves
from cloudcmp.model.remote import Shell
from cloudcmp.provider.aws.s3 import S3DataSets
from cloudcmp.provider.common.authorities import trusted
from cloudcmp.provider.common.hosts import is_address
from cloudcmp.provision import make_data_set

SERVE_S = 60.0
"""The longest time that a served command may take until its endpoint accepts connections."""
_POLL_S = 0.05
_SERVED_BUCKET = "cloudcmp"
_KEY_ID, _SECRET = "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"


@asynccontextmanager
async def data_set_of(context: LaunchContext) -> AsyncIterator[DataSetOf]:
    """Gives the function that returns a trial's access to the service that the launch measures, from its machines.

    Serves it first if the study says how, until the context is left. Raises the kinds of ProviderFault if there is no
    service or no data set.
    """
    service = context.candidate.service
    if service is None or service.kind is ServiceKind.HTTP:
        yield no_data_set
    elif service.serve:
        async with _served(context, service) as access:
            yield access
    else:
        yield await _leased(context, service)


async def _leased(context: LaunchContext, service: Service) -> DataSetOf:
    run = context.run
    store = run.providers[context.candidate.store or context.candidate.runner]
    lease = await make_data_set(run.provisioning, store, context.candidate, context.launch, context.ttl_s)
    handle = lease.handle()
    if not isinstance(store, HoldsData) or handle is None:
        return no_data_set  # simulated: its agents need no access
    time, machines = run.provisioning.ledger.time, context.machines

    async def access(trial: PlannedTrial) -> Sequence[DataSet]:
        data_set = replace(await store.data_set(service, handle, time.now() + trial.deadline_s), ca=trusted())
        shells = [machine.shell for machine in machines[: max(1, machines_of(cast_in(trial, len(machines))))]]
        return [data_set if shell is None else await resolved_at(shell, data_set) for shell in shells]

    return access


async def resolved_at(shell: Shell, data_set: DataSet) -> DataSet:
    """A data set whose endpoint's addresses are those that the machine itself finds; raises Unreached if none.

    A provider's name may lead to another front end from there than from here.
    """
    if not data_set.addresses:
        return data_set  # its host is an address
    host = urlsplit(data_set.endpoint).hostname or ""
    found = await shell.run(["getent", "ahosts", host])
    words = (line.split()[0] for line in found.out.decode("ascii", "replace").splitlines() if line.strip())
    addresses = tuple(dict.fromkeys(word for word in words if is_address(word)))
    if not addresses:
        raise Unreached.at(
            host, "the machine finds no address for it", "check the endpoint, and the machine's resolver"
        )
    return replace(data_set, addresses=addresses)


@asynccontextmanager
async def _served(context: LaunchContext, service: Service) -> AsyncIterator[DataSetOf]:
    """Runs the study's own command and makes a bucket in it, which ends with the launch's folder.

    The command finds new credentials of this launch in its environment, in the variables of AWS's own clients.
    """
    where, instance = context.candidate.id, context.machines[0].instance
    parts = urlsplit(service.endpoint)
    address = (parts.hostname or "", parts.port or {"http": 80, "https": 443}[parts.scheme])
    if not isinstance(instance, Serves):
        raise Refused.at(where, "its machine can serve nothing", "write from: local")
    if await _answers(address):
        what = f"something listens at {parts.netloc} already"
        raise Refused.at(where, what, "stop it, or serve at another port")
    keys = (f"AK{secrets.token_hex(9).upper()}", secrets.token_hex(20))
    async with instance.serve(service.serve, {_KEY_ID: keys[0], _SECRET: keys[1]}) as running:
        await _until_served(where, parts.netloc, address, running)
        store = S3DataSets("s3", [service], keys=keys)
        await store.make(service.endpoint, _SERVED_BUCKET, {})
        handle = Handle(DATA_SET, service.endpoint, _SERVED_BUCKET)
        time = context.run.provisioning.ledger.time

        async def access(trial: PlannedTrial) -> Sequence[DataSet]:
            return (await store.data_set(service, handle, time.now() + trial.deadline_s),)

        yield access


async def _until_served(where: str, place: str, address: tuple[str, int], running: Served) -> None:
    """Waits until the endpoint accepts connections; raises ProviderFault if the command ends or takes too long."""
    loop = asyncio.get_running_loop()
    until = loop.time() + SERVE_S
    while not await _answers(address):
        if (end := running.ended()) is not None:
            raise ProviderFault.at(where, f"the command that serves it ended: {end}", "run it by hand to see why")
        if loop.time() > until:
            what = f"nothing listens at {place} {SERVE_S:g} s after its command was started"
            raise ProviderFault.at(where, what, "compare the port of serve: with that of endpoint:")
        await asyncio.sleep(_POLL_S)


async def _answers(address: tuple[str, int]) -> bool:
    """True if something accepts connections at an address."""
    with suppress(OSError, TimeoutError):
        async with asyncio.timeout(1.0):
            _, writer = await asyncio.open_connection(*address, family=socket.AF_UNSPEC)
            writer.close()
        return True
    return False
