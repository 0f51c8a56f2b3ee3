"""Amazon's bulk price list: an offer file of one service in one region, as CSV or JSON, and its savings plans.

https://docs.aws.amazon.com/awsaccountbilling/latest/aboutv2/reading-an-offer.html. Only rows that a study can rent are
read: used machines, shared or dedicated, with a system that Amazon licenses and nothing installed; volumes with their
rates, snapshots, traffic and public addresses. Left out are hosts, unused capacity, capacity blocks, own licences, SQL
Server, local zones and outposts. There is no bulk list of spot prices. For storage services see `aws_services`.
"""

import io
import itertools
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from decimal import Decimal
from typing import BinaryIO

from cloudcmp.cost.sources import aws_services, fields
from cloudcmp.cost.sources.aws_json import from_json
from cloudcmp.model.price import Item, PriceEntry, PriceRow, Purchase, TypeFacts, Unit
from cloudcmp.model.promise import Promise, Promised, as_attributes, promise_of, speed_in_words
from cloudcmp.model.untrusted_text import one_line

PROVIDER = "aws"
SOURCE = "pricing.us-east-1.amazonaws.com"
Record = Mapping[str, str]

_HEAD_LINES = 5
_NEEDED = ("SKU", "OfferTermCode", "TermType", "Unit", "PricePerUnit", "Currency", "usageType")
_NEEDED_SAVINGS = ("DiscountedSKU", "DiscountedRate", "Currency", "Unit", "DiscountedUsageType", "DiscountedOperation",
                   "PurchaseOption", "LeaseContractLength", "DiscountedRegionCode")  # fmt: skip
_SYSTEMS = {"Linux": "linux", "Windows": "windows", "RHEL": "rhel", "SUSE": "suse"}
# https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/billing-info-fields.html
_OPERATIONS = {"RunInstances": "linux", "RunInstances:0002": "windows", "RunInstances:0010": "rhel",
               "RunInstances:000g": "suse"}  # fmt: skip
_USAGE = re.compile(r"(?:^|-)(?P<kind>Box|Dedicated)Usage(?::(?P<type>.+))?$")
_RATE = re.compile(r"(?:^|-)EBS:VolumeP-IOPS\.(piops|io2|gp3)(?:\.(tier[23]))?$")
# Where billing of a rate begins: gp3 includes 3000 operations and 125 MiB a second, io2 has three tiers.
# https://aws.amazon.com/ebs/pricing/
_RATE_TIERS = {
    ("gp3", None): (3000, None),
    ("piops", None): (0, None),
    ("io2", None): (0, 32000),
    ("io2", "tier2"): (32000, 64000),
    ("io2", "tier3"): (64000, None),
}
_MIB_IN_MB = Decimal("1.048576")
_GP3_MB_PER_S = 125 * _MIB_IN_MB


def read(file: BinaryIO) -> Iterator[PriceEntry]:
    """Yields the entries of an offer file or a savings plan's file; raises Unreadable if it is neither."""
    rest = file if isinstance(file, io.BufferedReader) else io.BufferedReader(io.BytesIO(file.read()))
    if rest.peek(1)[:1] in {b"{", b"["}:
        yield from _offers(from_json(rest))
        return
    lines = fields.lines_of(rest)
    head = list(itertools.islice(lines, _HEAD_LINES + 1))
    if not head:
        raise fields.Unreadable("it is empty")
    if head[0].lstrip().startswith("<"):
        raise fields.Unreadable("it is HTML or XML, not a price list")
    if len(head) <= _HEAD_LINES:
        raise fields.Unreadable("it is cut short: it has no head of five lines")
    facts = {key.strip('"'): value for key, _, value in (line.strip().partition(",") for line in head[:_HEAD_LINES])}
    try:
        yield fields.day_of(facts.get("Publication Date", "").strip('"'))
    except fields.InvalidValue as error:
        raise fields.Unreadable(f"its publication date cannot be read: {error}") from None
    body = itertools.chain(head[_HEAD_LINES:], lines)
    if "DiscountedRate" in head[_HEAD_LINES]:
        yield from (_savings_plan(one) for one in fields.records_of(body, _NEEDED_SAVINGS) if _is_rentable_plan(one))
    else:
        yield from _offers(fields.records_of(body, _NEEDED))


