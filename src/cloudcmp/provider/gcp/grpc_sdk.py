"""Clients of Google's services that speak gRPC, with deadlines, an emulator by its variable, and errors converted."""

import os
import threading
from abc import abstractmethod
from collections.abc import Callable
from typing import Any, TypeVar

from cloudcmp.provider.common.sdk_client import SdkClient
from cloudcmp.provider.gcp.faults import fault_of
from cloudcmp.provider.gcp.sdk import Sdk
from cloudcmp.provider.gcp.tokens import scoped_token

_T = TypeVar("_T")
_PROJECT, _EMULATED_PROJECT = "GOOGLE_CLOUD_PROJECT", "cloudcmp"


class GrpcSdk(SdkClient):
    """The clients of one service. `deadline_s` bounds every call.

    `emulator` is the variable in which Google's own client looks for an emulator, `host` the service's name before the
    domain, and `scope` what a trial's token opens.
    """

    extra = "gcp"
    emulator = host = scope = ""

    deadline_s = 60.0

    def __init__(self, name: str) -> None:
        self.name = name
        self.credentials = Sdk(name)
        self._lock = threading.RLock()
        self._clients: dict[str, Any] = {}

    @abstractmethod
    def make_client(self, kind: str) -> Any:
        """The client of one kind of resource; raises what the library raises."""

    def endpoint(self) -> str | None:
        """The emulator's URL, instead of Google's own; found as Google's client finds it."""
        host = os.environ.get(self.emulator)
        return f"http://{host}" if host else None

    def url(self) -> str:
        """The URL of the service."""
        return self.endpoint() or f"https://{self.host}.{self.call_library(self.credentials.domain, fault_of)}"

    def project(self) -> str:
        """The project of data sets; an emulator takes any."""
        if self.endpoint():
            return os.environ.get(_PROJECT) or _EMULATED_PROJECT
        return self.call_library(self.credentials.project, fault_of)

    def forget(self) -> None:
        """Drops the cached credentials; the next call reads them again."""
        with self._lock:
            self._clients.clear()
        self.credentials.forget()

    async def call(self, kind: str, work: Callable[[Any, dict[str, Any]], _T], *, changes: bool = False) -> _T:
        """Runs a call of one client, with the arguments that every call takes."""

        def blocking() -> _T:
            client, how = self._client(kind), {"retry": None, "timeout": self.deadline_s}
            return self.call_library(lambda: work(client, how), fault_of, changes=changes)

        return await self.run_in_thread(blocking, changes=changes)

    def _client(self, kind: str) -> Any:
        with self._lock:
            if kind not in self._clients:
                self._clients[kind] = self.call_library(lambda: self.make_client(kind), fault_of)
            return self._clients[kind]

    def token(self, until: float) -> str | None:
        """A token that opens the project's service until a time (Unix s); None: none is needed."""
        if self.endpoint():
            return None
        return self.call_library(lambda: scoped_token(self.credentials, self.scope, until), fault_of)
