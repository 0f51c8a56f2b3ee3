"""What Azure bills beside a machine's own price, as far as it does not depend on the study."""

from datetime import date
from decimal import Decimal

from cloudcmp.model.offering import Billing, Price

# R: the page fills its figures in as it is shown; estimators of others' tell this one, looked at on that day.
ADDRESS = Price(
    Decimal("0.005"),
    "USD",
    "its public IPv4 address, https://azure.microsoft.com/pricing/details/ip-addresses/",
    date(2026, 11, 22),
)
"""What each public address costs; in a few regions it may be more."""
UNCOUNTED = (
    "the disk under the system unless it is written as a volume (StandardSSD_LRS, some 0.003 USD/h for 32 GiB)",
    "operations on disks of the types Standard_LRS and StandardSSD_LRS",
    "traffic",
    "the licence of Windows, where the price that is written is without it",
)
"""What is billed and cannot be told from what a study says: in words, for its plan."""

# By the second; since June 2025 no machine for less than five minutes:
# https://learn.microsoft.com/answers/questions/2259765/clarification-on-azure-vm-billing-for-short-runtim
BILLING = Billing(300.0, 1.0, ADDRESS, UNCOUNTED, spot_capped=True)
"""Machines do not end what they cost by themselves: see `safeguards`."""
