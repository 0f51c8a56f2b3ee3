"""This machine as a cloud: its instance types are its own sets of processors."""

import asyncio
import json
import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path

from cloudcmp.errors import AgentMissing, ProviderFault, Refused, Unlisted
from cloudcmp.model.lease import INSTANCE, CreateRequest, Found, Handle, Lease, Listing
from cloudcmp.model.offering import Billing, Offering
from cloudcmp.model.plan import Candidate, Launch, PlannedTrial
from cloudcmp.model.protocol import Channel
from cloudcmp.model.safety import Barrier, Finding
from cloudcmp.provider.local.leftovers import VARIABLE, end_processes_of
from cloudcmp.provider.local.machine import Machine, read_machine
from cloudcmp.provider.local.process import Process

REGION = "local"
BARRIERS = (
    Barrier("teardown", True, "the folder of a launch and its processes go with it"),
    Barrier("cleanup", True, "by the study's folder, which holds those of its launches"),
    Barrier("death", True, "an agent dies with its controller; a folder stays, and costs nothing but disk"),
    Barrier("sweep", False, "folders lie within their study: without it nothing tells where"),
)
_CARD = "lease.json"
_GIB = 2**30


@dataclass(frozen=True, slots=True)
class LocalInstance:
    """A fresh folder and a set of processors; every job gets a new agent process in that folder."""

    cpus: Sequence[int]
    folder: str
    token: str
    agent: Path
    address: str = "127.0.0.1"

    def start(self, job: bytes, trial: PlannedTrial, earlier: int) -> AbstractAsyncContextManager[Channel]:  # noqa: ARG002
        """An agent process on the job, killed with all its children when the context is left."""
        # Nothing of our own environment goes along: it may hold secrets.
        environ = {"PATH": os.defpath, "LC_ALL": "C", VARIABLE: self.token}
        return Process([str(self.agent)], job, Path(self.folder), environ)

    async def carry(self, files: Mapping[str, Path]) -> None:
        """Copy files into the folder: a link would let a command change the user's own."""
        for name, file in files.items():
            to = Path(self.folder) / name
            to.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            await asyncio.to_thread(shutil.copyfile, file, to)
            to.chmod(0o700)


