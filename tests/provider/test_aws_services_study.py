"""A whole study of AWS's table and queue services, as a user runs it: data sets are leased, measured and removed."""

from pathlib import Path
from typing import Any

import pytest
from tests.emulated.simulated_storage import SimulatedStorage, simulated_storage
from tests.provider.study_runs import cloudcmp

from cloudcmp.provider.simulated.storage import Key

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


def client(storage: SimulatedStorage, service: str) -> Any:
    import boto3

    key = Key()
    return boto3.client(
        service, region_name="us-east-1", endpoint_url=storage.endpoint, aws_access_key_id=key.access_key,
        aws_secret_access_key=key.secret_key,
    )  # fmt: skip


def test_a_study_of_a_table_and_a_queue_leaves_nothing_but_its_report(tmp_path: Path) -> None:
    (tmp_path / "study.yaml").write_text(STUDY)
    with simulated_storage() as storage:
        environ = {
            "AWS_ENDPOINT_URL": storage.endpoint, "AWS_ACCESS_KEY_ID": Key().access_key,
            "AWS_SECRET_ACCESS_KEY": Key().secret_key, "AWS_REGION": "us-east-1", "AWS_EC2_METADATA_DISABLED": "true",
        }  # fmt: skip
        client(storage, "sqs").create_queue(QueueName="cloudcmp-mine")
        ran = cloudcmp((), tmp_path, "run", "study.yaml", "--out", "out", **environ)
        said = ran.out + ran.err
        assert ran.code == 0, said
        assert "failed" not in said
        counted = storage.counted()["operations"]
        assert {"table_get", "table_put", "table_query", "table_load", "queue_send", "queue_receive"} <= set(counted)
        assert client(storage, "dynamodb").list_tables()["TableNames"] == []
        (left,) = client(storage, "sqs").list_queues()["QueueUrls"]
        assert left.endswith("/cloudcmp-mine")
        assert (tmp_path / "out" / "report.html").stat().st_size > 10_000
    secret = Key().secret_key.encode()
    assert not [path for path in (tmp_path / "out").rglob("*") if path.is_file() and secret in path.read_bytes()]
