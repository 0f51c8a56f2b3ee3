"""Converts errors of Azure's storage services, keeping the service's own code.

Codes: https://learn.microsoft.com/rest/api/storageservices/common-rest-api-error-codes and the lists of blobs, tables
and queues beside it.
"""

from cloudcmp import errors
from cloudcmp.model.untrusted_text import one_line
from cloudcmp.provider.azure import faults
from cloudcmp.provider.common.responses import CloudError, unclear_response

_CREDENTIALS = {
    "AccountIsDisabled": "the storage account is disabled",
    "AuthenticationFailed": "the account's name, its key or this machine's clock is wrong",
    "AuthorizationFailure": "the key is wrong, or the account's network rules refuse this machine",
    "InvalidAuthenticationInfo": "the token or the key is malformed, or of another tenant",
    "KeyBasedAuthenticationNotPermitted": "the account takes no keys: unset AZURE_STORAGE_KEY, and az login",
    "NoAuthenticationInformation": "no credentials were sent",
}
_DENIED = {"AuthorizationPermissionMismatch", "AuthorizationProtocolMismatch", "InsufficientAccountPermissions"}
_MISSING = {"ContainerNotFound", "QueueNotFound", "ResourceNotFound", "TableNotFound"}
_EXISTS = {"ContainerAlreadyExists", "QueueAlreadyExists", "TableAlreadyExists"}
BEING_DELETED = frozenset({"ContainerBeingDeleted", "QueueBeingDeleted", "TableBeingDeleted"})
"""Codes of a data set whose deletion was asked for before."""
_THROTTLED = {"ServerBusy", "TooManyRequests"}
_RENEW = "see AZURE_STORAGE_ACCOUNT, AZURE_STORAGE_KEY and AZURE_STORAGE_CONNECTION_STRING"


def fault_of(error: BaseException, where: str, *, changes: bool) -> errors.CloudcmpError:
    """Converts an error of a storage client. `changes`: the call creates or deletes something."""
    status = int(getattr(error, "status_code", None) or 0)
    code = getattr(error, "error_code", None)
    if not status or not code:
        return _without_code(error, where, changes=changes)
    name = one_line(str(getattr(code, "value", code)))
    cause = CloudError(name, one_line(_message(error)), status)
    return _fault(cause, where, changes=changes).because(_reason(cause))


def _without_code(error: BaseException, where: str, *, changes: bool) -> errors.CloudcmpError:
    if isinstance(error, ValueError):  # the clients check names and keys themselves, and quote what they refuse
        return errors.BadCredentials.at(where, f"the account cannot be used ({type(error).__name__})", _RENEW)
    return faults.fault_of(error, where, changes=changes)


def _message(error: BaseException) -> str:
    """The first line of a service's message; the request's id and the time follow on others."""
    return str(getattr(error, "message", "") or "").strip().partition("\n")[0].strip()


def _fault(cause: CloudError, where: str, *, changes: bool) -> errors.ProviderFault:
    if cause.code in _CREDENTIALS:
        return errors.BadCredentials.at(where, f"{cause.code}: {_CREDENTIALS[cause.code]}", _RENEW)
    if cause.code in _DENIED:
        return errors.NotAllowed.at(where, cause.line, faults.POLICY)
    if cause.code in _THROTTLED or cause.status == 429:
        return errors.Throttled.at(where, cause.line, "wait, and ask less often")
    if cause.status >= 500 or cause.status == 408:
        return unclear_response(f"{cause.line} (HTTP {cause.status})", where, changes=changes)
    return errors.Refused.at(where, cause.line, "change the request")


def _reason(cause: CloudError) -> errors.Refusal:
    kind = errors.RefusalKind.OTHER
    if cause.code in _MISSING:
        kind = errors.RefusalKind.MISSING
    elif cause.code in _EXISTS:
        kind = errors.RefusalKind.EXISTS
    elif cause.code in _DENIED:
        kind = errors.RefusalKind.DENIED
    return errors.Refusal(kind, cause.code, cause.text)
