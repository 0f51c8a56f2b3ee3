"""Resources that we created and must destroy."""

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
"""What can be leased. A data set is made in a service. A volume is made in its machine's own call and ends with it, an
address is made for its machine and given back with it; either of these two is only ever listed alone.
"""
INCOMPLETE = "incomplete"
"""The state in which a provider that bills nothing lists what was begun and never finished: it bears no tags yet."""
ZONE = "zone"
"""The option of a request that names the zone in which a machine is to stand."""


class LeaseEvent(StrEnum):
    """The rows of the ledger, in the order in which a lease passes through them."""

    INTENT = "INTENT"
    CREATED = "CREATED"
    INDETERMINATE = "INDETERMINATE"
    REFUSED = "REFUSED"
    DELETE_ASKED = "DELETE_ASKED"
    GONE = "GONE"


class LeaseState(StrEnum):
    """What the last row says of a lease."""

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
    """A fact in a row of the ledger on which the bill rests."""

    STILL_THERE = "STILL_THERE"
    """On a DELETE_ASKED: the machine was seen after its time to live, so it did not end by itself."""
    STARTED_AGAIN = "STARTED_AGAIN"
    """On a CREATED, written before a machine is stopped and started: it is billed anew from then on."""
    ENDS_BY_ITSELF = "ENDS_BY_ITSELF"
    """On an INTENT: the machine is known to end by itself at its time to live."""
    BY_THE_HOUR = "BY_THE_HOUR"
    """On an INTENT: it is counted by the hour begun, because its provider's own terms are not known to hold for it."""


@dataclass(frozen=True, slots=True)
class LeaseRow:
    """One append-only row of the ledger. `slot` is what the resource is for; `attempt` counts tries at the slot.

    `detail` is text for people; what the bill rests on is in `notes`.
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
    """How a provider knows one of its resources."""

    kind: str
    region: str
    cloud_id: str


@dataclass(frozen=True, slots=True)
class Lease:
    """A lease as its rows leave it. Price and end of its time to live (Unix s) are its intent's, None where unknown."""

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
        """How its provider knows it; None while no id is known."""
        return None if self.cloud_id is None else Handle(self.kind, self.region, self.cloud_id)


@dataclass(frozen=True, slots=True)
class CreateRequest:
    """All that a provider needs to create one resource in one call, with its tags, token and time to live.

    `options` are the candidate's own and what the resource stands on, as sorted text pairs: `image`, `market` (spot),
    `tenancy`, `placement`, `credits`; `firewall` (the cloud id of the launch's own), `allow` (addresses in CIDR form
    that a firewall lets in, with commas between). `access` is for machines that are reached by SSH. `price` is what the
    machine is counted at, without its volume and what is billed beside: where its price moves, it may cost no more.
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
class Found:
    """A resource that a provider lists as ours. `state` is the provider's own word; stopped is not gone."""

    cloud_id: str
    name: str
    token: str | None
    tags: tuple[tuple[str, str], ...]
    state: str
    kind: str = INSTANCE
    region: str = ""
    offering: str | None = None

    def handle(self) -> Handle:
        """How its provider knows it."""
        return Handle(self.kind, self.region, self.cloud_id)


@dataclass(frozen=True, slots=True)
class Listing:
    """All resources that bear our tags, of every study, and a line for each place that could not be listed."""

    found: tuple[Found, ...]
    unlisted: tuple[str, ...] = ()
