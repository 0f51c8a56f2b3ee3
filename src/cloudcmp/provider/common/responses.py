"""Responses of clouds: errors, lost ones, and those that do not name what was made."""

from collections.abc import Awaitable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from cloudcmp.errors import IncompleteListing, LostAnswer, ProviderFault, RefusalKind, Refused

_T = TypeVar("_T")

LOOKED_FOR = "it is looked for by token, tag and name"
"""The next step for a resource that may exist: cloudcmp looks for it, and the user need not act."""


@dataclass(frozen=True, slots=True)
class CloudError:
    """An error's code, its text (untrusted, one line, cut) and its HTTP status, 0 where it has none."""

    code: str
    text: str
    status: int = 0

    @property
    def line(self) -> str:
        """Both in one."""
        return f"{self.code}: {self.text}" if self.text else self.code


def unclear_response(what: str, where: str, *, changes: bool) -> ProviderFault:
    """The fault of a response that leaves the outcome unknown: a call that changes something may have done so."""
    return LostAnswer.at(where, what, LOOKED_FOR) if changes else IncompleteListing.at(where, what, "ask again")


def lost_response(kind: str, where: str, *, changes: bool) -> ProviderFault:
    """An answer that never came whole. Of an error only its `kind` is shown: its text may hold the answer itself."""
    return unclear_response(f"the answer was lost or cut short ({kind})", where, changes=changes)


def unnamed_resource(where: str) -> LostAnswer:
    """An answer that does not name what was made: then nothing is known of it."""
    return LostAnswer.at(where, "the answer does not say what was made", LOOKED_FOR)


def id_in(response: Mapping[str, Any], *path: str | int, where: str) -> str:
    """The id that a response names; raises LostAnswer where it names none."""
    found: Any = response
    try:
        for step in path:
            found = found[step]
    except (KeyError, IndexError, TypeError):
        found = None
    if not found:
        raise unnamed_resource(where)
    return str(found)


async def unless_missing(call: Awaitable[_T]) -> _T | None:
    """The response to a call, None where the cloud says that there is no such resource."""
    try:
        return await call
    except Refused as fault:
        if not fault.is_refusal(RefusalKind.MISSING):
            raise
        return None


def left_behind(where: str, error: BaseException, what: str) -> ProviderFault:
    """The fault of a request whose cleaning up failed: `what` stays. It is no refusal, so the lease stays open."""
    return ProviderFault.at(where, f"{error}; and {what}", "cloudcmp cleanup")
