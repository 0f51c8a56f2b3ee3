"""The rows of Amazon's offer files for S3, DynamoDB and SQS.

https://aws.amazon.com/s3/pricing/, https://aws.amazon.com/dynamodb/pricing/, https://aws.amazon.com/sqs/pricing/. Read
are the standard classes alone: requests and storage of S3 Standard, request units, capacity units and storage of
DynamoDB's standard table class, and requests to standard queues. A row's usage type has the code of its region in
front (`EUC1-Requests-Tier1`), except in us-east-1.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal

from cloudcmp.cost.sources import fields
from cloudcmp.cost.sources.tiers import ONE, Measure, tiered
from cloudcmp.model.price import Item, PriceEntry, PriceRow, Unit
from cloudcmp.model.untrusted_text import one_line

OFFERS = ("AmazonS3", "AmazonDynamoDB", "AWSQueueService")
PROVIDER = "aws"
Record = Mapping[str, str]
# A code of a region has no lower-case letter; IA- is the infrequent-access class of a table.
_PLACE = "(?:(?!IA-)[A-Z0-9]+-)?"
# Amazon's GB is 2^30 bytes: https://aws.amazon.com/s3/faqs/.
_STORED = Measure(Unit.GIB_MONTH)
_HOURS = Measure(Unit.HOUR)


@dataclass(frozen=True, slots=True)
class _Kind:
    """What a row prices: its usage type, the other columns that it must have, and the unit of its price."""

    offer: str
    usage: re.Pattern[str]
    item: Item
    name: str
    unit: str
    measure: Measure
    columns: tuple[tuple[str, str], ...] = ()


def _kind(offer: str, usage: str, item: Item, name: str, unit: str, measure: Measure = ONE, **columns: str) -> _Kind:
    named = tuple((key.replace("_", " "), value) for key, value in columns.items())
    return _Kind(offer, re.compile(_PLACE + usage), item, name, unit, measure, named)


_KINDS = (
    _kind("AmazonS3", "Requests-Tier1", Item.REQUEST, "S3 Requests-Tier1", "requests"),
    _kind("AmazonS3", "Requests-Tier2", Item.REQUEST, "S3 Requests-Tier2", "requests"),
    _kind("AmazonS3", "TimedStorage-ByteHrs", Item.STORAGE, "S3 Standard", "gb-mo", _STORED, Volume_Type="Standard"),
    *(
        kind
        for way in ("Read", "Write")
        for kind in (
            _kind("AmazonDynamoDB", f"{way}RequestUnits", Item.REQUEST, f"DynamoDB {way}RequestUnits",
                  f"{way.lower()}requestunits"),
            _kind("AmazonDynamoDB", f"{way}CapacityUnit-Hrs", Item.CAPACITY, f"DynamoDB {way}CapacityUnit-Hrs",
                  f"{way.lower()}capacityunit-hrs", _HOURS),
        )
    ),
    _kind("AmazonDynamoDB", "TimedStorage-ByteHrs", Item.STORAGE, "DynamoDB Standard", "gb-mo", _STORED),
    _kind("AWSQueueService", "Requests-.+", Item.REQUEST, "SQS Standard", "requests", Queue_Type="Standard"),
)  # fmt: skip


def is_priced(record: Record) -> bool:
    """True if a row of a service's offer file prices something that a probe is billed for."""
    return _kind_of(record) is not None


def _kind_of(record: Record) -> _Kind | None:
    if record.get("TermType") != "OnDemand" or record.get("Location Type", "") not in {"AWS Region", ""}:
        return None
    usage = record.get("usageType", "")
    for kind in _KINDS:
        if (
            record.get("serviceCode") == kind.offer
            and kind.usage.fullmatch(usage)
            and all(record.get(column) == value for column, value in kind.columns)
        ):
            return kind
    return None


def rows_of(records: Sequence[Record]) -> Iterator[PriceEntry]:
    """Yields the tiers of one SKU, whose rows are `records`, or why it has no price."""
    record, kind = records[0], _kind_of(records[0])
    if kind is None:
        return
    region = one_line(record.get("Region Code", ""))
    try:
        if not region:
            raise fields.InvalidValue("its region is missing")
        currency = fields.currency_of(_one(records, "Currency"))
        row = PriceRow(PROVIDER, region, kind.item, kind.name, Decimal(0), currency, kind.measure.unit,
                       sku=one_line(record["SKU"]), starts=_start(records))  # fmt: skip
        rows = tuple(tiered(row, _tiers(kind, records), kind.measure))
    except fields.InvalidValue as error:
        yield fields.doubt(PROVIDER, region, record["SKU"], kind.name, error, kind.item)
        return
    yield from rows


def _tiers(kind: _Kind, records: Sequence[Record]) -> Iterator[tuple[Decimal, Decimal]]:
    for record in records:
        if record["Unit"].lower() != kind.unit:
            raise fields.InvalidValue(f"its unit {one_line(record['Unit'])!r} is not one that {kind.name} is billed by")
        begin = record.get("StartingRange", "")
        amount = fields.number_of(record["PricePerUnit"])
        if amount != 0:
            fields.amount_of(record["PricePerUnit"])  # its plausible range
        yield fields.quantity_of(begin) if begin else Decimal(0), amount


def _start(records: Sequence[Record]) -> date | None:
    day = _one(records, "EffectiveDate")
    return fields.day_of(day) if day else None


def _one(records: Sequence[Record], column: str) -> str:
    """Returns the value of a column; raises InvalidValue if the tiers of one SKU have several."""
    values = {record.get(column, "") for record in records}
    if len(values) > 1:
        raise fields.InvalidValue(f"its tiers have {len(values)} values of {column}")
    return values.pop()
