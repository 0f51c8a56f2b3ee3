"""What Amazon bills beside an instance's own price, as far as it does not depend on the study."""

from datetime import date
from decimal import Decimal

from cloudcmp.model.offering import Price

ADDRESS = Price(
    Decimal("0.005"), "USD", "its public IPv4 address, https://aws.amazon.com/vpc/pricing/", date(2024, 2, 1)
)
"""What each public address costs, in every region, from this day on."""
UNCOUNTED = (
    "the disk under the system unless it is written as a volume (some 0.001 USD/h for 8 GiB)",
    "further disks that an image brings",
    "traffic",
    "CPU time beyond the credits under credits: unlimited",
    "2 USD/h for each region while it has machines of tenancy: dedicated (https://aws.amazon.com/ec2/pricing/dedicated-instances/)",
)
"""What is billed and can not be told from what a study says: in words, for its plan."""
