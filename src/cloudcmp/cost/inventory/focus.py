"""The machines in a bill in the FinOps Open Cost and Usage Specification (FOCUS), versions 1.0 to 1.3.

Rows are charges of a period: those of one resource are added up. A row is a machine's if it is usage of compute and
names an instance type, which the specification puts in the key InstanceType of SkuPriceDetails (since 1.1); AWS in
SkuMeter or x_UsageType (`USE1-BoxUsage:m5.large`), Azure in x_SkuDetails, x_SkuInstanceType or the name of the meter,
Google in a system label. Source: https://focus.finops.org/focus-specification/; the providers' own columns: R (from
memory, not verified). No real account's bill was ever read.
"""

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from cloudcmp.cost.billed import fields
from cloudcmp.cost.billed.files import open_records
from cloudcmp.cost.billed.formats import Record
from cloudcmp.cost.inventory import cells
from cloudcmp.cost.inventory.table import KNOWN
from cloudcmp.errors import Fault, UserMistake
from cloudcmp.model.fleet import HOURS_A_MONTH, FleetMachine, Inventory, Skipped
from cloudcmp.model.market import OfferKey

_HOUR_S = 3600.0
COLUMNS = {
    "category": ("charge_category",),
    "cost": ("effective_cost", "billed_cost"),
    "currency": ("billing_currency",),
    "start": ("charge_period_start",),
    "end": ("charge_period_end",),
    "resource": ("resource_id",),
    "provider": ("provider_name", "service_provider_name", "host_provider_name", "publisher_name"),
    "region": ("region_id", "region"),
    "service_category": ("service_category",),
    "service": ("service_name",),
    "quantity": ("consumed_quantity", "usage_quantity", "pricing_quantity"),
    "unit": ("consumed_unit", "usage_unit", "pricing_unit"),
    "details": ("sku_price_details",),
    "own_details": ("x_sku_details",),
    "labels": ("x_system_labels", "system_labels"),
    "type": ("x_sku_instance_type", "x_instance_type", "instance_type"),
    "meter": ("sku_meter", "x_usage_type", "x_sku_meter_name"),
    "series": ("x_sku_meter_subcategory", "service_subcategory"),
    "operation": ("x_operation",),
    "commitment": ("commitment_discount_id",),
    "commitment_status": ("commitment_discount_status",),
    "commitment_type": ("commitment_discount_type",),
    "pricing": ("pricing_category",),
}  # fmt: skip
MARKS = ("cost", "currency", "start", "end")
"""A table without these is no such bill."""
_HOURS = {"hours": 1.0, "hour": 1.0, "hrs": 1.0, "hr": 1.0, "h": 1.0, "minutes": 1 / 60, "seconds": 1 / 3600,
          "second": 1 / 3600, "instance-hours": 1.0, "1 hour": 1.0}  # fmt: skip
_AWS_METER = re.compile(r"(?:[A-Z]{2,4}\d?-)?(?:BoxUsage|SpotUsage|DedicatedUsage):(?P<type>[a-z0-9-]+\.[a-z0-9-]+)")
_AZURE_SIZE = re.compile(r"(?P<size>[A-Z]{1,3}\d+[a-z0-9-]*(?:[ _]v\d+)?)(?: Low Priority| Spot)?")
_TYPE_KEYS = frozenset({"instancetype", "f_instancetype", "x_instancetype", "servicetype"})
_SYSTEM_KEYS = frozenset({"operatingsystem", "f_operatingsystem", "x_operatingsystem"})
_MACHINE_LABELS = frozenset({"compute.googleapis.com/machine_spec"})
_WITHOUT_TYPE = "compute without an instance type"
_NOT_BY_TIME = "compute that is not billed by the hour"


def is_focus(at: Mapping[str, int]) -> bool:
    """True if columns, by their plain names, are those of such a bill."""
    return all(any(name in at for name in COLUMNS[mark]) for mark in MARKS)


@dataclass(slots=True)
class _Use:
    """The charges of one resource and instance type, added up; times in Unix seconds."""

    key: OfferKey
    system: str
    hours: float = 0.0
    committed: float = 0.0
    cost: float = 0.0
    commitment: str = ""
    last: float = 0.0
    periods: set[tuple[float, float]] = field(default_factory=set)


