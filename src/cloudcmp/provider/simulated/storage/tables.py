"""Tables and items in the JSON protocol of DynamoDB."""

import json
import zlib
from collections.abc import Mapping

from cloudcmp.provider.simulated.storage.expressions import (
    Item,
    Value,
    assignments,
    condition_holds,
    item_in,
    key_conditions,
    size_of,
)
from cloudcmp.provider.simulated.storage.http_message import Answer, Head
from cloudcmp.provider.simulated.storage.json_fields import Fields
from cloudcmp.provider.simulated.storage.request import Call, CallContext, ServiceError, Wait
from cloudcmp.provider.simulated.storage.signature import Refusal
from cloudcmp.provider.simulated.storage.table_schema import Table, arn_of, order_of, table_in
from cloudcmp.provider.simulated.storage.truth import Operation, StorageTruth

TARGET = "DynamoDB_20120810."
_OWN = "com.amazonaws.dynamodb.v20120810#"
_COMMON = "com.amazon.coral.service#"
_INVALID = "com.amazon.coral.validate#ValidationException"
_BATCH_MAX = 25
_ITEM_BYTES_MAX = 400 * 1024
_PAGE_BYTES_MAX = 1024 * 1024
_RETURNS = ("ReturnConsumedCapacity", "ReturnItemCollectionMetrics", "ReturnValuesOnConditionCheckFailure")
_EXPRESSION = ("ExpressionAttributeNames", "ExpressionAttributeValues")
_OPERATIONS = {
    "GetItem": Operation.TABLE_GET,
    "Query": Operation.TABLE_QUERY,
    "PutItem": Operation.TABLE_PUT,
    "UpdateItem": Operation.TABLE_UPDATE,
    "DeleteItem": Operation.TABLE_DELETE,
    "BatchWriteItem": Operation.TABLE_LOAD,
    **dict.fromkeys(
        ("CreateTable", "DescribeTable", "DeleteTable", "ListTables", "TagResource", "ListTagsOfResource"),
        Operation.CONTROL,
    ),
}
_REFUSALS: Mapping[Refusal, str] = {
    Refusal.MISSING: "MissingAuthenticationTokenException",
    Refusal.MALFORMED: "IncompleteSignatureException",
    Refusal.UNKNOWN_KEY: "UnrecognizedClientException",
    Refusal.WRONG_TOKEN: "UnrecognizedClientException",
    Refusal.EXPIRED_TOKEN: "ExpiredTokenException",
}


