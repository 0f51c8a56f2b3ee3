"""What was really billed: bills of clouds read line by line, and set beside our own count."""

from cloudcmp.cost.billed.bill_comparison import (
    ALARMS,
    Estimated,
    Leased,
    Reconciled,
    Side,
    State,
    Total,
    reconcile_bill,
)
from cloudcmp.cost.billed.formats import Format
from cloudcmp.cost.billed.gather import Billed, read
from cloudcmp.cost.billed.line import USED, Kind
from cloudcmp.cost.billed.tally import Key, Wanted, spellings

__all__ = [
    "ALARMS",
    "USED",
    "Billed",
    "Estimated",
    "Format",
    "Key",
    "Kind",
    "Leased",
    "Reconciled",
    "Side",
    "State",
    "Total",
    "Wanted",
    "read",
    "reconcile_bill",
    "spellings",
]
