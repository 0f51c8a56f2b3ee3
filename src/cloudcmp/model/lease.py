"""Resources that we created and must destroy."""

from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum


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


@dataclass(frozen=True, slots=True)
class LeaseRow:
    """One append-only row of the ledger. `slot` is what the resource is for; `attempt` counts tries at the slot."""

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


@dataclass(frozen=True, slots=True)
class Lease:
    """A lease as its rows leave it."""

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


@dataclass(frozen=True, slots=True)
class CreateRequest:
    """All that a provider needs to create one resource in one call, with its tags, token and time to live."""

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


@dataclass(frozen=True, slots=True)
class Found:
    """A resource that a provider lists as ours."""

    cloud_id: str
    name: str
    token: str | None
    tags: tuple[tuple[str, str], ...]
    state: str
