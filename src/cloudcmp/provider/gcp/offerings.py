"""What Compute Engine sells: machine types with what is advertised of them. No price is known here.

Families: https://cloud.google.com/compute/docs/machine-resource
"""

import re
from collections.abc import Iterable, Iterator
from typing import Any

from cloudcmp.model.offering import Offering

_CATEGORIES = {"a": "accelerated", "c2": "compute", "g": "accelerated", "h": "compute", "m": "memory"}
_CATEGORIES |= {"ct": "accelerated", "tpu": "accelerated", "x": "memory", "z": "storage"}
_CATEGORIES |= dict.fromkeys(("c", "e", "f", "n", "t"), "general")
_SHAPES = {"highcpu": "compute", "highmem": "memory", "hypermem": "memory", "megamem": "memory", "ultramem": "memory"}
_ARCHITECTURES = {"ARM64": "aarch64", "X86_64": "x86_64"}
_ARM = ("a4x", "c4a", "n4a", "t2a")


def category_of(name: str, *, shared: bool = False) -> str | None:
    """The category of a machine type by its name's words: those of its shape before its family's letters."""
    if shared:
        return "burstable"
    family, *words = name.split("-")
    shaped = next((_SHAPES[word] for word in words if word in _SHAPES), None)
    letters = re.match(r"[a-z]+", family)
    if letters is None:
        return None
    general = _CATEGORIES.get(family[:2]) or _CATEGORIES.get(letters.group())
    return shaped if shaped and general == "general" else general


def offering_of(provider: str, region: str, response: Any, zones: Iterable[str] = ()) -> Offering:
    """A machine type as Compute Engine tells it; MiB become GiB."""
    name = str(response.name)
    return Offering(
        provider=provider,
        region=region,
        name=name,
        vcpus=float(response.guest_cpus) if response.guest_cpus else None,
        memory_gib=response.memory_mb / 1024 if response.memory_mb else None,
        category=category_of(name, shared=bool(response.is_shared_cpu)),
        attributes=tuple(sorted(_attributes(response, zones))),
    )


def architecture_of(response: Any) -> str:
    """The processor of a machine type, told or else by its family."""
    told = _ARCHITECTURES.get(str(response.architecture or ""))
    return told or ("aarch64" if str(response.name).split("-")[0] in _ARM else "x86_64")


def _attributes(response: Any, zones: Iterable[str]) -> Iterator[tuple[str, str]]:
    yield "architecture", architecture_of(response)
    if response.is_shared_cpu:
        yield "burstable", "yes"
    if str(response.name).endswith("-metal"):
        yield "bare_metal", "yes"
    disks = response.bundled_local_ssds
    if disks and disks.partition_count:
        yield "disks", f"{disks.partition_count} local SSD"
        yield "disk_class", "ssd"
    if response.deprecated and response.deprecated.state:
        yield "generation", "previous"
    named = ", ".join(sorted(zones))
    if named:
        yield "zones", named