class Tables:
    """The DynamoDB dialect and its store."""

    service = "dynamodb"
    throttled = ServiceError(400, f"{_OWN}ProvisionedThroughputExceededException", "The throughput was exceeded.")
    failed = ServiceError(500, f"{_OWN}InternalServerError", "The request processing has failed.")

    def __init__(self, truth: StorageTruth) -> None:
        self.truth = truth
        self._tables: dict[str, Table] = {}

    def call(self, head: Head, body: bytes, url: str) -> Call:
        """What a request asks for."""
        action = head.headers["x-amz-target"].removeprefix(TARGET)
        if action not in _OPERATIONS:
            raise ServiceError(400, f"{_COMMON}UnknownOperationException", "This service has no such operation.")
        return Call(head, body, action, _OPERATIONS[action], url)

    def wait(self, call: Call, now_s: float) -> Wait | None:
        """Nothing: no request of DynamoDB waits."""
        del call, now_s
        return None

    def serve(self, call: Call, context: CallContext) -> Answer:
        """Carries out a call."""
        fields = Fields.parse(call.body, f"{_COMMON}SerializationException", _INVALID)
        if call.operation is Operation.CONTROL:
            return _answer(200, self._control(call, fields, context))
        if call.operation is Operation.TABLE_LOAD:
            return _answer(200, self._load(fields, context))
        table = self._table(fields)
        match call.action:
            case "GetItem":
                return _answer(200, _get(table, fields, context))
            case "Query":
                return _answer(200, _query(table, fields, context))
            case "UpdateItem":
                return _answer(200, _update(table, fields, context))
        return _answer(200, _put_or_delete(table, fields, call, context))

    def refusal(self, refusal: Refusal) -> ServiceError:
        """The error for a request whose signature is refused."""
        code = _REFUSALS.get(refusal, "InvalidSignatureException")
        return ServiceError(400, f"{_COMMON}{code}", f"The request is refused: {refusal.value}.")

    def error(self, error: ServiceError, head: Head) -> Answer:
        """An error as JSON."""
        del head
        document = {"__type": error.code, "message": error.message}
        return _answer(error.status, document, error.code.rpartition("#")[2])

    def _control(self, call: Call, fields: Fields, context: CallContext) -> Mapping[str, object]:
        match call.action:
            case "CreateTable":
                return self._create(table_in(fields, context.unix_s))
            case "ListTables":
                after, page = fields.text("ExclusiveStartTableName", ""), fields.count("Limit", 100, 1, 100)
                names = [name for name in sorted(self._tables) if name > after]
                more = {"LastEvaluatedTableName": names[page - 1]} if len(names) > page else {}
                return {"TableNames": names[:page], **more}
            case "TagResource" | "ListTagsOfResource":
                return self._tags(call, fields)
        table = self._table(fields)
        description = table.description(self.truth.region)
        if call.action == "DeleteTable":
            del self._tables[table.name]
            return {"TableDescription": {**description, "TableStatus": "DELETING"}}
        return {"Table": description}

    def _create(self, table: Table) -> Mapping[str, object]:
        if table.name in self._tables:
            raise ServiceError(400, f"{_OWN}ResourceInUseException", f"Table already exists: {table.name}")
        if 0 < self.truth.data_sets_max <= len(self._tables):
            raise ServiceError(400, f"{_OWN}LimitExceededException", "The account has as many tables as it may have.")
        self._tables[table.name] = table
        return {"TableDescription": table.description(self.truth.region)}

    def _tags(self, call: Call, fields: Fields) -> Mapping[str, object]:
        arn = fields.text("ResourceArn")
        table = next((one for one in self._tables.values() if arn_of(self.truth.region, one.name) == arn), None)
        if table is None:
            raise _not_found()
        if call.action == "TagResource":
            table.tags |= {one.text("Key"): one.text("Value") for one in fields.objects("Tags")}
            return {}
        return {"Tags": [{"Key": key, "Value": value} for key, value in table.tags.items()]}

    def _table(self, fields: Fields) -> Table:
        return self._named(fields.text("TableName"))

    def _named(self, name: str) -> Table:
        if name not in self._tables:
            raise _not_found()
        return self._tables[name]

    def _load(self, fields: Fields, context: CallContext) -> Mapping[str, object]:
        """Writes all items of a batch, or none of them."""
        fields.only("RequestItems", *_RETURNS)
        requests = fields.fields("RequestItems")
        writes: dict[tuple[str, str], Item | None] = {}
        tables: dict[str, Table] = {}
        size = 0
        for name in requests.plain:
            table = tables[name] = self._named(name)
            for one in requests.objects(name):
                size += 1
                one.only("PutRequest", "DeleteRequest")
                kind = "PutRequest" if "PutRequest" in one.plain else "DeleteRequest"
                inner = one.fields(kind)
                item = item_in(inner, "Item" if kind == "PutRequest" else "Key")
                key = table.key_of(fields, item, exact=kind == "DeleteRequest")
                if (name, key) in writes:
                    raise fields.error("Provided list of item keys contains duplicates")
                writes[name, key] = _checked(fields, item) if kind == "PutRequest" else None
        if not 0 < size <= _BATCH_MAX:
            raise fields.error("A batch must have 1 to 25 requests.")
        for (name, key), written in writes.items():
            tables[name].write(key, written, context.everywhere_s, context.now_s)
            context.counts.payload_bytes_in += size_of(written or {})
        units = sum(_write_units(written) for written in writes.values())
        return {"UnprocessedItems": {}, **_capacity(fields, units, next(iter(tables)), in_list=True)}


