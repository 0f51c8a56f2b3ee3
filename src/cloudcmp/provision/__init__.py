"""Leases of machines: each is in the ledger before it is created, until it is seen gone."""

from cloudcmp.provision.accounts import ACCOUNT, Accounts
from cloudcmp.provision.arrival import Connector, Machine, Ready, Stopwatch, reconnect
from cloudcmp.provision.budget import BudgetRequest, Guard, Limits
from cloudcmp.provision.destruction import Release
from cloudcmp.provision.emergency_teardown import request_deletes
from cloudcmp.provision.ledger import Journal, Ledger, Part, Patience, launch_of, patience_with, slot_of
from cloudcmp.provision.ledger_cost import ExtraCosts, accrued_cost, charges, committed_cost, terms_of
from cloudcmp.provision.lifecycle import change_type, release_all
from cloudcmp.provision.prices import price_to_create
from cloudcmp.provision.site import (
    Keys,
    Placement,
    ProvisionContext,
    end_earlier,
    make_data_set,
    public_addresses,
    set_up,
    set_up_apart,
    tear_down,
    zones_of,
)
from cloudcmp.provision.tally import RowLog
