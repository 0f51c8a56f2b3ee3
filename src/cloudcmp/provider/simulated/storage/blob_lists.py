"""Lists of S3 as XML: buckets, objects, versions, tags."""

import base64
import binascii
import html
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from urllib.parse import quote

from cloudcmp.provider.simulated.storage.http_message import http_date
from cloudcmp.provider.simulated.storage.replicas import Replicas
from cloudcmp.provider.simulated.storage.request import CallContext, ServiceError

_NAMESPACE = "http://s3.amazonaws.com/doc/2006-03-01/"
_OWNER = "<Owner><ID>000000000000</ID><DisplayName>simulated</DisplayName></Owner>"
_PAGE_MAX = 1000
_NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass(frozen=True, slots=True)
class Entry:
    """An object as it was uploaded."""

    body: bytes
    etag: str
    crc32: str
    written_unix_s: float
    content_type: str
    metadata: tuple[tuple[str, str], ...]

    @property
    def last_modified(self) -> str:
        """The time of the upload as a header has it."""
        return http_date(int(self.written_unix_s))


def xml(root: str, inner: str) -> bytes:
    """A document with a root element in the namespace of S3; errors have none."""
    opening = root if root == "Error" else f'{root} xmlns="{_NAMESPACE}"'
    text = f'<?xml version="1.0" encoding="UTF-8"?>\n<{opening}>{inner}</{root}>'
    return _NO_XML.sub("\ufffd", text).encode()


def list_buckets(created_unix_s: Mapping[str, float]) -> bytes:
    """The answer to ListBuckets."""
    items = "".join(
        f"<Bucket><Name>{html.escape(name)}</Name><CreationDate>{_time(at)}</CreationDate></Bucket>"
        for name, at in created_unix_s.items()
    )
    return xml("ListAllMyBucketsResult", f"{_OWNER}<Buckets>{items}</Buckets>")


def list_tags(tags: Mapping[str, str]) -> bytes:
    """The answer to GetBucketTagging."""
    items = "".join(
        f"<Tag><Key>{html.escape(key)}</Key><Value>{html.escape(value)}</Value></Tag>" for key, value in tags.items()
    )
    return xml("Tagging", f"<TagSet>{items}</TagSet>")


def uploads_document(bucket: str) -> bytes:
    """The answer to ListMultipartUploads: there are none, as none can be begun."""
    return xml(
        "ListMultipartUploadsResult",
        f"<Bucket>{html.escape(bucket)}</Bucket><MaxUploads>1000</MaxUploads><IsTruncated>false</IsTruncated>",
    )


def deleted_document(keys: Sequence[str]) -> bytes:
    """The answer to DeleteObjects."""
    return xml("DeleteResult", "".join(f"<Deleted><Key>{html.escape(key)}</Key></Deleted>" for key in keys))


def list_objects(bucket: str, objects: Replicas[Entry], query: Mapping[str, str], context: CallContext) -> bytes:
    """The answer to ListObjectsV2; raises ServiceError for the first version and for a delimiter."""
    if query.get("list-type") != "2":
        raise ServiceError(501, "NotImplemented", "This service has the second version of lists.")
    if query.get("delimiter"):
        raise ServiceError(501, "NotImplemented", "This service has no delimiters.")
    prefix = query.get("prefix", "")
    after = query.get("start-after", "")
    if query.get("continuation-token"):
        after = _parse_token(query["continuation-token"])
    page = _page_size(query, "max-keys")
    lags = context.lags(any(key.startswith(prefix) for key in objects.unsettled(context.now_s)))
    found, truncated = _page(objects, prefix, after, page, context.now_s if lags else None, context.now_s)
    encoded = query.get("encoding-type") == "url"
    inner = (
        f"<Name>{html.escape(bucket)}</Name><Prefix>{_text(prefix, encoded)}</Prefix><KeyCount>{len(found)}</KeyCount>"
    )
    inner += f"<MaxKeys>{page}</MaxKeys><IsTruncated>{str(truncated).lower()}</IsTruncated>"
    if encoded:
        inner += "<EncodingType>url</EncodingType>"
    if truncated:
        inner += f"<NextContinuationToken>{_token(found[-1][0])}</NextContinuationToken>"
    inner += "".join(
        f"<Contents><Key>{_text(key, encoded)}</Key><LastModified>{_time(entry.written_unix_s)}</LastModified>"
        f"<ETag>&quot;{entry.etag}&quot;</ETag><Size>{len(entry.body)}</Size><StorageClass>STANDARD</StorageClass></Contents>"
        for key, entry in found
    )
    return xml("ListBucketResult", inner)


