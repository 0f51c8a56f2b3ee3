"""Virtual machines on this host as a provider, with SSH and a time to live."""

import asyncio
import hashlib
import ipaddress
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from cloudcmp.errors import CloudcmpError, NoCapacity, NotOurs, ProviderFault, Refused
from cloudcmp.model.lease import CreateRequest, Handle, Listing, TaggedResource
from cloudcmp.model.offering import Offering
from cloudcmp.model.plan import Candidate
from cloudcmp.model.protocol import do_nothing
from cloudcmp.model.safety import Finding, MachineStatus, Safeguard
from cloudcmp.provider.common.blocking_calls import run_to_completion
from cloudcmp.provider.common.unbilled import Unbilled
from cloudcmp.provider.local.machine import Machine, read_machine
from cloudcmp.provider.qemu import preflight
from cloudcmp.provider.qemu.boot import DiskImage, write_disks
from cloudcmp.provider.qemu.debian import debian_image
from cloudcmp.provider.qemu.image import Image, cache_folder, small_image
from cloudcmp.provider.qemu.inventory import Inventory, state_folder
from cloudcmp.provider.qemu.machine import STARTED, Card, Size, free_memory_bytes, last_line, read_card, ssh_port, start
from cloudcmp.provider.qemu.preflight import DEBIAN, SMALL, images_of, own_image
from cloudcmp.provider.qemu.processes import Identity, RunningGuest, end_guest, query
from cloudcmp.provider.qemu.program import Accelerator, Program, accelerator, find_program, known_accelerator
from cloudcmp.provider.qemu.sizes import OVERHEAD_BYTES, REGION, offerings, size_of

SAFEGUARDS = (
    Safeguard("teardown", True, "the guest's qemu is ended and its folder removed"),
    Safeguard("cleanup", True, "by the study's ledger; a guest lives in a folder of its own, not in the study's"),
    Safeguard("death", True, "the guest powers itself off at the end of its lease, and a minute later it is killed"),
    Safeguard("sweep", True, "every running guest has its tags in its process, even without a folder"),
)
SCHEMA_TAG = "cloudcmp:schema"
_POWER_OFF_S = 60.0


