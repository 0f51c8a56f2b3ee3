"""Machines on lease: never one that is not written down first, never one forgotten."""

from cloudcmp.provision.accounts import ACCOUNT, Accounts
from cloudcmp.provision.arrival import Connector, Machine, Ready, Stopwatch, come_back
from cloudcmp.provision.budget import Ask, Guard, Limits
from cloudcmp.provision.destruction import Release
from cloudcmp.provision.emergency_teardown import request_deletes
from cloudcmp.provision.ledger import Journal, Ledger, Part, Patience, launch_of, patience_with, slot_of
from cloudcmp.provision.ledger_cost import Beside, charges, committed, spent, terms_of
from cloudcmp.provision.lifecycle import (
    acquire,
    change_type,
    release,
    release_all,
    release_before,
)
from cloudcmp.provision.ownership import token_of
from cloudcmp.provision.pace import Pace
from cloudcmp.provision.prices import price_to_create
from cloudcmp.provision.site import Keys, ProvisionContext, set_up, tear_down
from cloudcmp.provision.tally import RowLog
from cloudcmp.provision.zones import zones_of

__all__ = [
    "ACCOUNT",
    "Accounts",
    "Ask",
    "Beside",
    "Connector",
    "Guard",
    "Journal",
    "Keys",
    "Ledger",
    "Limits",
    "Machine",
    "Pace",
    "Part",
    "Patience",
    "ProvisionContext",
    "Ready",
    "Release",
    "RowLog",
    "Stopwatch",
    "acquire",
    "change_type",
    "charges",
    "come_back",
    "committed",
    "launch_of",
    "patience_with",
    "price_to_create",
    "release",
    "release_all",
    "release_before",
    "request_deletes",
    "set_up",
    "slot_of",
    "spent",
    "tear_down",
    "terms_of",
    "token_of",
    "zones_of",
]
