"""The types of namespaces: processors, and how the host shapes their traffic; their regions: how they are joined."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from cloudcmp.errors import Refused
from cloudcmp.model.offering import Offering
from cloudcmp.provider.common.suggestions import nearest
from cloudcmp.provider.local.machine import Machine

REGION = "local"
"""The region in which all machines are on one bridge."""
_GIB = 2**30
_LINKS = {"100mbit": 1e8 / 8, "1gbit": 1e9 / 8}
_RATES = {"47mbit": 47e6 / 8, **_LINKS}  # the first is the share of a 100 Mbit/s link in Delgado, 2010, section 3.5.4
_SHAPERS = ("htb", "police")
REGIONS = (REGION, *(f"link-{rate}" for rate in _LINKS))
"""How machines are joined: by one bridge in `local`.

In a region `link-RATE`, machines 1 and 2 of a launch are on one bridge, all others on a second one, and a link of that
rate joins the two: what machines 1 and 2 send to the others shares it.
"""


@dataclass(frozen=True, slots=True)
class MachineType:
    """A type: its processors, how the host shapes what it sends and receives (empty: not), and to how many bytes/s."""

    cpus: int
    shaper: str = ""
    bytes_per_s: float = 0.0


def machine_types(machine: Machine) -> dict[str, MachineType]:
    """All types that fit this machine, by name: `1cpu`, `1cpu-htb-100mbit`, ..."""
    return dict(_types(machine))


def machine_type(name: str, machine: Machine) -> MachineType:
    """The type of a name; raises Refused with the nearest name for an unknown one."""
    known = machine_types(machine)
    if name not in known:
        raise Refused.at(
            "netns", f"no offering {name!r} on this host", nearest(name, known, f"known: {', '.join(known)}")
        )
    return known[name]


def link_bytes_per_s(region: str) -> float | None:
    """The rate of the link of a region, None where all machines are on one bridge; raises Refused for no region."""
    if region == REGION:
        return None
    found = re.fullmatch(r"link-(\w+)", region)
    if found is None or found[1] not in _LINKS:
        raise Refused.at("netns", f"no region {region!r}", nearest(region, REGIONS, f"known: {', '.join(REGIONS)}"))
    return _LINKS[found[1]]


def offerings(provider: str, region: str | None, machine: Machine) -> tuple[Offering, ...]:
    """The types in a region, or in all, without a price, which only the owner knows."""
    regions: Sequence[str] = REGIONS if region is None else (region,) if region in REGIONS else ()
    memory = None if machine.memory_bytes is None else machine.memory_bytes / _GIB
    model = {"cpu": machine.cpu_model} if machine.cpu_model else {}
    found = []
    for where in regions:
        for name, one in machine_types(machine).items():
            rate = one.bytes_per_s or link_bytes_per_s(where)
            network = {"network_bytes_per_s": f"{rate:.0f}"} if rate else {}
            attributes = tuple(sorted({**model, **network}.items()))
            found.append(Offering(provider, where, name, float(one.cpus), memory, None, None, attributes))
    return tuple(found)


def _types(machine: Machine) -> Iterator[tuple[str, MachineType]]:
    for cpus in sorted({1, machine.usable_cpus}):
        yield f"{cpus}cpu", MachineType(cpus)
        for shaper in _SHAPERS:
            for text, rate in _RATES.items():
                yield f"{cpus}cpu-{shaper}-{text}", MachineType(cpus, shaper, rate)
