"""Converts errors of OpenStack's services or of the connection, keeping the service's own words.

Codes and the form of errors: https://docs.openstack.org/api-guide/compute/faults.html,
https://docs.openstack.org/api-ref/network/v2/, https://docs.openstack.org/api-ref/identity/v3/
"""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from cloudcmp import errors
from cloudcmp.model.untrusted_text import one_line
from cloudcmp.provider.common.responses import lost_response, tls_fault, unclear_response

POLICY = "give the user the role member, or access rules as in docs/reference/openstack-policy.json"
RENEW = "renew them, then run again"
MISSING = 404
SET = "set OS_CLOUD and write clouds.yaml, or set OS_AUTH_URL, OS_USERNAME, OS_PASSWORD, OS_PROJECT_NAME and domains"
_QUOTA = re.compile(r"quota|LimitExceeded|OverQuota|exceeds the allowed|maximum number of", re.IGNORECASE)
_CAPACITY = re.compile(
    r"No valid host|Exceeded max(imum)? (scheduling attempts|number of retries)|No more IP addresses|"
    r"IpAddressGenerationFailure|ExternalIpAddressExhausted|not enough (hosts|resources)|Insufficient compute|"
    r"fixed ip.*(no|zero|maximum)|No fixed IP",
    re.IGNORECASE,
)
_EXISTS = re.compile(r"SecurityGroupRuleExists|AlreadyAssociated")
_UNSET = {"MissingRequiredOptions", "OpenStackConfigException", "ConfigException", "MissingAuthPlugin", "OptionError"}
_NO_SERVICE = {"EndpointNotFound", "DiscoveryFailure", "NotFound", "BadRequest"}
# urllib3's classes: keystoneauth's ConnectTimeout also occurs after a request was sent.
_UNSENT = {"NewConnectionError", "ConnectTimeoutError", "NameResolutionError"}
_LIBRARY = "keystoneauth1"


def parse_response(response: Any, where: str, *, changes: bool) -> dict[str, Any]:
    """The JSON object in a response; raises our error for a refusal or an unreadable response."""
    status = int(response.status_code)
    if status >= 300:
        raise refusal(status, text_of(response.content), where, changes=changes)
    if not response.content:
        return {}
    try:
        content = json.loads(response.content)
        if not isinstance(content, dict):
            raise ValueError
    except ValueError:
        raise unclear_response("the answer cannot be read", where, changes=changes) from None
    return content


def text_of(body: bytes) -> str:
    """The text of an error, which each service wraps in another way (untrusted, one line, shortened)."""
    try:
        content = json.loads(body)
    except ValueError:
        return ""
    words: Any = next(iter(content.values()), "") if isinstance(content, Mapping) and len(content) == 1 else content
    if isinstance(words, Mapping):
        kind, text = words.get("type") or words.get("title") or "", words.get("message") or ""
        return one_line(f"{kind}: {text}" if kind and text else str(text or kind))
    return one_line(words if isinstance(words, str) else "")


def refusal(status: int, words: str, where: str, *, changes: bool) -> errors.ProviderFault:
    """The fault for an error response, by its status and its text."""
    known = errors.RefusalKind.EXISTS if _EXISTS.search(words) else errors.RefusalKind.OTHER
    kind = errors.RefusalKind.MISSING if status == MISSING else known
    return _refusal(status, words, where, changes=changes).because(errors.Refusal(kind, f"HTTP {status}", words))


def _refusal(status: int, words: str, where: str, *, changes: bool) -> errors.ProviderFault:
    line = f"HTTP {status}: {words}" if words else f"HTTP {status}"
    if status in {400, 403, 409, 413} and (fault := scarcity_fault(words, line, where)):
        return fault
    if status in {413, 429}:
        return errors.Throttled.at(where, line, "wait, and ask less often")
    if status in {401, 403}:
        # The token was just renewed, so Keystone accepts it, but this call does not.
        return errors.NotAllowed.at(where, f"{line} (the token is good, and does not allow this call)", POLICY)
    if status >= 500 or status < 400 or (status == MISSING and not words):
        # Services explain a 404; one without words comes from a proxy in front of them.
        return unclear_response(line, where, changes=changes)
    if status == 400 and "marker" in words.lower():
        return errors.IncompleteListing.at(where, line, "ask again")
    return errors.Refused.at(where, line, "change the request")


def scarcity_fault(words: str, line: str, where: str) -> errors.ProviderFault | None:
    """The fault for missing capacity or a reached quota; None for any other text."""
    if _CAPACITY.search(words):
        return errors.NoCapacity.at(where, line, "try later, another type or another region")
    if _QUOTA.search(words):
        return errors.QuotaReached.at(where, line, "ask for a higher quota, or run fewer at once")
    return None


def is_missing(fault: errors.ProviderFault) -> bool:
    """True if a refusal says that the resource does not exist."""
    return fault.is_refusal(errors.RefusalKind.MISSING)


def fault_of(error: BaseException, where: str, *, changes: bool) -> errors.CloudcmpError:
    """Converts an error of the library. Compares class names, so that it stays unimported."""
    kind, chain = type(error).__name__, list(_causes(error))
    statuses = {int(getattr(one, "http_status", 0) or 0) for one in chain}
    fault: errors.CloudcmpError | None = None
    if kind in _UNSET or kind.startswith("Missing"):
        fault = errors.NoCredentials.at(where, f"the settings are incomplete ({one_line(str(error))})", SET)
    elif statuses & {401, 403}:
        fault = errors.BadCredentials.at(where, "Keystone does not accept the credentials", RENEW)
    elif 429 in statuses:
        fault = errors.Throttled.at(where, "HTTP 429 from Keystone", "wait, and ask less often")
    elif kind in {"SSLFailure", "SSLError"}:
        fault = tls_fault(error, where)
    elif {type(one).__name__ for one in chain} & _UNSENT:
        fault = errors.Unreached.at(where, "it cannot be reached", "check the network and OS_AUTH_URL")
    elif kind in _NO_SERVICE and not changes and max(statuses) < 500:
        fault = errors.Refused.at(where, f"there is no such service ({kind})", "check OS_AUTH_URL: a Keystone v3")
    return fault or lost_response(kind, where, changes=changes)


def _causes(error: BaseException) -> Iterator[BaseException]:
    """An error and its causes, without those of an earlier attempt: they tell if a connection was ever made."""
    pending: list[Any] = [error]
    sent = type(error).__name__.startswith("Connect")
    for _ in range(20):
        if not pending:
            return
        one = pending.pop()
        if sent and one is not error and type(one).__module__.startswith(_LIBRARY):
            continue
        yield one
        causes = (one.__cause__, one.__context__, getattr(one, "reason", None), getattr(one, "original_error", None))
        pending += [more for more in (*causes, *getattr(one, "args", ())) if isinstance(more, BaseException)]