def _get(table: Table, fields: Fields, context: CallContext) -> Mapping[str, object]:
    fields.only("TableName", "Key", "ConsistentRead", "ReturnConsumedCapacity")
    key = table.key_of(fields, item_in(fields, "Key"), exact=True)
    strong = fields.flag("ConsistentRead")
    lags = context.lags(table.items.is_unsettled(key, context.now_s), strong=strong)
    item = table.items.lagging(key, context.now_s) if lags else table.items.newest(key)
    context.counts.payload_bytes_out += size_of(item or {})
    capacity = _capacity(fields, _read_units(size_of(item or {}), strong=strong), table.name)
    return {"Item": item, **capacity} if item is not None else capacity


def _put_or_delete(table: Table, fields: Fields, call: Call, context: CallContext) -> Mapping[str, object]:
    puts = call.action == "PutItem"
    name = "Item" if puts else "Key"
    fields.only("TableName", name, "ConditionExpression", "ReturnValues", *_EXPRESSION, *_RETURNS)
    item = item_in(fields, name)
    key = table.key_of(fields, item, exact=not puts)
    before = table.items.newest(key)
    returns = _returns(fields, "ALL_OLD")
    _check_condition(fields, before)
    written = _checked(fields, item) if puts else None
    table.write(key, written, context.everywhere_s, context.now_s)
    context.counts.payload_bytes_in += size_of(written or {})
    attributes = {"Attributes": before} if returns and before is not None else {}
    return {**attributes, **_capacity(fields, _write_units(written or before), table.name)}


def _update(table: Table, fields: Fields, context: CallContext) -> Mapping[str, object]:
    known = ("TableName", "Key", "UpdateExpression", "ConditionExpression", "ReturnValues")
    fields.only(*known, *_EXPRESSION, *_RETURNS)
    key_item = item_in(fields, "Key")
    key = table.key_of(fields, key_item, exact=True)
    before = table.items.newest(key)
    returns = _returns(fields, "ALL_NEW")
    _check_condition(fields, before)
    changes = assignments(fields)
    if set(changes) & set(table.key.names):
        raise fields.error("An attribute of the key cannot be changed.")
    written = _checked(fields, {**(before or key_item), **changes})
    table.write(key, written, context.everywhere_s, context.now_s)
    context.counts.payload_bytes_in += size_of(changes)
    attributes = {"Attributes": written} if returns else {}
    return {**attributes, **_capacity(fields, _write_units(written), table.name)}


def _query(table: Table, fields: Fields, context: CallContext) -> Mapping[str, object]:
    known = ("TableName", "IndexName", "KeyConditionExpression", "ConsistentRead", "Limit", "ExclusiveStartKey")
    fields.only(*known, "ScanIndexForward", "Select", "ReturnConsumedCapacity", *_EXPRESSION)
    index = fields.text("IndexName") if "IndexName" in fields.plain else None
    if index is not None and index not in table.indexes:
        raise fields.error(f"The table does not have the specified index: {index}")
    schema = table.key if index is None else table.indexes[index]
    strong = fields.flag("ConsistentRead")
    if strong and index is not None:
        raise fields.error("Consistent reads are not supported on global secondary indexes")
    wanted = key_conditions(fields)
    if schema.partition not in wanted or not set(wanted) <= set(schema.names):
        raise fields.error("Query condition missed key schema element")
    found, more, size = _matching(table, index, wanted, fields, context, strong=strong)
    context.counts.payload_bytes_out += size
    select = fields.text("Select", "ALL_ATTRIBUTES")
    items = {} if select == "COUNT" else {"Items": found}
    names = {*table.key.names, *schema.names}
    last = {"LastEvaluatedKey": {name: found[-1][name] for name in sorted(names)}} if more else {}
    capacity = _capacity(fields, _read_units(size, strong=strong), table.name)
    return {**items, "Count": len(found), "ScannedCount": len(found), **last, **capacity}


