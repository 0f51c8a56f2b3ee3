"""The driver for EC2 and EC2-compatible clouds."""

import asyncio
import time
from collections.abc import Callable, Sequence
from datetime import date
from decimal import Decimal
from typing import Any

from cloudcmp.errors import ProviderFault, RefusalKind, Refused, UserMistake
from cloudcmp.model.lease import INSTANCE, CreateRequest, Handle, Listing, TaggedResource
from cloudcmp.model.offering import Billing, Price, Surplus, Volume
from cloudcmp.model.plan import Candidate, Plan
from cloudcmp.model.protocol import do_nothing
from cloudcmp.model.safety import Finding, Safeguard
from cloudcmp.provider.aws import listing
from cloudcmp.provider.aws.catalog import OfferingCatalog
from cloudcmp.provider.aws.firewalls import Firewalls, Traits, add_tags, detect_traits, rejects
from cloudcmp.provider.aws.images import LINES
from cloudcmp.provider.aws.launch import run_params, tags_of
from cloudcmp.provider.aws.lifecycle import Ec2Lifecycle
from cloudcmp.provider.aws.preflight import Preflight, account_of, date_of
from cloudcmp.provider.aws.safeguards import AWS, COMPATIBLE, SAFEGUARDS, ends_itself, safeguards_of
from cloudcmp.provider.aws.sdk import Sdk
from cloudcmp.provider.common.absence import Absence
from cloudcmp.provider.common.driver import CloudDriver
from cloudcmp.provider.common.firewall_rules import Rule
from cloudcmp.provider.common.responses import require_id

ADDRESS = Price(
    Decimal("0.005"), "USD", "its public IPv4 address, https://aws.amazon.com/vpc/pricing/", date(2024, 2, 1)
)
"""The price of each public address, in every region, from this date."""
DEDICATED = Price(
    Decimal("2"),
    "USD",
    "for each region and hour with machines of tenancy: dedicated, https://aws.amazon.com/ec2/pricing/dedicated-instances/",
)
"""The extra price of a region for each clock hour in which a dedicated machine runs."""
ROOT = Volume("gp2", 8 * 2**30, root=True)
"""The root disk assumed if the study writes none: the size of most public images, of their more expensive type (R)."""
_SURPLUS = "https://aws.amazon.com/ec2/pricing/on-demand/, T2/T3/T4g unlimited mode"
SURPLUS = tuple(
    Surplus(family, system, Price(Decimal(amount), "USD", _SURPLUS))
    for family, system, amount in (
        ("t2", "linux", "0.05"),
        ("t2", "windows", "0.096"),
        ("t3", "linux", "0.05"),
        ("t3", "windows", "0.096"),
        ("t3a", "linux", "0.05"),
        ("t3a", "windows", "0.096"),
        ("t4g", "linux", "0.04"),
    )
)
"""The price of an hour of a vCPU beyond the credits, the same in all regions that bill in USD (R)."""
FREE = ("zone",)
"""Paths without traffic charges: private addresses in one zone (https://aws.amazon.com/ec2/pricing/on-demand/)."""
UNCOUNTED = (
    "further disks of an image, and the part of its own above 8 GiB",
    "traffic between the cloud and cloudcmp",
)
"""Billed items that a study file does not determine; the plan lists them."""


_OPTIONAL = ("TagSpecifications", "MetadataOptions", "InstanceInitiatedShutdownBehavior")


BILLING = Billing(
    60.0,
    1.0,
    ADDRESS,
    UNCOUNTED,
    images=tuple(LINES),
    dedicated=DEDICATED,
    root=ROOT,
    free=FREE,
    spot_capped=True,
    surplus=SURPLUS,
)
"""How Amazon bills the resources of a study."""


