"""The driver for the long-tail clouds, which takes its facts from the cloud's row."""

import time
from collections.abc import Callable, Sequence

from cloudcmp.errors import NOTHING_MADE, LostAnswer, NotAllowed, Refused
from cloudcmp.model.lease import FIREWALL, CreateRequest, Handle, Listing, TaggedResource
from cloudcmp.model.plan import Candidate
from cloudcmp.model.protocol import UNKNOWN_ACCOUNT, do_nothing
from cloudcmp.model.safety import Finding, Safeguard
from cloudcmp.provider.common.absence import Absence
from cloudcmp.provider.common.address import allowed_nets, vantage_nets
from cloudcmp.provider.common.driver import CloudDriver
from cloudcmp.provider.common.findings import parse_http_date
from cloudcmp.provider.common.firewall_rules import Rule
from cloudcmp.provider.common.responses import SEARCH_NOTICE, require_id
from cloudcmp.provider.longtail import labels, listing
from cloudcmp.provider.longtail.catalog import OfferingCatalog
from cloudcmp.provider.longtail.dialect import Cloud
from cloudcmp.provider.longtail.lifecycle import LongTailLifecycle
from cloudcmp.provider.longtail.options import check_options, image_of
from cloudcmp.provider.longtail.preflight import Preflight
from cloudcmp.provider.longtail.sdk import ApiClient
from cloudcmp.provider.longtail.table import CLOUDS


def safeguards_of(cloud: Cloud) -> tuple[Safeguard, ...]:
    """The four safeguards at a cloud."""
    return (
        Safeguard("teardown", True, "each machine is destroyed after its trials, and seen gone"),
        Safeguard("cleanup", True, "by the study's ledger: id, and the record in its tags; there is no token here"),
        Safeguard(
            "death",
            False,
            "the machine powers itself off at its time to live, and stays, billed as if it ran, until it is destroyed "
            f"({cloud.powered_off})",
        ),
        Safeguard("sweep", True, "records in the tags of the creating call; all regions are in one list"),
    )


