"""What keeps machines of these clouds from being left behind: a machine's own power-off does not."""

from cloudcmp.model.safety import Safeguard
from cloudcmp.provider.longtail.dialect import Cloud


def safeguards_of(cloud: Cloud) -> tuple[Safeguard, ...]:
    """The four safeguards at a cloud, told truthfully."""
    return (
        Safeguard("teardown", True, "each machine is destroyed after its trials, and seen gone"),
        Safeguard("cleanup", True, "by the study's ledger: id, and the record in its tags; there is no token here"),
        Safeguard(
            "death",
            False,
            "the machine powers itself off at its time to live, and stays, billed as if it ran, until it is destroyed "
            f"({cloud.powered_off})",
        ),
        Safeguard("sweep", True, "records in the tags of the creating call; all regions are in one list"),
    )
