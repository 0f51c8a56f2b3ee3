"""The prices in apache-libcloud: one file with several clouds, as of the date in it.

Read as data, without the library. Left out are tables whose places or types are not the provider's names (Azure's
types, EC2's older tables), closed clouds, and all of Amazon: of 736 Linux types of us-east-1 that others list too, 140
have another price there, most of them 6 or 10 % more, as dedicated machines cost.
"""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, BinaryIO

from cloudcmp.cost.sources.fields import InvalidValue, Unreadable, amount_of, doubt, json_of, mapping, number_of
from cloudcmp.model.price import Item, PriceEntry, PriceRow, Purchase, Unit
from cloudcmp.model.untrusted_text import one_line

FILE = "libcloud/data/pricing.json"
# Tables of the form type -> price, for one region.
_FLAT = {"rackspace": ("rackspace", ""), "gandi": ("gandi", "")}
_WHOLE = {"f1", "g1"}  # types of one size, not families
_PARTS = {"cpu": Item.VCPU, "ram": Item.MEMORY}
_UNITS = {Item.VCPU: Unit.HOUR, Item.MEMORY: Unit.GIB_HOUR}
_PURCHASES = {"on_demand": Purchase.ON_DEMAND, "preemptible": Purchase.SPOT}


def bundled_file() -> Path | None:
    """Returns the price file of the installed library, None if it is not installed."""
    from importlib.metadata import PackageNotFoundError, files

    try:
        listed = files("apache-libcloud") or []
    except PackageNotFoundError:
        return None
    file = next((one for one in listed if one.as_posix() == FILE), None)
    path = Path(str(file.locate())) if file else None
    return path if path is not None and path.is_file() else None


def read(file: BinaryIO) -> Iterator[PriceEntry]:
    """Yields the entries of the file; raises Unreadable if it is another one."""
    document = mapping(json_of(file), "the document")
    try:
        yield datetime.fromtimestamp(int(number_of(document.get("updated"))), UTC).date()
    except (InvalidValue, ValueError, OverflowError, OSError):
        raise Unreadable("it has no date of its last update") from None
    compute = mapping(document.get("compute"), "compute")
    for table, (provider, region) in _FLAT.items():
        for name, amount in mapping(compute.get(table, {}), table).items():
            yield _row(provider, region, name, amount, Item.INSTANCE, "linux")
    for family, parts in mapping(compute.get("gce_instances", {}), "gce_instances").items():
        if family not in _WHOLE:
            yield from _family(one_line(family), mapping(parts, f"gce_instances, {one_line(family)}"))


def _family(family: str, parts: Mapping[str, Any]) -> Iterator[PriceEntry]:
    """Yields the prices of processors and memory of one of Google's families."""
    name = family.replace("_", " ")
    for part, bought in parts.items():
        if part not in _PARTS or not isinstance(bought, Mapping):
            continue
        for kind, purchase in _PURCHASES.items():
            for region, by_unit in mapping(bought.get(kind, {}), f"{one_line(family)}, {kind}").items():
                price = mapping(by_unit, f"{one_line(family)}, {one_line(region)}")
                yield _row("gcp", region, name, price.get("price"), _PARTS[part], "", price.get("sku"), purchase)


def _row(
    provider: str, region: str, name: str, amount: object, item: Item, system: str, sku: object = "",
    purchase: Purchase = Purchase.ON_DEMAND,
) -> PriceEntry:  # fmt: skip
    sku = one_line(sku) if isinstance(sku, str) else ""
    try:
        return PriceRow(provider, one_line(region), item, one_line(name), amount_of(amount), "USD",
                        _UNITS.get(item, Unit.HOUR), system, purchase, sku=sku)  # fmt: skip
    except InvalidValue as error:
        return doubt(provider, region, sku, name, error, item, system, purchase)
