"""The simulated storage service through Amazon's own client: a whole life of each kind of data set, and refusals."""

import contextlib
import socket
from datetime import UTC, datetime
from functools import partial

import boto3
import botocore.auth
import pytest
from botocore.awsrequest import AWSRequest
from botocore.config import Config
from botocore.credentials import Credentials
from botocore.exceptions import ClientError
from tests.emulated.simulated_storage import simulated_storage

from cloudcmp.provider.simulated.storage import Distribution, Key, OperationTruth, Share, StorageTruth

KEY = Key()
TAGS = {"cloudcmp:study": "a<b>&\"c'", "cloudcmp:slot": "launch-0"}
TABLE = {
    "KeySchema": [{"AttributeName": "k", "KeyType": "HASH"}],
    "AttributeDefinitions": [{"AttributeName": name, "AttributeType": "S"} for name in ("k", "g")],
    "BillingMode": "PAY_PER_REQUEST",
    "GlobalSecondaryIndexes": [
        {
            "IndexName": "by_group",
            "KeySchema": [{"AttributeName": "g", "KeyType": "HASH"}],
            "Projection": {"ProjectionType": "ALL"},
        }
    ],
}


def client(storage, service, *, key=KEY.access_key, secret=KEY.secret_key, token=None, region="us-east-1"):
    return boto3.client(
        service,
        endpoint_url=storage.endpoint,
        region_name=region,
        aws_access_key_id=key,
        aws_secret_access_key=secret,
        aws_session_token=token,
        config=Config(retries={"total_max_attempts": 1}, read_timeout=20),
    )


def code_of(call, **more):
    with pytest.raises(ClientError) as caught:
        call(**more)
    return caught.value.response["Error"]["Code"]


@pytest.fixture(scope="module")
def shared():
    """A service without faults, for tests that use names of their own."""
    with simulated_storage(StorageTruth(taken=("somebody-elses",))) as storage:
        yield storage


def test_it_listens_on_loopback_only(shared):
    for port in (shared.port, shared.ready["control_port"]):
        socket.create_connection(("127.0.0.1", port), 5).close()
        with pytest.raises(OSError, match="refused"):
            socket.create_connection(("127.0.0.2", port), 5)


@pytest.mark.parametrize("key", ["b/1024/000001", "a b+c%2F~", "ü/日本/\U0001f600", "//double", "x?y&z=1", "<&>'\""])
def test_an_object_comes_back_as_it_went(shared, key):
    api, body = client(shared, "s3"), bytes(range(256)) * 5
    api.create_bucket(Bucket="objects")
    put = api.put_object(Bucket="objects", Key=key, Body=body, Metadata={"kind": "test"}, ContentType="text/x")
    got = api.get_object(Bucket="objects", Key=key)
    assert got["Body"].read() == body
    assert (got["ETag"], got["Metadata"], got["ContentType"]) == (put["ETag"], {"kind": "test"}, "text/x")
    head = api.head_object(Bucket="objects", Key=key)
    assert (head["ContentLength"], head["ETag"]) == (len(body), put["ETag"])
    assert [one["Key"] for one in api.list_objects_v2(Bucket="objects")["Contents"]] == [key]
    api.delete_object(Bucket="objects", Key=key)
    assert code_of(api.get_object, Bucket="objects", Key=key) == "NoSuchKey"
    assert code_of(api.head_object, Bucket="objects", Key=key) == "404"
    assert api.list_objects_v2(Bucket="objects")["KeyCount"] == 0
    api.delete_bucket(Bucket="objects")


def test_the_life_of_a_bucket(shared):
    api = client(shared, "s3")
    assert code_of(api.head_bucket, Bucket="life") == "404"
    api.create_bucket(Bucket="life")
    tag_set = [{"Key": key, "Value": value} for key, value in TAGS.items()]
    assert code_of(api.get_bucket_tagging, Bucket="life") == "NoSuchTagSet"
    api.put_bucket_tagging(Bucket="life", Tagging={"TagSet": tag_set})
    assert api.get_bucket_tagging(Bucket="life")["TagSet"] == tag_set
    assert "life" in [bucket["Name"] for bucket in api.list_buckets()["Buckets"]]
    assert api.head_bucket(Bucket="life")["BucketRegion"] == "us-east-1"
    for index in range(25):
        api.put_object(Bucket="life", Key=f"b/{index:06d}", Body=b"x" * index)
    pages = list(
        api.get_paginator("list_objects_v2").paginate(Bucket="life", Prefix="b/", PaginationConfig={"PageSize": 10})
    )
    assert [page["KeyCount"] for page in pages] == [10, 10, 5]
    assert [one["Size"] for page in pages for one in page["Contents"]] == list(range(25))
    assert code_of(api.delete_bucket, Bucket="life") == "BucketNotEmpty"
    assert "Uploads" not in api.list_multipart_uploads(Bucket="life")
    versions = api.get_paginator("list_object_versions").paginate(Bucket="life", PaginationConfig={"PageSize": 10})
    keys = [one["Key"] for page in versions for one in page["Versions"]]
    assert len(keys) == 25
    gone = api.delete_objects(Bucket="life", Delete={"Objects": [{"Key": key} for key in keys]})
    assert len(gone["Deleted"]) == 25
    api.delete_bucket(Bucket="life")
    assert code_of(api.put_object, Bucket="life", Key="k", Body=b"") == "NoSuchBucket"


