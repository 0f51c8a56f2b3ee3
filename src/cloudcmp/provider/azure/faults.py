"""Converts errors of Azure's Resource Manager or of the connection, keeping Azure's own code.

Codes: https://learn.microsoft.com/azure/azure-resource-manager/troubleshooting/common-deployment-errors and
https://learn.microsoft.com/troubleshoot/azure/virtual-machines/windows/allocation-failure
"""

from collections.abc import Mapping
from typing import Any

from cloudcmp import errors
from cloudcmp.model.untrusted_text import one_line
from cloudcmp.provider.common.responses import SEARCH_NOTICE, CloudError, lost_response, tls_fault, unclear_response

_CAPACITY = {
    "AllocationFailed",
    "OverconstrainedAllocationRequest",
    "OverconstrainedZonalAllocationRequest",
    "SkuNotAvailable",
    "SpotPriceGreaterThanProvidedMaxPrice",
    "ZonalAllocationFailed",
}
_QUOTA = ("LimitReached", "QuotaExceeded")  # suffixes: addresses alone have PublicIPCountLimitReached and others
_DENIED = {"AuthorizationFailed", "LinkedAuthorizationFailed", "RequestDisallowedByPolicy", "ScopeLocked"}
_THROTTLED = {"OperationNotAllowedOnThrottledResource", "SubscriptionRequestsThrottled", "TooManyRequests"}
_CREDENTIALS = {
    "AuthenticationFailed": "they are not accepted",
    "ExpiredAuthenticationToken": "the token has expired, or this machine's clock is wrong",
    "InvalidAuthenticationToken": "the token is not accepted",
    "InvalidAuthenticationTokenTenant": "the token is of another tenant than the subscription",
    "InvalidSubscriptionId": "AZURE_SUBSCRIPTION_ID is no subscription's id",
    "SubscriptionNotFound": "there is no such subscription, or it may not be seen with these credentials",
}
# The resource exists or is being changed: look for the result, and never repeat the request.
_DONE_BEFORE = {"ConflictingConcurrentWriteNotAllowed", "PreconditionFailed", "PropertyChangeNotAllowed"}
_MISSING = {"NotFound", "ParentResourceNotFound", "ResourceGroupNotFound", "ResourceNotFound"}
_TRUNCATED_LIST = {"BadSkipToken", "InvalidSkipToken"}
_UNREACHED = {"ConnectTimeout", "ConnectTimeoutError", "NameResolutionError", "NewConnectionError"}
_UNSENT_TEXT = "Bearer token authentication is not permitted for non-TLS"

UNREGISTERED = "MissingSubscriptionRegistration"
"""The subscription was never used for a service, which must be registered for it once.

https://learn.microsoft.com/azure/azure-resource-manager/troubleshooting/error-register-resource-provider
"""
POLICY = "give the user the role of docs/reference/azure-policy.json"
RENEW = "renew them (az login, or a new client secret), then run again"
_LOGIN_HINT = "az login, or set AZURE_TENANT_ID, AZURE_CLIENT_ID and AZURE_CLIENT_SECRET"
_REGISTER_HINT = "az provider register --namespace Microsoft.Compute, and the same for Microsoft.Network"
_QUOTA_HINT = "ask for a higher quota (Azure portal, Quotas), or run fewer at once"


def error_in(body: Any, status: int = 0) -> CloudError | None:
    """The error in a response body, with the innermost known code."""
    cause = body.get("error", body) if isinstance(body, Mapping) else None
    if not isinstance(cause, Mapping) or not cause.get("code"):
        return None
    for inner in cause.get("details") or ():
        error = error_in(inner, status)
        if error is not None and _is_specific(error):
            return error
    return CloudError(one_line(str(cause["code"])), one_line(str(cause.get("message", ""))), status)


def is_missing(fault: errors.ProviderFault) -> bool:
    """True if a refusal says that the resource does not exist."""
    return isinstance(fault, errors.Refused) and fault.is_refusal(errors.RefusalKind.MISSING)


def code_of(fault: errors.ProviderFault) -> str:
    """The provider's own code in a fault."""
    return fault.reason.code if fault.reason else ""


def refusal(cause: CloudError, where: str) -> errors.ProviderFault | None:
    """The fault for an error after which surely nothing was done, None for other codes."""
    if cause.code in _CREDENTIALS:
        return errors.BadCredentials.at(where, f"{cause.code}: {_CREDENTIALS[cause.code]}", RENEW)
    kinds: tuple[tuple[bool, type[errors.ProviderFault], str], ...] = (
        (cause.code in _CAPACITY, errors.NoCapacity, "try later, another size or another region"),
        (_is_quota(cause), errors.QuotaReached, _QUOTA_HINT),
        (cause.code in _THROTTLED or cause.status == 429, errors.Throttled, "wait, and ask less often"),
        (cause.code == UNREGISTERED, errors.NotAllowed, _REGISTER_HINT),
        (cause.code in _DENIED or cause.status == 403, errors.NotAllowed, POLICY),
        (cause.code in _DONE_BEFORE or cause.status == 412, errors.LostAnswer, SEARCH_NOTICE),
        (cause.code in _TRUNCATED_LIST, errors.IncompleteListing, "ask again"),
    )
    return next((kind.at(where, cause.line, hint).because(reason_of(cause)) for hit, kind, hint in kinds if hit), None)