class Ec2Provider(CloudDriver[Sdk, OfferingCatalog, Ec2Lifecycle]):
    """Machines of EC2 or of an EC2-compatible cloud, whose endpoint is in AWS_ENDPOINT_URL_EC2.

    Tested against an emulator (moto behind a fault proxy), never on a real account. Creates no key pairs, elastic
    addresses or networks: the account needs a default VPC. `settle_s` and `clock` are as in `Absence`; `pause_s` is the
    poll interval.
    """

    def __init__(
        self,
        name: str = AWS,
        *,
        sdk: Sdk | None = None,
        settle_s: float = 300.0,
        pause_s: float = 2.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.name = name
        # Amazon bills per second after the first minute, but some publishers' systems, such as SUSE, per started hour:
        # https://aws.amazon.com/ec2/pricing/on-demand/. Other clouds' terms are unknown, so whole hours are counted.
        self.billing = BILLING if name == AWS else Billing()
        self.safeguards: tuple[Safeguard, ...] = SAFEGUARDS[name]
        self._sdk = sdk or Sdk(name)
        self._compatible = name == COMPATIBLE
        self.may_lack_tags = self._compatible
        self._traits = Traits() if self._compatible else Traits(tags=True, token=True)
        self._firewalls = Firewalls(self._sdk, self._traits, pause_s)
        absence = Absence(settle_s, "in any complete list", clock)
        self._lifecycle = Ec2Lifecycle(self._sdk, self._firewalls, absence, pause_s)
        self._pause_s = pause_s
        self._catalog = OfferingCatalog(name, self._sdk, compatible=self._compatible)

    # -- looking around

    def safeguards_of(self, plan: Plan) -> tuple[Safeguard, ...]:
        """The safeguards for a plan's candidates and trials."""
        return safeguards_of(self.name, plan)

    def ends(self, request: CreateRequest) -> bool:
        """True if a machine is known to end itself: not if its image is the user's own, or Windows."""
        return ends_itself(dict(request.options))

    async def check(self, candidates: Sequence[Candidate]) -> tuple[Finding, ...]:
        """Checks credentials, account, clock, names, rights, quota and capabilities; creates nothing."""
        self._ready()
        preflight = Preflight(
            self._sdk, self._traits, self._catalog.regions, self._catalog.image_for, compatible=self._compatible
        )
        return await preflight.run(candidates)

    async def account(self) -> str:
        """The account of the credentials, and the endpoint if one is set."""
        self._ready()
        return await account_of(self._sdk, compatible=self._compatible)

    async def date(self) -> float | None:
        """The time by this cloud's clock (Unix s), from a response header."""
        self._ready()
        return date_of(await self._sdk.read("ec2", self._sdk.default_region(), "describe_regions"))

    # -- leases

    async def _check(self, request: CreateRequest) -> None:
        await self._catalog.check_region(request.region)

    async def _prefetch(self, request: CreateRequest) -> None:
        await self._catalog.prefetch(request.region, request.offering, dict(request.options))

    async def _create_machine(self, request: CreateRequest) -> str:
        image = await self._catalog.image_for(request.region, request.offering, dict(request.options))
        has_credits = await self._catalog.has_credits(request.region, request.offering)
        params = run_params(request, image, compatible=self._compatible, has_credits=has_credits)
        response = await self._run_instances(request, params)
        id = require_id(response, "Instances", 0, "InstanceId", where=request.name)
        if "TagSpecifications" in self._traits.unsupported:
            await self._tag_or_terminate(request, id)
        return id

    async def _create_firewall(self, request: CreateRequest) -> str:
        group = await self._firewalls.create(request)
        if not self._compatible:
            return await self._firewalls.check_deletable(request, group)
        try:
            await self._check_tracking(request, group)
        except BaseException as error:
            await self._firewalls.undo(request, group, error)
            raise
        return group

    async def _check_tracking(self, request: CreateRequest, group: str) -> None:
        """Raises Refused if lost resources could not be found again and the study does not accept that risk."""
        await detect_traits(self._sdk, self._traits, request.region, group, request.token)
        unknown = not (self._traits.tags or self._traits.token)
        if unknown and dict(request.options).get("accept_untracked") != "yes":
            what = (
                "this cloud keeps neither tags nor client tokens: a machine whose answer is lost is never found again"
            )
            raise Refused.at(f"{self.name}/{request.region}", what, "accept_untracked: true takes the risk")

    async def _run_instances(self, request: CreateRequest, params: dict[str, Any]) -> dict[str, Any]:
        """Calls RunInstances; repeats it only if surely nothing was created: a new group, or an unknown parameter."""
        attempts = 10
        while True:
            known = {key: value for key, value in params.items() if key not in self._traits.unsupported}
            try:
                return await self._sdk.change(request.region, "run_instances", **known)
            except Refused as fault:
                attempts -= 1
                rejected = next((key for key in _OPTIONAL if key in known and rejects(fault, key.rstrip("s"))), None)
                if self._compatible and rejected:
                    self._traits.unsupported.add(rejected)
                elif fault.is_refusal(RefusalKind.MISSING) and attempts:  # the group may not be visible yet
                    await asyncio.sleep(self._pause_s)
                else:
                    raise await self._catalog.with_suggestion(fault, request.region, request.offering) from None

    async def _tag_or_terminate(self, request: CreateRequest, id: str) -> None:
        """Tags a machine after its creation; terminates it if it can be neither tagged nor found by token.

        Raises only if the machine is seen gone. Otherwise the caller needs its id, the only way to find it: `look`
        reports the machine as gone from then on, so its launch ends it without using it.
        """
        try:
            await add_tags(self._sdk, request.region, id, tags_of(request))
        except ProviderFault as fault:
            if self._traits.token:
                return
            why = f"it could not be tagged: {fault}"
            if await self._lifecycle.undo(Handle(INSTANCE, request.region, id), why):
                raise ProviderFault.at(request.name, why, "it was ended again") from fault

    async def _find(self, study: str, token: str | None, region: str | None) -> tuple[TaggedResource, ...]:
        """Machines, detached volumes and groups of a study, by tag and by token."""
        regions = (region,) if region else await self._catalog.regions()
        resources = [await listing.find(self._sdk, self._traits, one, study, token) for one in regions]
        return tuple(item for items in resources for item in items)

    async def leftovers(self) -> Listing:
        """All resources with the schema tag in all enabled regions."""
        self._ready()
        return await listing.leftovers(self._sdk, self._catalog.regions)

    async def _rules(self, firewall: Handle) -> list[Rule]:
        return await self._firewalls.rules(firewall.region, firewall.cloud_id)

    async def admit(self, firewall: Handle, addresses: Sequence[str]) -> None:
        """Admits the machines of a launch's other region at their public addresses, each of them alone."""
        self._ready()
        await self._firewalls.admit(firewall.region, firewall.cloud_id, addresses)

    # -- machines

    async def zone(self, handle: Handle) -> str | None:
        """The zone of a machine, None while it is not listed."""
        self._ready()
        return await self._lifecycle.zone(handle)

    async def resize(self, handle: Handle, offering: str, stopped: Callable[[], None] = do_nothing) -> None:
        """Stops, changes the type, starts; raises Refused if the type or the market does not allow it."""
        self._ready()
        await self._lifecycle.resize(handle, offering, stopped)

    # -- settings

    def _ready(self) -> None:
        if self._compatible and self._sdk.endpoint() is None:
            raise UserMistake.at(self.name, "no endpoint is named", "set AWS_ENDPOINT_URL_EC2, e.g. https://HOST:8773/")
