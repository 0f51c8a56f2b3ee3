"""Network namespaces of this host as a provider: machines that share its processors, each with a network of its own."""

import asyncio
import re
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path

from cloudcmp.errors import CloudcmpError, NotOurs, Refused
from cloudcmp.model.lease import CreateRequest, Handle, Lease, Listing, TaggedResource
from cloudcmp.model.offering import Offering
from cloudcmp.model.plan import Candidate, Launch, PlannedTrial
from cloudcmp.model.remote import Channel
from cloudcmp.model.safety import Finding, Safeguard
from cloudcmp.provider.common.blocking_calls import run_to_completion
from cloudcmp.provider.local import LocalProvider
from cloudcmp.provider.local.cloud import LocalInstance
from cloudcmp.provider.local.process import Process
from cloudcmp.provider.netns import network
from cloudcmp.provider.netns.types import link_bytes_per_s, machine_type, offerings

SAFEGUARDS = (
    Safeguard("teardown", True, "the namespace of a machine, its folder and its processes go with it"),
    Safeguard("cleanup", True, "by the study's ledger"),
    Safeguard("death", True, "an agent dies with its controller; a namespace stays, and costs nothing"),
    Safeguard("sweep", True, "every namespace has its tags on its own interface, even without a folder"),
)
_SCHEMA_TAG = "cloudcmp:schema"
_ADMIN, _NET_ADMIN = 21, 12  # bits of capabilities(7)
_STATUS = Path("/proc/self/status")


@dataclass(frozen=True, slots=True)
class NamespaceInstance(LocalInstance):
    """A folder, some of this host's processors and a namespace; every job gets a new agent process in all three."""

    namespace: str = ""

    def start(self, job: bytes, trial: PlannedTrial, earlier: int) -> AbstractAsyncContextManager[Channel]:  # noqa: ARG002
        """Runs an agent process in the namespace on the job; kills it and its children when the context ends."""
        command = [*network.enter(self.namespace), str(self.agent)]
        return Process(command, job, Path(self.folder), self._environ())