def _matching(
    table: Table, index: str | None, wanted: Mapping[str, Value], fields: Fields, context: CallContext, *, strong: bool
) -> tuple[list[Item], bool, int]:
    """The items of a query's page in the order of their keys, whether there are more, and their size in bytes."""
    schema = table.key if index is None else table.indexes[index]
    members = table.members_of(index or "", wanted[schema.partition], context.now_s)
    lags = context.lags(any(table.items.is_unsettled(key, context.now_s) for key in members), strong=strong)
    keyed = ((key, table.items.lagging(key, context.now_s) if lags else table.items.newest(key)) for key in members)
    rows = [(key, item) for key, item in keyed if item and all(item.get(name) == one for name, one in wanted.items())]
    rows = [(key, item) for key, item in rows if schema.sort is None or schema.sort in item]
    sort = schema.sort
    rows.sort(
        key=lambda row: ("" if sort is None else order_of(row[1][sort]), row[0]),
        reverse=fields.plain.get("ScanIndexForward") is False,
    )
    limit = fields.count("Limit", len(rows) or 1, 1, 1_000_000)
    if "ExclusiveStartKey" in fields.plain:
        start = item_in(fields, "ExclusiveStartKey")
        key = table.key_of(fields, {name: start[name] for name in table.key.names if name in start})
        place = [position for position, (one, _) in enumerate(rows) if one == key]
        rows = rows[place[0] + 1 :] if place else rows
    found: list[Item] = []
    size = 0
    for _, item in rows:
        if len(found) == limit or (found and size + size_of(item) > _PAGE_BYTES_MAX):
            return found, True, size
        found.append(item)
        size += size_of(item)
    return found, False, size


def _checked(fields: Fields, item: Item) -> Item:
    if size_of(item) > _ITEM_BYTES_MAX:
        raise fields.error("Item size has exceeded the maximum allowed size")
    return item


def _check_condition(fields: Fields, before: Item | None) -> None:
    if not condition_holds(fields, before):
        raise ServiceError(400, f"{_OWN}ConditionalCheckFailedException", "The conditional request failed")


def _returns(fields: Fields, other: str) -> bool:
    """Whether the item is to be returned, before or after the change as `other` says."""
    value = fields.text("ReturnValues", "NONE")
    if value not in {"NONE", other}:
        raise fields.error(f"This service has only NONE and {other} in ReturnValues.")
    return value == other


def _read_units(size_bytes: int, *, strong: bool) -> float:
    """Units of 4 KiB, and half as many for an eventual read."""
    units = max(1, -(-size_bytes // 4096))
    return float(units) if strong else units / 2


def _write_units(item: Item | None) -> float:
    """Units of 1 KiB."""
    return float(max(1, -(-size_of(item or {}) // 1024)))


def _capacity(fields: Fields, units: float, table: str, *, in_list: bool = False) -> dict[str, object]:
    """The units that a request used, where it asks for them; indexes are not counted."""
    if fields.text("ReturnConsumedCapacity", "NONE") == "NONE":
        return {}
    used = {"TableName": table, "CapacityUnits": units}
    return {"ConsumedCapacity": [used] if in_list else used}


def _not_found() -> ServiceError:
    return ServiceError(400, f"{_OWN}ResourceNotFoundException", "Requested resource not found")


def _answer(status: int, document: Mapping[str, object], code: str = "") -> Answer:
    body = json.dumps(document, separators=(",", ":")).encode()
    # Clients of the service verify this checksum.
    headers = (("Content-Type", "application/x-amz-json-1.0"), ("x-amz-crc32", str(zlib.crc32(body))))
    return Answer(status, body, headers, code)
