"""Converts errors of an EC2 API or of the connection, keeping the provider's own code.

Codes: https://docs.aws.amazon.com/AWSEC2/latest/APIReference/errors-overview.html
"""

from collections.abc import Mapping, Set
from typing import Any
from urllib.parse import urlsplit

from cloudcmp import errors
from cloudcmp.model.untrusted_text import one_line
from cloudcmp.provider.common.responses import SEARCH_NOTICE, CloudError, lost_response, unclear_response

_CAPACITY = {
    "InsufficientAddressCapacity",
    "InsufficientCapacity",
    "InsufficientHostCapacity",
    "InsufficientInstanceCapacity",
    "InsufficientReservedInstanceCapacity",
    "InsufficientVolumeCapacity",
    "SpotMaxPriceTooLow",
    "UnfulfillableCapacity",
}
_CREDENTIAL_ERRORS = {"CredentialRetrievalError", "PartialCredentialsError", "ProfileNotFound"}
_UNREACHED = {"EndpointConnectionError", "ConnectTimeoutError"}
_PROXY_ERROR = "ProxyConnectionError"
CREDENTIALS_HINT = "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE"
_CREDENTIALS = {
    "AuthFailure": "the key or its secret is wrong",
    "ExpiredToken": "the credentials have expired",
    "ExpiredTokenException": "the credentials have expired",
    "IncompleteSignature": "the key or its secret is malformed",
    "InvalidAccessKeyId": "there is no such access key",
    "InvalidClientTokenId": "there is no such access key",
    "MissingAuthenticationToken": "no credentials were sent",
    "InvalidToken": "the session token is wrong",
    "RequestTimeTooSkewed": "this machine's clock is wrong",
    "RequestExpired": "the credentials have expired, or this machine's clock is wrong",
    "SignatureDoesNotMatch": "the secret is wrong, or this machine's clock",
    "UnrecognizedClientException": "there is no such access key",
}
_THROTTLED = {
    "BandwidthLimitExceeded",
    "EC2ThrottledException",
    "PriorRequestNotComplete",
    "RequestLimitExceeded",
    "RequestThrottled",
    "RequestThrottledException",
    "SlowDown",
    "Throttling",
    "ThrottlingException",
    "TooManyRequestsException",
}
DENIED = frozenset({"AccessDenied", "AccessDeniedException", "UnauthorizedOperation"})
"""Codes for a missing right."""
# The request arrived before, in this form or another: look for its result, and never repeat it.
_DONE_BEFORE = {"IdempotentParameterMismatch", "InvalidGroup.Duplicate"}
_TRUNCATED_LIST = {"InvalidNextToken", "InvalidPaginationToken"}

_UNKNOWN_TYPE_TEXT = "Invalid instance type"
_REASONS = (
    (("InvalidAction", "UnsupportedOperation"), errors.RefusalKind.UNKNOWN_ACTION),
    (("UnknownParameter", "InvalidParameterCombination"), errors.RefusalKind.UNKNOWN_PARAMETER),
    ("InvalidInstanceType", errors.RefusalKind.UNKNOWN_OFFERING),
    ("InvalidPermission.Duplicate", errors.RefusalKind.EXISTS),
    (("BucketAlreadyOwnedByYou", "ResourceInUseException", "QueueNameExists"), errors.RefusalKind.EXISTS),
    (("NoSuchBucket", "NoSuchTagSet", "ResourceNotFoundException", "404"), errors.RefusalKind.MISSING),
    (("AWS.SimpleQueueService.NonExistentQueue", "QueueDoesNotExist"), errors.RefusalKind.MISSING),
    (("NotImplemented", "MethodNotAllowed", "XNotImplemented"), errors.RefusalKind.UNKNOWN_ACTION),
    ("DryRunOperation", errors.RefusalKind.ALLOWED),
    (("InvalidGroup.NotFound", "InvalidInstanceID.NotFound"), errors.RefusalKind.MISSING),
    (("InvalidPlacementGroup.Unknown", "InvalidVolume.NotFound"), errors.RefusalKind.MISSING),
)
"""Prefixes of codes, and their meaning for the driver."""
RENEW = "renew them (aws sso login, or new keys), then run again"
POLICY = "give the user the policy of docs/reference/aws-policy.json"
_FAULTS: tuple[tuple[Set[str], type[errors.ProviderFault], str], ...] = (
    (_CAPACITY, errors.NoCapacity, "try later, another type or another region"),
    (_THROTTLED, errors.Throttled, "wait, and ask less often"),
    (DENIED, errors.NotAllowed, POLICY),
    (_DONE_BEFORE, errors.LostAnswer, SEARCH_NOTICE),
)


