"""Leases: resources that cloudcmp created and must destroy, and their rows in the ledger."""

from dataclasses import dataclass, field
from decimal import Decimal
from enum import StrEnum

from cloudcmp.model.offering import Price, Volume
from cloudcmp.model.remote import Access

INSTANCE = "instance"
FIREWALL = "firewall"
DATA_SET = "data-set"
VOLUME = "volume"
ADDRESS = "address"
"""Kinds of leases. A data set is created in a service. A volume is created in its machine's own call and ends with it;
an address is created for its machine and released with it. Leftovers of the latter two are only listed.
"""
INCOMPLETE = "incomplete"
"""The state of an untagged resource whose creation never finished, at a provider that bills nothing."""
ZONE = "zone"
"""The option of a request that names the zone of a machine."""
VANTAGES = "vantages"
"""The option of a firewall's request that names the vantage points that it lets in."""


class LeaseEvent(StrEnum):
    """The events of a lease, in order; each is a row of the ledger."""

    INTENT = "INTENT"
    CREATED = "CREATED"
    INDETERMINATE = "INDETERMINATE"
    REFUSED = "REFUSED"
    DELETE_ASKED = "DELETE_ASKED"
    GONE = "GONE"


class LeaseState(StrEnum):
    """The state of a lease after its last row."""

    INTENDED = "intended"
    INDETERMINATE = "indeterminate"
    LIVE = "live"
    GONE = "gone"


STATE_OF: dict[LeaseEvent, LeaseState] = {
    LeaseEvent.INTENT: LeaseState.INTENDED,
    LeaseEvent.INDETERMINATE: LeaseState.INDETERMINATE,
    LeaseEvent.CREATED: LeaseState.LIVE,
    LeaseEvent.DELETE_ASKED: LeaseState.LIVE,
    LeaseEvent.GONE: LeaseState.GONE,
    LeaseEvent.REFUSED: LeaseState.GONE,
}


class LeaseNote(StrEnum):
    """A fact in a row of the ledger that affects the bill."""

    STILL_THERE = "STILL_THERE"
    """On a DELETE_ASKED: the machine was seen after its time to live, so it did not end by itself."""
    STARTED_AGAIN = "STARTED_AGAIN"
    """On a CREATED, written before a machine is stopped and started: it is billed anew from then on."""
    ENDS_BY_ITSELF = "ENDS_BY_ITSELF"
    """On an INTENT: the machine is known to end by itself at its time to live."""
    BY_THE_HOUR = "BY_THE_HOUR"
    """On an INTENT: it is counted by the hour begun, because it is unknown if its provider's terms apply to it."""


@dataclass(frozen=True, slots=True)
class LeaseRow:
    """One append-only row of the ledger. `slot` is the purpose of the resource; `attempt` counts tries at the slot.

    `detail` is text for people; `notes` are the facts that affect the bill.
    """

    slot: str
    attempt: int
    event: LeaseEvent
    provider: str
    region: str
    kind: str
    name: str
    token: str
    at: float
    cloud_id: str | None = None
    price_per_hour: Decimal | None = None
    currency: str | None = None
    ttl_s: float | None = None
    detail: str = ""
    notes: frozenset[LeaseNote] = frozenset()


@dataclass(frozen=True, slots=True)
class Handle:
    """A provider's identification of one of its resources."""

    kind: str
    region: str
    cloud_id: str


@dataclass(frozen=True, slots=True)
class Lease:
    """The state of a lease after all its rows. Price and expiry (Unix s) are those of its intent, None if unknown."""

    slot: str
    attempt: int
    state: LeaseState
    provider: str
    region: str
    kind: str
    name: str
    token: str
    cloud_id: str | None
    created_at: float | None
    price_per_hour: Decimal | None = None
    currency: str | None = None
    expires_at: float | None = None

    def handle(self) -> Handle | None:
        """The provider's identification; None while no id is known."""
        return None if self.cloud_id is None else Handle(self.kind, self.region, self.cloud_id)


@dataclass(frozen=True, slots=True)
class CreateRequest:
    """A request to create one resource in one call, with its tags, token and time to live.

    `options` are the candidate's own and the resource's dependencies, as sorted text pairs: `image`, `market` (spot),
    `tenancy`, `placement`, `credits`; `firewall` (the cloud id of the launch's own), `allow` (addresses in CIDR form
    that a firewall admits, separated by commas), `vantages` (single addresses that it lets in to the pages that a
    machine serves, separated by commas). `access` is for machines that are reached by SSH. `price` is the
    machine's own price in the budget, without volumes and other charges; a spot machine must not cost more.
    """

    slot: str
    attempt: int
    kind: str
    name: str
    token: str
    region: str
    offering: str
    ttl_s: float
    tags: tuple[tuple[str, str], ...]
    candidate: int
    round: int
    seed: int
    at: float
    options: tuple[tuple[str, str], ...] = ()
    volume: Volume | None = None
    access: Access | None = field(default=None, repr=False)
    price: Price | None = None


@dataclass(frozen=True, slots=True)
class TaggedResource:
    """A resource with cloudcmp's tags, as its provider lists it. `state` is its provider's; stopped is not gone."""

    cloud_id: str
    name: str
    token: str | None
    tags: tuple[tuple[str, str], ...]
    state: str
    kind: str = INSTANCE
    region: str = ""
    offering: str | None = None

    def handle(self) -> Handle:
        """The provider's identification."""
        return Handle(self.kind, self.region, self.cloud_id)


@dataclass(frozen=True, slots=True)
class Listing:
    """All resources with cloudcmp's tags, of every study, and a line for each place that could not be listed."""

    found: tuple[TaggedResource, ...]
    unlisted: tuple[str, ...] = ()
