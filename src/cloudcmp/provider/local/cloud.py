"""This machine as a provider; its instance types are sets of its processors."""

import asyncio
import os
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, suppress
from dataclasses import dataclass
from pathlib import Path

import cloudcmp
from cloudcmp.errors import AgentMissing, IncompleteListing, NotOurs, ProviderFault, Refused
from cloudcmp.model.lease import CreateRequest, Handle, Lease, Listing, TaggedResource
from cloudcmp.model.offering import Offering
from cloudcmp.model.plan import Candidate, Launch, PlannedTrial
from cloudcmp.model.remote import Channel
from cloudcmp.model.safety import Finding, Safeguard
from cloudcmp.owned_folder import OwnedPath, folder_in, folders_in, new_file, remove_folder
from cloudcmp.programs import search_path
from cloudcmp.provider.common.unbilled import Unbilled
from cloudcmp.provider.local.card import CARD, STUDY_TAG, Card, check_new_folder, own_card, read_card, remove_draft
from cloudcmp.provider.local.machine import Machine, read_machine
from cloudcmp.provider.local.process import Process
from cloudcmp.provider.local.processes import VARIABLE, ProcessFilter, end_processes_of
from cloudcmp.provider.local.server import ServerProcess

REGION = "local"
SAFEGUARDS = (
    Safeguard("teardown", True, "the folder of a launch and its processes go with it"),
    Safeguard("cleanup", True, "by the study's folder, which holds those of its launches"),
    Safeguard("death", True, "an agent dies with its controller; a folder stays, and costs nothing but disk"),
    Safeguard("sweep", False, "folders lie within their study: without it nothing tells where"),
)
_GIB = 2**30
_CLIENT = "cloudcmp.client"


@dataclass(frozen=True, slots=True)
class LocalInstance:
    """A new folder and a set of processors; every job gets a new agent process in that folder."""

    cpus: Sequence[int]
    folder: str
    token: str
    agent: Path
    address: str = "127.0.0.1"

    def start(self, job: bytes, trial: PlannedTrial, earlier: int) -> AbstractAsyncContextManager[Channel]:  # noqa: ARG002
        """Runs an agent process on the job; kills it and its children when the context ends."""
        return Process([str(self.agent)], job, Path(self.folder), self._environ())

    def start_other_client(self, job: bytes) -> AbstractAsyncContextManager[Channel]:
        """Measures a provider's own library or command on the job; kills all processes when the context ends."""
        # Its modules come from where this one came from, and never from the folder (-P).
        modules = str(Path(cloudcmp.__file__).parent.parent)
        environ = {**self._environ(), "PATH": search_path(), "PYTHONPATH": modules}
        return Process([sys.executable, "-P", "-m", _CLIENT], job, Path(self.folder), environ)

    def _environ(self) -> dict[str, str]:
        """The variables of a process that measures, without our own, which may hold secrets."""
        return {"PATH": os.defpath, "LC_ALL": "C", VARIABLE: self.token}

    def serve(self, command: str, environ: Mapping[str, str]) -> AbstractAsyncContextManager[ServerProcess]:
        """Runs a shell command in the folder; kills it and its children when the context ends, or with the folder."""
        own = {"PATH": search_path(), "HOME": self.folder, "LC_ALL": "C", VARIABLE: self.token}
        return ServerProcess(command, Path(self.folder), {**own, **environ})

    async def upload(self, files: Mapping[str, Path]) -> None:
        """Copies files into the folder, to protect the originals; raises NotOurs for a name outside it."""
        folder = Path(self.folder)
        for name, file in files.items():
            await asyncio.to_thread(_copy, file, OwnedPath(folder.parent, (folder.name, *name.split("/"))))


