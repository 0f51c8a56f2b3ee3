"""A whole study of AWS's table and queue services, as a user runs it: data sets are leased, measured and removed."""

from pathlib import Path
from typing import Any

import pytest
from tests.emulated.ec2_moto import Account
from tests.provider.study_runs import cloudcmp
from tests.slices import long

pytestmark = pytest.mark.usefixtures("agent")

STUDY = """\
schema: 1
question: How fast are the table and the queue?
candidates:
  - {provider: aws, region: us-east-1, service: table, from: local, prices: {requests: 1 USD/1000000}}
  - {provider: aws, region: us-east-1, service: queue, from: local, prices: {requests: 1 USD/1000000}}
probes:
  - {probe: table, params: {op: [get, put, query], entries: 100, duration_s: 0.2}}
  - {probe: load, params: {entries: 100}}
  - {probe: queue, params: {op: [send, receive], duration_s: 0.2}}
  - {probe: propagation, params: {duration_s: 0.2}}
  - {probe: consistency, params: {service: [table, queue], duration_s: 0.2}}
launches: 1
runs: 1
budget: 5 USD
seed: 1
"""


def client(account: Account, service: str) -> Any:
    import boto3

    return boto3.client(
        service, region_name="us-east-1", endpoint_url=f"http://127.0.0.1:{account.port}",
        aws_access_key_id=account.key_id, aws_secret_access_key=account.secret,
    )  # fmt: skip


@long
def test_a_study_of_a_table_and_a_queue_leaves_nothing_but_its_report(tmp_path: Path) -> None:
    (tmp_path / "study.yaml").write_text(STUDY)
    account = Account()
    environ = {
        "AWS_ENDPOINT_URL": f"http://127.0.0.1:{account.port}", "AWS_ACCESS_KEY_ID": account.key_id,
        "AWS_SECRET_ACCESS_KEY": account.secret, "AWS_REGION": "us-east-1", "AWS_EC2_METADATA_DISABLED": "true",
    }  # fmt: skip
    client(account, "sqs").create_queue(QueueName="cloudcmp-mine")
    ran = cloudcmp((), tmp_path, "run", "study.yaml", "--out", "out", "--json", **environ)
    said = ran.out + ran.err
    assert ran.code == 0, said
    # A table has no cells of a queue, and the reverse.
    asked = [one for one in ran.json["data"]["estimates"] if one["n_started"]]
    assert [one["cell"] for one in asked if (one["n_ok"], one["n_started"]) != (1, 1)] == []
    assert {one["cell"].split(" ")[0] for one in asked} >= {
        "table_latency_s", "table_op_per_s", "table_load_row_per_s", "queue_latency_s", "queue_op_per_s",
        "queue_propagation_s", "consistency_time_s", "stale_read_ratio",
    }, said  # fmt: skip
    assert (tmp_path / "out" / "report.html").stat().st_size > 10_000
    assert client(account, "dynamodb").list_tables()["TableNames"] == []
    (left,) = client(account, "sqs").list_queues()["QueueUrls"]
    assert left.endswith("/cloudcmp-mine")
    secret = account.secret.encode()
    assert not [path for path in (tmp_path / "out").rglob("*") if path.is_file() and secret in path.read_bytes()]


@long
def test_a_controller_killed_leaves_nothing_after_cleanup(tmp_path: Path) -> None:
    (tmp_path / "study.yaml").write_text(STUDY)
    account = Account()
    environ = {
        "AWS_ENDPOINT_URL": f"http://127.0.0.1:{account.port}", "AWS_ACCESS_KEY_ID": account.key_id,
        "AWS_SECRET_ACCESS_KEY": account.secret, "AWS_REGION": "us-east-1", "AWS_EC2_METADATA_DISABLED": "true",
    }  # fmt: skip
    tables, queues = client(account, "dynamodb"), client(account, "sqs")
    queues.create_queue(QueueName="cloudcmp-mine")
    ran = cloudcmp(
        (), tmp_path, "run", "study.yaml", "--out", "out", CLOUDCMP_CRASH_AT="cloud.after_create:4", **environ
    )
    assert ran.code == -9, ran.out + ran.err
    left = [*tables.list_tables()["TableNames"], *queues.list_queues()["QueueUrls"]]
    assert len(left) > 1, "the kill left something"
    cleaned = cloudcmp((), tmp_path, "cleanup", "out", **environ)
    assert cleaned.code == 0, cleaned.out + cleaned.err
    assert tables.list_tables()["TableNames"] == []
    (mine,) = queues.list_queues()["QueueUrls"]
    assert mine.endswith("/cloudcmp-mine")