def reason_of(cause: CloudError) -> errors.Refusal:
    """The meaning of an error, if the driver acts on it."""
    return errors.Refusal(
        errors.RefusalKind.MISSING if cause.code in _MISSING else errors.RefusalKind.OTHER, cause.code, cause.text
    )


def _is_quota(cause: CloudError) -> bool:
    """True for a quota error; Azure reports core quotas as OperationNotAllowed with the quota in the text."""
    in_text = cause.code in {"OperationNotAllowed", "Conflict"} and "quota" in cause.text.lower()
    return in_text or cause.code.endswith(_QUOTA)


def _is_specific(cause: CloudError) -> bool:
    return cause.code in _CAPACITY | _DENIED or _is_quota(cause)


def fault_of(error: BaseException, where: str, *, changes: bool) -> errors.CloudcmpError:
    """Converts an azure-core error, by class name. `changes`: the call creates or deletes something."""
    names = [kind.__name__ for kind in type(error).__mro__]
    status = int(getattr(error, "status_code", None) or 0)
    if "ClientAuthenticationError" in names and not _from_resource_manager(error):
        return _login_fault(error, names[0], where)
    if status:
        return _response_fault(error, status, where, changes=changes)
    return _transport_fault(error, names, where, changes=changes)


def _from_resource_manager(error: BaseException) -> bool:
    """True if the Resource Manager refused the authentication, not the login service."""
    return error_in(_body(error)) is not None and "authentication failed" not in str(error).lower()[:40]


def _login_fault(error: BaseException, name: str, where: str) -> errors.ProviderFault:
    """Why there is no token. azure-identity reports it in words only, even if its server is unreachable."""
    _, failed, why = str(error).partition("Authentication failed: ")
    if name == "CredentialUnavailableError" or not failed:
        return errors.NoCredentials.at(where, "there are no credentials", _LOGIN_HINT)
    if "AADSTS" in why:
        code = why[why.find("AADSTS") :].partition(":")[0]
        return errors.BadCredentials.at(where, f"the credentials are not accepted ({one_line(code)})", RENEW)
    if "authority configuration" in why:
        return errors.BadCredentials.at(where, "the credentials are not accepted (there is no such tenant)", RENEW)
    if "CERTIFICATE_VERIFY_FAILED" in why:
        return tls_fault(error, where)
    what = f"no token can be had, the login cannot be reached ({one_line(why)[:80]})"
    return errors.Unreached.at(where, what, "check the network, and AZURE_AUTHORITY_HOST")


def _body(error: BaseException) -> Any:
    response: Any = getattr(error, "response", None)
    try:
        return response.json()
    except Exception:  # an unreadable body has no code
        return None


def _response_fault(error: BaseException, status: int, where: str, *, changes: bool) -> errors.ProviderFault:
    """The fault of a response whose status is no success."""
    cloud_error = error_in(_body(error), status)
    cause = cloud_error or CloudError(f"HTTP {status}", "", status)
    fault = refusal(cause, where)
    if fault is not None:
        return fault
    if status >= 500 or status == 408:
        line = f"{cause.line} (HTTP {status})"
        return unclear_response(line, where, changes=changes)
    if status == 401:
        return errors.BadCredentials.at(where, cause.line, RENEW)
    if cloud_error is not None and status == 404 and cause.code not in _MISSING:
        cause = CloudError("NotFound", cause.line, status)
    # An unreadable success, or a 404 that is not from the Resource Manager.
    if status < 400 or (status == 404 and cloud_error is None):
        return lost_response(f"HTTP {status}", where, changes=changes)
    return errors.Refused.at(where, cause.line, "change the request").because(reason_of(cause))


def _transport_fault(error: BaseException, names: list[str], where: str, *, changes: bool) -> errors.CloudcmpError:
    kinds = set(_error_names(error))
    if _UNSENT_TEXT in str(error):
        return errors.Refused.at(where, "the endpoint is not https", "write https:// in CLOUDCMP_AZURE_ENDPOINT")
    if "SSLError" in kinds or "SSLCertVerificationError" in kinds:
        return tls_fault(error, where)
    if kinds & _UNREACHED and "ServiceResponseError" not in names:
        return errors.Unreached.at(where, f"it cannot be reached ({names[0]})", "check the network and the endpoint")
    return lost_response(names[0], where, changes=changes)


def _error_names(error: BaseException, depth: int = 6) -> list[str]:
    """The class names of an error and of the errors that it wraps."""
    names = [type(error).__name__]
    if depth:
        inner = [error.__cause__, getattr(error, "inner_exception", None), getattr(error, "reason", None), *error.args]
        for one in inner:
            if isinstance(one, BaseException) and one is not error:
                names += _error_names(one, depth - 1)
    return names