def _offers(records: Iterable[Record | PriceEntry]) -> Iterator[PriceEntry]:
    """Yields the entries of an offer file; a commitment has up to two adjacent rows, hourly and upfront.

    Services come last, because one SKU has a row for each of its tiers.
    """
    seen: set[tuple[str, str]] = set()
    parts: list[Record] = []
    services: dict[tuple[str, str], list[Record]] = {}
    for record in records:
        if not isinstance(record, Mapping):
            yield record
            continue
        if record.get("serviceCode") in aws_services.OFFERS:
            if aws_services.is_priced(record):
                services.setdefault(_commitment_key(record), []).append(record)
            continue
        item = _item(record)
        if item is None or (item is Item.EGRESS and _is_free(record)):
            continue
        if item is Item.INSTANCE and (key := (record.get("Region Code", ""), record["Instance Type"])) not in seen:
            seen.add(key)
            yield from _type_facts(record)
        if parts and _commitment_key(parts[0]) != _commitment_key(record):
            yield _commitment_row(parts)
            parts = []
        if record["TermType"] == "Reserved":
            parts.append(record)
        else:
            yield _row(record, item, Purchase.ON_DEMAND)
    if parts:
        yield _commitment_row(parts)
    for rows in services.values():
        yield from aws_services.rows_of(rows)


def _commitment_key(record: Record) -> tuple[str, str]:
    return record["SKU"], record["OfferTermCode"]


_BY_USAGE = (
    (_RATE, Item.IOPS),
    (re.compile(r"EBS:VolumeP-Throughput\.gp3$"), Item.THROUGHPUT),
    (re.compile(r"EBS:VolumeIOUsage$"), Item.IO),
    (re.compile(r"EBS:SnapshotUsage$"), Item.SNAPSHOT),
    (re.compile(r"PublicIPv4:InUseAddress$"), Item.ADDRESS),
)


def _item(record: Record) -> Item | None:
    """Returns what a row prices, None if a study cannot rent it."""
    family, usage = record.get("Product Family", ""), record.get("usageType", "")
    if any(record.get(place, "") not in {"AWS Region", ""} for place in ("Location Type", "From Location Type")):
        return None
    if family.startswith("Compute Instance"):
        return Item.INSTANCE if _is_rentable(record, usage) else None
    if record.get("TermType") != "OnDemand":
        return None
    if family == "Data Transfer":
        return Item.EGRESS if _destination(record) else None
    if family == "Storage" and record.get("Volume API Name"):
        return Item.VOLUME
    return next((item for pattern, item in _BY_USAGE if pattern.search(usage)), None)


def _is_rentable(record: Record, usage: str) -> bool:
    return (
        record.get("Operating System") in _SYSTEMS
        and record.get("Tenancy") in {"Shared", "Dedicated"}
        and record.get("CapacityStatus", "") in {"Used", ""}
        and record.get("Pre Installed S/W", "") in {"NA", ""}
        and record.get("License Model", "") in {"No License required", "NA", ""}
        and record.get("MarketOption", "") in {"OnDemand", ""}
        and bool(_USAGE.search(usage))
        and (record.get("TermType") == "OnDemand" or record.get("OfferingClass") in {"standard", "convertible"})
    )


def _destination(record: Record) -> str:
    """Returns where traffic goes, empty if it is not billed by distance or comes in.

    Amazon's IntraRegion is between zones of a region; traffic within a zone is free:
    https://aws.amazon.com/ec2/pricing/on-demand/.
    """
    kind = record.get("Transfer Type", "")
    if kind == "AWS Outbound":
        return "internet"
    if kind == "InterRegion Outbound":
        return one_line(record.get("To Region Code", ""))
    return "region" if kind == "IntraRegion" else ""