def test_names_that_are_taken_wrong_or_too_many():
    with simulated_storage(StorageTruth(region="eu-west-1", taken=("theirs",), data_sets_max=1)) as storage:
        api = client(storage, "s3", region="eu-west-1")
        here = {"CreateBucketConfiguration": {"LocationConstraint": "eu-west-1"}}
        assert code_of(api.create_bucket, Bucket="theirs", **here) == "BucketAlreadyExists"
        assert code_of(api.head_bucket, Bucket="theirs") == "403"
        there = {"CreateBucketConfiguration": {"LocationConstraint": "eu-west-2"}}
        assert code_of(api.create_bucket, Bucket="ours", **there) == "IllegalLocationConstraintException"
        api.create_bucket(Bucket="ours", **here)
        assert code_of(api.create_bucket, Bucket="ours", **here) == "BucketAlreadyOwnedByYou"
        assert code_of(api.create_bucket, Bucket="another", **here) == "TooManyBuckets"
        assert api.get_bucket_location(Bucket="ours")["LocationConstraint"] == "eu-west-1"
        api.delete_bucket(Bucket="ours")
        queues, tables = client(storage, "sqs", region="eu-west-1"), client(storage, "dynamodb", region="eu-west-1")
        queues.create_queue(QueueName="one")
        assert code_of(queues.create_queue, QueueName="two") == "OverLimit"
        tables.create_table(TableName="one", **TABLE)
        assert code_of(tables.create_table, TableName="two", **TABLE) == "LimitExceededException"


def test_the_life_of_a_table(shared):
    api = client(shared, "dynamodb")
    assert code_of(api.describe_table, TableName="life") == "ResourceNotFoundException"
    created = api.create_table(TableName="life", **TABLE, Tags=[{"Key": k, "Value": v} for k, v in TAGS.items()])
    arn = created["TableDescription"]["TableArn"]
    api.get_waiter("table_exists").wait(TableName="life", WaiterConfig={"Delay": 1, "MaxAttempts": 3})
    api.tag_resource(ResourceArn=arn, Tags=[{"Key": "more", "Value": "1"}])
    assert {tag["Key"]: tag["Value"] for tag in api.list_tags_of_resource(ResourceArn=arn)["Tags"]} == {
        **TAGS,
        "more": "1",
    }
    assert "life" in api.list_tables()["TableNames"]
    rows = [{"k": {"S": f"r{n:08d}"}, "g": {"S": f"g{n // 10}"}, "v": {"S": "x" * 100}} for n in range(50)]
    for first in (0, 25):
        puts = [{"PutRequest": {"Item": row}} for row in rows[first : first + 25]]
        assert api.batch_write_item(RequestItems={"life": puts})["UnprocessedItems"] == {}
    assert api.describe_table(TableName="life")["Table"]["ItemCount"] == 50
    assert api.get_item(TableName="life", Key={"k": rows[7]["k"]}, ConsistentRead=True)["Item"] == rows[7]
    assert "Item" not in api.get_item(TableName="life", Key={"k": {"S": "none"}})
    query = {
        "TableName": "life",
        "IndexName": "by_group",
        "KeyConditionExpression": "#g = :g",
        "ExpressionAttributeNames": {"#g": "g"},
        "ExpressionAttributeValues": {":g": {"S": "g3"}},
    }
    assert api.query(**query)["Items"] == rows[30:40]
    pages = api.get_paginator("query").paginate(**query, PaginationConfig={"PageSize": 4})
    assert [len(page["Items"]) for page in pages] == [4, 4, 2]
    assert code_of(api.query, **query, ConsistentRead=True) == "ValidationException"
    changed = {"UpdateExpression": "SET g = :g, #n = :n", "ExpressionAttributeNames": {"#n": "new"}}
    values = {":g": {"S": "g3"}, ":n": {"N": "-1.5e3"}}
    api.update_item(TableName="life", Key={"k": {"S": "r00000001"}}, **changed, ExpressionAttributeValues=values)
    assert len(api.query(**query)["Items"]) == 11
    api.delete_item(TableName="life", Key={"k": {"S": "r00000030"}})
    old = api.put_item(TableName="life", Item={**rows[31], "g": {"S": "g9"}}, ReturnValues="ALL_OLD")
    assert old["Attributes"] == rows[31]
    assert [row["k"]["S"] for row in api.query(**query)["Items"]] == [
        "r00000001",
        *(f"r{n:08d}" for n in range(32, 40)),
    ]
    absent = {"ConditionExpression": "attribute_not_exists(k)"}
    assert code_of(api.put_item, TableName="life", Item=rows[5], **absent) == "ConditionalCheckFailedException"
    assert code_of(api.put_item, TableName="life", Item={"k": {"S": ""}}) == "ValidationException"
    assert code_of(api.create_table, TableName="life", **TABLE) == "ResourceInUseException"
    api.delete_table(TableName="life")
    assert code_of(api.put_item, TableName="life", Item=rows[0]) == "ResourceNotFoundException"


