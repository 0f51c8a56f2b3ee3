"""Converts errors of a long-tail cloud, of apache-libcloud or of the connection, keeping the cloud's own words.

These clouds have few codes or none, so the meaning comes from the HTTP status and the words of the message.
"""

import re
from collections.abc import Callable
from typing import Any

from cloudcmp import errors
from cloudcmp.model.untrusted_text import one_line
from cloudcmp.provider.common.responses import SEARCH_NOTICE, CloudError, lost_response, tls_fault, unclear_response

RENEW = "make a new token, then run again"
_UNSENT = {"NewConnectionError", "NameResolutionError", "ConnectTimeoutError", "ConnectTimeout", "gaierror"}
_UNSENDABLE = {"InvalidURL", "InvalidSchema", "MissingSchema", "InvalidHeader", "LocationParseError", "UnicodeError"}
# These words are recalled (R): the clouds' error documentation lacks them.
_QUOTA = re.compile(
    r"exceed your .*limit|account limit|limit[_ ](?:is |was )?(?:reached|exceeded)|maximum (?:number|monthly)", re.I
)
_CAPACITY = re.compile(
    r"at capacity|out of capacity|insufficient capacity|sold out|out of stock|temporarily unavailable|"
    r"not (?:currently )?available in (?:the |this )?(?:selected )?region",
    re.I,
)
# Names distinguish attempts, so the resource with this name is from an earlier request.
_DUPLICATE = re.compile(r"label must be unique|duplicate name", re.I)
_SCOPE = re.compile(r"not authorized to use this endpoint|unauthorized ip|insufficient scope", re.I)
_EXISTS = re.compile(r"already|duplicate", re.I)
_MISSING = 404


def is_missing(fault: errors.ProviderFault) -> bool:
    """True if a refusal says that the resource does not exist."""
    return fault.is_refusal(errors.RefusalKind.MISSING)


def words_of(body: Any) -> str:
    """The error message in a JSON response, in any of these clouds' forms."""
    if not isinstance(body, dict):
        return ""
    if isinstance(body.get("error"), dict):
        return words_of(body["error"])
    listed = body.get("errors")
    if isinstance(listed, list):
        entries = [one for one in listed if isinstance(one, dict)]
        return one_line("; ".join(f"{one.get('field', '')} {one.get('reason', '')}".strip() for one in entries))
    words = (body.get(key) for key in ("id", "code", "error_code", "error", "error_message", "message"))
    return one_line(" ".join(word for word in words if isinstance(word, str)))


def fault_of(error: BaseException, where: str, *, changes: bool, policy: str) -> errors.CloudcmpError:
    """Converts an error of libcloud or of the connection.

    `changes`: the call creates or deletes something, so a lost response matters. `policy` is the hint for a missing
    right.
    """
    if isinstance(error, errors.CloudcmpError):
        return error
    code = getattr(error, "code", None)  # libcloud's BaseHTTPError, without importing it
    if isinstance(code, int):
        cause = CloudError(f"HTTP {code}", one_line(str(getattr(error, "message", ""))), code)
        fault = _refusal(cause, where, policy) or unclear_response(cause.line, where, changes=changes)
        known = errors.RefusalKind.EXISTS if _EXISTS.search(cause.text) else errors.RefusalKind.OTHER
        return fault.because(
            errors.Refusal(errors.RefusalKind.MISSING if code == _MISSING else known, cause.code, cause.text)
        )
    return _transport_fault(error, where, changes=changes)


def _refusal(cause: CloudError, where: str, policy: str) -> errors.ProviderFault | None:
    """The fault for an error after which surely nothing was done, None for other responses."""
    if (cause.status == 403 and not _QUOTA.search(cause.text)) or (cause.status == 401 and _SCOPE.search(cause.text)):
        return errors.NotAllowed.at(where, cause.line, policy)
    if cause.status == 401:
        return errors.BadCredentials.at(where, "HTTP 401: the token is not accepted", RENEW)
    if not 400 <= cause.status < 500 or cause.status == 408:
        return None
    kind, hint = next(
        ((kind, hint) for fits, kind, hint in _KINDS if fits(cause)), (errors.Refused, "change the request")
    )
    return kind.at(where, cause.line, hint)


_KINDS: tuple[tuple[Callable[[CloudError], Any], type[errors.ProviderFault], str], ...] = (
    (lambda cause: cause.status == 429, errors.Throttled, "wait, and ask less often"),
    (
        lambda cause: _QUOTA.search(cause.text),
        errors.QuotaReached,
        "ask the provider for a higher limit, or run fewer at once",
    ),
    (lambda cause: _CAPACITY.search(cause.text), errors.NoCapacity, "try later, another type or another region"),
    # A name that is taken may be that of an earlier request whose response was lost.
    (lambda cause: cause.status == 409 or _DUPLICATE.search(cause.text), errors.LostAnswer, SEARCH_NOTICE),
)


def _transport_fault(error: BaseException, where: str, *, changes: bool) -> errors.CloudcmpError:
    """The fault for a missing response. Compares class names, so that libcloud and requests stay unimported."""
    kinds = _class_names(error)
    name = type(error).__name__
    # A proxy that drops the connection after the request raises the same error as an unreachable one.
    if kinds & _UNSENT and not (changes and "ProxyError" in kinds):
        return errors.Unreached.at(where, f"it cannot be reached ({name})", "check the network and the endpoint")
    if "SSLError" in kinds:
        return tls_fault(error, where)
    if kinds & _UNSENDABLE:
        return errors.Refused.at(
            where, f"the request cannot be made ({name})", "check the token and the names in the study"
        )
    return lost_response(name, where, changes=changes)


def _class_names(error: BaseException) -> set[str]:
    """The class names of an error, of their base classes, and of all wrapped errors."""
    names: set[str] = set()
    pending: list[Any] = [error]
    while pending and len(names) < 200:
        one = pending.pop()
        if not isinstance(one, BaseException):
            continue
        own = {kind.__name__ for kind in type(one).__mro__}
        if own <= names:
            continue
        names |= own
        pending += [*one.args, getattr(one, "reason", None), one.__cause__]
    return names
