"""What Google bills beside a machine type's own price, as far as it does not depend on the study."""

from datetime import date
from decimal import Decimal

from cloudcmp.model.offering import Price

ADDRESS = Price(
    Decimal("0.005"),
    "USD",
    "its external IPv4 address (on a spot machine half of that), https://cloud.google.com/vpc/network-pricing",
    date(2024, 2, 1),
)
"""What an external address in use costs, from this day on (R); that of a spot machine is counted in full as well."""
UNCOUNTED = (
    "the disk under the system unless it is written as a volume (some 0.001 USD/h for 10 GiB)",
    "traffic",
    "licences of images such as Windows, RHEL or SLES",
)
"""What is billed and cannot be told from what a study says: in words, for its plan."""
