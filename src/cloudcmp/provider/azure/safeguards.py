"""What keeps things of Azure from being left behind, and on what that rests for a plan's own candidates."""

from cloudcmp.model.safety import Safeguard

SAFEGUARDS = (
    Safeguard(
        "teardown", True, "each machine is deleted after its trials with its disks, card and address, and its group"
    ),
    Safeguard("cleanup", True, "by the study's ledger: id, token, tags; a launch's resource group goes with all in it"),
    Safeguard(
        "death",
        False,
        "Linux powers itself off at its time to live, and Azure bills a machine that was powered off from inside as if "
        "it ran (stopped is not deallocated), with its disks and its address, until cleanup or a sweep deletes it",
    ),
    Safeguard("sweep", True, "tags in the creating calls; machines, disks and groups of all regions are listed"),
)
"""Power states and what each costs: https://learn.microsoft.com/azure/virtual-machines/states-billing.

Azure has no time to live for a machine. Its auto-shutdown (a schedule of DevTest Labs) deallocates, and leaves disks
and the address billed: https://learn.microsoft.com/azure/virtual-machines/auto-shutdown-vm. A machine that could delete
itself would need rights in the subscription: whatever runs on a measured machine would have them too, so it has none.
"""