class LocalProvider:
    """The machine that we run on. Nothing is billed, and all candidates share the one host.

    `work` is the folder under which launches get theirs; `agent` the agent's binary, only needed to connect.
    """

    name = "local"
    simulated = False
    billed = False
    billing = Billing()
    settle_s = 0.0
    parts: tuple[str, ...] = (INSTANCE,)
    barriers: tuple[Barrier, ...] = BARRIERS

    def __init__(
        self,
        work: Path,
        agent: Path | None = None,
        *,
        machine: Callable[[], Machine] = lambda: read_machine(os.sched_getaffinity(0)),
    ) -> None:
        self._work = work.resolve()
        self._agent = agent
        self._machine = machine

    def offerings(self, region: str | None = None) -> tuple[Offering, ...]:
        """One processor, half and all of those that can be used; without a price, which only the owner knows."""
        if region not in {None, REGION}:
            return ()
        machine = self._machine()
        memory = None if machine.memory_bytes is None else machine.memory_bytes / _GIB
        model = (("cpu", machine.cpu_model),) if machine.cpu_model else ()
        return tuple(
            Offering(self.name, REGION, f"{count}cpu", float(count), memory, None, None, model)
            for count in _sizes(machine.usable_cpus)
        )

    def host(self, candidate: Candidate) -> str:  # noqa: ARG002
        """All candidates share this machine."""
        return "this machine"

    async def check(self, candidates: Sequence[Candidate]) -> tuple[Finding, ...]:  # noqa: ARG002
        """Whether this machine has processors to measure; nothing here needs credentials, quota or a price."""
        count = self._machine().usable_cpus
        return (Finding("host", count > 0, f"{count} processors can be used"),)

    async def create(self, request: CreateRequest) -> str:
        """A fresh folder named by the token, with the tags in it; the same token gives the same folder again."""
        folder = self._folder(request.token)
        card = {"name": request.name, "token": request.token, "tags": dict(request.tags), "offering": request.offering}
        try:
            folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            folder.mkdir(mode=0o700, exist_ok=True)
            draft = folder / f"{_CARD}.new"
            draft.write_text(json.dumps(card, sort_keys=True), encoding="utf-8")
            draft.replace(folder / _CARD)
        except OSError as error:
            raise Refused.at(str(folder), error.strerror or str(error), "choose another folder with --out") from error
        return request.token

    async def find(self, study: str, token: str | None = None, *, region: str | None = None) -> tuple[Found, ...]:  # noqa: ARG002
        """Every folder whose tags name the study, or whose name is the token."""
        return tuple(
            item for item in self._all() if ("cloudcmp:study", study) in item.tags or (token and item.token == token)
        )

    async def leftovers(self) -> Listing:
        """What this study's own folder holds: other studies' folders may lie anywhere."""
        return Listing(tuple(item for item in self._all() if "cloudcmp:schema" in dict(item.tags)))

    async def destroy(self, handle: Handle) -> None:
        """Kill what still runs in the folder, and remove the folder."""
        folder = self._folder(handle.cloud_id)
        if not await asyncio.to_thread(end_processes_of, folder, handle.cloud_id):
            raise ProviderFault.at(str(folder), "a process in it will not end", "see which with: ls -l /proc/*/cwd")
        try:
            shutil.rmtree(folder)
        except FileNotFoundError:
            return
        except OSError as error:
            raise ProviderFault.at(str(folder), error.strerror or str(error), "remove it by hand") from error

    async def gone(self, handle: Handle) -> str | None:
        """The folder's absence is the evidence."""
        return None if self._folder(handle.cloud_id).exists() else f"folder {handle.cloud_id} is not there"

    async def connect(self, lease: Lease, candidate: Candidate, launch: Launch) -> LocalInstance:  # noqa: ARG002
        """The launch's folder, with as many processors as its instance type has, the lowest numbers first."""
        if self._agent is None:
            raise AgentMissing.at("local", "no agent was located", 'build it with "make build"')
        folder = self._folder(lease.cloud_id or lease.token)
        if not folder.is_dir():
            raise ProviderFault.at(str(folder), "the launch's folder is gone", "run the study again with --resume")
        cpus = self._machine().cpus[: self._size_for(candidate.offering)]
        return LocalInstance(cpus, str(folder), lease.token, self._agent)

    def _size_for(self, offering: Offering) -> int:
        """Processors for an instance type of ours, or for another cloud's that we stand in for: the next size up."""
        sizes = _sizes(self._machine().usable_cpus)
        own = {f"{count}cpu": count for count in sizes}
        wanted = offering.vcpus or 1.0
        return own.get(offering.name) or next((count for count in sizes if count >= wanted), sizes[-1])

    def _folder(self, token: str) -> Path:
        """The folder of a token; raises Refused for one that could lead elsewhere."""
        if not token or not all(char.isascii() and (char.isalnum() or char in "-_") for char in token):
            raise Refused.at("local", f"{token!r} can not name a folder", "use letters, digits and -")
        return self._work / token

    def _all(self) -> list[Found]:
        if not self._work.is_dir():
            return []
        try:
            return [self._read(folder) for folder in sorted(self._work.iterdir()) if folder.is_dir()]
        except OSError as error:
            raise Unlisted.at(str(self._work), error.strerror or str(error), "make the folder readable") from error

    def _read(self, folder: Path) -> Found:
        """What a folder says it is; one whose card was never finished still has its token as its name."""
        try:
            card = json.loads((folder / _CARD).read_text(encoding="utf-8"))
            tags = tuple(sorted((str(key), str(value)) for key, value in card["tags"].items()))
            return Found(folder.name, str(card["name"]), str(card["token"]), tags, "running", region=REGION)
        except (FileNotFoundError, ValueError, KeyError, TypeError, AttributeError):
            return Found(folder.name, folder.name, folder.name, (), "incomplete", region=REGION)


def _sizes(cpus: int) -> list[int]:
    """One, half and all of the processors, each once."""
    return sorted({1, max(1, cpus // 2), cpus})
