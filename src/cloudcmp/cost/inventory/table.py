"""An inventory as a table of our own: one row for each machine, or for each group of equal ones."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from cloudcmp.catalog.parameters import nearest
from cloudcmp.cost.billed.files import open_records
from cloudcmp.cost.inventory import cells
from cloudcmp.errors import Fault, UserMistake
from cloudcmp.model.fleet import HOURS_A_MONTH, FleetMachine, Inventory, Skipped
from cloudcmp.model.market import OfferKey
from cloudcmp.units import CURRENCIES

COLUMNS = {
    "resource": ("resource", "resource_id", "instance_id", "id"),
    "provider": ("provider", "vendor", "cloud"),
    "offering": ("offering", "instance_type", "machine_type"),
    "region": ("region", "location"),
    "count": ("count",),
    "hours": ("hours_per_month",),
    "cpu": ("cpu_p95_percent",),
    "memory": ("memory_p95_percent",),
    "architecture": ("architecture", "arch"),
    "commitment": ("commitment",),
    "until": ("committed_until",),
    "system": ("system", "os"),
}
"""The columns of each field; the first that exists counts."""
WANTED = ("provider", "offering")
KNOWN = "a table with provider and offering, a FOCUS export, the JSON of `aws ec2 describe-instances`"
"""The files that are understood, for messages."""
_PRICE = re.compile(r"(?:price_)?([a-z]{3})_per_hour")
_NAMES = frozenset(name for names in COLUMNS.values() for name in names)
_MOST_HOURS = 744.0
_ARCHITECTURES = frozenset({"any", "x86_64", "arm64"})
_SAME_ARCHITECTURE = {"amd64": "x86_64", "x86": "x86_64", "aarch64": "arm64", "arm": "arm64"}


@dataclass(slots=True)
class _Columns:
    """What the header of a table says: its currency, and the columns that are not used."""

    path: Path
    currency: str = ""
    unused: list[str] = field(default_factory=list)

    def fields_of(self, at: Mapping[str, int]) -> Mapping[str, str]:
        """The column of each field.

        Raises UserMistake for a missing column, for two prices, and for a name that is nearly one of ours.
        """
        prices = [one for one in at if (found := _PRICE.fullmatch(one)) and found[1].upper() in CURRENCIES]
        if len(prices) > 1:
            raise UserMistake.at(str(self.path), f"two columns of prices, {prices[0]} and {prices[1]}", "remove one")
        self.currency = prices[0].removeprefix("price_")[:3].upper() if prices else self.currency
        chosen = {key: next((one for one in names if one in at), "") for key, names in COLUMNS.items()}
        for wanted in WANTED:
            if not chosen[wanted]:
                names = " or ".join(COLUMNS[wanted])
                raise UserMistake.at(str(self.path), f"no column {names}", f"name a file of: {KNOWN}")
        for one in at:
            if one and one not in _NAMES and one not in prices:
                self._unknown(one)
        priced = {"price": prices[0]} if prices else {}
        return {**{key: one for key, one in chosen.items() if one}, **priced}

    def _unknown(self, one: str) -> None:
        close = nearest(one, [*_NAMES, "usd_per_hour", "eur_per_hour"])
        if close is not None and _is_slip(one, close):
            raise UserMistake.at(str(self.path), f"unknown column {one!r}", f"did you mean {close}?")
        if one not in self.unused:
            self.unused.append(one)


def _is_slip(one: str, close: str) -> bool:
    """True if a name differs from one of ours by so little that it is meant to be it."""
    short, long = sorted((one.replace("_", ""), close.replace("_", "")), key=len)
    return len(long) - len(short) <= 2 and (short[:4] == long[:4] or short[-4:] == long[-4:])


def read_table(path: Path) -> Inventory:
    """Read an inventory with one row for each machine.

    Raises UserMistake, with a line for each fault, for a table or a row that cannot be read.
    """
    columns = _Columns(path)
    file = open_records(path, columns.fields_of, KNOWN)
    machines: list[FleetMachine] = []
    faults: list[Fault] = []
    first: dict[str, str] = {}
    idle = zero = 0
    for place, row in file.records:
        if not any(text.strip() for text in row.values()):
            continue
        try:
            one = _machine(row, place)
        except cells.BadCell as bad:
            faults.append(bad.at(place))
            continue
        if row.get("resource", "").strip() and one.name in first:
            faults.append(Fault(place, f"resource {one.name} is in {first[one.name]} too", "keep one of the two rows"))
        first.setdefault(one.name, place)
        idle += one.hours == 0
        zero += one.price is None and not one.has_list_price
        machines += [one] * (one.hours > 0)
    if faults:
        raise UserMistake(*faults[: cells.MOST_FAULTS])
    if not first:
        raise UserMistake.at(str(path), "the table has no rows", "write one row for each machine")
    notes = list(_notes(path.name, columns, zero))
    skipped = (Skipped("machines that ran for 0 hours", idle),) if idle else ()
    return Inventory(tuple(machines), columns.currency, skipped, tuple(notes))


def _notes(name: str, columns: _Columns, zero: int) -> Iterator[str]:
    if columns.unused:
        yield f"{name}: columns that are not used: {', '.join(map(cells.name, columns.unused))}"
    if zero:
        yield f"{name}: {zero} prices are zero: they count as unknown, not as free"


def _machine(row: Mapping[str, str], place: str) -> FleetMachine:
    provider, offering = cells.cloud(row["provider"]), cells.name(row["offering"])
    if not provider or not offering:
        raise cells.BadCell(f"the {'offering' if provider else 'provider'} is empty", "name it")
    price, has_list_price = _price(row.get("price", ""))
    until = cells.day("committed_until", row.get("until", ""))
    commitment = cells.name(row.get("commitment", ""))
    return FleetMachine(
        name=cells.identity(row.get("resource", "")) or place,
        key=OfferKey(provider, cells.name(row.get("region", "")), offering),
        count=_count(row.get("count", "")),
        hours=_hours(row.get("hours", "")),
        price=price,
        has_list_price=has_list_price,
        cpu=cells.share("cpu_p95_percent", row.get("cpu", "")),
        memory=cells.share("memory_p95_percent", row.get("memory", "")),
        architecture=_architecture(row.get("architecture", "")),
        commitment=commitment or ("committed" if until else ""),
        until=until,
        system=cells.system(row.get("system", "")),
    )


def _price(text: str) -> tuple[float | None, bool]:
    """The price, and whether the list price stands in for it: an empty one has it, a zero is unknown."""
    if not text.strip():
        return None, True
    price = cells.number("the price", text)
    if price < 0:
        raise cells.BadCell(f"the price {price:g} is below zero", "write the price of one hour of one machine")
    return (price, False) if price else (None, False)


def _count(text: str) -> int:
    if not text.strip():
        return 1
    count = cells.number("count", text)
    if count < 1 or count != int(count):
        raise cells.BadCell(f"count {text.strip()[:40]} is no whole number of machines", "write e.g. 3")
    return int(count)


def _hours(text: str) -> float:
    if not text.strip():
        return HOURS_A_MONTH
    hours = cells.number("hours_per_month", text)
    if not 0 <= hours <= _MOST_HOURS:
        raise cells.BadCell(f"hours_per_month {hours:g} is not between 0 and 744", "write those of one machine")
    return hours


def _architecture(text: str) -> str:
    plain = cells.name(text).casefold()
    known = _SAME_ARCHITECTURE.get(plain, plain)
    if known and known not in _ARCHITECTURES:
        raise cells.BadCell(f"architecture {text.strip()[:40]!r} is unknown", "write any, x86_64 or arm64")
    return known
