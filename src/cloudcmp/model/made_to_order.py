"""Machine types that no list holds because they are made to order: their names say what they are."""

import re
from dataclasses import dataclass

_CUSTOM = re.compile(r"(?:([a-z][a-z0-9]*)-)?custom-([0-9]{1,4})-([0-9]{1,8})(-ext)?")
_STEP_MIB = 256


@dataclass(frozen=True, slots=True)
class Custom:
    """A custom machine type: its family, vCPUs and memory; `extended` beyond the family's own memory for them."""

    family: str
    vcpus: int
    memory_mib: int
    extended: bool = False


def custom_type(provider: str, name: str) -> Custom | None:
    """What a name such as `n2-custom-4-8192` of `gcp` asks for, None for any other; `custom-4-8192` is of n1.

    Raises ValueError, with what is wrong, for one that Compute Engine has in no family: vCPUs are one or an even
    number, memory is a multiple of 256 MiB. What each family has beyond that, the cloud says.
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
    return Custom(match[1] or "n1", vcpus, memory_mib, bool(match[4]))
