"""What Amazon bills beside an instance's own price, as far as it does not depend on the study."""

from datetime import date
from decimal import Decimal

from cloudcmp.model.offering import Price, Volume

ADDRESS = Price(
    Decimal("0.005"), "USD", "its public IPv4 address, https://aws.amazon.com/vpc/pricing/", date(2024, 2, 1)
)
"""What each public address costs, in every region, from this day on."""
DEDICATED = Price(
    Decimal("2"),
    "USD",
    "for each region and hour with machines of tenancy: dedicated, https://aws.amazon.com/ec2/pricing/dedicated-instances/",
)
"""What a region costs beside its dedicated machines, for each hour of the clock in which one runs."""
ROOT = Volume("gp2", 8 * 2**30, root=True)
"""The disk that is counted under the system where the study writes none: the size of most public images, of the dearer
one of the two types that they have (R)."""
FREE = ("zone",)
"""Paths over which traffic is not billed: private addresses in one zone (https://aws.amazon.com/ec2/pricing/on-demand/).
"""
UNCOUNTED = (
    "further disks that an image brings, and what its own is larger than 8 GiB",
    "traffic to and from where cloudcmp runs",
    "CPU time beyond the credits under credits: unlimited",
)
"""What is billed and cannot be told from what a study says: in words, for its plan."""
