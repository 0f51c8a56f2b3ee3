"""The base class of drivers that make data sets in storage services: buckets, containers, tables and queues.

The name of a data set carries the token of its lease and its time of expiry, because not every service keeps tags, and
because a controller may die between the call that creates and the call that tags.
"""

import hashlib
import hmac
import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from uuid import UUID

from cloudcmp.errors import Refused
from cloudcmp.model.cast import DataSet, Service
from cloudcmp.model.lease import DATA_SET, CreateRequest, Handle, Listing, TaggedResource
from cloudcmp.model.leftover import DIGEST_DIGITS, STUDY_DIGEST
from cloudcmp.model.offering import Billing, Offering
from cloudcmp.model.plan import Candidate
from cloudcmp.model.safety import Finding, Safeguard

SERVICE, ENDPOINT = "service", "endpoint"
"""Options of a request for a data set: the kind of service, and its URL if it is not the provider's own."""
PREFIX, PLAIN_PREFIX = "cloudcmp-", "cloudcmp"
"""How the names of data sets begin, and how they do where only letters and digits are allowed."""
_UUID_VERSION = 4  # of every token
_NAME = re.compile(r"cloudcmp(-?)([0-9a-f]{32})\1([0-9a-f]{8})")  # hyphens everywhere, or nowhere
SAFEGUARDS = (
    Safeguard("teardown", True, "a launch's data set is emptied and deleted after its trials"),
    Safeguard("cleanup", True, "by the study's folder; names and tags prove whose a data set is"),
    Safeguard("death", False, "a data set stays until it is deleted; its storage is billed"),
    Safeguard("sweep", True, "by name and tags, from any machine"),
)


@dataclass(frozen=True, slots=True)
class DataSetName:
    """What the name of a data set tells: the token of its lease, and when it expires (Unix s)."""

    token: str
    expires_at: int

    def __str__(self) -> str:
        return f"{PREFIX}{UUID(self.token).hex}-{self.expires_at:08x}"

    @property
    def plain(self) -> str:
        """The same name of letters and digits only, for services that allow no others."""
        return f"{PLAIN_PREFIX}{UUID(self.token).hex}{self.expires_at:08x}"

    @classmethod
    def of(cls, request: CreateRequest) -> "DataSetName":
        """The name for a request."""
        return cls(request.token, int(request.at + request.ttl_s))

    @classmethod
    def read(cls, name: str) -> "DataSetName | None":
        """The parts of a name; None for a name that is not cloudcmp's."""
        match = _NAME.fullmatch(name)
        return cls(str(UUID(match[2])), int(match[3], 16)) if match else None

    @property
    def tags(self) -> tuple[tuple[str, str], ...]:
        """The tags that follow from the name alone; none if its token cannot be cloudcmp's."""
        token = UUID(self.token)
        if token.version != _UUID_VERSION:
            return ()
        expires = datetime.fromtimestamp(self.expires_at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        return (("cloudcmp:expires", expires), ("cloudcmp:schema", "1"), (STUDY_DIGEST, token.hex[-DIGEST_DIGITS:]))


@dataclass(frozen=True, slots=True)
class Found:
    """A data set that a service lists: where, with its tags if the service keeps any, and its id if not its name."""

    name: str
    region: str
    tags: tuple[tuple[str, str], ...] = ()
    cloud_id: str = ""


class DataSets(ABC):
    """The data sets of one provider's storage services, as a provider that leases nothing else."""

    name: str
    simulated = False
    billed = True
    billing = Billing(0.0, 0.0)
    settle_s = 0.0
    parts: tuple[str, ...] = ()
    safeguards: tuple[Safeguard, ...] = SAFEGUARDS
    may_lack_tags = True

    def offerings(self, region: str | None = None) -> tuple[Offering, ...]:  # noqa: ARG002
        """None: a storage service has no instance types."""
        return ()

    def host(self, candidate: Candidate) -> str:
        """A name of the candidate's own."""
        return f"{self.name} {candidate.id}"

    @abstractmethod
    async def check(self, candidates: Sequence[Candidate]) -> tuple[Finding, ...]:
        """The preflight findings for services; creates nothing."""

    async def create(self, request: CreateRequest) -> str:
        """Creates a data set named after its token, with its tags; idempotent."""
        if request.kind != DATA_SET:
            raise Refused.at(request.name, f"{self.name} has no {request.kind}", "name another provider")
        return await self._create(request, str(DataSetName.of(request)))

    @abstractmethod
    async def _create(self, request: CreateRequest, name: str) -> str:
        """Creates the data set and returns its cloud id."""

    @abstractmethod
    async def _list(self, region: str | None) -> Listing:
        """Every data set with a name of cloudcmp's, with the tags that the service keeps."""

    @abstractmethod
    async def destroy(self, handle: Handle) -> None:
        """Empties and deletes a data set, with versions and unfinished uploads; one that is gone is no error."""

    @abstractmethod
    async def gone(self, handle: Handle) -> str | None:
        """Evidence that a data set is gone, None while there is none."""

    @abstractmethod
    async def data_set(self, service: Service, handle: Handle, until: float) -> DataSet:
        """What an agent needs to use a data set until a time (Unix s)."""

    async def find(
        self, study: str, token: str | None = None, *, region: str | None = None
    ) -> tuple[TaggedResource, ...]:
        """The data sets with the study's tag, those whose name has the token, and those that bear no tags yet."""
        found = await self._list(region)
        return tuple(
            one
            for one in found.found
            if ("cloudcmp:study", study) in one.tags or one.token == token or (token is None and not one.tags)
        )

    async def leftovers(self) -> Listing:
        """Every data set of cloudcmp's; one without tags has those that follow from its name."""
        listing = await self._list(None)
        return Listing(tuple(_with_own_tags(one) for one in listing.found), listing.unlisted)


def _with_own_tags(resource: TaggedResource) -> TaggedResource:
    name = DataSetName.read(resource.name)
    if resource.tags or name is None:
        return resource
    return TaggedResource(
        resource.cloud_id, resource.name, resource.token, name.tags, resource.state, resource.kind, resource.region
    )


def resources(found: Iterable[Found]) -> tuple[TaggedResource, ...]:
    """The listed data sets whose names are cloudcmp's."""
    named = ((one, DataSetName.read(one.name)) for one in found)
    return tuple(
        TaggedResource(
            one.cloud_id or one.name, one.name, name.token, tuple(sorted(one.tags)), "there", DATA_SET, one.region
        )
        for one, name in named
        if name is not None
    )


def signing_keys(secret: str, region: str, service: str, since: float, until: float) -> dict[str, str]:
    """The SigV4 signing keys of each UTC day of a period (Unix s), in hexadecimal, keyed by day as YYYYMMDD.

    Each signs requests to one service in one region on one day, and the secret does not follow from it: a measuring
    machine gets these and never the secret. Source: https://docs.aws.amazon.com/IAM/latest/UserGuide/
    reference_sigv-create-signed-request.html.
    """

    def step(key: bytes, text: str) -> bytes:
        return hmac.new(key, text.encode(), hashlib.sha256).digest()

    def key_of(day: date) -> tuple[str, str]:
        text = day.strftime("%Y%m%d")
        key = step(step(step(step(f"AWS4{secret}".encode(), text), region), service), "aws4_request")
        return text, key.hex()

    first, last = (datetime.fromtimestamp(at, UTC).date() for at in (since, until))
    return dict(key_of(first + timedelta(days=number)) for number in range((last - first).days + 1))