@dataclass(slots=True)
class _Bill:
    """What was read of a bill so far."""

    uses: dict[str, dict[OfferKey, _Use]] = field(default_factory=dict)
    skipped: Counter[str] = field(default_factory=Counter)
    currencies: dict[str, str] = field(default_factory=dict)
    first: float = float("inf")
    last: float = float("-inf")
    nameless: int = 0


def read_focus(path: Path) -> Inventory:
    """Read the machines of a bill: hours and costs of its whole time, for a month of 730 hours.

    A machine whose hours are for the larger part covered by a commitment is committed; until when is not in a bill.

    Raises UserMistake, with a line for each fault, for a row that cannot be read, and for two currencies.
    """

    def fields_of(at: Mapping[str, int]) -> Mapping[str, str]:
        chosen = {key: next((one for one in names if one in at), "") for key, names in COLUMNS.items()}
        return {key: one for key, one in chosen.items() if one}

    bill = _Bill()
    faults: list[Fault] = []
    for place, record in open_records(path, fields_of, KNOWN).records:
        try:
            _add(bill, place, record)
        except ValueError as error:
            faults.append(Fault(place, str(error), "export the bill again"))
            if len(faults) == cells.MOST_FAULTS:
                break
    if faults:
        raise UserMistake(*faults)
    if len(bill.currencies) > 1:
        (currency, first), (other, second) = list(bill.currencies.items())[:2]
        what = f"costs are in {currency} ({first}) and in {other} ({second})"
        raise UserMistake.at(str(path), what, "name a bill of one currency")
    if not bill.uses:
        raise UserMistake.at(str(path), f"no row is a machine's: {_listed(bill.skipped)}", f"name a file of: {KNOWN}")
    skipped = tuple(Skipped(what, rows) for what, rows in bill.skipped.most_common())
    return Inventory(tuple(_machines(bill)), next(iter(bill.currencies)), skipped, tuple(_notes(path.name, bill)))


def _listed(skipped: Mapping[str, int]) -> str:
    most = sorted(skipped.items(), key=lambda one: -one[1])[:3]
    return ", ".join(f"{rows} rows of {what}" for what, rows in most) or "it has no rows"


def _add(bill: _Bill, place: str, record: Record) -> None:
    """Add a row; raises ValueError for an amount, a time or a currency that cannot be read."""
    kind = _kind(record)
    if kind is None:
        bill.skipped[_what(record)] += 1
        return
    cost = float(fields.amount(record.get("cost", "")))
    bill.currencies.setdefault(fields.currency(record.get("currency", "")), place)
    start, end = fields.seconds(record.get("start", "")), fields.seconds(record.get("end", ""))
    if start is None or end is None or not start < end:
        raise ValueError("the charge period is empty or ends before it begins")
    key = OfferKey(cells.cloud(record.get("provider", "")), cells.name(record.get("region", "")), kind)
    resource = cells.identity(record.get("resource", ""))
    if not resource:
        bill.nameless += 1
    uses = bill.uses.setdefault(resource or f"all {key} without an id", {})
    use = uses.setdefault(key, _Use(key, _system(record)))
    hours = _hours(record, use, (start, end))
    use.hours += hours
    use.cost += cost
    use.last = max(use.last, end)
    if record.get("commitment", "").strip():
        use.committed += hours
        use.commitment = cells.name(record.get("commitment_type", "")) or "committed"
    bill.first, bill.last = min(bill.first, start), max(bill.last, end)


def _kind(record: Record) -> str | None:
    """The instance type of a row; None if the row is not the use of a machine."""
    if record.get("category", "Usage").strip().casefold() != "usage":
        return None
    if record.get("service_category", "Compute").strip().casefold() != "compute":
        return None
    if record.get("commitment_status", "").strip().casefold() == "unused":
        return None
    if not _is_by_time(record):
        return None
    is_azure = cells.cloud(record.get("provider", "")) == "azure"
    has_meter = not is_azure or "virtual machine" in record.get("service", "").casefold()
    meter = record.get("meter", "") if has_meter else ""
    return _type_of(*(record.get(one, "") for one in ("type", "details", "own_details", "labels")), meter) or None


def _is_by_time(record: Record) -> bool:
    """True if a row is billed by the hour, and so is no traffic or credit of a machine.

    Google's rows have units of their own.
    """
    unit = record.get("unit", "").strip().casefold()
    return not unit or unit in _HOURS or cells.cloud(record.get("provider", "")) == "gcp"


