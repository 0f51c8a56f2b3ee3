"""The safeguards against leftover EC2 machines, and what they depend on for a plan's candidates."""

from collections.abc import Iterable, Iterator, Mapping

from cloudcmp.model.plan import Candidate, Plan
from cloudcmp.model.safety import Safeguard
from cloudcmp.provider.aws.images import LINES
from cloudcmp.provider.common.safeguards import qualify_death, resize_caveats

AWS, COMPATIBLE = "aws", "ec2"

_COMMON = (
    Safeguard("teardown", True, "each machine is destroyed after its trials, and seen terminated"),
    Safeguard("cleanup", True, "by the study's ledger: id, client token, tags"),
)
_SWEEP = Safeguard("sweep", True, "tags in the creating call; all enabled regions are listed")
SAFEGUARDS = {
    AWS: (
        *_COMMON,
        Safeguard(
            "death", True, "the machine powers itself off at its time to live, which terminates it and its disks"
        ),
        _SWEEP,
    ),
    COMPATIBLE: (
        *_COMMON,
        Safeguard(
            "death",
            False,
            "the machine powers itself off at its time to live; whether this cloud then ends it or keeps it stopped, "
            "disks billed, is not known",
        ),
        Safeguard("sweep", True, "if this cloud keeps tags, which the first firewall group shows"),
    ),
}


def safeguards_of(name: str, plan: Plan) -> tuple[Safeguard, ...]:
    """The safeguards, qualified by a plan's candidates of this provider and by its trials."""
    candidates = [one for one in plan.candidates if one.runner == name]
    return qualify_death(SAFEGUARDS[name], *_image_conditions(candidates), *resize_caveats(plan, name, "no timer runs"))


def ends_itself(options: Mapping[str, str]) -> bool:
    """True if cloud-init arms a machine's timer for certain: only in images that we choose."""
    image = options.get("image", "")
    windows = options.get("os") == "windows" or image.startswith("windows-")
    return not windows and (not image or image in LINES)


def _image_conditions(candidates: Iterable[Candidate]) -> Iterator[str]:
    """What arms the timer: cloud-init in the images that we choose, unknown in others."""
    for one in candidates:
        options = dict(one.options)
        agent = "EC2Launch" if options.get("os") == "windows" else "cloud-init"
        image = options.get("image", "")
        if image and image not in LINES:
            yield f"{one.id}: only if its image {image} runs {agent}, which is not known"
        elif agent == "EC2Launch" or image.startswith("windows-"):
            yield f"{one.id}: if its image runs EC2Launch, as Amazon's own do"
