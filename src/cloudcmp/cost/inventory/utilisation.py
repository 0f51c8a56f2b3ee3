"""How much of each machine is in use, from a table of its own: a row for each resource."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from cloudcmp.cost.billed.files import open_records
from cloudcmp.cost.inventory import cells
from cloudcmp.cost.inventory.table import COLUMNS
from cloudcmp.errors import Fault, UserMistake
from cloudcmp.model.fleet import Inventory

KNOWN = "a table with resource, cpu_p95_percent and memory_p95_percent"
Shares = tuple[float | None, float | None]
"""The shares of the CPU and of the memory that are in use; None is unknown."""


def read_utilisation(path: Path) -> dict[str, Shares]:
    """Return the shares in use of each resource.

    Raises UserMistake, with a line for each fault, for a table or a row that cannot be read.
    """

    def fields_of(at: Mapping[str, int]) -> Mapping[str, str]:
        fields = {key: next((one for one in COLUMNS[key] if one in at), "") for key in ("resource", "cpu", "memory")}
        if not fields["resource"] or not (fields["cpu"] or fields["memory"]):
            raise UserMistake.at(str(path), "no column resource, or none in use", f"name {KNOWN}")
        return {key: one for key, one in fields.items() if one}

    found: dict[str, Shares] = {}
    faults: list[Fault] = []
    for place, row in open_records(path, fields_of, KNOWN).records:
        resource = cells.identity(row.get("resource", ""))
        if not resource:
            continue
        try:
            shares = (cells.share("cpu_p95_percent", row.get("cpu", "")),
                      cells.share("memory_p95_percent", row.get("memory", "")))  # fmt: skip
        except cells.BadCell as bad:
            faults.append(bad.at(place))
            continue
        if resource in found:
            faults.append(Fault(place, f"resource {resource} is there twice", "keep one of the two rows"))
        found[resource] = shares
    if faults:
        raise UserMistake(*faults[: cells.MOST_FAULTS])
    return found


def with_utilisation(inventory: Inventory, shares: Mapping[str, Shares], source: str) -> Inventory:
    """Return the inventory with the shares of another table; a note counts the resources that it does not have."""
    machines = []
    used = set()
    for one in inventory.machines:
        cpu, memory = shares.get(one.name, (None, None))
        if one.name in shares:
            used.add(one.name)
        machines.append(replace(one, cpu=one.cpu if cpu is None else cpu,
                                memory=one.memory if memory is None else memory))  # fmt: skip
    notes = inventory.notes
    if len(used) < len(shares):
        notes = (*notes, f"{source}: {len(shares) - len(used)} of {len(shares)} resources are not in the inventory")
    return replace(inventory, machines=tuple(machines), notes=notes)
