"""Amazon's library: S3 and what speaks its protocol, DynamoDB and SQS."""

import os
from collections.abc import Callable
from time import perf_counter_ns
from typing import Any

import boto3
import botocore.exceptions as errors
from botocore.config import Config

from cloudcmp.client.adapter import HIDDEN_S, wrong_credential
from cloudcmp.client.content import Row
from cloudcmp.client.failures import Failure, Kind
from cloudcmp.client.job import Place
from cloudcmp.client.operation import Answers

AWS_HOST = ".amazonaws.com"
NO_KEYS = {"access_key": "none", "secret_key": "none"}
INDEX = "by_group"
"""The index of a table by the group of its rows."""
_MISSING = frozenset({"404", "NoSuchKey", "NotFound"})


class _Aws:
    """A client of one service. What the user's files say of regions, retries and keys does not apply: the job does."""

    tries = 1

    def __init__(self, place: Place, service: str) -> None:
        key = NO_KEYS if place.credential is None else place.credential
        if place.credential is not None and key.get("kind") != "keys":
            raise wrong_credential(place, "keys")
        os.environ.update(AWS_CONFIG_FILE=os.devnull, AWS_SHARED_CREDENTIALS_FILE=os.devnull)
        self.answers = Answers()
        self._name = place.data_set
        own: dict[str, Any] = {}
        if service == "s3":
            own["s3"] = {"addressing_style": "path" if place.style != "host" else "virtual"}
        if not place.endpoint.endswith(AWS_HOST):
            # Services that only resemble Amazon's know no newer checksums.
            own |= {"request_checksum_calculation": "when_required", "response_checksum_validation": "when_required"}
        self._client: Any = boto3.client(
            service, region_name=place.region or "us-east-1", endpoint_url=place.endpoint,
            aws_access_key_id=key["access_key"], aws_secret_access_key=key["secret_key"],
            aws_session_token=key.get("session_token"),
            config=Config(
                retries={"mode": "standard", "total_max_attempts": 1}, connect_timeout=place.silence_s,
                read_timeout=place.silence_s, max_pool_connections=max(10, place.lanes), **own,
            ),
        )  # fmt: skip

    def failure_of(self, error: Exception) -> Failure:
        """Judges an error of the library."""
        if isinstance(error, errors.ClientError):
            response: Any = error.response
            said = response.get("Error", {})
            status = int(response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0))
            return Failure.of_status(status, str(said.get("Code", "")), str(said.get("Message", "")))
        match error:
            case errors.ConnectTimeoutError() | errors.ReadTimeoutError():
                return Failure.of(Kind.TIMEOUT, "no answer in time")
            case errors.FlexibleChecksumError() | errors.ChecksumError():
                return Failure.of(Kind.WRONG_BODY, error)
            case errors.HTTPClientError() | errors.IncompleteReadError() | errors.ResponseStreamingError():
                return Failure.of(Kind.BROKEN, error)
            case _ if type(error).__name__ == "ResponseParserError":
                return Failure.of(Kind.WRONG_BODY, "an answer that cannot be read")
        return Failure.of(Kind.CLIENT_ERROR, f"{type(error).__name__}: {error}")


class S3(_Aws):
    """The objects of a bucket."""

    def __init__(self, place: Place) -> None:
        super().__init__(place, "s3")

    def download(self, key: str) -> bytes:
        """The whole body."""
        answer = self._client.get_object(Bucket=self._name, Key=key)
        self.answers.first_ns = perf_counter_ns()
        body: bytes = answer["Body"].read()
        return body

    def upload(self, key: str, body: bytes) -> object:
        """Writes a body."""
        return self._client.put_object(Bucket=self._name, Key=key, Body=body)

    def requests(self, op: str, size: int) -> int:  # noqa: ARG002
        """One: a body is never split."""
        return 1

    def names(self, prefix: str) -> list[str]:
        """The first names, 1000 at most."""
        answer = self._client.list_objects_v2(Bucket=self._name, Prefix=prefix, MaxKeys=1000)
        return [one["Key"] for one in answer.get("Contents", ())]

    def size_of(self, key: str) -> int | None:
        """The length of a blob; None if it is not there."""
        try:
            return int(self._client.head_object(Bucket=self._name, Key=key)["ContentLength"])
        except errors.ClientError as error:
            if error.response["Error"]["Code"] in _MISSING:
                return None
            raise


class DynamoDb(_Aws):
    """The items of a table with an index of their groups."""

    batch = 25
    strong_query = False

    def __init__(self, place: Place) -> None:
        super().__init__(place, "dynamodb")

    def get(self, row: Row, strong: bool) -> Row | None:
        """The row with a key."""
        answer = self._client.get_item(TableName=self._name, Key={"k": {"S": row.k}}, ConsistentRead=strong)
        return row_of(answer["Item"]) if "Item" in answer else None

    def put(self, row: Row) -> object:
        """Writes a row, whether or not its key is there."""
        return self._client.put_item(TableName=self._name, Item=item_of(row))

    def query(self, row: Row, strong: bool) -> list[Row]:  # noqa: ARG002 - an index has no strong reads
        """The rows of the group of a row; those of the first page."""
        answer = self._client.query(
            TableName=self._name, IndexName=INDEX, KeyConditionExpression="g = :g",
            ExpressionAttributeValues={":g": {"S": row.g}},
        )  # fmt: skip
        return [row_of(one) for one in answer["Items"]]

    def write(self, rows: list[Row]) -> int:
        """Writes rows in one batch; returns how many the service left out because there were too many."""
        puts = [{"PutRequest": {"Item": item_of(one)}} for one in rows]
        answer = self._client.batch_write_item(RequestItems={self._name: puts})
        return sum(map(len, answer.get("UnprocessedItems", {}).values()))


def item_of(row: Row) -> dict[str, dict[str, str]]:
    """A row as an item."""
    return {"k": {"S": row.k}, "g": {"S": row.g}, "v": {"S": row.v}}


def row_of(item: dict[str, dict[str, str]]) -> Row:
    """An item as a row."""
    return Row(*(item.get(name, {}).get("S", "") for name in ("k", "g", "v")))


class Sqs(_Aws):
    """The messages of a standard queue; the data set is the path of its URL."""

    def __init__(self, place: Place) -> None:
        super().__init__(place, "sqs")
        self._name = f"{place.endpoint.rstrip('/')}/{place.data_set}"

    def send(self, text: str) -> object:
        """Sends a message."""
        return self._client.send_message(QueueUrl=self._name, MessageBody=text)

    def receive(self) -> tuple[str, Any] | None:
        """A message and what deletes it; None if there is none. Does not wait for one."""
        answer = self._client.receive_message(
            QueueUrl=self._name, MaxNumberOfMessages=1, WaitTimeSeconds=0, VisibilityTimeout=HIDDEN_S
        )
        some = answer.get("Messages")
        return (some[0]["Body"], some[0]["ReceiptHandle"]) if some else None

    def delete(self, handle: Any) -> object:
        """Deletes a message that was received."""
        return self._client.delete_message(QueueUrl=self._name, ReceiptHandle=handle)

    def purge(self) -> object:
        """Deletes all messages; the service allows it once a minute."""
        return self._client.purge_queue(QueueUrl=self._name)


ADAPTERS: dict[str, Callable[[Place], Any]] = {"s3": S3, "dynamodb": DynamoDb, "sqs": Sqs}
"""By protocol."""
