"""The agent's DynamoDB and SQS beside AWS's own client, on a server that checks every signature."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.agent.service_trials import REGION, Place, run
from tests.emulated.ec2_moto import Account

TABLE, QUEUE = "cloudcmp-rows", "cloudcmp-messages"


@pytest.fixture(scope="module")
def account() -> Account:
    """An account of the moto server with one user."""
    return Account()


def client(account: Account, service: str) -> Any:
    """AWS's own client."""
    import boto3

    return boto3.client(
        service, region_name=REGION, endpoint_url=f"http://127.0.0.1:{account.port}",
        aws_access_key_id=account.key_id, aws_secret_access_key=account.secret,
    )  # fmt: skip


@pytest.fixture
def dynamodb(account: Account) -> Iterator[Any]:
    """AWS's own client, and an empty table."""
    found = client(account, "dynamodb")
    found.create_table(
        TableName=TABLE, BillingMode="PAY_PER_REQUEST",
        AttributeDefinitions=[{"AttributeName": each, "AttributeType": "S"} for each in "kg"],
        KeySchema=[{"AttributeName": "k", "KeyType": "HASH"}],
        GlobalSecondaryIndexes=[
            {"IndexName": "by_group", "KeySchema": [{"AttributeName": "g", "KeyType": "HASH"}],
             "Projection": {"ProjectionType": "ALL"}},
        ],
    )  # fmt: skip
    yield found
    found.delete_table(TableName=TABLE)
    found.close()


@pytest.fixture
def sqs(account: Account) -> Iterator[tuple[Any, str]]:
    """AWS's own client, and the URL of an empty queue."""
    found = client(account, "sqs")
    url = found.create_queue(QueueName=QUEUE)["QueueUrl"]
    yield found, url
    found.delete_queue(QueueUrl=url)
    found.close()


def table(account: Account) -> Place:
    return Place("dynamodb", account.port, TABLE, account.key_id, account.secret)


def queue(account: Account) -> Place:
    return Place("sqs", account.port, f"{account.id}/{QUEUE}", account.key_id, account.secret)


def test_rows_that_the_agent_writes_the_sdk_reads_and_the_reverse(agent: Path, account: Account, dynamodb: Any) -> None:
    quick = {"entries": "60", "duration_s": "0.3"}
    ran = run(agent, table(account), "table", op="get", **quick)
    assert (ran.outcome, ran.error, ran.notes["batches_written"]) == ("ok", "", 3)
    rows = {row["k"]["S"]: row for row in dynamodb.scan(TableName=TABLE)["Items"]}
    assert sorted(rows) == [f"r{index:08d}" for index in range(60)]
    assert {row["g"]["S"] for row in rows.values()} == {f"g{index}" for index in range(6)}
    assert {len(row["v"]["S"]) for row in rows.values()} == {100}
    assert len({row["v"]["S"] for row in rows.values()}) == 60
    for key, row in rows.items():
        dynamodb.delete_item(TableName=TABLE, Key={"k": {"S": key}})
        dynamodb.put_item(TableName=TABLE, Item=row)
    for op in ("get", "query"):
        ran = run(agent, table(account), "table", op=op, **quick)
        assert (ran.outcome, ran.notes["batches_written"], ran.notes["wrong_bodies"]) == ("ok", 0, 0)
    # A row that is not what was written is never a success, of a get and of a query.
    dynamodb.put_item(TableName=TABLE, Item={**rows["r00000007"], "v": rows["r00000008"]["v"]})
    dynamodb.delete_item(TableName=TABLE, Key={"k": {"S": "r00000019"}})
    for op in ("get", "query"):
        ran = run(agent, table(account), "table", op=op, **quick)
        assert ran.outcome == "ok", ran.error
        assert 0 < ran.notes["wrong_bodies"] < ran.notes["operations"], ran.notes
        assert ran.values["table_failed_ratio"] == [ran.notes["wrong_bodies"] / ran.notes["operations"]]