@lru_cache(maxsize=8192)
def _type_of(own: str, details: str, own_details: str, labels: str, meter: str) -> str:
    found = next(filter(None, (cells.name(own), *(_value(one, _TYPE_KEYS) for one in (details, own_details)),
                               _value(labels, _MACHINE_LABELS))), "")  # fmt: skip
    if not found and (aws := _AWS_METER.fullmatch(meter.strip())):
        return aws["type"]
    if azure := _AZURE_SIZE.fullmatch(found or meter.strip()):
        return f"Standard_{azure['size'].replace(' ', '_')}"
    return found


@lru_cache(maxsize=8192)
def _value(text: str, keys: frozenset[str]) -> str:
    """The first value of some keys in a JSON object, or in a list of objects with `key` and `value`."""
    try:
        document = json.loads(text) if text.strip() else None
    except (ValueError, RecursionError):
        return ""
    return next((cells.name(str(value)) for key, value in _pairs(document) if key.casefold() in keys and value), "")


def _pairs(document: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(document, dict):
        yield from document.items()
    elif isinstance(document, list):
        for one in document:
            if isinstance(one, dict) and isinstance(one.get("key"), str):
                yield one["key"], one.get("value")


def _system(record: Record) -> str:
    """The system or licence of a row's price, as far as a column says it."""
    named = next((one for text in (record.get("details", ""), record.get("own_details", ""))
                  if (one := _value(text, _SYSTEM_KEYS))), "")  # fmt: skip
    if named:
        return cells.system(named)
    operation = record.get("operation", "").strip()
    if operation.startswith("RunInstances:"):
        return cells.name(operation)
    return "Windows" if "windows" in record.get("series", "").casefold() else ""


def _hours(record: Record, use: _Use, period: tuple[float, float]) -> float:
    """The hours that a row adds to a machine.

    Google bills processors and memory apart, in units of their own: there each period counts once.
    """
    factor = _HOURS.get(record.get("unit", "").strip().casefold())
    quantity = record.get("quantity", "").strip()
    if factor is not None and quantity and use.key.provider != "gcp":
        return float(fields.amount(quantity)) * factor
    if period in use.periods:
        return 0.0
    use.periods.add(period)
    return (period[1] - period[0]) / _HOUR_S


def _what(record: Record) -> str:
    """What a row is that is no machine's."""
    category = cells.name(record.get("category", ""))
    if category.casefold() not in {"", "usage"}:
        return category.lower()
    if record.get("commitment_status", "").strip().casefold() == "unused":
        return "unused commitments"
    if record.get("service_category", "Compute").strip().casefold() == "compute":
        return _WITHOUT_TYPE if _is_by_time(record) else _NOT_BY_TIME
    return cells.name(record.get("service", "")) or cells.name(record.get("service_category", ""))


def _machines(bill: _Bill) -> Iterator[FleetMachine]:
    month = (bill.last - bill.first) / _HOUR_S / HOURS_A_MONTH
    for resource, uses in bill.uses.items():
        use = max(uses.values(), key=lambda one: one.last)
        if use.hours <= 0:
            bill.skipped["machines without hours"] += 1
            continue
        yield FleetMachine(
            name=resource,
            key=use.key,
            hours=use.hours / month,
            price=use.cost / use.hours if use.cost > 0 else None,
            has_list_price=False,
            commitment=use.commitment if use.committed * 2 > use.hours else "",
            system=use.system,
        )


def _notes(name: str, bill: _Bill) -> Iterator[str]:
    days = (bill.last - bill.first) / 86400
    yield f"{name}: hours and costs are those of {days:.4g} days, for a month of {HOURS_A_MONTH:g} hours"
    if bill.nameless:
        yield f"{name}: {bill.nameless} rows of machines have no id: those of a type and region count as one machine"
    changed = sum(len(uses) > 1 for uses in bill.uses.values())
    if changed:
        yield f"{name}: {changed} machines changed their type: the last one counts"
    free = sum(max(uses.values(), key=lambda one: one.last).cost <= 0 for uses in bill.uses.values())
    if free:
        yield f"{name}: {free} machines cost nothing or less: their prices count as unknown, not as free"
