"""Handles responses of clouds: errors, lost responses, and responses without the id of a new resource."""

from collections.abc import Awaitable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from cloudcmp.errors import IncompleteListing, LostAnswer, ProviderFault, RefusalKind, Refused

_T = TypeVar("_T")

SEARCH_NOTICE = "cloudcmp looks for it by token, tag and name"
"""The next step for a resource that may exist: cloudcmp looks for it, and the user need not act."""


def tls_fault(error: BaseException, where: str) -> ProviderFault:
    """The fault for a TLS connection that could not be made; nothing was sent."""
    if "certificate_verify_failed" in str(error).lower().replace(" ", "_"):
        what, next_ = "its certificate is not trusted", "check the endpoint, or name its authority: --ca FILE"
    else:
        what, next_ = f"no TLS connection can be made ({type(error).__name__})", "check the endpoint and the proxy"
    return ProviderFault.at(where, what, next_)


@dataclass(frozen=True, slots=True)
class CloudError:
    """A cloud's error: code, text (untrusted, one line, shortened) and HTTP status, 0 if there is none."""

    code: str
    text: str
    status: int = 0

    @property
    def line(self) -> str:
        """Code and text as one line."""
        return f"{self.code}: {self.text}" if self.text else self.code


def unclear_response(what: str, where: str, *, changes: bool) -> ProviderFault:
    """The fault of a response that leaves the outcome unknown: a call that changes something may have done so."""
    return LostAnswer.at(where, what, SEARCH_NOTICE) if changes else IncompleteListing.at(where, what, "ask again")


def lost_response(kind: str, where: str, *, changes: bool) -> ProviderFault:
    """The fault of an incomplete response. Shows only the error's `kind`: its text may hold the response itself."""
    return unclear_response(f"the answer was lost or cut short ({kind})", where, changes=changes)


def missing_id_fault(where: str) -> LostAnswer:
    """The fault of a response without the id of the new resource."""
    return LostAnswer.at(where, "the answer does not name the new resource", SEARCH_NOTICE)


def require_id(response: Mapping[str, Any], *path: str | int, where: str) -> str:
    """The id at a path in a response; raises LostAnswer if there is none."""
    value: Any = response
    try:
        for step in path:
            value = value[step]
    except (KeyError, IndexError, TypeError):
        value = None
    if not value:
        raise missing_id_fault(where)
    return str(value)


async def none_if_missing(call: Awaitable[_T]) -> _T | None:
    """The response to a call, None if the cloud says that there is no such resource."""
    try:
        return await call
    except Refused as fault:
        if not fault.is_refusal(RefusalKind.MISSING):
            raise
        return None


def leftover_fault(where: str, error: BaseException, what: str) -> ProviderFault:
    """The fault of a request whose cleanup failed: `what` stays. It is no Refused, so the lease stays open."""
    return ProviderFault.at(where, f"{error}; and {what}", "cloudcmp cleanup")
