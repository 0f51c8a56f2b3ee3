"""Buckets and objects in the protocol of S3, with the bucket in the path."""

import base64
import binascii
import hashlib
import html
import re
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import parse_qsl, unquote

from cloudcmp.provider.simulated.storage.blob_lists import (
    Entry,
    deleted_document,
    list_buckets,
    list_objects,
    list_tags,
    list_versions,
    uploads_document,
    xml,
)
from cloudcmp.provider.simulated.storage.http_message import Answer, Head
from cloudcmp.provider.simulated.storage.replicas import Replicas
from cloudcmp.provider.simulated.storage.request import Call, CallContext, ServiceError, Wait
from cloudcmp.provider.simulated.storage.signature import Refusal
from cloudcmp.provider.simulated.storage.truth import Operation, StorageTruth

_NAME = re.compile(r"[a-z0-9][a-z0-9.\-]{1,61}[a-z0-9]")
_TAG = re.compile(r"<Tag>\s*<Key>([^<]*)</Key>\s*<Value>([^<]*)</Value>\s*</Tag>")
_LOCATION = re.compile(r"<LocationConstraint>([^<]*)</LocationConstraint>")
_KEY = re.compile(r"<Key>([^<]*)</Key>")
_KEY_BYTES_MAX = 1024
_META = "x-amz-meta-"
_KNOWN_QUERY = {"list-type", "prefix", "delimiter", "max-keys", "continuation-token", "start-after", "encoding-type"}
_KNOWN_QUERY |= {"fetch-owner", "x-id", "key-marker", "version-id-marker", "upload-id-marker", "max-uploads", "marker"}
_SUBRESOURCES = ("tagging", "location", "versioning", "versions", "uploads", "delete")
_UNSUPPORTED_HEADERS = ("x-amz-copy-source", "if-none-match", "if-match", "if-modified-since", "if-unmodified-since")

_ACTIONS: Mapping[tuple[str, str, str], tuple[str, Operation]] = {
    ("service", "GET", ""): ("ListBuckets", Operation.CONTROL),
    ("bucket", "PUT", ""): ("CreateBucket", Operation.CONTROL),
    ("bucket", "HEAD", ""): ("HeadBucket", Operation.CONTROL),
    ("bucket", "DELETE", ""): ("DeleteBucket", Operation.CONTROL),
    ("bucket", "GET", ""): ("ListObjects", Operation.BLOB_LIST),
    ("bucket", "GET", "versions"): ("ListObjectVersions", Operation.CONTROL),
    ("bucket", "GET", "tagging"): ("GetBucketTagging", Operation.CONTROL),
    ("bucket", "PUT", "tagging"): ("PutBucketTagging", Operation.CONTROL),
    ("bucket", "DELETE", "tagging"): ("DeleteBucketTagging", Operation.CONTROL),
    ("bucket", "GET", "location"): ("GetBucketLocation", Operation.CONTROL),
    ("bucket", "GET", "versioning"): ("GetBucketVersioning", Operation.CONTROL),
    ("bucket", "GET", "uploads"): ("ListMultipartUploads", Operation.CONTROL),
    ("bucket", "POST", "delete"): ("DeleteObjects", Operation.CONTROL),
    ("object", "GET", ""): ("GetObject", Operation.BLOB_GET),
    ("object", "HEAD", ""): ("HeadObject", Operation.BLOB_HEAD),
    ("object", "PUT", ""): ("PutObject", Operation.BLOB_PUT),
    ("object", "DELETE", ""): ("DeleteObject", Operation.BLOB_DELETE),
}

_REFUSALS: Mapping[Refusal, tuple[int, str]] = {
    Refusal.MISSING: (403, "AccessDenied"),
    Refusal.MALFORMED: (400, "AuthorizationHeaderMalformed"),
    Refusal.UNKNOWN_KEY: (403, "InvalidAccessKeyId"),
    Refusal.WRONG_TOKEN: (400, "InvalidToken"),
    Refusal.EXPIRED_TOKEN: (400, "ExpiredToken"),
    Refusal.WRONG_REGION: (400, "AuthorizationHeaderMalformed"),
    Refusal.WRONG_SERVICE: (400, "AuthorizationHeaderMalformed"),
    Refusal.SKEWED: (403, "RequestTimeTooSkewed"),
    Refusal.UNSIGNED_HEADERS: (403, "AccessDenied"),
    Refusal.UNSUPPORTED_PAYLOAD: (501, "NotImplemented"),
    Refusal.WRONG_SIGNATURE: (403, "SignatureDoesNotMatch"),
    Refusal.WRONG_PAYLOAD: (400, "XAmzContentSHA256Mismatch"),
}