def cloud_error(error: BaseException) -> CloudError | None:
    """The cloud's error inside a botocore error, None if there was no response."""
    response: Any = getattr(error, "response", None)
    if not isinstance(response, dict) or "Error" not in response:
        return None
    cause = response["Error"]
    status = response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
    return CloudError(
        one_line(str(cause.get("Code", "unknown"))), one_line(_without_blob(str(cause.get("Message", "")))), int(status)
    )


def _without_blob(text: str) -> str:
    """The message without the encoded blob at its end."""
    return text.partition("Encoded authorization failure message")[0]


def fault_of(error: BaseException, where: str, *, changes: bool) -> errors.CloudcmpError:
    """Converts a botocore error. `changes`: the call creates or deletes something, so a lost response matters."""
    cause = cloud_error(error)
    if cause is None:
        return _transport_fault(error, where, changes=changes)
    return (_refusal(cause, where) or _other_fault(cause, where, changes=changes)).because(reason_of(cause))


def reason_of(cause: CloudError) -> errors.Refusal:
    """The meaning of an error, if the driver acts on it."""
    if cause.code == "InvalidParameterValue" and cause.text.startswith(_UNKNOWN_TYPE_TEXT):
        return errors.Refusal(errors.RefusalKind.UNKNOWN_OFFERING, cause.code, cause.text)
    kind = next((kind for begins, kind in _REASONS if cause.code.startswith(begins)), errors.RefusalKind.OTHER)
    return errors.Refusal(errors.RefusalKind.DENIED if cause.code in DENIED else kind, cause.code, cause.text)


def _refusal(cause: CloudError, where: str) -> errors.ProviderFault | None:
    """The fault for an error after which surely nothing was done, None for other errors."""
    for codes, kind, hint in _FAULTS:
        if cause.code in codes:
            return kind.at(where, cause.line, hint)
    if cause.code.endswith("LimitExceeded") or cause.code in {
        "MaxSpotInstanceCountExceeded",
        "ResourceCountExceeded",
        "TooManyBuckets",
    }:
        return errors.QuotaReached.at(
            where, cause.line, "ask for a higher quota (Service Quotas), or run fewer at once"
        )
    if cause.code in _CREDENTIALS and "Not authorized for" not in cause.text:
        return errors.BadCredentials.at(where, f"{cause.code}: {_CREDENTIALS[cause.code]}", RENEW)
    return None


def _other_fault(cause: CloudError, where: str, *, changes: bool) -> errors.ProviderFault:
    if cause.code in _TRUNCATED_LIST:
        return errors.IncompleteListing.at(where, cause.line, "ask again")
    if cause.status >= 500 and cause.status != 501:  # not implemented: surely nothing was done
        line = f"{cause.line} (HTTP {cause.status})"
        return unclear_response(line, where, changes=changes)
    return errors.Refused.at(where, cause.line, "change the request")


def _transport_fault(error: BaseException, where: str, *, changes: bool) -> errors.CloudcmpError:
    """The fault for a missing or unreadable response. Compares class names, so that botocore stays unimported."""
    kind = type(error).__name__
    if kind == "NoCredentialsError":
        return errors.NoCredentials.at(where, "there are no credentials", CREDENTIALS_HINT)
    if kind == "ConfigParseError":
        return errors.BadCredentials.at(
            where, _unreadable_settings(error), "mend that file, or name another: AWS_SHARED_CREDENTIALS_FILE"
        )
    if "Token" in kind or "SSO" in kind or kind in _CREDENTIAL_ERRORS:
        return errors.BadCredentials.at(where, f"the credentials cannot be had ({kind})", RENEW)
    # A proxy that drops the connection after the request raises the same error as an unreachable one.
    unsent = kind in _UNREACHED or (kind == _PROXY_ERROR and not changes)
    if unsent or kind == "SSLError":
        silent = errors.Unreached if unsent else errors.ProviderFault
        host = urlsplit(str(getattr(error, "kwargs", {}).get("endpoint_url") or "")).hostname
        what = f"{host or 'it'} cannot be reached ({kind})"
        return silent.at(where, what, "check the network and the region's name")
    if kind in {"ParamValidationError", "InvalidRegionError", "UnknownEndpointError", "NoRegionError"}:
        return errors.Refused.at(where, f"the request cannot be made ({kind})", "check the names in the study")
    return lost_response(kind, where, changes=changes)


def _unreadable_settings(error: BaseException) -> str:
    """Which settings file cannot be read, and at which line; never the line's text, which may be a secret."""
    details: Mapping[str, Any] = getattr(error, "kwargs", {})
    cause = details.get("error")
    line = getattr(cause, "lineno", None) or next((line for line, _ in getattr(cause, "errors", ())), None)
    place = f"{details.get('path', 'a settings file')}{f', line {line}' if line else ''}"
    return f"{one_line(place)} cannot be read as AWS settings ({type(cause).__name__})"
