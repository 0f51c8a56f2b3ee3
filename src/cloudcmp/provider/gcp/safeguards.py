"""What keeps machines of Compute Engine from being left behind, and on what that rests for a plan's own trials."""

from collections.abc import Iterator
from dataclasses import replace

from cloudcmp.model.plan import Plan
from cloudcmp.model.safety import Safeguard

GCP = "gcp"

SAFEGUARDS = (
    Safeguard("teardown", True, "each machine is destroyed after its trials, and seen gone"),
    Safeguard("cleanup", True, "by the study's ledger: id, labels with the token, exact tags"),
    Safeguard(
        "death",
        True,
        "the cloud itself deletes the machine, its disks and its address at its time to live, by its terminationTime; "
        "not one that stands still by then, because it powered itself off or failed: that one stays, its disks "
        "billed, until cleanup or a sweep",
    ),
    Safeguard("sweep", True, "labels in the creating call; all zones are listed, and all firewall rules"),
)
"""https://cloud.google.com/compute/docs/instances/limit-vm-runtime and .../instances/stop-start-instance#billing"""


def safeguards_of(plan: Plan) -> tuple[Safeguard, ...]:
    """The safeguards with what a plan's trials take away from them."""
    beside = list(_while_stopped(plan))
    return tuple(replace(one, how="; ".join((one.how, *beside))) if one.name == "death" else one for one in SAFEGUARDS)


def _while_stopped(plan: Plan) -> Iterator[str]:
    """A machine that is being resized stands still for a moment, and the cloud's timer with it."""
    mine = {one.index for one in plan.candidates if one.runner == GCP}
    launches = {launch.index for launch in plan.launches if launch.candidate in mine}
    if any(trial.probe == "resize" and trial.launch in launches for trial in plan.trials):
        yield (
            "resize stops a machine and starts it again: nothing ends it in between, and if the controller dies there "
            "the machine stays stopped, its disks billed, until cleanup or a sweep"
        )
