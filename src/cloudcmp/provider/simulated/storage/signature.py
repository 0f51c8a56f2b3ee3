"""Verifies requests that are signed with AWS Signature Version 4 in their Authorization header.

The algorithm is the one of AWS's reference "Signature Version 4 signing process" in the IAM user guide.
"""

import hashlib
import hmac
import re
from calendar import timegm
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from time import strptime
from urllib.parse import quote, unquote_to_bytes

from cloudcmp.provider.simulated.storage.http_message import Head
from cloudcmp.provider.simulated.storage.truth import Key, StorageTruth

SKEW_MAX_S = 900.0
UNSIGNED = "UNSIGNED-PAYLOAD"
_ALGORITHM = "AWS4-HMAC-SHA256"
_AUTHORIZATION = re.compile(
    rf"{_ALGORITHM} +Credential=([^/,\s]+)/([0-9]{{8}})/([^/,\s]+)/([^/,\s]+)/aws4_request *, *"
    r"SignedHeaders=([a-z0-9\-;_.]+) *, *Signature=([0-9a-f]{64})"
)
_SPACES = re.compile(r" +")


class Refusal(Enum):
    """Why a request is not taken."""

    MISSING = "it is not signed"
    MALFORMED = "its Authorization header is malformed"
    UNKNOWN_KEY = "its access key is unknown"
    WRONG_TOKEN = "its session token is wrong or missing"  # noqa: S105 (no token)
    EXPIRED_TOKEN = "its session token has expired"  # noqa: S105 (no token)
    WRONG_REGION = "it is signed for another region"
    WRONG_SERVICE = "it is signed for another service"
    SKEWED = "its time differs too much from the service's"
    UNSIGNED_HEADERS = "it has headers that must be signed and are not"
    UNSUPPORTED_PAYLOAD = "its payload is signed in a way that the service does not know"
    WRONG_SIGNATURE = "its signature is not the one that its key gives"
    WRONG_PAYLOAD = "its body is not the one that was signed"


@dataclass(frozen=True, slots=True)
class _Signed:
    """The parts of an Authorization header."""

    access_key: str
    day: str
    region: str
    service: str
    headers: tuple[str, ...]
    signature: str


def verify(
    truth: StorageTruth, service: str, head: Head, body: bytes | None, clock: Callable[[], float]
) -> Refusal | None:
    """Why a request to `service` ("s3", "dynamodb", "sqs") is refused; None if it is well signed.

    `body` is None while it has not come: then everything else is verified. `clock` gives the service's Unix time.
    """
    if truth.anonymous and "authorization" not in head.headers:
        return None
    signed = _parse(head)
    if isinstance(signed, Refusal):
        return signed
    key = next((key for key in truth.keys if key.access_key == signed.access_key), None)
    if key is None:
        return Refusal.UNKNOWN_KEY
    refusal = _wrong_scope(truth, service, signed, head, clock()) or _wrong_token(key, head)
    return refusal or _wrong_signature(key, service, signed, head, body)


def _wrong_signature(key: Key, service: str, signed: _Signed, head: Head, body: bytes | None) -> Refusal | None:
    announced = head.headers.get("x-amz-content-sha256", "")
    if announced.startswith("STREAMING-"):
        return Refusal.UNSUPPORTED_PAYLOAD
    if body is None and not announced:
        return None  # the signature covers the body, which has not come yet
    digest = announced if body is None or announced == UNSIGNED else hashlib.sha256(body).hexdigest()
    payload = announced or digest
    expected = _signature(key, signed, _canonical_request(head, service, signed.headers, payload), head)
    if not hmac.compare_digest(expected, signed.signature):
        return Refusal.WRONG_SIGNATURE
    return None if payload == digest else Refusal.WRONG_PAYLOAD


def _parse(head: Head) -> "_Signed | Refusal":
    text = head.headers.get("authorization")
    if text is None:
        return Refusal.MISSING
    match = _AUTHORIZATION.fullmatch(text)
    if match is None:
        return Refusal.MALFORMED
    access_key, day, region, service, headers, signature = match.groups()
    return _Signed(access_key, day, region, service, tuple(headers.split(";")), signature)


def _wrong_scope(truth: StorageTruth, service: str, signed: _Signed, head: Head, now_s: float) -> Refusal | None:
    time = head.headers.get("x-amz-date", "")
    sent_s = _unix_s(time)
    if sent_s is None:
        return Refusal.MALFORMED
    if abs(now_s - sent_s) > SKEW_MAX_S:
        return Refusal.SKEWED
    if signed.region != truth.region:
        return Refusal.WRONG_REGION
    if signed.service != service:
        return Refusal.WRONG_SERVICE
    must = {"host", *(name for name in head.headers if name.startswith("x-amz-"))}
    if not must <= set(signed.headers):
        return Refusal.UNSIGNED_HEADERS
    return None if time.startswith(signed.day) else Refusal.WRONG_SIGNATURE


@lru_cache(maxsize=64)
def _unix_s(time: str) -> int | None:
    """The Unix time of a text like 20261126T043300Z; None if it is none. Many requests are signed in one second."""
    try:
        return timegm(strptime(time, "%Y%m%dT%H%M%SZ"))
    except (ValueError, OverflowError):
        return None


def _wrong_token(key: Key, head: Head) -> Refusal | None:
    if head.headers.get("x-amz-security-token", "") != key.session_token:
        return Refusal.WRONG_TOKEN
    return Refusal.EXPIRED_TOKEN if key.expired else None


def _canonical_request(head: Head, service: str, signed_headers: tuple[str, ...], payload: str) -> str:
    # S3 encodes a path once; the other services encode it again as it was sent.
    raw = unquote_to_bytes(head.path) if service == "s3" else head.path.encode("ascii")
    lines = [head.method, quote(raw, safe="/-_.~"), canonical_query(head.query)]
    lines += [f"{name}:{_SPACES.sub(' ', head.headers.get(name, '')).strip()}" for name in signed_headers]
    return "\n".join([*lines, "", ";".join(signed_headers), payload])


def canonical_query(query: str) -> str:
    """A query with each name and value encoded in one way, and sorted."""
    if not query:
        return ""
    pairs = (part.partition("=") for part in query.split("&") if part)
    encoded = sorted((_encoded(name), _encoded(value)) for name, _, value in pairs)
    return "&".join(f"{name}={value}" for name, value in encoded)


def _encoded(text: str) -> str:
    return quote(unquote_to_bytes(text), safe="-_.~")


def _signature(key: Key, signed: _Signed, canonical: str, head: Head) -> str:
    scope = f"{signed.day}/{signed.region}/{signed.service}/aws4_request"
    digest = hashlib.sha256(canonical.encode("latin-1", "replace")).hexdigest()
    text = "\n".join([_ALGORITHM, head.headers["x-amz-date"], scope, digest])
    secret = signing_key(key.secret_key, signed.day, signed.region, signed.service)
    return hmac.new(secret, text.encode(), hashlib.sha256).hexdigest()


@lru_cache(maxsize=64)
def signing_key(secret_key: str, day: str, region: str, service: str) -> bytes:
    """The key with which requests of one day, region and service are signed."""
    key = f"AWS4{secret_key}".encode()
    for part in (day, region, service, "aws4_request"):
        key = hmac.new(key, part.encode("utf-8", "replace"), hashlib.sha256).digest()
    return key
