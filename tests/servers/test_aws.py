"""Amazon's own client writes, queries and deletes rows and messages at every server that speaks its protocols."""

from collections.abc import Callable

import pytest
from botocore.exceptions import ClientError

from tests.servers.clients import aws
from tests.servers.serving import Served

TABLE = "cloudcmp-written"


@pytest.mark.parametrize("name", ["moto", "dynalite"])
def test_rows_are_read_back_queried_and_deleted(name: str, served: Callable[[str], Served]) -> None:
    dynamodb = aws(served(name), "dynamodb")
    dynamodb.create_table(
        TableName=TABLE, BillingMode="PAY_PER_REQUEST",
        AttributeDefinitions=[{"AttributeName": each, "AttributeType": "S"} for each in "kg"],
        KeySchema=[{"AttributeName": "k", "KeyType": "HASH"}],
        GlobalSecondaryIndexes=[
            {"IndexName": "by_group", "KeySchema": [{"AttributeName": "g", "KeyType": "HASH"}],
             "Projection": {"ProjectionType": "ALL"}},
        ],
    )  # fmt: skip
    dynamodb.get_waiter("table_exists").wait(TableName=TABLE, WaiterConfig={"Delay": 1})
    rows = [
        {"k": {"S": f"r{index:08d}"}, "g": {"S": f"g{index // 10}"}, "v": {"S": f"{index:0100d}"}}
        for index in range(25)
    ]
    for row in rows:
        dynamodb.put_item(TableName=TABLE, Item=row)
    for strong in (False, True):
        assert dynamodb.get_item(TableName=TABLE, Key={"k": rows[7]["k"]}, ConsistentRead=strong)["Item"] == rows[7]
    found = dynamodb.query(
        TableName=TABLE, IndexName="by_group", KeyConditionExpression="g = :g",
        ExpressionAttributeValues={":g": {"S": "g1"}},
    )["Items"]  # fmt: skip
    assert sorted(each["k"]["S"] for each in found) == [row["k"]["S"] for row in rows[10:20]]
    dynamodb.delete_item(TableName=TABLE, Key={"k": rows[7]["k"]})
    assert "Item" not in dynamodb.get_item(TableName=TABLE, Key={"k": rows[7]["k"]})
    dynamodb.delete_table(TableName=TABLE)
    dynamodb.get_waiter("table_not_exists").wait(TableName=TABLE, WaiterConfig={"Delay": 1})


@pytest.mark.parametrize("name", ["moto", "elasticmq"])
def test_messages_are_received_and_deleted(name: str, served: Callable[[str], Served]) -> None:
    sqs = aws(served(name), "sqs")
    url = sqs.create_queue(QueueName="cloudcmp-written")["QueueUrl"]
    for index in range(5):
        sqs.send_message(QueueUrl=url, MessageBody=f"{index:050d}")
    received: dict[str, str] = {}
    for _ in range(20):
        for each in sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10).get("Messages", []):
            received[each["Body"]] = each["ReceiptHandle"]
        if len(received) == 5:
            break
    assert sorted(received) == [f"{index:050d}" for index in range(5)]
    for handle in received.values():
        sqs.delete_message(QueueUrl=url, ReceiptHandle=handle)
    counts = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["All"])["Attributes"]
    assert counts["ApproximateNumberOfMessages"] == counts["ApproximateNumberOfMessagesNotVisible"] == "0"
    sqs.delete_queue(QueueUrl=url)


@pytest.mark.parametrize("service", ["dynamodb", "sqs"])
def test_a_wrong_key_is_refused(service: str, served: Callable[[str], Served]) -> None:
    """moto says why in XML whatever the protocol, so that boto3 sees no more than the status."""
    one = served("moto")
    for client in (aws(one, service, secret="wrong"), aws(one, service, access="AKIANOBODYNOBODYNOBO")):
        with pytest.raises(ClientError) as refused:
            client.list_tables() if service == "dynamodb" else client.list_queues()
        assert refused.value.response["ResponseMetadata"]["HTTPStatusCode"] == 403
