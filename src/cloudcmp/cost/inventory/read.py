"""Reads the files of an inventory, recognises each by its content, and joins them by resource."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from cloudcmp.cost.billed.fields import plain_name
from cloudcmp.cost.billed.files import open_records
from cloudcmp.cost.inventory.focus import is_focus, read_focus
from cloudcmp.cost.inventory.instances import read_instances
from cloudcmp.cost.inventory.table import KNOWN, read_table
from cloudcmp.cost.inventory.utilisation import read_utilisation, with_utilisation
from cloudcmp.errors import UserMistake
from cloudcmp.model.fleet import FleetMachine, Inventory

_HEAD = 64 * 1024


def read_inventory(paths: Sequence[Path], utilisation: Path | None = None) -> Inventory:
    """Return the machines of some files, with how much of each is in use.

    A file is a table with one row for each machine, a FOCUS export, or the JSON of `aws ec2 describe-instances`. A
    machine that several files have is one: what the first does not know, the next ones add.

    Raises UserMistake for a file that cannot be read, and for prices in two currencies.
    """
    inventory = _joined([_read(path) for path in paths], paths)
    if utilisation is None:
        return inventory
    return with_utilisation(inventory, read_utilisation(utilisation), utilisation.name)


def _read(path: Path) -> Inventory:
    if not path.is_file():
        raise UserMistake.at(str(path), "is a folder" if path.is_dir() else "no such file", f"name {KNOWN}")
    if _is_document(path):
        return read_instances(path)
    found: list[bool] = []

    def fields_of(at: Mapping[str, int]) -> Mapping[str, str]:
        found.append(is_focus(at))
        return {}

    open_records(path, fields_of, KNOWN)
    return read_focus(path) if found[0] else read_table(path)


def _is_document(path: Path) -> bool:
    """True if a file is one JSON document, and not a table or objects of a table, one a line."""
    with path.open("rb") as file:
        head = file.read(_HEAD).decode("utf-8", "replace").removeprefix("\ufeff").lstrip()
    if head[:1] == "[":
        return True
    if head[:1] != "{":
        return False
    try:
        first = json.loads(head.partition("\n")[0])
    except (ValueError, RecursionError):
        return True
    return not (isinstance(first, dict) and is_focus(dict.fromkeys(map(plain_name, first), 0)))


def _joined(inventories: Sequence[Inventory], paths: Sequence[Path]) -> Inventory:
    currencies = {one.currency: path for one, path in zip(inventories, paths, strict=True) if one.currency}
    if len(currencies) > 1:
        (currency, first), (other, second) = list(currencies.items())[:2]
        what = f"prices are in {currency} and in {other} ({second})"
        raise UserMistake.at(str(first), what, "exchange rates are not known here: give prices of one currency")
    machines: dict[str, FleetMachine] = {}
    differ = 0
    for inventory in inventories:
        for one in inventory.machines:
            known = machines.get(one.name)
            if known is None:
                machines[one.name] = one
            elif known.key.name == one.key.name:
                machines[one.name] = _filled(known, one)
            else:
                differ += 1
    notes = [note for one in inventories for note in one.notes]
    if differ:
        notes.append(f"{differ} machines have another type in a later file: the first file counts")
    return Inventory(
        tuple(machines.values()), next(iter(currencies), ""),
        tuple(each for one in inventories for each in one.skipped), tuple(notes),
    )  # fmt: skip


def _filled(known: FleetMachine, more: FleetMachine) -> FleetMachine:
    """A machine with what another file adds: price and hours go together, and a bill says more than no price."""
    is_better = more.price is not None or (known.has_list_price and not more.has_list_price)
    priced = more if known.price is None and is_better else known
    committed = known if known.commitment else more
    return replace(
        known,
        key=known.key if known.key.region else more.key,
        hours=priced.hours,
        price=priced.price,
        has_list_price=priced.has_list_price,
        cpu=more.cpu if known.cpu is None else known.cpu,
        memory=more.memory if known.memory is None else known.memory,
        architecture=known.architecture or more.architecture,
        commitment=committed.commitment,
        until=committed.until,
        system=known.system or more.system,
    )
