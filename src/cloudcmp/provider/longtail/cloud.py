"""Clouds of the long tail: one driver, and a row of what is known of each of them."""

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import replace

from cloudcmp.errors import NOTHING_MADE, LostAnswer, NotAllowed, Refused
from cloudcmp.model.lease import FIREWALL, INSTANCE, CreateRequest, Found, Handle, Listing
from cloudcmp.model.offering import Offering
from cloudcmp.model.plan import Candidate
from cloudcmp.model.protocol import UNTOLD, nothing
from cloudcmp.model.safety import Finding, MachineStatus, Safeguard
from cloudcmp.provider.common.absence import Absence
from cloudcmp.provider.common.address import allowed_nets, controller_address
from cloudcmp.provider.common.findings import parse_http_date
from cloudcmp.provider.common.responses import LOOKED_FOR
from cloudcmp.provider.longtail import labels, listing
from cloudcmp.provider.longtail.catalog import OfferingCatalog
from cloudcmp.provider.longtail.faults import id_in
from cloudcmp.provider.longtail.lifecycle import LongTailLifecycle
from cloudcmp.provider.longtail.preflight import Preflight
from cloudcmp.provider.longtail.requests import image_of, refuse
from cloudcmp.provider.longtail.resize import Resize
from cloudcmp.provider.longtail.safeguards import safeguards_of
from cloudcmp.provider.longtail.sdk import Library
from cloudcmp.provider.longtail.table import CLOUDS


