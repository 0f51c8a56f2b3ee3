"""Converts errors of Compute Engine or of the connection, keeping Google's own code.

Errors: https://cloud.google.com/compute/docs/reference/rest/v1/errors and, of operations,
https://cloud.google.com/compute/docs/troubleshooting/troubleshooting-vm-creation
"""

import os
import re
from collections.abc import Set
from typing import Any

from cloudcmp import errors
from cloudcmp.model.untrusted_text import one_line
from cloudcmp.provider.common.responses import SEARCH_NOTICE, CloudError, lost_response, tls_fault, unclear_response

_CAPACITY = {
    "RESOURCE_POOL_EXHAUSTED",
    "ZONE_RESOURCE_POOL_EXHAUSTED",
    "ZONE_RESOURCE_POOL_EXHAUSTED_WITH_DETAILS",
    "resourcePoolExhausted",
    "stockout",
}
_QUOTA = {"QUOTA_EXCEEDED", "LIMIT_EXCEEDED", "limitExceeded", "quotaExceeded"}
_THROTTLED = {
    "RATE_LIMIT_EXCEEDED",
    "RESOURCE_OPERATION_RATE_EXCEEDED",
    "rateLimitExceeded",
    "resourceOperationRateExceeded",
    "userRateLimitExceeded",
}
_API_DISABLED = {"accessNotConfigured", "SERVICE_DISABLED", "billingNotEnabled", "BILLING_DISABLED"}
DENIED = frozenset(
    {"forbidden", "insufficientPermissions", "PERMISSIONS_ERROR", "PERMISSION_DENIED", "IAM_PERMISSION_DENIED"}
)
"""Codes for a missing right."""
# A duplicate name was created by this same request, since names distinguish attempts, or by somebody else.
_REASONS = dict.fromkeys(("alreadyExists", "RESOURCE_ALREADY_EXISTS"), errors.RefusalKind.EXISTS)
_REASONS |= dict.fromkeys(("notFound", "RESOURCE_NOT_FOUND"), errors.RefusalKind.MISSING)

RENEW = "renew them (gcloud auth application-default login, or a new key), then run again"
POLICY = "give the account the role of docs/reference/gcp-policy.json"
_CREDENTIALS_HINT = "set GOOGLE_APPLICATION_CREDENTIALS, or run gcloud auth application-default login"
_ENABLE_HINT = "enable the Compute Engine API and billing of the project"
_REQUEST = re.compile(r"[A-Z]+ \S+: ")
_FAULTS: tuple[tuple[Set[str], type[errors.ProviderFault], str], ...] = (
    (_CAPACITY, errors.NoCapacity, "try later, another type, another zone or another region"),
    (_QUOTA, errors.QuotaReached, "ask for a higher quota (IAM & Admin, Quotas), or run fewer at once"),
    (_THROTTLED, errors.Throttled, "wait, and ask less often"),
    (_API_DISABLED, errors.NotAllowed, _ENABLE_HINT),
    (DENIED, errors.NotAllowed, POLICY),
)


def cloud_error(error: BaseException) -> CloudError | None:
    """The cloud's error inside a client error, None if there was no response."""
    status: Any = getattr(error, "code", None)
    if not hasattr(error, "errors") or not isinstance(status, int):
        return None
    cause = [one for one in getattr(error, "errors", ()) or () if isinstance(one, dict)]
    reason = str(cause[0].get("reason") or "") if cause else ""
    # The client's text begins with the method and the URL, which contain the requested names.
    text = str(cause[0].get("message") or "") if cause else _REQUEST.sub("", str(getattr(error, "message", "") or ""))
    # Some responses report missing capacity only by the code in the text.
    known = next((code for code in sorted(_CAPACITY, key=len, reverse=True) if code in text), "")
    return CloudError(one_line(known or reason or f"HTTP {int(status)}"), one_line(text), int(status))


def fault_of(error: BaseException, where: str, *, changes: bool) -> errors.CloudcmpError:
    """Converts a client error. `changes`: the call creates or deletes something, so a lost response matters."""
    cause = cloud_error(error)
    if cause is None:
        return _transport_fault(error, where, changes=changes)
    kind = _REASONS.get(cause.code, errors.RefusalKind.OTHER)
    reason = errors.Refusal(kind, cause.code, cause.text)
    return (_refusal(cause, where) or _other_fault(cause, where, changes=changes)).because(reason)


