"""Amazon's own client puts, reads, lists and deletes at every server that speaks S3, and a wrong key is refused."""

import contextlib
import hashlib
import http.client
from collections.abc import Callable
from typing import Any

import pytest
from botocore.auth import S3SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from botocore.exceptions import ClientError

from tests.servers.clients import REGION, aws
from tests.servers.kinds import HOST_STYLE, KINDS
from tests.servers.serving import Served

SPEAK_S3 = [name for name, kind in KINDS.items() if "s3" in kind.protocols]


@pytest.fixture(params=SPEAK_S3)
def one(request: pytest.FixtureRequest, served: Callable[[str], Served]) -> Served:
    return served(request.param)


def _code(call: Callable[..., Any], **words: Any) -> tuple[str, int]:
    with pytest.raises(ClientError) as refused:
        call(**words)
    response: Any = refused.value.response
    return response["Error"]["Code"], response["ResponseMetadata"]["HTTPStatusCode"]


def test_objects_are_read_back_listed_and_deleted(one: Served) -> None:
    s3, bucket = aws(one, "s3"), "cloudcmp-written"
    s3.create_bucket(Bucket=bucket)
    written = {f"b/1024/{index:06d}": hashlib.sha512(b"%d" % index).digest() * 16 for index in range(12)}
    for key, body in written.items():
        s3.put_object(Bucket=bucket, Key=key, Body=body)
    large = hashlib.shake_256(b"large").digest(10 * 2**20)
    s3.put_object(Bucket=bucket, Key="large", Body=large)

    assert {key: s3.get_object(Bucket=bucket, Key=key)["Body"].read() for key in written} == written
    assert s3.get_object(Bucket=bucket, Key="large")["Body"].read() == large
    assert s3.get_object(Bucket=bucket, Key="large", Range="bytes=5-9")["Body"].read() == large[5:10]
    listed = s3.list_objects_v2(Bucket=bucket, Prefix="b/1024/")["Contents"]
    assert [each["Key"] for each in listed] == sorted(written)
    assert {each["Size"] for each in listed} == {1024}
    page = s3.list_objects_v2(Bucket=bucket, Prefix="b/", MaxKeys=5)
    assert len(page["Contents"]) == 5
    assert page["IsTruncated"]

    for key in [*written, "large"]:
        s3.delete_object(Bucket=bucket, Key=key)
    assert _code(s3.get_object, Bucket=bucket, Key="large") == ("NoSuchKey", 404)
    assert not s3.list_objects_v2(Bucket=bucket).get("Contents")
    s3.delete_bucket(Bucket=bucket)
    assert _code(s3.list_objects_v2, Bucket=bucket) == ("NoSuchBucket", 404)


def test_an_unfinished_upload_is_listed_and_ended(one: Served) -> None:
    s3, bucket = aws(one, "s3"), "cloudcmp-unfinished"
    s3.create_bucket(Bucket=bucket)
    upload = s3.create_multipart_upload(Bucket=bucket, Key="large")["UploadId"]
    s3.upload_part(Bucket=bucket, Key="large", UploadId=upload, PartNumber=1, Body=b"part")
    assert [each["UploadId"] for each in s3.list_multipart_uploads(Bucket=bucket)["Uploads"]] == [upload]
    s3.abort_multipart_upload(Bucket=bucket, Key="large", UploadId=upload)
    assert not s3.list_multipart_uploads(Bucket=bucket).get("Uploads")
    s3.delete_bucket(Bucket=bucket)


def test_a_wrong_key_is_refused(one: Served) -> None:
    aws(one, "s3").create_bucket(Bucket="cloudcmp-refused")
    wrong_secret, no_key = aws(one, "s3", secret="wrong"), aws(one, "s3", access="AKIANOBODYNOBODYNOBO")
    assert _code(wrong_secret.list_objects_v2, Bucket="cloudcmp-refused") == ("SignatureDoesNotMatch", 403)
    unknown = {"swift": ("SignatureDoesNotMatch", 403), "versitygw": ("XAdminUserNotFound", 404)}
    refused = unknown.get(one.name, ("InvalidAccessKeyId", 403))
    assert _code(no_key.list_objects_v2, Bucket="cloudcmp-refused") == refused
    aws(one, "s3").delete_bucket(Bucket="cloudcmp-refused")


def test_a_bucket_may_be_named_by_the_host(served: Callable[[str], Served]) -> None:
    one = served("versitygw")
    s3 = aws(one, "s3")
    s3.create_bucket(Bucket="cloudcmp-host")
    s3.put_object(Bucket="cloudcmp-host", Key="key", Body=b"by path")
    named = f"cloudcmp-host.{HOST_STYLE}"
    request = AWSRequest("GET", f"http://{named}/key", headers={"Host": named})
    S3SigV4Auth(Credentials(one.access, one.secret), "s3", REGION).add_auth(request)
    with contextlib.closing(http.client.HTTPConnection(one.host("s3"), timeout=10)) as link:
        link.request("GET", "/key", headers=dict(request.headers.items()))
        response = link.getresponse()
        assert (response.status, response.read()) == (200, b"by path")
    s3.delete_object(Bucket="cloudcmp-host", Key="key")
    s3.delete_bucket(Bucket="cloudcmp-host")