def _is_free(record: Record) -> bool:
    """True if a row of traffic has no region or is the monthly free allowance, which an account may have used up."""
    try:
        return not record.get("From Region Code") or fields.number_of(record["PricePerUnit"]) == 0
    except fields.InvalidValue:
        return False


def _row(record: Record, item: Item, purchase: Purchase) -> PriceEntry:
    """Returns the price of a row, or why it has none."""
    region, name, system, tenancy = _identity(record, item)
    try:
        if not region or not name:
            raise fields.InvalidValue("its region is missing" if not region else "its name is missing")
        if item is Item.INSTANCE:
            _check_usage(name, record["usageType"], record.get("operation", ""), system, tenancy)
        unit, factor = _unit(record["Unit"], item)
        row = PriceRow(
            provider=PROVIDER,
            region=region,
            item=item,
            name=name,
            amount=fields.amount_of(record["PricePerUnit"]) * factor,
            currency=fields.currency_of(record["Currency"]),
            unit=unit,
            system=system,
            purchase=purchase,
            tenancy=tenancy,
            to=_destination(record) if item is Item.EGRESS else "",
            sku=one_line(record["SKU"]),
            starts=fields.day_of(record["EffectiveDate"]) if record.get("EffectiveDate") else None,
        )
        return _with_tiers(row, record)
    except fields.InvalidValue as error:
        return fields.doubt(PROVIDER, region, record["SKU"], name, error, item, system, purchase, tenancy)


def _check_usage(name: str, usage: str, operation: str, system: str, tenancy: str) -> None:
    """Raises InvalidValue if usage type and operation, which are billed, belong to another machine than the row's."""
    match = _USAGE.search(usage)
    kind = "dedicated" if match and match["kind"] == "Dedicated" else "shared"
    if match is None or kind != tenancy or match["type"] not in {None, name}:
        raise fields.InvalidValue(f"its usage type {one_line(usage)!r} is of another machine than a {tenancy} {name}")
    if operation and _OPERATIONS.get(operation) != system:
        raise fields.InvalidValue(f"its operation {one_line(operation)!r} is not that of {system}")


def _identity(record: Record, item: Item) -> tuple[str, str, str, str]:
    """Returns region, name, system and tenancy of a row."""
    region = one_line(record.get("From Region Code" if item is Item.EGRESS else "Region Code", ""))
    usage = record.get("usageType", "")
    if item is Item.INSTANCE:
        return (region, one_line(record.get("Instance Type", "")), _SYSTEMS[record["Operating System"]],
                record["Tenancy"].lower())  # fmt: skip
    if item is Item.IOPS and (match := _RATE.search(usage)):
        return region, {"piops": "io1"}.get(match[1], match[1]), "", "shared"
    names = {Item.VOLUME: one_line(record.get("Volume API Name", "")), Item.THROUGHPUT: "gp3", Item.IO: "standard",
             Item.SNAPSHOT: "snapshot", Item.ADDRESS: "ipv4", Item.EGRESS: "egress"}  # fmt: skip
    return region, names[item], "", "shared"


_UNITS = {
    (Item.INSTANCE, "hrs"): (Unit.HOUR, Decimal(1)),
    (Item.ADDRESS, "hrs"): (Unit.HOUR, Decimal(1)),
    # A GB of a volume is 2^30 bytes: a volume of 100 GiB is billed as 100 GB.
    (Item.VOLUME, "gb-mo"): (Unit.GIB_MONTH, Decimal(1)),
    (Item.VOLUME, "gb-month"): (Unit.GIB_MONTH, Decimal(1)),
    (Item.SNAPSHOT, "gb-mo"): (Unit.GIB_MONTH, Decimal(1)),
    (Item.IOPS, "iops-mo"): (Unit.IOPS_MONTH, Decimal(1)),
    (Item.THROUGHPUT, "gibps-mo"): (Unit.MB_PER_S_MONTH, 1 / (1024 * _MIB_IN_MB)),
    (Item.THROUGHPUT, "mibps-mo"): (Unit.MB_PER_S_MONTH, 1 / _MIB_IN_MB),
    (Item.IO, "ios"): (Unit.MILLION, Decimal(10) ** 6),
    (Item.EGRESS, "gb"): (Unit.GIB, Decimal(1)),
}


