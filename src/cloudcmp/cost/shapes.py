"""Google's machine types by name: the family that bills them, their processors and memory.

https://cloud.google.com/compute/docs/general-purpose-machines and compute-optimized-machines: GiB for each vCPU of
standard, highmem and highcpu. Types with local disks or accelerators are left out.
"""

import re
from dataclasses import dataclass

_COMMON = {"standard": 4.0, "highmem": 8.0, "highcpu": 1.0}
_MEMORY = {
    "n1": {"standard": 3.75, "highmem": 6.5, "highcpu": 0.9},
    "e2": _COMMON,
    "n2": _COMMON,
    "n2d": _COMMON,
    "n4": _COMMON | {"highcpu": 2.0},
    "c2": {"standard": 4.0},
    "c2d": _COMMON | {"highcpu": 2.0},
    "c3": _COMMON | {"highcpu": 2.0},
    "c3d": {"standard": 4.0, "highmem": 8.0},  # its highcpu types have no fixed share of memory
    "c4": {"standard": 3.75, "highmem": 7.75, "highcpu": 2.0},
    "c4a": _COMMON | {"highcpu": 2.0},
    "t2d": {"standard": 4.0},
    "t2a": {"standard": 4.0},
}
_WHOLE_GIB = {"c4"}
_EXCEPTIONS = {"n2-highmem-128": 864.0}
_SHARED = {"e2-micro": (0.25, 1.0), "e2-small": (0.5, 2.0), "e2-medium": (1.0, 4.0)}
"""Types that share processors, with the billed part of them."""
_TYPE = re.compile(r"([a-z]\d[a-z]?)-(standard|highmem|highcpu)-(\d{1,3})")
_CUSTOM = re.compile(r"(?:([a-z]\d[a-z]?)-)?custom-(\d{1,3})-(\d{1,7})(-ext)?")
# Memory for each vCPU beyond which it is billed as extended:
# https://cloud.google.com/compute/docs/instances/creating-instance-with-custom-machine-type
_MOST_GIB = {"n1": 6.5, "n2": 8.0, "n2d": 8.0, "n4": 8.0, "e2": 8.0}


@dataclass(frozen=True, slots=True)
class Shape:
    """What a machine type is billed as: processors and GiB of a family; `extended_gib` cost more."""

    family: str
    vcpus: float
    memory_gib: float
    extended_gib: float = 0.0
    custom: bool = False


def shape_of(name: str) -> Shape | None:
    """Returns the shape of a machine type; None if its name does not tell what is billed."""
    if name in _SHARED:
        return Shape("e2", *_SHARED[name])
    if match := _TYPE.fullmatch(name):
        each = _MEMORY.get(match[1], {}).get(match[2])
        vcpus = int(match[3])
        if not each or not vcpus:
            return None
        gib = _EXCEPTIONS.get(name, vcpus * each)
        return Shape(match[1], vcpus, gib // 1 if match[1] in _WHOLE_GIB else round(gib, 6))
    match = _CUSTOM.fullmatch(name)
    return (
        _custom_shape(match[1] or "n1", int(match[2]), int(match[3]) / 1024, extends=bool(match[4])) if match else None
    )


def _custom_shape(family: str, vcpus: int, gib: float, *, extends: bool) -> Shape | None:
    """Returns the shape of a custom type; memory beyond the family's share is billed as extended."""
    most = vcpus * _MOST_GIB.get(family, 0.0)
    if not most or not gib or (gib > most and not extends):
        return None
    return Shape(family, vcpus, min(gib, most), max(0.0, gib - most), custom=True)