@dataclass(slots=True)
class _Bucket:
    created_unix_s: float
    tags: dict[str, str] = field(default_factory=dict)
    objects: Replicas[Entry] = field(default_factory=Replicas)


class Blobs:
    """The S3 dialect and its store."""

    service = "s3"
    throttled = ServiceError(503, "SlowDown", "Please reduce your request rate.")
    failed = ServiceError(500, "InternalError", "We encountered an internal error. Please try again.")

    def __init__(self, truth: StorageTruth) -> None:
        self.truth = truth
        self._buckets: dict[str, _Bucket] = {}

    def call(self, head: Head, body: bytes, url: str) -> Call:
        """What a request asks for."""
        bucket, key = _place(head)
        query = parse_qsl(head.query, keep_blank_values=True)
        names = {name for name, _ in query}
        subresource = next((name for name in _SUBRESOURCES if name in names), "")
        kind = "object" if key else "bucket" if bucket else "service"
        found = _ACTIONS.get((kind, head.method, subresource))
        unknown = names - _KNOWN_QUERY - {subresource}
        if found is None or unknown:
            raise ServiceError(501, "NotImplemented", "This service has no such request.")
        return Call(head, body, found[0], found[1], url)

    def wait(self, call: Call, now_s: float) -> Wait | None:
        """Nothing: no request of S3 waits."""
        del call, now_s
        return None

    def serve(self, call: Call, context: CallContext) -> Answer:
        """Carries out a call."""
        name, key = _place(call.head)
        if call.action == "ListBuckets":
            buckets = {name: bucket.created_unix_s for name, bucket in sorted(self._buckets.items())}
            return Answer(body=list_buckets(buckets))
        if call.action == "CreateBucket":
            return self._create(name, call, context)
        bucket = self._bucket(name)
        if call.operation is not Operation.CONTROL:
            return self._serve_objects(bucket, name, key, call, context)
        return self._serve_bucket(bucket, name, call, context)

    def refusal(self, refusal: Refusal) -> ServiceError:
        """The error for a request whose signature is refused."""
        status, code = _REFUSALS[refusal]
        fields = (("Region", self.truth.region),) if refusal is Refusal.WRONG_REGION else ()
        return ServiceError(status, code, f"The request is refused: {refusal.value}.", fields)

    def error(self, error: ServiceError, head: Head) -> Answer:
        """An error as XML; the answer to HEAD has none."""
        fields = {"Code": error.code, "Message": error.message, "Resource": head.path, **dict(error.fields)}
        document = xml("Error", "".join(f"<{name}>{html.escape(text)}</{name}>" for name, text in fields.items()))
        if head.method == "HEAD":
            return Answer(error.status, code=error.code, length=len(document))
        return Answer(error.status, document, (("Content-Type", "application/xml"),), error.code)

    def _bucket(self, name: str) -> _Bucket:
        bucket = self._buckets.get(name)
        if bucket is not None:
            return bucket
        if name in self.truth.taken:
            raise ServiceError(403, "AccessDenied", "Access Denied")
        raise ServiceError(404, "NoSuchBucket", "The specified bucket does not exist", (("BucketName", name),))

    def _create(self, name: str, call: Call, context: CallContext) -> Answer:
        document = call.body.decode("utf-8", "replace")
        location = _LOCATION.search(document)
        if not _NAME.fullmatch(name):
            raise ServiceError(400, "InvalidBucketName", "The specified bucket is not valid.")
        if (location[1] if location else "us-east-1") != self.truth.region:
            code = "IllegalLocationConstraintException"
            raise ServiceError(400, code, f"This service is the region {self.truth.region}.")
        if name in self.truth.taken:
            raise ServiceError(409, "BucketAlreadyExists", "The requested bucket name is not available.")
        if name in self._buckets and self.truth.region != "us-east-1":
            raise ServiceError(409, "BucketAlreadyOwnedByYou", "You already own the bucket.")
        if 0 < self.truth.data_sets_max <= len(self._buckets) and name not in self._buckets:
            raise ServiceError(400, "TooManyBuckets", "You have attempted to create more buckets than allowed")
        self._buckets.setdefault(name, _Bucket(context.unix_s, _tags(document)))
        return Answer(headers=(("Location", f"/{name}"),))

    def _serve_bucket(self, bucket: _Bucket, name: str, call: Call, context: CallContext) -> Answer:
        """Requests that describe, change or remove a bucket."""
        match call.action:
            case "HeadBucket":
                return Answer(headers=(("x-amz-bucket-region", self.truth.region),))
            case "DeleteBucket":
                if len(bucket.objects):
                    raise ServiceError(409, "BucketNotEmpty", "The bucket you tried to delete is not empty")
                del self._buckets[name]
                return Answer(204)
            case "PutBucketTagging" | "DeleteBucketTagging":
                bucket.tags = _tags(call.body.decode("utf-8", "replace"))
                return Answer(204)
            case _:
                return Answer(body=self._document(bucket, name, call, context))

    def _document(self, bucket: _Bucket, name: str, call: Call, context: CallContext) -> bytes:
        """The document that answers the other requests about a bucket."""
        document = b""
        match call.action:
            case "GetBucketTagging":
                if not bucket.tags:
                    raise ServiceError(404, "NoSuchTagSet", "The TagSet does not exist")
                document = list_tags(bucket.tags)
            case "GetBucketLocation":
                document = xml("LocationConstraint", "" if self.truth.region == "us-east-1" else self.truth.region)
            case "GetBucketVersioning":
                document = xml("VersioningConfiguration", "")
            case "ListMultipartUploads":
                document = uploads_document(name)
            case "ListObjectVersions":
                document = list_versions(name, bucket.objects, _query(call.head), context)
            case "DeleteObjects":
                keys = [html.unescape(key) for key in _KEY.findall(call.body.decode("utf-8", "replace"))]
                for key in keys:
                    bucket.objects.write(key, None, context.everywhere_s, context.now_s)
                document = deleted_document(keys)
        return document

    def _serve_objects(self, bucket: _Bucket, name: str, key: str, call: Call, context: CallContext) -> Answer:
        """Requests that read and write."""
        match call.action:
            case "ListObjects":
                return Answer(body=list_objects(name, bucket.objects, _query(call.head), context))
            case "PutObject":
                return _put(bucket, key, call, context)
            case "DeleteObject":
                bucket.objects.write(key, None, context.everywhere_s, context.now_s)
                return Answer(204)
        lags = context.lags(bucket.objects.is_unsettled(key, context.now_s))
        entry = bucket.objects.lagging(key, context.now_s) if lags else bucket.objects.newest(key)
        if entry is None:
            raise ServiceError(404, "NoSuchKey", "The specified key does not exist.", (("Key", key),))
        headers = [("ETag", f'"{entry.etag}"'), ("Last-Modified", entry.last_modified), ("Accept-Ranges", "bytes")]
        headers += [("Content-Type", entry.content_type), *entry.metadata]
        if call.head.headers.get("x-amz-checksum-mode", "").upper() == "ENABLED":
            headers.append(("x-amz-checksum-crc32", entry.crc32))
        if call.action == "HeadObject":
            return Answer(headers=tuple(headers), length=len(entry.body))
        return Answer(body=entry.body, headers=tuple(headers))