def _unit(text: str, item: Item) -> tuple[Unit, Decimal]:
    unit = _UNITS.get((item, text.lower()))
    if unit is None:
        raise fields.InvalidValue(f"its unit {one_line(text)!r} is not one that {item} is billed by")
    return unit


def _with_tiers(row: PriceRow, record: Record) -> PriceRow:
    if row.item is Item.IOPS and (match := _RATE.search(record["usageType"])):
        first, last = _RATE_TIERS[match[1], match[2]]
        return replace(row, tier_from=Decimal(first), tier_until=None if last is None else Decimal(last))
    if row.item is Item.THROUGHPUT:
        return replace(row, tier_from=_GP3_MB_PER_S)
    begin, end = record.get("StartingRange", ""), record.get("EndingRange", "")
    first_ = fields.quantity_of(begin) if begin else Decimal(0)
    last_ = None if end in {"", "Inf"} else fields.quantity_of(end)
    if row.item is not Item.EGRESS and first_ > 0:
        raise fields.InvalidValue(f"its price holds from {first_} on only")
    if row.item is not Item.EGRESS and last_ is not None:
        raise fields.InvalidValue(f"its price holds up to {last_} only")
    return replace(row, tier_from=first_, tier_until=last_ if row.item is Item.EGRESS else None)


def _type_facts(record: Record) -> Iterator[TypeFacts]:
    region, name, _, _ = _identity(record, Item.INSTANCE)
    known = (("architecture", record.get("Processor Architecture")), ("cpu", record.get("Physical Processor")))
    try:
        vcpus = fields.number_of(record.get("vCPU", ""))
        memory = fields.number_of(record.get("Memory", "").removesuffix(" GiB").replace(",", ""))
    except fields.InvalidValue:
        return
    if region and name and vcpus > 0 and memory > 0:
        attributes = tuple((key, one_line(value)) for key, value in known if value)
        attributes += tuple(as_attributes(promises(record)).items())
        yield TypeFacts(PROVIDER, region, name, float(vcpus), float(memory), _category(record), attributes)


def promises(record: Record) -> Iterator[Promise]:
    """Yields the rates of the network and of the way to volumes, which the list has in words."""
    for of, column in (
        (Promised.NETWORK, "Network Performance"),
        (Promised.VOLUME_THROUGHPUT, "Dedicated EBS Throughput"),
    ):
        yield from promise_of(of, *speed_in_words(record.get(column, "")), "")


def _category(record: Record) -> str | None:
    """Returns the category of an instance from Amazon's name for its family."""
    family = record.get("Instance Family", "").lower()
    if re.match(r"t\d", record.get("Instance Type", "")):  # but not trn1
        return "burstable"
    kinds = {"general": "general", "compute": "compute", "memory": "memory", "storage": "storage", "gpu": "accelerated",
             "machine learning": "accelerated", "fpga": "accelerated", "media": "accelerated"}  # fmt: skip
    return next((kind for word, kind in kinds.items() if family.startswith(word)), None)