def list_versions(bucket: str, objects: Replicas[Entry], query: Mapping[str, str], context: CallContext) -> bytes:
    """The answer to ListObjectVersions of a bucket without versions: each object has the version `null`."""
    prefix, page = query.get("prefix", ""), _page_size(query, "max-keys")
    encoded = query.get("encoding-type") == "url"
    found, truncated = _page(objects, prefix, query.get("key-marker", ""), page, None, context.now_s)
    inner = f"<Name>{html.escape(bucket)}</Name><Prefix>{_text(prefix, encoded)}</Prefix><MaxKeys>{page}</MaxKeys>"
    inner += f"<IsTruncated>{str(truncated).lower()}</IsTruncated>"
    if encoded:
        inner += "<EncodingType>url</EncodingType>"
    if truncated:
        inner += f"<NextKeyMarker>{_text(found[-1][0], encoded)}</NextKeyMarker>"
        inner += "<NextVersionIdMarker>null</NextVersionIdMarker>"
    inner += "".join(
        f"<Version><Key>{_text(key, encoded)}</Key><VersionId>null</VersionId><IsLatest>true</IsLatest>"
        f"<LastModified>{_time(entry.written_unix_s)}</LastModified><ETag>&quot;{entry.etag}&quot;</ETag>"
        f"<Size>{len(entry.body)}</Size>{_OWNER}<StorageClass>STANDARD</StorageClass></Version>"
        for key, entry in found
    )
    return xml("ListVersionsResult", inner)


def _page(
    objects: Replicas[Entry], prefix: str, after: str, page: int, lagging_at_s: float | None, now_s: float
) -> tuple[list[tuple[str, Entry]], bool]:
    """Up to `page` keys after one, and whether there are more; of a lagging replica if a moment for it is given."""
    found: list[tuple[str, Entry]] = []
    for key in objects.keys_from(max(prefix, after), now_s):
        if not key.startswith(prefix):
            break
        if after and key <= after:
            continue
        entry = objects.newest(key) if lagging_at_s is None else objects.lagging(key, lagging_at_s)
        if entry is None:
            continue
        if len(found) == page:
            return found, page > 0
        found.append((key, entry))
    return found, False


def _page_size(query: Mapping[str, str], name: str) -> int:
    text = query.get(name, str(_PAGE_MAX))
    if not (text.isascii() and text.isdigit() and len(text) <= 10):
        raise ServiceError(400, "InvalidArgument", f"Argument {name} must be an integer between 0 and 2147483647")
    return min(int(text), _PAGE_MAX)


def _token(key: str) -> str:
    return base64.urlsafe_b64encode(key.encode("utf-8", "surrogatepass")).decode()


def _parse_token(text: str) -> str:
    try:
        return base64.b64decode(text.encode("ascii"), b"-_", validate=True).decode()
    except (binascii.Error, ValueError):
        raise ServiceError(400, "InvalidArgument", "The continuation token provided is incorrect") from None


def _text(key: str, encoded: bool) -> str:
    return quote(key, safe="/-_.~") if encoded else html.escape(key)


def _time(unix_s: float) -> str:
    return datetime.fromtimestamp(unix_s, UTC).strftime("%Y-%m-%dT%H:%M:%S.000Z")
