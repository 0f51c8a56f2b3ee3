"""Answers of an emulated Azure: JSON, errors with their codes, lists in pages."""

import json
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

from tests.emulated.wire import Answer

_STATUS = {
    "AllocationFailed": 409,
    "AuthorizationFailed": 403,
    "ConflictingConcurrentWriteNotAllowed": 409,
    "ExpiredAuthenticationToken": 401,
    "InternalServerError": 500,
    "InvalidAuthenticationToken": 401,
    "InvalidResourceGroupLocation": 409,
    "MissingSubscriptionRegistration": 409,
    "NotFound": 404,
    "OperationNotAllowed": 409,
    "OverconstrainedAllocationRequest": 409,
    "ParentResourceNotFound": 404,
    "PreconditionFailed": 412,
    "PropertyChangeNotAllowed": 409,
    "QuotaExceeded": 409,
    "ResourceGroupBeingDeleted": 409,
    "ResourceGroupNotFound": 404,
    "ResourceNotFound": 404,
    "ServiceUnavailable": 503,
    "SkuNotAvailable": 409,
    "SubscriptionNotFound": 404,
    "SubscriptionRequestsThrottled": 429,
    "TooManyRequests": 429,
    "ZonalAllocationFailed": 409,
}


def said(body: Any, status: int = 200, **headers: str) -> Answer:
    """A body as JSON."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Answer(status, json.dumps(body).encode(), {"Content-Type": "application/json", **named})


def error(code: str, text: str, status: int | None = None, wait_s: int = 0) -> Answer:
    """An error as the Resource Manager tells it; requests that came too often are told when to come again."""
    which = status or _STATUS.get(code, 400)
    again = {"Retry_After": str(wait_s)} if which == 429 else {}
    return said({"error": {"code": code, "message": text}}, which, **again)


def code_in(answer: Answer) -> str:
    """The code of an error, the status of anything else."""
    if answer.status < 400:
        return str(answer.status)
    try:
        return str(json.loads(answer.body)["error"]["code"])
    except (ValueError, KeyError, TypeError):
        return str(answer.status)


def paged(
    items: Sequence[Mapping[str, Any]], base: str, path: str, query: Mapping[str, str], page: int | None
) -> Answer:
    """A list, from the `$skiptoken` on, at most so many at once."""
    token = query.get("$skiptoken", "0-end")
    if not token.endswith("-end"):
        return error("InvalidSkipToken", f"The skip token {token!r} is invalid.")
    first = int(token.removesuffix("-end"))
    body: dict[str, Any] = {"value": list(items[first : first + page] if page else items[first:])}
    if page and first + page < len(items):
        more = {**query, "$skiptoken": f"{first + page}-end"}
        body["nextLink"] = f"{base}{path}?{urlencode(more)}"
    return said(body)