def operation_fault(operation: Any, where: str) -> errors.ProviderFault | None:
    """The fault of a finished operation, None if it succeeded; the base fault for Google's internal errors."""
    causes = list(operation.error.errors) if operation.error else []
    status = int(operation.http_error_status_code or 0)
    if not causes and status < 400:
        return None
    code = str(causes[0].code or "") if causes else ""
    text = str(causes[0].message or "") if causes else str(operation.http_error_message or "")
    cause = CloudError(one_line(code or f"HTTP {status}"), one_line(text), status)
    refusal = _refusal(cause, where)
    if refusal is not None:
        return refusal
    if status >= 500 or "INTERNAL" in cause.code or not status:
        return errors.ProviderFault.at(where, f"the operation failed: {cause.line}", SEARCH_NOTICE)
    return errors.Refused.at(where, cause.line, "change the request")


def _refusal(cause: CloudError, where: str) -> errors.ProviderFault | None:
    """The fault for an error after which surely nothing was done, None for other errors."""
    for codes, kind, hint in _FAULTS:
        if cause.code in codes:
            return kind.at(where, cause.line, hint)
    if cause.status == 401:
        return errors.BadCredentials.at(where, f"{cause.code}: the credentials are not accepted", RENEW)
    if cause.status == 429:
        return errors.Throttled.at(where, cause.line, "wait, and ask less often")
    if cause.status == 403:
        return errors.NotAllowed.at(where, cause.line, POLICY)
    return None


def _other_fault(cause: CloudError, where: str, *, changes: bool) -> errors.ProviderFault:
    if cause.status >= 500 or cause.status < 400:
        line = cause.line if cause.code.startswith("HTTP") else f"{cause.line} (HTTP {cause.status})"
        return unclear_response(line, where, changes=changes)
    return errors.Refused.at(where, cause.line, "change the request")


def _transport_fault(error: BaseException, where: str, *, changes: bool) -> errors.CloudcmpError:
    """The fault for a missing or unreadable response. Compares class names, so that the client stays unimported."""
    kinds = [one.__name__ for one in type(error).__mro__]
    kind = kinds[0]
    if "DefaultCredentialsError" in kinds:
        variable = os.environ.get("GOOGLE_APPLICATION_CREDENTIALS")
        unusable = errors.BadCredentials.at(where, "the file of GOOGLE_APPLICATION_CREDENTIALS cannot be used", RENEW)
        return unusable if variable else errors.NoCredentials.at(where, "there are no credentials", _CREDENTIALS_HINT)
    if "RefreshError" in kinds and not getattr(error, "retryable", False):
        return errors.BadCredentials.at(where, f"the credentials give no token: {_token_error(error)}", RENEW)
    # Without a token or a connection nothing was sent.
    unsent = "GoogleAuthError" in kinds or _is_unsent(error, kinds)
    if "SSLError" in kinds:
        return tls_fault(error, where)
    if unsent:
        return errors.Unreached.at(
            where, f"it cannot be reached ({kind})", "check the network and CLOUDCMP_GCP_ENDPOINT"
        )
    if kind in {"TypeError", "ValueError"}:
        return errors.Refused.at(where, f"the request cannot be made ({kind})", "check the names in the study")
    return lost_response(kind, where, changes=changes)


def _is_unsent(error: BaseException, kinds: list[str]) -> bool:
    """True if no connection came about, so that no byte of a request was sent."""
    if "ConnectTimeout" in kinds:
        return True
    cause = getattr(error.args[0], "reason", None) if "ConnectionError" in kinds and error.args else None
    names = [one.__name__ for one in type(cause).__mro__]
    return bool({"NewConnectionError", "NameResolutionError", "ConnectTimeoutError"} & set(names))


def _token_error(error: BaseException) -> str:
    """Why the token server refused: its short code, never its whole response."""
    for part in error.args:
        if isinstance(part, dict) and part.get("error"):
            return one_line(str(part["error"]))
        if isinstance(part, str) and ":" in part:
            return one_line(part.partition(":")[0])
    return type(error).__name__