class QemuProvider(Unbilled):
    """Guests of qemu. Nothing is billed, and all share this host, so no two are measured at once.

    `state` is the parent of the guests' folders, `cache` that of images. `now` gives the Unix time (s). `study` is a
    study's tag: if given, no guest of another study is destroyed.
    """

    name = "qemu"
    safeguards: tuple[Safeguard, ...] = SAFEGUARDS

    def __init__(
        self,
        state: Path | None = None,
        cache: Path | None = None,
        *,
        study: str | None = None,
        machine: Callable[[], Machine] = lambda: read_machine(os.sched_getaffinity(0)),
        free_bytes: Callable[[], int | None] = free_memory_bytes,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._inventory = Inventory((state or state_folder()).resolve())
        self._cache = (cache or cache_folder()).resolve()
        self._study = study
        self._machine = machine
        self._free_bytes = free_bytes
        self._now = now

    def offerings(self, region: str | None = None) -> tuple[Offering, ...]:
        """The types that this host can run: one processor and 128 MiB, and upwards."""
        if region not in {None, REGION}:
            return ()
        return offerings(self.name, self._machine(), known_accelerator(self._cache))

    def host(self, candidate: Candidate) -> str:  # noqa: ARG002
        """One name for all guests, which share this machine, also with what runs on it directly."""
        return "this machine"

    async def check(self, candidates: Sequence[Candidate]) -> tuple[Finding, ...]:
        """Checks qemu, images and memory, and lists what a study would fetch."""
        return await asyncio.to_thread(self._check, candidates)

    async def prepare(self, candidates: Sequence[Candidate], say: Callable[[str], None]) -> None:
        """Fetches qemu and builds missing images; raises Refused if that fails, StorageFault if there is no space."""
        for what in preflight.to_fetch(self._cache, images_of(candidates)):
            say(what)
        await asyncio.to_thread(self._program_and_accelerator)
        for name in images_of(candidates):
            await asyncio.to_thread(self._image, name)

    async def create(self, request: CreateRequest) -> str:
        """Starts a guest with its keys and its end in one call; idempotent by token.

        Raises NoCapacity if memory is short, Refused for unavailable options and for a token whose guest has ended. If
        cancelled, it waits until its outcome is known; no guest is created after that.
        """
        # Fetching and building may take minutes; it creates no guest, so it may be cancelled.
        prerequisites = await asyncio.to_thread(self._prepare_start, request)
        return await run_to_completion(lambda: self._create(request, *prerequisites))

    async def find(
        self, study: str, token: str | None = None, *, region: str | None = None
    ) -> tuple[TaggedResource, ...]:
        """Guests with the study's tag or the token."""
        if region not in {None, REGION}:
            return ()
        by_token = self._inventory.id_of(token) if token else None
        resources = [guest.to_resource() for guest in await asyncio.to_thread(self._inventory.all)]
        return tuple(one for one in resources if ("cloudcmp:study", study) in one.tags or one.cloud_id == by_token)

    async def leftovers(self) -> Listing:
        """This user's guests on this host with the schema tag, also those without a folder."""
        guests = await asyncio.to_thread(self._inventory.all, elsewhere=True)
        resources = (guest.to_resource() for guest in guests)
        return Listing(tuple(one for one in resources if SCHEMA_TAG in dict(one.tags)))

    async def destroy(self, handle: Handle) -> None:
        """Ends the guest, also a hanging one, and removes its folder; raises NotOurs for another study's guest."""
        guest = await asyncio.to_thread(self._inventory.one, handle.cloud_id)
        if guest is None:
            return
        tags = dict(guest.identity.tags) if guest.identity else None
        if tags is not None and self._study not in {None, tags.get("cloudcmp:study")}:
            what = "it has the tags of another study: it is kept"
            raise NotOurs.at(handle.cloud_id, what, "see whose it is with: cloudcmp sweep qemu")
        await asyncio.to_thread(self._inventory.remove, guest)

    async def gone(self, handle: Handle) -> str | None:
        """Evidence that the guest has neither a process nor a folder."""
        guest = await asyncio.to_thread(self._inventory.one, handle.cloud_id)
        return None if guest else f"{handle.cloud_id} has no process and no folder on this host"

    async def look(self, handle: Handle) -> MachineStatus:
        """Running while its qemu lives; `why` is the last line on its console."""
        return await asyncio.to_thread(self._look, handle)

    async def resize(self, handle: Handle, offering: str, stopped: Callable[[], None] = do_nothing) -> None:
        """Stops and starts a guest as another type with the same disks; the small image loses its memory content."""
        await run_to_completion(lambda: self._resize(handle, offering, stopped))

    def _prepare_start(self, request: CreateRequest) -> tuple[Size, Image | DiskImage, Program, Accelerator]:
        size = size_of(request.offering, self._machine())
        return size, self._image(dict(request.options).get("image", SMALL)), *self._program_and_accelerator()

    def _create(
        self, request: CreateRequest, size: Size, image: Image | DiskImage, program: Program, accel: Accelerator
    ) -> str:
        cloud_id = self._inventory.id_of(request.token)
        folder = self._inventory.folder(cloud_id)
        with self._inventory.lock():
            guest = self._inventory.one(cloud_id)
            if guest is not None and guest.process is not None:
                return cloud_id
            if (folder / STARTED).exists():
                raise Refused.at(cloud_id, "the guest of this token has ended", "destroy it, and ask with a new token")
            if guest is not None:
                self._inventory.remove(guest)
            self._check_memory(size)
            folder.mkdir(mode=0o700)
            try:
                card = self._write_guest(folder, image, request, cloud_id)
                start(folder, card, size, program, accel)
            except (CloudcmpError, OSError):
                if incomplete := self._inventory.one(cloud_id):
                    self._inventory.remove(incomplete)
                raise
        return cloud_id

    def _write_guest(self, folder: Path, image: Image | DiskImage, request: CreateRequest, cloud_id: str) -> Card:
        """Writes a guest's card before anything else, then its disks."""
        identity = Identity(cloud_id, request.name, request.token, request.offering, request.tags)
        now = self._now()
        link, address = self._assign_address(dict(request.tags).get("cloudcmp:study", request.token))
        card = Card(identity, now, now + request.ttl_s, link, address, ())
        card.write(folder)
        card = replace(card, boot=write_disks(folder, image, request, card.ends_at, address))
        card.write(folder)
        return card

    def _assign_address(self, study: str) -> tuple[str, str]:
        """The multicast address of a study's guests, and a free private address."""
        digest = hashlib.sha256(study.encode()).digest()
        link = f"239.{digest[0]}.{digest[1]}.{digest[2]}:{20000 + int.from_bytes(digest[3:5]) % 10000}"
        cards = (self._inventory.card(guest.cloud_id) for guest in self._inventory.all())
        in_use = {ipaddress.ip_interface(card.private_address).ip for card in cards if card and card.link == link}
        network = ipaddress.ip_network(f"10.77.{digest[5]}.0/24")
        address = next((address for address in network.hosts() if address not in in_use), None)
        if address is None:
            raise NoCapacity.at("qemu", "no private address is left for this study", "destroy some of its guests")
        return link, f"{address}/{network.prefixlen}"

    def _check_memory(self, size: Size) -> None:
        free_bytes = self._free_bytes()
        needed_bytes = size.memory_bytes + OVERHEAD_BYTES
        if free_bytes is not None and free_bytes < needed_bytes:
            what = f"{free_bytes // 2**20} MiB of this host's memory are free, {needed_bytes // 2**20} are needed"
            raise NoCapacity.at("qemu", what, "choose a smaller offering, or free some memory")

    def _image(self, name: str) -> Image | DiskImage:
        """The image of a name, built if necessary, or the user's own at a path; raises Refused if there is none."""
        if name == SMALL:
            return small_image(self._cache)
        return debian_image(self._cache) if name == DEBIAN else own_image(name)

    def _program_and_accelerator(self) -> tuple[Program, Accelerator]:
        program = find_program(self._cache)
        return program, accelerator(program, small_image(self._cache), self._cache)

    def _look(self, handle: Handle) -> MachineStatus:
        guest = self._inventory.one(handle.cloud_id)
        if guest is None:
            return MachineStatus("gone")
        why = last_line(guest.folder)
        card = read_card(guest.folder)
        if guest.process is None or card is None:
            return MachineStatus("stopped", why=why)
        try:
            peer_address = str(ipaddress.ip_interface(card.private_address).ip)
            return MachineStatus("running", "127.0.0.1", ssh_port(guest.folder), peer_address, why=why)
        except ProviderFault as error:
            # It has just ended, or it hangs: the next look tells.
            return MachineStatus("pending", why=f"{error}")

    def _resize(self, handle: Handle, offering: str, stopped: Callable[[], None]) -> None:
        size = size_of(offering, self._machine())
        program, accel = self._program_and_accelerator()
        with self._inventory.lock():
            guest = self._inventory.one(handle.cloud_id)
            card = read_card(guest.folder) if guest else None
            if guest is None or card is None:
                raise Refused.at(handle.cloud_id, "there is no such guest", "see cloudcmp sweep")
            if guest.process is not None:
                self._stop(guest.process, card)
            stopped()
            self._check_memory(size)
            card = replace(card, identity=replace(card.identity, offering=offering))
            card.write(guest.folder)
            start(guest.folder, card, size, program, accel)

    def _stop(self, process: RunningGuest, card: Card) -> None:
        """Shuts down a system with its own disk properly; the small image has nothing to write back."""
        if any(word.startswith("file=root,") for word in card.boot):
            query(process.folder, "system_powerdown")
            deadline = time.monotonic() + _POWER_OFF_S
            while self._alive(process) and time.monotonic() < deadline:
                time.sleep(0.2)
        end_guest(process)

    def _alive(self, process: RunningGuest) -> bool:
        guest = self._inventory.one(process.identity.cloud_id)
        return guest is not None and guest.process == process

    def _check(self, candidates: Sequence[Candidate]) -> tuple[Finding, ...]:
        findings = [preflight.host(self._cache)]
        findings += [preflight.image(self._cache, name) for name in images_of(candidates)]
        findings += self._memory_findings(candidates)
        return tuple(findings)

    def _memory_findings(self, candidates: Sequence[Candidate]) -> list[Finding]:
        """Whether there is memory for each candidate's machines; two candidates never run at once."""
        findings = []
        for candidate in candidates:
            try:
                size = size_of(candidate.offering.name, self._machine())
                self._check_memory(replace(size, memory_bytes=size.memory_bytes * candidate.count))
            except CloudcmpError as error:
                findings.append(preflight.failed_finding(error, "quota"))
        return findings or [Finding("quota", True, "memory and processors are enough")]