def _commitment_row(parts: list[Record]) -> PriceEntry:
    """Returns a commitment from its parts: an hourly price, an upfront one, or both."""
    hourly = [one for one in parts if one["Unit"].lower() == "hrs"]
    fees = [one for one in parts if one["Unit"].lower() == "quantity"]
    record = (hourly or parts)[0]
    region, name, system, tenancy = _identity(record, Item.INSTANCE)
    option = record.get("PurchaseOption", "")
    try:
        if len(hourly) != 1 or len(fees) > 1 or len(hourly) + len(fees) != len(parts):
            raise fields.InvalidValue(f"its commitment comes in {len(parts)} parts, not one hourly and one upfront")
        if bool(fees) != (option in {"Partial Upfront", "All Upfront"}):
            raise fields.InvalidValue(f"its upfront payment is missing or unexpected for {one_line(option)!r}")
        months = {"1yr": 12, "1 yr": 12, "3yr": 36, "3 yr": 36}.get(record.get("LeaseContractLength", ""))
        if months is None:
            raise fields.InvalidValue(f"its term {one_line(record.get('LeaseContractLength', ''))!r} is not known")
        for one in parts:
            _check_usage(name, one["usageType"], one.get("operation", ""), system, tenancy)
        upfront = fields.amount_of(fees[0]["PricePerUnit"]) if fees else Decimal(0)
        free = bool(fees) and fields.number_of(record["PricePerUnit"]) == 0
        return PriceRow(
            provider=PROVIDER, region=region, item=Item.INSTANCE, name=name,
            amount=Decimal(0) if free else fields.amount_of(record["PricePerUnit"]),
            currency=fields.currency_of(record["Currency"]), unit=Unit.HOUR, system=system,
            purchase=Purchase.RESERVED, tenancy=tenancy, term_months=months, upfront=upfront,
            sku=one_line(record["SKU"]), starts=fields.day_of(record["EffectiveDate"]),
            plan=f"{record['OfferingClass']} {option.lower()}",
        )  # fmt: skip
    except fields.InvalidValue as error:
        return fields.doubt(
            PROVIDER, region, record["SKU"], name, error, Item.INSTANCE, system, Purchase.RESERVED, tenancy
        )


def _is_rentable_plan(record: Record) -> bool:
    """True if a row is for a machine that a study can rent, with nothing installed."""
    return record["DiscountedOperation"] in _OPERATIONS and bool(_USAGE.search(record["DiscountedUsageType"]))


def _savings_plan(record: Record) -> PriceEntry:
    """Returns the hourly price of a machine under a savings plan."""
    sku, name, region = (
        record["DiscountedSKU"],
        record.get("DiscountedInstanceType", ""),
        record["DiscountedRegionCode"],
    )
    system = _OPERATIONS[record["DiscountedOperation"]]
    tenancy = "dedicated" if "DedicatedUsage" in record["DiscountedUsageType"] else "shared"
    try:
        if not name or not region:
            raise fields.InvalidValue("its name or its region is missing")
        _check_usage(name, record["DiscountedUsageType"], record["DiscountedOperation"], system, tenancy)
        months = fields.number_of(record["LeaseContractLength"]) * 12
        if record.get("LeaseContractLengthUnit", "year") != "year" or months not in {12, 36}:
            raise fields.InvalidValue(f"its term {one_line(record['LeaseContractLength'])!r} is not known")
        unit, factor = _unit(record["Unit"], Item.INSTANCE)
        plan = f"{record.get('Product Family', '')} {record['PurchaseOption']}"
        return PriceRow(
            provider=PROVIDER, region=one_line(region), item=Item.INSTANCE, name=one_line(name),
            amount=fields.amount_of(record["DiscountedRate"]) * factor,
            currency=fields.currency_of(record["Currency"]), unit=unit, system=system, purchase=Purchase.SAVINGS,
            tenancy=tenancy, term_months=int(months), sku=one_line(sku),
            starts=fields.day_of(record["EffectiveDate"]) if record.get("EffectiveDate") else None,
            plan=one_line(plan).lower(),
        )  # fmt: skip
    except fields.InvalidValue as error:
        return fields.doubt(PROVIDER, region, sku, name, error, Item.INSTANCE, system, Purchase.SAVINGS, tenancy)