def _put(bucket: _Bucket, key: str, call: Call, context: CallContext) -> Answer:
    headers, body = call.head.headers, call.body
    if len(key.encode("utf-8", "replace")) > _KEY_BYTES_MAX:
        raise ServiceError(400, "KeyTooLongError", "Your key is too long")
    if any(name in headers for name in _UNSUPPORTED_HEADERS):
        raise ServiceError(501, "NotImplemented", "This service has neither copies nor conditions.")
    digest = hashlib.md5(body, usedforsecurity=False).digest()
    crc32 = base64.b64encode(zlib.crc32(body).to_bytes(4, "big")).decode()
    if headers.get("x-amz-checksum-crc32", crc32) != crc32:
        raise ServiceError(400, "BadDigest", "The CRC32 you specified did not match the calculated checksum.")
    if "content-md5" in headers and _base64(headers["content-md5"]) != digest:
        raise ServiceError(400, "BadDigest", "The Content-MD5 you specified did not match what we received.")
    metadata = tuple((name, text) for name, text in headers.items() if name.startswith(_META))
    content_type = headers.get("content-type", "binary/octet-stream")
    entry = Entry(body, digest.hex(), crc32, context.unix_s, content_type, metadata)
    bucket.objects.write(key, entry, context.everywhere_s, context.now_s)
    context.counts.payload_bytes_in += len(body)
    return Answer(headers=(("ETag", f'"{entry.etag}"'), ("x-amz-checksum-crc32", crc32)))


def _place(head: Head) -> tuple[str, str]:
    """The bucket and the key in a path."""
    bucket, _, key = head.path[1:].partition("/")
    try:
        return unquote(bucket, errors="strict"), unquote(key, errors="strict")
    except UnicodeDecodeError:
        raise ServiceError(400, "InvalidURI", "Couldn't parse the specified URI.") from None


def _query(head: Head) -> dict[str, str]:
    return dict(parse_qsl(head.query, keep_blank_values=True))


def _tags(document: str) -> dict[str, str]:
    return {html.unescape(key): html.unescape(value) for key, value in _TAG.findall(document)}


def _base64(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return b""
