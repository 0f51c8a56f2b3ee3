"""The safeguards against leftover OpenStack machines."""

from cloudcmp.model.safety import Safeguard

OPENSTACK, RACKSPACE = "openstack", "rackspace"

# A stopped machine keeps its place on its host; only shelving or deletion frees it:
# https://docs.openstack.org/api-guide/compute/server_concepts.html
# OVHcloud, an OpenStack, bills an instance until its deletion:
# https://www.ovh.com/ca/fr/cloud-public/faq/
SAFEGUARDS = (
    Safeguard(
        "teardown", True, "each machine is destroyed after its trials, with its floating address; both seen gone"
    ),
    Safeguard("cleanup", True, "by the study's ledger: id, token and tags in the machine's metadata"),
    Safeguard(
        "death",
        False,
        "the machine powers itself off at its time to live, and stays as SHUTOFF: it keeps its place, its disks and "
        "its floating address, and is billed as before on most clouds, until cleanup or a sweep",
    ),
    Safeguard("sweep", True, "tags in the creating call, in metadata or description; all regions of the catalogue"),
)
UNCOUNTED = (
    "floating addresses, where machines need one",
    "the disk under the system where it is a volume without a price",
    "traffic",
)
"""Items besides a machine that clouds may bill, and that a study file does not determine."""