class LongTailProvider(CloudDriver[ApiClient, OfferingCatalog, LongTailLifecycle]):
    """Machines of one cloud of the table, through apache-libcloud's transport and authentication.

    Tested against our own emulations, never on a real account. `settle_s` and `clock` are as in `Absence`. These clouds
    take no tokens: the token is in the machine's tags, and a repeated request in this process gets the same machine.
    Another process would create a second one; the ledger prevents that.
    """

    _part_hint = "leave it out"

    def __init__(
        self,
        name: str,
        *,
        api: ApiClient | None = None,
        settle_s: float = 60.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        cloud = CLOUDS[name]
        self.name = name
        self.billing = cloud.billing
        self.parts = cloud.parts
        self.safeguards: tuple[Safeguard, ...] = safeguards_of(cloud)
        self._cloud = cloud
        self._sdk = api or ApiClient(cloud)
        self._catalog = OfferingCatalog(self._sdk)
        self._lifecycle = LongTailLifecycle(self._sdk, Absence(settle_s, "in any complete list", clock))
        self._ids_by_token: dict[str, str] = {}
        self._uncertain: set[str] = set()
        self._firewall_names: dict[str, str] = {}

    # -- looking around

    async def check(self, candidates: Sequence[Candidate]) -> tuple[Finding, ...]:
        """Checks credentials, account, clock, names, rights and limits, as far as visible; creates nothing."""
        return await Preflight(self._sdk, self._catalog).run(candidates)

    async def account(self) -> str:
        """The token's account and the endpoint, if one is set; UNKNOWN_ACCOUNT if the token may not see it."""
        self._sdk.renew()
        if self._sdk.account is None:
            try:
                response = (await self._sdk.read(self._cloud.dialect.account)).body
            except NotAllowed:
                response = {}
            self._sdk.account = self._cloud.dialect.account_id(response) or UNKNOWN_ACCOUNT
        return self._sdk.with_endpoint(self._sdk.account)

    async def date(self) -> float | None:
        """The time by this cloud's own clock (Unix s), from a response header."""
        return parse_http_date((await self._sdk.read(self._cloud.dialect.regions[0])).headers.get("date", ""))

    # -- leases

    async def create(self, request: CreateRequest) -> str:
        """Creates a firewall with its rules, or a machine, with everything in one call."""
        check_options(request)
        if request.token not in self._ids_by_token:
            creation = self._find_earlier(request) if request.token in self._uncertain else self._create_new(request)
            self._ids_by_token[request.token] = await creation
        return self._ids_by_token[request.token]

    async def _create_new(self, request: CreateRequest) -> str:
        """Creates the resource of a new token; remembers the token if the outcome is unknown."""
        await self._catalog.check_offering(request.region, request.offering)
        try:
            return await CloudDriver.create(self, request)
        except NOTHING_MADE:
            raise
        except BaseException:
            self._uncertain.add(request.token)
            raise

    async def _check(self, request: CreateRequest) -> None:
        """Does nothing: everything is checked before a token counts as sent."""

    async def _prefetch(self, request: CreateRequest) -> None:
        await self._catalog.image(image_of(dict(request.options)))

    async def _find_earlier(self, request: CreateRequest) -> str:
        """Finds the resource of an earlier request with a lost response: a second request would create another."""
        resources = await listing.find(self._sdk, "", request.token, request.region)
        id = next((item.cloud_id for item in resources if item.kind == request.kind), None)
        if id is None:
            raise LostAnswer.at(
                request.name, "an earlier request had no answer, and its resource is not found", SEARCH_NOTICE
            )
        return id

    async def _create_firewall(self, request: CreateRequest) -> str:
        nets, vantages = allowed_nets(request), vantage_nets(request)
        id = await self._cloud.dialect.create_firewall(self._sdk, request, nets, vantages)
        self._firewall_names[id] = await self._cloud.dialect.firewall_reference(self._sdk, id)
        return id

    async def _create_machine(self, request: CreateRequest) -> str:
        options = dict(request.options)
        image = await self._catalog.image(image_of(options))
        firewall = await self._firewall_name(options.get(FIREWALL))
        dialect = self._cloud.dialect
        record = labels.Record(request.tags, request.token, request.name if dialect.renames else None)
        tags = labels.write(record, self._cloud.tag_length)
        response = await self._sdk.change("POST", dialect.machines[0], dialect.body(request, image, tags, firewall))
        id = require_id(response.body, *dialect.machine_key, "id", where=request.name)
        self._lifecycle.record_new(id)
        return id

    async def _firewall_name(self, id: str | None) -> str | None:
        if id is not None and id not in self._firewall_names:
            self._firewall_names[id] = await self._cloud.dialect.firewall_reference(self._sdk, id)
        return self._firewall_names[id] if id is not None else None

    async def _find(self, study: str, token: str | None, region: str | None) -> tuple[TaggedResource, ...]:
        """Machines, firewalls and tags of a study, by record and by token."""
        return await listing.find(self._sdk, study, token, region)

    async def leftovers(self) -> Listing:
        """All resources with the schema tag, in all regions."""
        return await listing.leftovers(self._sdk)

    async def _rules(self, firewall: Handle) -> list[Rule]:
        return await self._cloud.dialect.rules(self._sdk, firewall.cloud_id)

    # -- machines

    async def resize(self, handle: Handle, offering: str, stopped: Callable[[], None] = do_nothing) -> None:
        """Powers off, changes the size, powers on; raises Refused if the driver cannot resize here."""
        if self._cloud.resize is None:
            what = f"machines of {self.name} are not resized by this driver"
            raise Refused.at(handle.cloud_id, what, "leave resize out")
        await self._cloud.resize(self._sdk, handle.cloud_id, offering, stopped)
