"""One line of a bill, whoever wrote it."""

from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum


class Kind(StrEnum):
    """What a line of a bill is for. The last four are no use of anything: they stand apart from what was used."""

    MACHINE = "machine"
    DISK = "disk"
    ADDRESS = "address"
    TRAFFIC = "traffic"
    OTHER = "other"
    CREDIT = "credit"
    REFUND = "refund"
    TAX = "tax"
    ADJUSTMENT = "adjustment"


USED = (Kind.MACHINE, Kind.DISK, Kind.ADDRESS, Kind.TRAFFIC, Kind.OTHER)
"""The kinds that an estimate can be set beside."""


@dataclass(frozen=True, slots=True)
class Tags:
    """What a line's tags say of cloudcmp: study, slot and attempt, each empty where it is not there."""

    study: str = ""
    slot: str = ""
    attempt: str = ""


NO_TAGS = Tags()


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a bill.

    `resource` is the provider's id, empty where the line is of none; `what` the provider's own words for what is
    charged; `start` and `end` Unix seconds, None where the line does not tell; `invoiced` whether it is on an invoice
    already, None where the format does not tell; `identity` tells whether two files hold the same line.
    """

    resource: str
    kind: Kind
    what: str
    amount: Decimal
    currency: str
    start: float | None
    end: float | None
    tags: Tags = NO_TAGS
    account: str = ""
    invoiced: bool | None = None
    identity: tuple[str, ...] = ()
