"""The instance types of this host: processors and memory of its guests."""

from cloudcmp.errors import Refused
from cloudcmp.model.offering import Offering
from cloudcmp.provider.common.suggestions import nearest
from cloudcmp.provider.local.machine import Machine
from cloudcmp.provider.qemu.machine import Size
from cloudcmp.provider.qemu.program import Accelerator

REGION = "local"
OVERHEAD_BYTES = 160 * 2**20  # qemu itself and its translated code, beside the guest's memory (measured: 90 to 120 MB)
_MIB = 2**20
_TYPES = ((1, 128), (1, 256), (1, 512), (2, 512), (1, 1024), (2, 1024), (2, 2048), (4, 4096), (8, 8192))


def sizes(machine: Machine) -> dict[str, Size]:
    """Every type that fits this machine, by name: `1cpu-128mb` and upwards (MiB)."""
    most = machine.memory_bytes
    return {
        f"{vcpus}cpu-{mib}mb": Size(vcpus, mib * _MIB)
        for vcpus, mib in _TYPES
        if vcpus <= machine.usable_cpus and (most is None or mib * _MIB + OVERHEAD_BYTES <= most)
    }


def size_of(offering: str, machine: Machine) -> Size:
    """The size of a type; raises Refused with the nearest name for an unknown one."""
    known = sizes(machine)
    if offering not in known:
        hint = nearest(offering, known, f"known are {', '.join(known)}")
        raise Refused.at("qemu", f"no offering {offering!r} on this host", hint)
    return known[offering]


def offerings(provider: str, machine: Machine, accel: Accelerator | None) -> tuple[Offering, ...]:
    """All types, without a price, which only the owner knows; with their accelerator, if known."""
    facts = {"cpu": machine.cpu_model, "accel": accel.name if accel else None}
    attributes = tuple(sorted((key, value) for key, value in facts.items() if value))
    return tuple(
        Offering(provider, REGION, name, float(size.vcpus), size.memory_bytes / 2**30, "general", None, attributes)
        for name, size in sizes(machine).items()
    )
