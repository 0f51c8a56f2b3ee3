"""What one operation of a storage service is billed as: a dated table, from each provider's own pages.

Names are those of price rows (`cloudcmp.cost.sources`), in their standard classes: S3 Standard, DynamoDB on demand, hot
blobs with local redundancy, Cloud Storage's standard class in one region. A kilobyte is 1024 bytes in all of them, but
Pub/Sub's smallest request has 1000. What is only remembered of a page bears `(R)`.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from decimal import ROUND_CEILING, Decimal
from urllib.parse import urlsplit

from cloudcmp.model.cast import Service, ServiceKind
from cloudcmp.model.price import Item

ROW_BYTES = 150
"""The bytes of one row of a table that a study fills: its key, its group and 100 bytes of text."""
QUERY_ROWS = 10
"""The rows that a query returns."""
_READ_ON = date(2026, 11, 26)


@dataclass(frozen=True, slots=True)
class Charge:
    """A part of what an operation is billed: `units` at the price of `name` for each `step_bytes` of its payload.

    A step that is begun counts in full; a step of 0 bills any payload alike. The payload is that of `rows` rows, and
    counts at least `least_bytes`. Units are requests, or bytes where the price is for a volume of data.
    """

    name: str
    units: Decimal = Decimal(1)
    step_bytes: int = 0
    least_bytes: int = 0
    rows: int = 1
    item: Item = Item.REQUEST

    def quantity(self, size_bytes: int) -> Decimal:
        """Returns the billed units of one operation on `size_bytes` bytes (of a row, for a table)."""
        if not self.step_bytes:
            return self.units
        payload = max(size_bytes * self.rows, self.least_bytes, 1)
        steps = (Decimal(payload) / self.step_bytes).to_integral_value(ROUND_CEILING)
        return self.units * steps


@dataclass(frozen=True, slots=True)
class OperationBilling:
    """How an operation of a protocol is billed, by the page `source`, read on `as_of`.

    Without charges it is documented as free, or `why` says why no price of one operation follows. `read` is the
    consistency that it asks for, empty for any. `note` is what the charges leave out. `most_bytes` is the largest
    payload for which the charges are documented, 0 for any.
    """

    protocol: str
    op: str
    charges: tuple[Charge, ...]
    source: str
    read: str = ""
    why: str = ""
    note: str = ""
    most_bytes: int = 0
    as_of: date = _READ_ON


_S3 = "https://aws.amazon.com/s3/pricing/"
_DYNAMODB = "https://aws.amazon.com/dynamodb/pricing/on-demand/"
_SQS = "https://aws.amazon.com/sqs/pricing/"  # each 64 KB of a payload is a request (R)
_BLOBS = "https://learn.microsoft.com/en-us/azure/storage/blobs/map-rest-apis-transaction-categories"
_TABLES = "https://azure.microsoft.com/en-us/pricing/details/storage/tables/"  # which operation is of which kind (R)
_QUEUES = "https://azure.microsoft.com/en-us/pricing/details/storage/queues/"  # which operation is of which class (R)
_COSMOS = "https://learn.microsoft.com/en-us/azure/cosmos-db/request-units"  # a read of 1 KB is one unit (R)
_GCS = "https://cloud.google.com/storage/pricing"
_FIRESTORE = "https://cloud.google.com/firestore/pricing"
_BIGTABLE = "https://cloud.google.com/bigtable/pricing"
_PUBSUB = "https://cloud.google.com/pubsub/pricing"  # at least 1000 bytes are billed for each request (R)
_SWIFT = "https://docs.openstack.org/swift/latest/"

_WRITE = "DynamoDB WriteRequestUnits"
_READ = "DynamoDB ReadRequestUnits"
# A row is written to the table and to its index by_group.
_TWO_WRITES = (Charge(_WRITE, Decimal(2), 1024),)
_HALF = Decimal("0.5")
_BY_RESPONSE = "its request units depend on its indexes: each response states its own"
BY_NODE = "it is billed by the hour of its nodes, not by the operation"
_NO_LIST = "its operator has no price list that can be fetched"
_BLOB = "Block Blob Hot LRS {} Operations"
_TABLE = "Tables LRS {} Operations"
_QUEUE = "Queues LRS Class {} Operations"
_DELIVERY = Charge("Pub/Sub Message Delivery Basic", Decimal(1), 1, 1000)


def _simple(protocol: str, source: str, **names: str) -> tuple[OperationBilling, ...]:
    """Returns operations that are one request each, whatever their size; an empty name is documented as free."""
    return tuple(OperationBilling(protocol, op, (Charge(name),) if name else (), source) for op, name in names.items())


BILLING: tuple[OperationBilling, ...] = (
    *_simple("s3", _S3, upload="S3 Requests-Tier1", list="S3 Requests-Tier1", download="S3 Requests-Tier2", delete=""),
    OperationBilling("dynamodb", "get", (Charge(_READ, _HALF, 4096),), _DYNAMODB, read="eventual"),
    OperationBilling("dynamodb", "get", (Charge(_READ, Decimal(1), 4096),), _DYNAMODB, read="strong"),
    OperationBilling("dynamodb", "put", _TWO_WRITES, _DYNAMODB),
    OperationBilling("dynamodb", "load", _TWO_WRITES, _DYNAMODB),
    OperationBilling("dynamodb", "delete", _TWO_WRITES, _DYNAMODB),
    OperationBilling(
        "dynamodb", "query", (Charge(_READ, _HALF, 4096, rows=QUERY_ROWS),), _DYNAMODB, read="eventual"
    ),
    OperationBilling("dynamodb", "query", (), _DYNAMODB, read="strong", why="its index has no strong reads"),
    *(
        OperationBilling("sqs", op, (Charge("SQS Standard", Decimal(1), 65536),), _SQS)
        for op in ("send", "receive", "delete")
    ),
    *_simple(
        "azure-blob", _BLOBS, upload=_BLOB.format("Write"), download=_BLOB.format("Read"),
        list=_BLOB.format("List and Create Container"), delete="",
    ),
    *_simple(
        "azure-table", _TABLES, get=_TABLE.format("Read"), put=_TABLE.format("Write"), delete=_TABLE.format("Delete")
    ),
    OperationBilling("azure-table", "load", (Charge(_TABLE.format("Batch Write"), Decimal("0.01")),), _TABLES,
                     note="a hundred rows a batch"),
    OperationBilling("azure-table", "query", (Charge(_TABLE.format("Scan")),), _TABLES,
                     note="at least: a query that is continued is another request each time"),
    *_simple("azure-queue", _QUEUES, send=_QUEUE.format(1), delete=_QUEUE.format(1)),
    OperationBilling("azure-queue", "receive", (Charge(_QUEUE.format(1)), Charge(_QUEUE.format(2))), _QUEUES,
                     note="at most: it counts as a read, and as a write that hides the message"),
    OperationBilling("cosmos-table", "get", (Charge("Cosmos DB serverless RUs"),), _COSMOS, most_bytes=1024),
    *(
        OperationBilling("cosmos-table", op, (), _COSMOS, why=_BY_RESPONSE)
        for op in ("put", "load", "query", "delete")
    ),
    *_simple(
        "gcs", _GCS, upload="Cloud Storage Standard Class A", list="Cloud Storage Standard Class A",
        download="Cloud Storage Standard Class B", delete="",
    ),
    *_simple(
        "firestore", _FIRESTORE, get="Firestore Read Ops", put="Firestore Entity Writes",
        load="Firestore Entity Writes", delete="Firestore Entity Deletes",
    ),
    OperationBilling("firestore", "query", (Charge("Firestore Read Ops", Decimal(QUERY_ROWS)),), _FIRESTORE),
    *(
        OperationBilling("bigtable", op, (), _BIGTABLE, why=BY_NODE)
        for op in ("get", "put", "load", "query", "delete")
    ),
    *(OperationBilling("pubsub", op, (_DELIVERY,), _PUBSUB) for op in ("send", "receive")),
    *(OperationBilling("swift", op, (), _SWIFT, why=_NO_LIST) for op in ("upload", "download", "list", "delete")),
)  # fmt: skip
"""Every operation of every protocol that a probe asks for."""

CAPACITY = {"bigtable": "Bigtable Node"}
"""What is billed by the hour while a service exists, by protocol."""
STORED = {
    "s3": "S3 Standard",
    "dynamodb": "DynamoDB Standard",
    "azure-blob": "Block Blob Hot LRS Data Stored",
    "azure-table": "Tables LRS Data Stored",
    "azure-queue": "Queues LRS Data Stored",
    "gcs": "Cloud Storage Standard",
    "firestore": "Firestore Storage",
    "bigtable": "Bigtable SSD Storage",
}
"""What a month of storage is billed as, by protocol."""
MOVED = {"s3": "egress", "azure-blob": "egress", "gcs": "Cloud Storage Download Worldwide"}
"""What downloads to the internet are billed as, by protocol; within a region they are free by the same pages."""

_PROTOCOLS = {
    ("aws", ServiceKind.BLOB): "s3",
    ("aws", ServiceKind.TABLE): "dynamodb",
    ("aws", ServiceKind.QUEUE): "sqs",
    ("azure", ServiceKind.BLOB): "azure-blob",
    ("azure", ServiceKind.TABLE): "azure-table",
    ("azure", ServiceKind.QUEUE): "azure-queue",
    ("gcp", ServiceKind.BLOB): "gcs",
    ("gcp", ServiceKind.TABLE): "firestore",
    ("gcp", ServiceKind.QUEUE): "pubsub",
    ("openstack", ServiceKind.BLOB): "swift",
}
_DOMAINS = {
    "aws": (".amazonaws.com",),
    "azure": (".core.windows.net", ".cosmos.azure.com"),
    "gcp": (".googleapis.com",),
}


def protocol_of(service: Service) -> str:
    """Returns the protocol by which a service is billed, empty for an endpoint that is not the provider's own."""
    protocol = service.api or _PROTOCOLS.get((service.provider, service.kind), "")
    if not service.endpoint or protocol == "swift":
        return protocol
    host = f".{urlsplit(service.endpoint).hostname or ''}"
    if not host.endswith(_DOMAINS.get(service.provider, ())):
        return ""
    if protocol == "azure-table" and host.endswith(".cosmos.azure.com"):
        return "cosmos-table"
    return "bigtable" if protocol == "firestore" and host.endswith(".bigtable.googleapis.com") else protocol


def billing_of(protocol: str, op: str, read: str = "") -> OperationBilling | None:
    """Returns how an operation is billed, by default with eventual reads; None if the table has none."""
    asked = read or "eventual"
    found = (one for one in BILLING if (one.protocol, one.op) == (protocol, op))
    return next((one for one in found if one.read in {"", asked}), None)


def charged_names(protocol: str) -> Iterator[tuple[Item, str]]:
    """Yields what a service may be billed for, each once: requests, capacity, storage, and downloads."""
    requests = (charge.name for one in BILLING if one.protocol == protocol for charge in one.charges)
    yield from ((Item.REQUEST, name) for name in dict.fromkeys(requests))
    for item, names in ((Item.CAPACITY, CAPACITY), (Item.STORAGE, STORED), (Item.EGRESS, MOVED)):
        if protocol in names:
            yield item, names[protocol]
