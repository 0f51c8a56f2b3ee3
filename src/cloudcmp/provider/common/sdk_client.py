"""Calls through a cloud's own library: each with a deadline, every error one of ours, every list whole."""

import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Protocol, TypeVar

from cloudcmp.errors import CloudcmpError, IncompleteListing, NoCredentials, UserMistake
from cloudcmp.provider.common.blocking_calls import run_blocking, run_in_thread

_T = TypeVar("_T")
_Token = TypeVar("_Token")


class FaultOf(Protocol):
    """Turns a library's error into ours."""

    def __call__(self, error: BaseException, where: str, *, changes: bool) -> CloudcmpError:
        """`changes`: the call makes or ends something, so that a lost response matters."""
        ...


class SdkClient(ABC):
    """What the clients of all drivers have in common. `deadline_s` bounds every call, retries included.

    `library` is what the user must install, as `cloudcmp[EXTRA]`.
    """

    __slots__ = ()
    name: str
    deadline_s: float
    library = ""
    extra = ""

    @abstractmethod
    def forget(self) -> None:
        """Read the credentials anew at the next call."""

    @abstractmethod
    def endpoint(self) -> str | None:
        """The endpoint that the settings name instead of the cloud's own."""

    def at_endpoint(self, what: str) -> str:
        """What is there, with the endpoint where one is named."""
        endpoint = self.endpoint()
        return f"{what} at {endpoint}" if endpoint else what

    def place(self, region: str = "") -> str:
        """Where a fault is: the provider, and the region where one is asked."""
        return f"{self.name}/{region}" if region else self.name

    def run_blocking(self, work: Callable[[], _T], region: str = "") -> _T:
        """Blocking read-only work; raises IncompleteListing once the deadline has passed."""
        return run_blocking(work, self.place(region), self.deadline_s)

    async def run_in_thread(self, work: Callable[[], _T], region: str = "", *, changes: bool = False) -> _T:
        """Blocking work in a thread; see `blocking_calls`."""
        return await run_in_thread(work, self.place(region), self.deadline_s, changes=changes)

    def guarded(self, work: Callable[[], _T], fault_of: FaultOf, region: str = "", *, changes: bool = False) -> _T:
        """Work of the library; raises our kind of fault for its errors. Refused credentials are read anew."""
        try:
            return work()
        except CloudcmpError:
            raise
        except ImportError as error:
            raise self.not_installed() from error
        except Exception as error:
            fault = fault_of(error, self.place(region), changes=changes)
            if isinstance(fault, NoCredentials):
                self.forget()
            raise fault from None

    def not_installed(self) -> UserMistake:
        """The library is missing."""
        return UserMistake.at(self.name, f"{self.library} is not installed", f"pip install 'cloudcmp[{self.extra}]'")


def all_pages(
    fetch: Callable[[_Token], tuple[list[_T], _Token]], first: _Token, where: str, what: str, most: int = 2000
) -> list[_T]:
    """A whole list. `fetch` takes a page's token and returns its entries and the next token, falsy after the last.

    Raises IncompleteListing for a list that repeats a page or does not end after `most` pages.
    """
    found: list[_T] = []
    seen: set[_Token] = set()
    token = first
    for _ in range(most):
        entries, token = fetch(token)
        found += entries
        if not token:
            return found
        if token in seen:
            raise IncompleteListing.at(where, f"{what} answers the same page again", "ask again")
        seen.add(token)
    raise IncompleteListing.at(where, f"{what} does not end after {most} pages", "ask again")


def repeated(
    work: Callable[[], _T], attempts: int, again: tuple[type[Exception], ...], pause_s: Callable[[int], float]
) -> _T:
    """Work that is done again after an error of some kinds; `pause_s` is the wait after the n-th attempt."""
    for attempt in range(1, attempts):
        try:
            return work()
        except again:
            time.sleep(pause_s(attempt))
    return work()
