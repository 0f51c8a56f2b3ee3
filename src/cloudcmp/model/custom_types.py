"""Custom machine types, which no list holds: their names contain their size."""

import re
from dataclasses import dataclass

_CUSTOM = re.compile(r"(?:([a-z][a-z0-9]*)-)?custom-([0-9]{1,4})-([0-9]{1,8})(-ext)?")
_STEP_MIB = 256


@dataclass(frozen=True, slots=True)
class CustomType:
    """A custom machine type: its family, vCPUs and memory; `extended` if it has more memory than the family's limit."""

    family: str
    vcpus: int
    memory_mib: int
    extended: bool = False


def custom_type(provider: str, name: str) -> CustomType | None:
    """The type that a name such as `n2-custom-4-8192` of `gcp` stands for, None for any other name.

    `custom-4-8192` is of family n1. Raises ValueError for a size that Compute Engine has in no family: vCPUs must be
    one or an even number, memory a multiple of 256 MiB. Does not check the limits of each family.
    https://cloud.google.com/compute/docs/instances/creating-instance-with-custom-machine-type
    """
    match = _CUSTOM.fullmatch(name) if provider == "gcp" else None
    if match is None:
        return None
    vcpus, memory_mib = int(match[2]), int(match[3])
    if vcpus != 1 and (vcpus % 2 or not vcpus):
        raise ValueError(f"{name}: {vcpus} vCPUs are neither 1 nor an even number")
    if memory_mib % _STEP_MIB or not memory_mib:
        raise ValueError(f"{name}: {memory_mib} MiB are no multiple of {_STEP_MIB} MiB")
    return CustomType(match[1] or "n1", vcpus, memory_mib, bool(match[4]))