class NamespaceProvider(LocalProvider):
    """Namespaces of this host, which need root. Nothing is billed, and all share this host.

    `launches` is the parent of the machines' folders, `agent` the agent's binary, only necessary to connect. `study` is
    the study's tag: only namespaces and folders with it are destroyed.
    """

    name = "netns"
    safeguards: tuple[Safeguard, ...] = SAFEGUARDS

    def offerings(self, region: str | None = None) -> tuple[Offering, ...]:
        """One and all of the usable processors, each with and without a shaper; without a price."""
        return offerings(self.name, region, self._machine())

    async def check(self, candidates: Sequence[Candidate]) -> tuple[Finding, ...]:
        """Checks the rights that namespaces need, and tries the shapers of the candidates; nothing remains of it."""
        return await asyncio.to_thread(self._check, candidates)

    async def create(self, request: CreateRequest) -> str:
        """Makes a folder, then a namespace with the tags; idempotent by token. Raises Refused without the rights."""
        kind, rate = machine_type(request.offering, self._machine()), link_bytes_per_s(request.region)
        token = await super().create(request)

        def make() -> None:
            with network.locked():
                network.remove_unfinished()  # what a controller left that died
                network.make(token, _number(request.slot), request.region, rate, kind, dict(request.tags))

        await run_to_completion(make)
        return token

    async def find(
        self, study: str, token: str | None = None, *, region: str | None = None
    ) -> tuple[TaggedResource, ...]:
        """Namespaces and folders with the study's tag or the token."""
        folders = await super().find(study, token, region=region)
        found = await asyncio.to_thread(_namespaces)
        return _each_once(
            [*(one for one in found if (network.STUDY, study) in one.tags or (token and one.token == token)), *folders]
        )

    async def leftovers(self) -> Listing:
        """The namespaces on this host with the schema tag, of every study, and this study's folders."""
        folders = (await super().leftovers()).found
        found = [one for one in await asyncio.to_thread(_namespaces) if _SCHEMA_TAG in dict(one.tags)]
        return Listing(_each_once([*found, *folders]))

    async def destroy(self, handle: Handle) -> None:
        """Kills what runs in the namespace and removes it, then its folder; raises NotOurs for another study's."""
        name = network.namespace_of(handle.cloud_id)
        found = await asyncio.to_thread(network.read, name)
        if found is not None and found.tags and self._study not in {None, found.tags.get(network.STUDY)}:
            what = "it has the tags of another study: it is kept"
            raise NotOurs.at(handle.cloud_id, what, "see whose it is with: cloudcmp sweep netns")

        def remove() -> None:
            with network.locked():
                network.remove(name)
                network.remove_unfinished()

        # Also without one: its maker may have died after it made the bridge, and before the machine.
        await run_to_completion(remove)
        if await super().gone(handle) is None:
            await super().destroy(handle)

    async def gone(self, handle: Handle) -> str | None:
        """Evidence that neither the namespace nor the folder exists."""
        if await asyncio.to_thread(network.read, network.namespace_of(handle.cloud_id)) is not None:
            return None
        folder = await super().gone(handle)
        return folder and f"there is no namespace of it, and {folder}"

    async def connect(self, lease: Lease, candidate: Candidate, launch: Launch) -> NamespaceInstance:
        """The machine's folder and namespace, with processors of this host: each next machine has the next ones."""
        folder = await super().connect(lease, candidate, launch)
        token = lease.cloud_id or lease.token
        found = await asyncio.to_thread(network.read, network.namespace_of(token))
        if found is None or not found.address:
            raise Refused.at(lease.name, "its namespace is gone", "run the study again with --resume")
        machine, kind = self._machine(), machine_type(candidate.offering.name, self._machine())
        first = (_number(lease.slot) - 1) * kind.cpus
        cpus = tuple(machine.cpus[(first + k) % machine.usable_cpus] for k in range(kind.cpus))
        return NamespaceInstance(cpus, folder.folder, folder.token, folder.agent, found.address, found.name)

    def _check(self, candidates: Sequence[Candidate]) -> tuple[Finding, ...]:
        missing = missing_rights()
        if missing:
            return (Finding("host", False, missing, "run it as root, or choose another provider, such as qemu"),)
        try:
            network.try_namespace()
        except CloudcmpError as fault:
            return (Finding("host", False, str(fault.faults[0].what), fault.faults[0].next),)
        findings = [Finding("host", True, f"root, and {self._machine().usable_cpus} processors can be used")]
        types = {one.offering.name for one in candidates}
        for name in sorted(types):
            try:
                kind = machine_type(name, self._machine())
                network.try_shaper(kind.shaper, kind.bytes_per_s)
            except CloudcmpError as fault:
                findings.append(Finding("capability", False, fault.faults[0].what, fault.faults[0].next))
        return tuple(findings)


def _namespaces() -> list[TaggedResource]:
    """The finished namespaces on this host; one without tags is removed by whoever makes the next one."""
    return [
        TaggedResource(one.token, one.name, one.token, tuple(sorted(one.tags.items())), "running", region=one.region)
        for one in network.machines()
        if one.tags and one.token
    ]


def _each_once(resources: Sequence[TaggedResource]) -> tuple[TaggedResource, ...]:
    """A machine's namespace and its folder are one resource."""
    return tuple({one.cloud_id: one for one in reversed(resources)}.values())


def missing_rights() -> str:
    """What this process may not do that namespaces need; empty if nothing."""
    try:
        fields = dict(line.split(":", 1) for line in _STATUS.read_text(encoding="ascii", errors="replace").splitlines())
        capabilities = int(fields["CapEff"], 16)
    except (OSError, KeyError, ValueError):
        capabilities = 0
    names = {_ADMIN: "CAP_SYS_ADMIN", _NET_ADMIN: "CAP_NET_ADMIN"}
    lacks = [name for bit, name in names.items() if not capabilities >> bit & 1]
    return f"this user has no {' and no '.join(lacks)}, which network namespaces need" if lacks else ""


def _number(slot: str) -> int:
    """The number of a machine in its launch, from its slot: `launch-3` is the first, `launch-3.2` the second."""
    found = re.fullmatch(r"launch-\d+\.(\d+)", slot)
    return int(found[1]) if found else 1
