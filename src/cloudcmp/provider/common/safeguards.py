"""Limits of a cloud's safeguards for a plan's candidates and trials."""

from collections.abc import Iterator
from dataclasses import replace

from cloudcmp.model.plan import Plan
from cloudcmp.model.safety import Safeguard


def qualify_death(safeguards: tuple[Safeguard, ...], *also: str) -> tuple[Safeguard, ...]:
    """The safeguards, with further conditions on `death`."""
    return tuple(replace(one, how="; ".join((one.how, *also))) if one.name == "death" else one for one in safeguards)


def resize_caveats(plan: Plan, runner: str, what: str) -> Iterator[str]:
    """A condition on `death` if a trial resizes a machine; `what` holds while that machine is stopped."""
    mine = {one.index for one in plan.candidates if one.runner == runner}
    launches = {launch.index for launch in plan.launches if launch.candidate in mine}
    if any(trial.probe == "resize" and trial.launch in launches for trial in plan.trials):
        yield (
            f"resize stops a machine and starts it again: {what} in between, and if the controller dies there "
            "the machine stays stopped, its disks billed, until cleanup or a sweep"
        )
