"""Tables of DynamoDB."""

import asyncio
from typing import Any

from cloudcmp.errors import ProviderFault, RefusalKind, Refused, TooLate
from cloudcmp.model.cast import ServiceKind
from cloudcmp.model.lease import Handle
from cloudcmp.provider.aws.data_sets import AwsDataSets
from cloudcmp.provider.common.data_sets import DataSetName, Found

KEY, GROUP, INDEX = "k", "g", "by_group"
"""The partition key, the field that queries select by, and the index of that field."""
_READY_S, _POLL_S = 300.0, 1.0


class DynamoDbDataSets(AwsDataSets):
    """The tables of DynamoDB, billed by the request, each with an index of the field that queries select by."""

    kind = ServiceKind.TABLE
    protocol = library_name = "dynamodb"
    look = "list_tables"

    async def make(self, place: str, name: str, tags: dict[str, str]) -> str:
        """Creates a table with its index and tags in one call, and waits until it can be used."""
        try:
            await self._write(
                place, "create_table", TableName=name, BillingMode="PAY_PER_REQUEST",
                AttributeDefinitions=[{"AttributeName": one, "AttributeType": "S"} for one in (KEY, GROUP)],
                KeySchema=[{"AttributeName": KEY, "KeyType": "HASH"}],
                GlobalSecondaryIndexes=[
                    {"IndexName": INDEX, "KeySchema": [{"AttributeName": GROUP, "KeyType": "HASH"}],
                     "Projection": {"ProjectionType": "ALL"}}
                ],
                Tags=[{"Key": key, "Value": value} for key, value in sorted(tags.items())],
            )  # fmt: skip
        except ProviderFault as fault:
            if not fault.is_refusal(RefusalKind.EXISTS):
                raise
        waited_s = 0.0
        while not _is_ready(await self._read(place, "describe_table", TableName=name)):
            if waited_s >= _READY_S:
                raise TooLate.at(
                    f"{self.name}/{place}", f"table {name} is not active after {_READY_S:g} s", "try again"
                )
            await asyncio.sleep(_POLL_S)
            waited_s += _POLL_S
        return name

    async def _list_in(self, place: str) -> list[Found]:
        names: list[str] = []
        last: dict[str, str] = {}
        while True:
            answer = await self._read(place, "list_tables", **last)
            names += [str(one) for one in answer.get("TableNames") or ()]
            if not answer.get("LastEvaluatedTableName"):
                break
            last = {"ExclusiveStartTableName": str(answer["LastEvaluatedTableName"])}
        return [found for name in names if DataSetName.read(name) if (found := await self._found(place, name))]

    async def _found(self, place: str, name: str) -> Found | None:
        """A table with its tags; None if it went meanwhile."""
        try:
            table = (await self._read(place, "describe_table", TableName=name))["Table"]
            answer = await self._read(place, "list_tags_of_resource", ResourceArn=table["TableArn"])
        except Refused as fault:
            if fault.is_refusal(RefusalKind.MISSING):
                return None
            raise
        return Found(name, place, tuple((str(one["Key"]), str(one["Value"])) for one in answer.get("Tags") or ()))

    async def destroy(self, handle: Handle) -> None:
        """Deletes a table with everything in it."""
        try:
            await self._write(handle.region, "delete_table", again=True, TableName=handle.cloud_id)
        except ProviderFault as fault:
            if not fault.is_refusal(RefusalKind.MISSING, RefusalKind.EXISTS):  # in use: it is being deleted already
                raise

    async def gone(self, handle: Handle) -> str | None:
        """Evidence that a table is gone: the service does not know it."""
        try:
            await self._read(handle.region, "describe_table", TableName=handle.cloud_id)
        except Refused as fault:
            if fault.is_refusal(RefusalKind.MISSING):
                return f"there is no table {handle.cloud_id}"
            raise
        return None


def _is_ready(answer: dict[str, Any]) -> bool:
    """True if a table and its indexes can be used."""
    table = answer["Table"]
    indexes = table.get("GlobalSecondaryIndexes") or ()
    return table["TableStatus"] == "ACTIVE" and all(one.get("IndexStatus", "ACTIVE") == "ACTIVE" for one in indexes)