def test_a_read_costs_half_as_much_if_it_is_eventual(shared):
    api = client(shared, "dynamodb")
    api.create_table(TableName="units", **TABLE)
    item = {"k": {"S": "a"}, "v": {"S": "x" * 9000}}
    put = api.put_item(TableName="units", Item=item, ReturnConsumedCapacity="TOTAL")
    reads = [
        api.get_item(TableName="units", Key={"k": {"S": "a"}}, ConsistentRead=strong, ReturnConsumedCapacity="TOTAL")
        for strong in (True, False)
    ]
    assert [one["ConsumedCapacity"]["CapacityUnits"] for one in (put, *reads)] == [9.0, 3.0, 1.5]


def test_a_range_key_orders_and_selects(shared):
    api = client(shared, "dynamodb")
    schema = [{"AttributeName": "p", "KeyType": "HASH"}, {"AttributeName": "n", "KeyType": "RANGE"}]
    types = [{"AttributeName": "p", "AttributeType": "S"}, {"AttributeName": "n", "AttributeType": "N"}]
    api.create_table(TableName="ranged", KeySchema=schema, AttributeDefinitions=types, BillingMode="PAY_PER_REQUEST")
    for number in ("10", "9", "-1", "100"):
        api.put_item(TableName="ranged", Item={"p": {"S": "a"}, "n": {"N": number}})
    asked = {"TableName": "ranged", "KeyConditionExpression": "p = :p", "ExpressionAttributeValues": {":p": {"S": "a"}}}
    assert [one["n"]["N"] for one in api.query(**asked)["Items"]] == ["-1", "9", "10", "100"]
    assert [one["n"]["N"] for one in api.query(**asked, ScanIndexForward=False, Limit=2)["Items"]] == ["100", "10"]
    asked["KeyConditionExpression"] += " AND n = :n"
    asked["ExpressionAttributeValues"][":n"] = {"N": "9"}
    assert [one["n"]["N"] for one in api.query(**asked)["Items"]] == ["9"]


def test_the_life_of_a_queue(shared):
    api = client(shared, "sqs")
    assert code_of(api.get_queue_url, QueueName="life") == "AWS.SimpleQueueService.NonExistentQueue"
    url = api.create_queue(QueueName="life", tags=TAGS)["QueueUrl"]
    assert api.get_queue_url(QueueName="life")["QueueUrl"] == url
    assert url in api.list_queues(QueueNamePrefix="li")["QueueUrls"]
    assert api.list_queue_tags(QueueUrl=url)["Tags"] == TAGS
    assert "Messages" not in api.receive_message(QueueUrl=url)
    sent = {api.send_message(QueueUrl=url, MessageBody=f"ü{n}")["MessageId"]: f"ü{n}" for n in range(5)}
    received = api.receive_message(QueueUrl=url, MaxNumberOfMessages=10)["Messages"]
    assert {one["MessageId"]: one["Body"] for one in received} == sent
    assert "Messages" not in api.receive_message(QueueUrl=url)  # they are hidden, for 30 s
    api.delete_message(QueueUrl=url, ReceiptHandle=received[0]["ReceiptHandle"])
    api.send_message(QueueUrl=url, MessageBody="again")
    first = api.receive_message(QueueUrl=url, VisibilityTimeout=0)["Messages"][0]
    second = api.receive_message(QueueUrl=url)["Messages"][0]
    assert (first["Body"], second["Body"]) == ("again", "again")
    api.delete_message(QueueUrl=url, ReceiptHandle=first["ReceiptHandle"])  # an old receipt deletes nothing
    counted = {"QueueUrl": url, "AttributeNames": ["ApproximateNumberOfMessages"]}
    api.send_message(QueueUrl=url, MessageBody="left")
    assert api.get_queue_attributes(**counted)["Attributes"] == {"ApproximateNumberOfMessages": "1"}
    api.purge_queue(QueueUrl=url)
    assert api.get_queue_attributes(**counted)["Attributes"] == {"ApproximateNumberOfMessages": "0"}
    api.delete_queue(QueueUrl=url)
    gone = code_of(api.send_message, QueueUrl=url, MessageBody="x")
    assert gone == "AWS.SimpleQueueService.NonExistentQueue"


