"""Calls through a cloud's own library, with deadlines, converted errors and complete lists."""

import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Protocol, TypeVar

from cloudcmp.errors import CloudcmpError, IncompleteListing, NoCredentials, UserMistake
from cloudcmp.provider.common.blocking_calls import run_blocking, run_in_thread

_T = TypeVar("_T")
_Token = TypeVar("_Token")


class FaultOf(Protocol):
    """Converts a library's error to ours."""

    def __call__(self, error: BaseException, where: str, *, changes: bool) -> CloudcmpError:
        """`changes`: the call creates or deletes something, so a lost response matters."""


class SdkClient(ABC):
    """The base class of the drivers' clients. `deadline_s` bounds every call; `library` needs `cloudcmp[EXTRA]`."""

    __slots__ = ()
    name: str
    deadline_s: float
    library = ""
    extra = ""

    @abstractmethod
    def forget(self) -> None:
        """Drops the cached credentials; the next call reads them again."""

    @abstractmethod
    def endpoint(self) -> str | None:
        """The endpoint in the settings, instead of the cloud's own."""

    def with_endpoint(self, what: str) -> str:
        """The text, with the endpoint if one is set."""
        endpoint = self.endpoint()
        return f"{what} at {endpoint}" if endpoint else what

    def location(self, region: str = "") -> str:
        """The location of a fault: the provider, and the region if there is one."""
        return f"{self.name}/{region}" if region else self.name

    def run_blocking(self, work: Callable[[], _T], region: str = "") -> _T:
        """Runs blocking read-only work; raises IncompleteListing after the deadline."""
        return run_blocking(work, self.location(region), self.deadline_s)

    async def run_in_thread(self, work: Callable[[], _T], region: str = "", *, changes: bool = False) -> _T:
        """Runs blocking work in a thread; see `blocking_calls`."""
        return await run_in_thread(work, self.location(region), self.deadline_s, changes=changes)

    def call_library(self, work: Callable[[], _T], fault_of: FaultOf, region: str = "", *, changes: bool = False) -> _T:
        """Runs library code and converts its errors. Drops the credentials if they are refused."""
        try:
            return work()
        except CloudcmpError:
            raise
        except ImportError as error:
            raise self.missing_library() from error
        except Exception as error:
            fault = fault_of(error, self.location(region), changes=changes)
            if isinstance(fault, NoCredentials):
                self.forget()
            raise fault from None

    def missing_library(self) -> UserMistake:
        """The fault for a missing library."""
        return UserMistake.at(self.name, f"{self.library} is not installed", f"pip install 'cloudcmp[{self.extra}]'")


def fetch_pages(
    fetch: Callable[[_Token], tuple[list[_T], _Token]], first: _Token, where: str, what: str, most: int = 2000
) -> list[_T]:
    """A complete list; raises IncompleteListing if it repeats a page or has more than `most` pages.

    `fetch` takes a page token and returns entries and the next token, falsy after the last page.
    """
    entries: list[_T] = []
    seen: set[_Token] = set()
    token = first
    for _ in range(most):
        page, token = fetch(token)
        entries += page
        if not token:
            return entries
        if token in seen:
            raise IncompleteListing.at(where, f"{what} answers the same page again", "ask again")
        seen.add(token)
    raise IncompleteListing.at(where, f"{what} does not end after {most} pages", "ask again")


def retry(
    work: Callable[[], _T], attempts: int, again: tuple[type[Exception], ...], pause_s: Callable[[int], float]
) -> _T:
    """Runs work, again after errors of some kinds; `pause_s` is the wait after the n-th attempt."""
    for attempt in range(1, attempts):
        try:
            return work()
        except again:
            time.sleep(pause_s(attempt))
    return work()
