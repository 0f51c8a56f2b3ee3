"""What keeps machines of these clouds from being left behind: a machine's own power-off does not."""

from cloudcmp.model.safety import Barrier
from cloudcmp.provider.longtail.dialect import Cloud


def barriers_of(cloud: Cloud) -> tuple[Barrier, ...]:
    """The four barriers at a cloud, told truthfully."""
    return (
        Barrier("teardown", True, "each machine is destroyed after its trials, and seen gone"),
        Barrier("cleanup", True, "by the study's ledger: id, and the record in its tags; there is no token here"),
        Barrier(
            "death",
            False,
            "the machine powers itself off at its time to live, and stays, billed as if it ran, until it is destroyed "
            f"({cloud.powered_off})",
        ),
        Barrier("sweep", True, "records in the tags of the creating call; all regions are in one list"),
    )