CALLS = {
    "s3": lambda api: api.list_buckets(),
    "dynamodb": lambda api: api.list_tables(),
    "sqs": lambda api: api.list_queues(),
}
UNKNOWN = {"s3": "InvalidAccessKeyId", "dynamodb": "UnrecognizedClientException", "sqs": "InvalidClientTokenId"}
WRONG = {"s3": "SignatureDoesNotMatch", "dynamodb": "InvalidSignatureException", "sqs": "SignatureDoesNotMatch"}
SKEWED = {**WRONG, "s3": "RequestTimeTooSkewed"}
REGION = {**WRONG, "s3": "AuthorizationHeaderMalformed"}
EXPIRED = {"s3": "ExpiredToken", "dynamodb": "ExpiredTokenException", "sqs": "ExpiredToken"}


@pytest.mark.parametrize("service", CALLS)
def test_only_requests_that_are_signed_with_a_planted_key_are_taken(service):
    keys = (KEY, Key("AKIATEMPORARY", "s", "token-1"), Key("AKIAEXPIRED", "s", "token-2", expired=True))
    call = CALLS[service]
    with simulated_storage(StorageTruth(keys=keys)) as storage:
        call(client(storage, service))
        call(client(storage, service, key="AKIATEMPORARY", secret="s", token="token-1"))
        refused = {
            "unknown": client(storage, service, key="AKIANOBODY"),
            "wrong": client(storage, service, secret="another"),
            "region": client(storage, service, region="eu-west-1"),
            "expired": client(storage, service, key="AKIAEXPIRED", secret="s", token="token-2"),
        }
        found = {name: code_of(lambda api=api: call(api)) for name, api in refused.items()}
        assert found == {
            "unknown": UNKNOWN[service],
            "wrong": WRONG[service],
            "region": REGION[service],
            "expired": EXPIRED[service],
        }
        for offset_s, code in ((-840.0, None), (3600.0, SKEWED[service]), (-3600.0, SKEWED[service])):
            storage.plant(StorageTruth(clock_offset_s=offset_s))
            api = client(storage, service)
            assert (code_of(lambda api=api: call(api)) if code else call(api) and None) == code


def signed(storage, body, payload, path="/signed/k"):
    """The bytes of an upload whose signature says that its payload is `payload`."""
    request = AWSRequest("PUT", f"{storage.endpoint}{path}", data=body, headers={"x-amz-content-sha256": payload})
    request.context["payload_signing_enabled"] = payload != "UNSIGNED-PAYLOAD"
    signer = botocore.auth.S3SigV4Auth(Credentials(KEY.access_key, KEY.secret_key), "s3", "us-east-1")
    signer.payload = lambda _: payload
    signer.add_auth(request)
    headers = {**dict(request.headers), "Host": f"127.0.0.1:{storage.port}", "Content-Length": str(len(body))}
    return (
        f"PUT {path} HTTP/1.1\r\n".encode() + b"".join(f"{k}: {v}\r\n".encode() for k, v in headers.items()) + b"\r\n"
    )


def test_a_body_that_is_not_the_signed_one_is_refused(shared):
    client(shared, "s3").create_bucket(Bucket="signed")
    empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    for payload, status in (
        ("UNSIGNED-PAYLOAD", b"200"),
        (empty, b"400"),
        ("STREAMING-AWS4-HMAC-SHA256-PAYLOAD", b"501"),
    ):
        with contextlib.closing(socket.create_connection(("127.0.0.1", shared.port), 5)) as wire:
            wire.sendall(signed(shared, b"body", payload) + b"body")
            assert wire.recv(65536).split()[1] == status