def test_puts_and_loads_are_read_by_the_sdk(agent: Path, account: Account, dynamodb: Any) -> None:
    ran = run(agent, table(account), "load", entries="110")
    assert (ran.outcome, ran.notes["rows_written"], ran.notes["operations"]) == ("ok", 110, 5)
    assert ran.values["table_load_row_per_s"][0] > 0
    found = dynamodb.scan(TableName=TABLE)["Items"]
    assert sorted(row["k"]["S"] for row in found) == [f"u{index:08d}" for index in range(110)]
    ran = run(agent, table(account), "table", op="put", entries="20", duration_s="0.3")
    assert (ran.outcome, ran.notes["client_errors"]) == ("ok", 0)
    assert dynamodb.scan(TableName=TABLE, Select="COUNT")["Count"] == 130


def test_messages_are_sent_received_and_deleted_like_the_sdks(agent: Path, account: Account, sqs: Any) -> None:
    own, url = sqs
    ran = run(agent, queue(account), "propagation", duration_s="0.5")
    assert (ran.outcome, ran.notes["censored"], ran.notes["strangers"]) == ("ok", 0, 0)
    ran = run(agent, queue(account), "queue", op="send", duration_s="0.3")
    assert (ran.outcome, ran.notes["purged"]) == ("ok", True)
    counts = own.get_queue_attributes(QueueUrl=url, AttributeNames=["All"])["Attributes"]
    assert counts["ApproximateNumberOfMessages"] == counts["ApproximateNumberOfMessagesNotVisible"] == "0"
    # SQS purges a queue once a minute: what is there is received and deleted instead.
    own.send_message(QueueUrl=url, MessageBody="somebody's")
    ran = run(agent, queue(account), "queue", op="receive", duration_s="0.5")
    assert (ran.outcome, ran.notes["removed_before"], ran.notes["wrong_bodies"]) == ("ok", 1, 0), ran
    assert ran.notes["follow_ups"] == 2 * ran.notes["operations"] - ran.notes["empty_receives"]
    assert ran.notes["purged"] is False


def test_consistency_of_rows_and_messages_is_measured(agent: Path, account: Account, dynamodb: Any, sqs: Any) -> None:
    for change in ("write", "update", "delete", "list"):
        ran = run(agent, table(account), "consistency", service="table", change=change, duration_s="0.3")
        assert (ran.outcome, ran.error, ran.values["stale_read_ratio"]) == ("ok", "", [0.0]), change
    ran = run(agent, queue(account), "consistency", service="queue", duration_s="0.3")
    assert (ran.outcome, ran.error, ran.values["stale_read_ratio"]) == ("ok", "", [0.0])


@pytest.mark.parametrize("probe", ["table", "queue", "propagation", "load"])
def test_a_wrong_key_ends_the_trial_in_one_line_with_the_services_code(
    probe: str, agent: Path, account: Account, dynamodb: Any, sqs: Any
) -> None:
    place = table(account) if probe in {"table", "load"} else queue(account)
    ran = run(agent, replace(place, secret="not-the-secret"), probe)
    assert (ran.outcome, ran.values, ran.histograms) == ("failed", {}, {})
    assert ": 403 " in ran.error, ran.error
    assert "\n" not in ran.error


def test_a_missing_table_and_queue_are_named(agent: Path, account: Account) -> None:
    ran = run(agent, replace(table(account), name="cloudcmp-other"), "table")
    assert "400 ResourceNotFoundException" in ran.error
    ran = run(agent, replace(queue(account), name=f"{account.id}/cloudcmp-other"), "queue")
    assert ran.outcome == "failed"
    assert "QueueDoesNotExist" in ran.error


def test_what_a_service_does_not_have_is_refused_before_a_request(agent: Path, account: Account, dynamodb: Any) -> None:
    ran = run(agent, table(account), "table", op="query", read="strong")
    assert (ran.outcome, dynamodb.scan(TableName=TABLE)["Count"]) == ("failed", 0)
    assert "no strong reads of an index" in ran.error
    for probe in ("queue", "blob", "propagation"):
        assert "dynamodb has no such operation" in run(agent, table(account), probe).error
    ran = run(agent, queue(account), "consistency", service="queue", change="delete")
    assert "a message in a queue has no delete" in ran.error
