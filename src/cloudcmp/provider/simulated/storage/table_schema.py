"""The tables of DynamoDB: their keys and indexes, how they are described, and where their items lie."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal

from cloudcmp.provider.simulated.storage.expressions import Item, Value
from cloudcmp.provider.simulated.storage.json_fields import Fields
from cloudcmp.provider.simulated.storage.replicas import Replicas

_NAME = re.compile(r"[A-Za-z0-9_.\-]{3,255}")
_ACCOUNT = "000000000000"


@dataclass(frozen=True, slots=True)
class KeySchema:
    """The names of the attributes of a key: of its partition, and of its order if it has one."""

    partition: str
    sort: str | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """All attributes of the key."""
        return (self.partition,) if self.sort is None else (self.partition, self.sort)

    def document(self) -> list[dict[str, str]]:
        """The schema as the service describes it."""
        kinds = ("HASH", "RANGE")
        return [{"AttributeName": name, "KeyType": kind} for name, kind in zip(self.names, kinds, strict=False)]


@dataclass(slots=True)
class Table:
    """A table with its items; `members` has the keys for each index and value of its partition."""

    name: str
    created_unix_s: float
    key: KeySchema
    types: dict[str, str]
    indexes: dict[str, KeySchema]
    billing: str
    tags: dict[str, str]
    items: Replicas[Item] = field(default_factory=Replicas)
    members: dict[tuple[str, str], dict[str, None]] = field(default_factory=dict)

    def write(self, key: str, item: Item | None, everywhere_s: float, now_s: float) -> None:
        """Sets or removes an item, and enters it in the indexes."""
        self.items.write(key, item, everywhere_s, now_s)
        for name, schema in (("", self.key), *self.indexes.items()):
            if item is not None and schema.partition in item:
                self.members.setdefault((name, dumped(item[schema.partition])), {})[key] = None

    def members_of(self, index: str, value: Value, now_s: float) -> list[str]:
        """The keys of items that, on any replica, may have a value in the partition of an index ("": the table)."""
        name = (index, dumped(value))
        members = self.members.get(name, {})
        partition = (self.indexes[index] if index else self.key).partition
        for key in list(members):
            settled = not self.items.is_unsettled(key, now_s)
            if settled and (self.items.newest(key) or {}).get(partition) != value:
                del members[key]
        if not members:
            self.members.pop(name, None)
        return list(members)

    def key_of(self, fields: Fields, item: Item, schema: KeySchema | None = None, *, exact: bool = False) -> str:
        """The key of an item as text; raises ServiceError if it lacks an attribute of the key, or has one too many."""
        names = (schema or self.key).names
        if exact and set(item) != set(names):
            raise fields.error("The provided key element does not match the schema")
        for name in names:
            if name not in item or next(iter(item[name])) != self.types[name]:
                raise fields.error(f"One of the required keys was not given a value of its type: {name}")
            if not next(iter(item[name].values())):
                raise fields.error(f"One or more parameter values are not valid: {name} is empty")
        return dumped([item[name] for name in names])

    def description(self, region: str) -> Mapping[str, object]:
        """The table as the service describes it."""
        arn = arn_of(region, self.name)
        attributes = [{"AttributeName": name, "AttributeType": kind} for name, kind in sorted(self.types.items())]
        indexes = [
            {
                "IndexName": name,
                "KeySchema": schema.document(),
                "Projection": {"ProjectionType": "ALL"},
                "IndexStatus": "ACTIVE",
                "IndexArn": f"{arn}/index/{name}",
            }
            for name, schema in self.indexes.items()
        ]
        return {
            "TableName": self.name,
            "TableStatus": "ACTIVE",
            "TableArn": arn,
            "CreationDateTime": self.created_unix_s,
            "KeySchema": self.key.document(),
            "AttributeDefinitions": attributes,
            "BillingModeSummary": {"BillingMode": self.billing},
            "ItemCount": len(self.items),
            **({"GlobalSecondaryIndexes": indexes} if indexes else {}),
        }


def arn_of(region: str, name: str) -> str:
    """The resource name of a table."""
    return f"arn:aws:dynamodb:{region}:{_ACCOUNT}:table/{name}"


def dumped(value: Value | Sequence[Value]) -> str:
    """A value as text; equal values give equal text."""
    return json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))


def order_of(value: Value) -> Decimal | str:
    """What values of one type are sorted by: numbers as numbers, the rest as text."""
    kind, inner = next(iter(value.items()))
    return Decimal(inner) if kind == "N" else str(inner)


def table_in(fields: Fields, unix_s: float) -> Table:
    """The table that a CreateTable asks for; raises ServiceError for what the service would refuse or does not have."""
    known = ("TableName", "KeySchema", "AttributeDefinitions", "GlobalSecondaryIndexes", "BillingMode", "Tags")
    fields.only(*known, "ProvisionedThroughput", "DeletionProtectionEnabled")
    name = fields.text("TableName")
    if not _NAME.fullmatch(name):
        raise fields.error("TableName must have 3 to 255 of the characters a-z, A-Z, 0-9, '_', '-', and '.'")
    if fields.flag("DeletionProtectionEnabled"):
        raise fields.error("This service has no protection from deletion.")
    types = {one.text("AttributeName"): one.text("AttributeType") for one in fields.objects("AttributeDefinitions")}
    if not set(types.values()) <= {"S", "N", "B"}:
        raise fields.error("AttributeType must be S, N or B.")
    key = _schema(fields, types)
    indexes: dict[str, KeySchema] = {}
    for index in fields.objects("GlobalSecondaryIndexes"):
        if index.fields("Projection").text("ProjectionType", "ALL") != "ALL":
            raise fields.error("This service has only the projection ALL.")
        indexes[index.text("IndexName")] = _schema(index, types)
    used = {name for schema in (key, *indexes.values()) for name in schema.names}
    if used != set(types):
        raise fields.error("AttributeDefinitions must have exactly the attributes of the keys.")
    tags = {one.text("Key"): one.text("Value") for one in fields.objects("Tags")}
    return Table(name, unix_s, key, types, indexes, fields.text("BillingMode", "PROVISIONED"), tags)


def _schema(fields: Fields, types: Mapping[str, str]) -> KeySchema:
    parts = [(one.text("KeyType"), one.text("AttributeName")) for one in fields.objects("KeySchema")]
    kinds, names = [kind for kind, _ in parts], [name for _, name in parts]
    if kinds not in (["HASH"], ["HASH", "RANGE"]) or not set(names) <= set(types):
        raise fields.error("KeySchema must be a HASH key and at most one RANGE key, both with a definition.")
    return KeySchema(*names)
