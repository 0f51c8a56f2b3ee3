"""What a plan's own candidates and trials take away from the safeguards of a cloud."""

from collections.abc import Iterator
from dataclasses import replace

from cloudcmp.model.plan import Plan
from cloudcmp.model.safety import Safeguard


def death_with(safeguards: tuple[Safeguard, ...], *beside: str) -> tuple[Safeguard, ...]:
    """The safeguards, of which `death` rests on more than it says."""
    return tuple(replace(one, how="; ".join((one.how, *beside))) if one.name == "death" else one for one in safeguards)


def while_stopped(plan: Plan, runner: str, what: str) -> Iterator[str]:
    """A machine that is being resized stands still for a moment: `what` is so then."""
    mine = {one.index for one in plan.candidates if one.runner == runner}
    launches = {launch.index for launch in plan.launches if launch.candidate in mine}
    if any(trial.probe == "resize" and trial.launch in launches for trial in plan.trials):
        yield (
            f"resize stops a machine and starts it again: {what} in between, and if the controller dies there "
            "the machine stays stopped, its disks billed, until cleanup or a sweep"
        )