class LongTailProvider:
    """Machines of one cloud of the table, through apache-libcloud's transport and authentication.

    It was tested against emulations of the tests' own, never on a real account. `settle_s` and `clock` are as in
    `Absence`. None of these clouds heeds a token: it is kept in the machine's own tags, and who asks again with the
    same one in this process gets what was made. Another process would get a second one; the ledger never asks so.
    """

    simulated = False
    billed = True
    settle_s = 0.0  # absence is waited for in LongTailLifecycle
    parts: tuple[str, ...] = (FIREWALL, INSTANCE)

    def __init__(
        self,
        name: str,
        *,
        library: Library | None = None,
        settle_s: float = 60.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        cloud = CLOUDS[name]
        self.name = name
        self.billing = cloud.billing
        self.safeguards: tuple[Safeguard, ...] = safeguards_of(cloud)
        self._cloud = cloud
        self._library = library or Library(cloud)
        self._catalog = OfferingCatalog(self._library)
        self._lifecycle = LongTailLifecycle(self._library, Absence(settle_s, "in any complete list", clock))
        self._made: dict[str, str] = {}  # by token
        self._lost: set[str] = set()
        self._walls: dict[str, str] = {}

    # -- looking around

    def offerings(self, region: str | None = None) -> tuple[Offering, ...]:
        """The types of a region (without one: of all), with the price that the cloud itself tells today."""
        return self._catalog.offerings(region)

    def host(self, candidate: Candidate) -> str:
        """Every machine has its own."""
        return f"{self.name} {candidate.id}"

    async def check(self, candidates: Sequence[Candidate]) -> tuple[Finding, ...]:
        """Credentials, account, clock, names, rights and limits as far as they are told; creates nothing."""
        return await Preflight(self._library, self._catalog).run(candidates)

    async def account(self) -> str:
        """The account of the token, UNTOLD where the token may not see it, and the endpoint where one is named."""
        self._library.renew()
        if self._library.account is None:
            try:
                said = (await self._library.read(self._cloud.dialect.account)).said
            except NotAllowed:
                said = {}
            self._library.account = self._cloud.dialect.account_id(said) or UNTOLD
        endpoint = self._library.endpoint()
        return f"{self._library.account} at {endpoint}" if endpoint else self._library.account

    async def date(self) -> float | None:
        """The time by this cloud's own clock (Unix s), from the head of an answer."""
        return parse_http_date((await self._library.read(self._cloud.dialect.regions[0])).headers.get("date", ""))

    # -- leases

    async def create(self, request: CreateRequest) -> str:
        """A firewall with its rules, or a machine with everything in the one call."""
        refuse(request)
        if request.token not in self._made:
            self._made[request.token] = await self._create(request)
        return self._made[request.token]

    async def _create(self, request: CreateRequest) -> str:
        """What was not made yet with this token; raises LostAnswer where that is not known."""
        if request.token in self._lost:
            return await self._made_before(request)
        await self._catalog.known(request.region, request.offering)
        if request.kind not in self.parts:
            raise Refused.at(request.name, f"a {request.kind} is not made alone", "leave it out")
        make = self._create_firewall if request.kind == FIREWALL else self._create_machine
        try:
            return await make(request)
        except NOTHING_MADE:
            raise
        except BaseException:
            self._lost.add(request.token)
            raise

    async def _made_before(self, request: CreateRequest) -> str:
        """What an earlier request made whose answer was lost: these clouds would make another one."""
        found = await listing.find(self._library, "", request.token, request.region)
        id = next((item.cloud_id for item in found if item.kind == request.kind), None)
        if id is None:
            raise LostAnswer.at(request.name, "an earlier request had no answer, and nothing is seen of it", LOOKED_FOR)
        return id

    async def _create_firewall(self, request: CreateRequest) -> str:
        options = dict(request.options)
        # Machines are timed from their request on, firewalls are not: what is looked up once is looked up here.
        await self._catalog.image(image_of(options))
        if "allow" not in options:
            options["allow"] = await asyncio.to_thread(controller_address, self._library.endpoint())
            request = replace(request, options=tuple(sorted(options.items())))
        id = await self._cloud.dialect.create_firewall(self._library, request, allowed_nets(request))
        self._walls[id] = await self._cloud.dialect.firewall_reference(self._library, id)
        return id

    async def _create_machine(self, request: CreateRequest) -> str:
        options = dict(request.options)
        image = await self._catalog.image(image_of(options))
        wall = await self._wall(options.get(FIREWALL))
        dialect = self._cloud.dialect
        record = labels.Record(request.tags, request.token, request.name if dialect.renames else None)
        words = labels.write(record, self._cloud.word_most)
        answer = await self._library.change("POST", dialect.machines[0], dialect.body(request, image, words, wall))
        id = id_in(answer.said, dialect.machine_key, request.name)
        self._lifecycle.made(id)
        return id

    async def _wall(self, id: str | None) -> str | None:
        if id is not None and id not in self._walls:
            self._walls[id] = await self._cloud.dialect.firewall_reference(self._library, id)
        return self._walls[id] if id is not None else None

    async def find(self, study: str, token: str | None = None, *, region: str | None = None) -> tuple[Found, ...]:
        """Machines, firewalls and tags of a study, by the record that each bears, and by token."""
        return await listing.find(self._library, study, token, region)

    async def leftovers(self) -> Listing:
        """Whatever bears our schema's tag, of all regions."""
        return await listing.leftovers(self._library)

    async def destroy(self, handle: Handle) -> None:
        """Ask for a machine, a firewall or a tag to be deleted; what has gone is no error."""
        await self._lifecycle.destroy(handle)

    async def gone(self, handle: Handle) -> str | None:
        """That its deletion was accepted and no complete list shows it, or none did for long; stopped is not gone."""
        return await self._lifecycle.gone(handle)

    # -- machines

    async def look(self, handle: Handle) -> MachineStatus:
        """How a machine is; one that is not listed yet is pending."""
        return await self._lifecycle.look(handle)

    async def resize(self, handle: Handle, offering: str, stopped: Callable[[], None] = nothing) -> None:
        """Power off, change the size, power on; raises Refused where this driver does not know how."""
        if not self._cloud.resizes:
            what = f"machines of {self.name} are not resized by this driver"
            raise Refused.at(handle.cloud_id, what, "leave resize out")
        await Resize(self._library).run(handle, offering, stopped)