class LocalProvider(Unbilled):
    """The machine that we run on. Nothing is billed, and all candidates share this host.

    `launches` is the parent of the launches' folders, `agent` the agent's binary, only necessary to connect. `study` is
    the study's tag: only folders whose card has it are destroyed, and none without it.
    """

    name = "local"
    safeguards: tuple[Safeguard, ...] = SAFEGUARDS

    def __init__(
        self,
        launches: OwnedPath,
        agent: Path | None = None,
        study: str | None = None,
        *,
        machine: Callable[[], Machine] = lambda: read_machine(os.sched_getaffinity(0)),
    ) -> None:
        self._launches = launches
        self._agent = agent
        self._study = study
        self._machine = machine

    def offerings(self, region: str | None = None) -> tuple[Offering, ...]:
        """One, half and all of the usable processors; without a price, which only the owner knows."""
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
        """One name for all candidates, which share this machine."""
        return "this machine"

    async def check(self, candidates: Sequence[Candidate]) -> tuple[Finding, ...]:  # noqa: ARG002
        """Checks that this machine has usable processors; it needs no credentials, quota or price."""
        count = self._machine().usable_cpus
        apart = "pinned to a half of the processors each" if count > 1 else "on the one processor that there is"
        how = f"a victim and its neighbour are {apart}; no cgroup limits either of them"
        return Finding("host", count > 0, f"{count} processors can be used"), Finding("isolation", True, how)

    async def create(self, request: CreateRequest) -> str:
        """Creates a folder named after the token, with the tags; idempotent. Raises NotOurs for a foreign folder."""
        token, path = _check_token(request.token), self._path(request.token)
        card = Card.of(request)
        try:
            with self._launches.folder(make=True) as launches:
                with suppress(FileExistsError):
                    os.mkdir(token, 0o700, dir_fd=launches)
                with folder_in(launches, token, path) as folder:
                    check_new_folder(folder, token, card.tags.get(STUDY_TAG), path)
                    card.write(folder)
        except OSError as error:
            raise Refused.at(str(path), error.strerror or str(error), "choose another folder with --out") from error
        return token

    async def find(
        self,
        study: str,
        token: str | None = None,
        *,
        region: str | None = None,  # noqa: ARG002
    ) -> tuple[TaggedResource, ...]:
        """Folders with the study's tag or the token."""
        return tuple(
            item for item in self._all() if ("cloudcmp:study", study) in item.tags or (token and item.token == token)
        )

    async def leftovers(self) -> Listing:
        """The folders of this study; those of other studies may be anywhere."""
        return Listing(tuple(item for item in self._all() if "cloudcmp:schema" in dict(item.tags)))

    async def destroy(self, handle: Handle) -> None:
        """Kills the processes in the folder and removes it; raises NotOurs for another study's folder."""
        await asyncio.to_thread(self._destroy, _check_token(handle.cloud_id))

    async def gone(self, handle: Handle) -> str | None:
        """Evidence that the folder does not exist; raises NotOurs if a link hides it."""
        token = _check_token(handle.cloud_id)
        try:
            with self._launches.folder() as launches:
                os.stat(token, dir_fd=launches, follow_symlinks=False)
        except FileNotFoundError:
            return f"folder {token} is not there"
        except OSError as error:
            raise ProviderFault.at(str(self._path(token)), error.strerror or str(error), "see why by hand") from error
        return None

    async def connect(self, lease: Lease, candidate: Candidate, launch: Launch) -> LocalInstance:  # noqa: ARG002
        """The launch's folder, with the processors of its instance type, the lowest numbers first."""
        if self._agent is None:
            raise AgentMissing.at("local", "no agent was located", 'build it with "make build"')
        token = _check_token(lease.cloud_id or lease.token)
        path = self._path(token)
        try:
            with self._launches.folder() as launches, folder_in(launches, token, path) as folder:
                if own_card(folder, lease.token, self._study, path) is None:
                    raise ProviderFault.at(str(path), "the folder was never finished", "run the study with --resume")
                where = str(Path(f"/proc/self/fd/{folder}").readlink())
        except OSError as error:
            raise ProviderFault.at(
                str(path), "the launch's folder is gone", "run the study again with --resume"
            ) from error
        cpus = self._machine().cpus[: self._size_for(candidate.offering)]
        return LocalInstance(cpus, where, lease.token, self._agent)

    def _size_for(self, offering: Offering) -> int:
        """The processors of our instance type, or for another cloud's type, of the next larger size."""
        sizes = _sizes(self._machine().usable_cpus)
        ours = {f"{count}cpu": count for count in sizes}
        vcpus = offering.vcpus or 1.0
        return ours.get(offering.name) or next((count for count in sizes if count >= vcpus), sizes[-1])

    def _destroy(self, token: str) -> None:
        path = self._path(token)
        try:
            with self._launches.folder() as launches, folder_in(launches, token, path) as folder:
                card = own_card(folder, token, self._study, path)
                if card is None:
                    remove_draft(launches, token, folder)
                    return
                if not end_processes_of(ProcessFilter(token, folder, card.boot_id, card.made_s)):
                    raise ProviderFault.at(str(path), "a process in it will not end", "see: ls -l /proc/*/cwd")
                remove_folder(launches, token, folder, CARD)
        except FileNotFoundError:
            return
        except OSError as error:
            raise ProviderFault.at(str(path), error.strerror or str(error), "remove it by hand") from error

    def _path(self, token: str) -> Path:
        return self._launches.path / token

    def _all(self) -> list[TaggedResource]:
        try:
            with self._launches.folder() as launches:
                return list(self._listed(launches))
        except FileNotFoundError:
            return []
        except NotOurs as error:
            raise IncompleteListing(*error.faults) from error
        except OSError as error:
            where = str(self._launches.path)
            raise IncompleteListing.at(where, error.strerror or str(error), "make the folder readable") from error

    def _listed(self, launches: int) -> Iterator[TaggedResource]:
        """The resource of each folder; without a complete card its token is its name."""
        for token in filter(_is_token, folders_in(launches)):
            with suppress(FileNotFoundError), folder_in(launches, token, self._path(token)) as folder:
                try:
                    card = read_card(folder)
                    tags = tuple(sorted(card.tags.items()))
                    yield TaggedResource(token, card.name, card.token, tags, "running", region=REGION)
                except (FileNotFoundError, ValueError):
                    yield TaggedResource(token, token, token, (), "incomplete", region=REGION)


def _is_token(text: str) -> bool:
    return bool(text) and all(char.isascii() and (char.isalnum() or char in "-_") for char in text)


def _check_token(token: str) -> str:
    """A token that can name a folder; raises Refused for one that could lead elsewhere."""
    if not _is_token(token):
        raise Refused.at("local", f"{token!r} cannot name a folder", "use letters, digits and -")
    return token


def _copy(file: Path, to: OwnedPath) -> None:
    """Copies a file, executable for its owner only."""
    inside, name = OwnedPath(to.trusted, to.parts[:-1]), to.parts[-1]
    with file.open("rb") as source, inside.folder(make=True) as folder, new_file(folder, name, 0o700) as copy:
        shutil.copyfileobj(source, copy, 2**20)


def _sizes(cpus: int) -> list[int]:
    """One, half and all of the processors, each once."""
    return sorted({1, max(1, cpus // 2), cpus})