def test_a_client_that_waits_for_consent_gets_it_or_an_early_refusal(shared):
    client(shared, "s3").create_bucket(Bucket="signed")
    request = signed(shared, b"body", "UNSIGNED-PAYLOAD")
    expecting = request[:-2] + b"Expect: 100-continue\r\n\r\n"
    with contextlib.closing(socket.create_connection(("127.0.0.1", shared.port), 5)) as wire:
        wire.sendall(expecting)
        assert wire.recv(65536) == b"HTTP/1.1 100 Continue\r\n\r\n"
        wire.sendall(b"body")
        assert wire.recv(65536).startswith(b"HTTP/1.1 200 ")
    with contextlib.closing(socket.create_connection(("127.0.0.1", shared.port), 5)) as wire:
        wire.sendall(expecting.replace(b"UNSIGNED-PAYLOAD", b"unsigned-payload"))
        answer = b"".join(iter(lambda: wire.recv(65536), b""))  # up to the end of the connection
        assert answer.startswith(b"HTTP/1.1 403 ")
        assert b"<Code>SignatureDoesNotMatch</Code>" in answer


def test_a_damaged_upload_is_refused(shared):
    api = client(shared, "s3")
    api.create_bucket(Bucket="damaged")
    assert (
        code_of(api.put_object, Bucket="damaged", Key="k", Body=b"x", ContentMD5="AAAAAAAAAAAAAAAAAAAAAA==")
        == "BadDigest"
    )
    assert code_of(api.put_object, Bucket="damaged", Key="k", Body=b"x", ChecksumCRC32="AAAAAA==") == "BadDigest"
    assert code_of(api.get_object, Bucket="damaged", Key="k") == "NoSuchKey"


def prepared(api, service):
    """A call of one data operation, whose data set is there."""
    match service:
        case "s3":
            api.create_bucket(Bucket="planted")
            api.put_object(Bucket="planted", Key="k", Body=b"x")
            return partial(api.get_object, Bucket="planted", Key="k")
        case "dynamodb":
            api.create_table(TableName="planted", **TABLE)
            return partial(api.get_item, TableName="planted", Key={"k": {"S": "a"}})
        case _:
            url = api.create_queue(QueueName="planted")["QueueUrl"]
            return partial(api.send_message, QueueUrl=url, MessageBody="x")


@pytest.mark.parametrize(
    ("service", "operation", "throttled", "failed"),
    [
        ("s3", "blob_get", "SlowDown", "InternalError"),
        ("dynamodb", "table_get", "ProvisionedThroughputExceededException", "InternalServerError"),
        ("sqs", "queue_send", "RequestThrottled", "InternalFailure"),
    ],
)
def test_planted_refusals_are_the_services_own_and_counted_exactly(service, operation, throttled, failed):
    planted = OperationTruth(throttled=Share(every=3), failed=Share(every=5))
    with simulated_storage(StorageTruth(operations={operation: planted})) as storage:
        api = client(storage, service)
        call = prepared(api, service)
        found = []
        for _ in range(30):
            try:
                call()
                found.append("")
            except ClientError as error:
                found.append(error.response["Error"]["Code"])
        expected = [throttled if n % 3 == 0 else failed if n % 5 == 0 else "" for n in range(1, 31)]
        assert found == expected
        counted = storage.of(operation)
        assert counted["outcomes"] == {"answered": 16, "failed": 4, "throttled": 10}
        assert counted["codes"] == {throttled: 10, failed: 4}
        assert counted["requests"] == 30
        assert counted["service_s"]["count"] == 16
    assert storage.final["counted"]["operations"][operation] == counted


def test_the_clocks_of_answers_are_the_planted_one():
    with simulated_storage(StorageTruth(clock_offset_s=-600.0)) as storage:
        seen = client(storage, "s3").list_buckets()["ResponseMetadata"]["HTTPHeaders"]["date"]
        apart = datetime.now(UTC) - datetime.strptime(seen, "%a, %d %b %Y %H:%M:%S GMT").replace(tzinfo=UTC)
        assert 595 < apart.total_seconds() < 625


def test_a_message_can_be_received_after_its_planted_delay():
    planted = OperationTruth(propagation=Distribution(0.8))
    with simulated_storage(StorageTruth(operations={"queue_send": planted})) as storage:
        api = client(storage, "sqs")
        url = api.create_queue(QueueName="late")["QueueUrl"]
        api.send_message(QueueUrl=url, MessageBody="x")
        began = datetime.now(UTC)
        assert "Messages" not in api.receive_message(QueueUrl=url)
        assert api.receive_message(QueueUrl=url, WaitTimeSeconds=5)["Messages"][0]["Body"] == "x"
        assert 0.5 < (datetime.now(UTC) - began).total_seconds() < 4.0
        assert storage.of("queue_receive")["empty"] == 1
