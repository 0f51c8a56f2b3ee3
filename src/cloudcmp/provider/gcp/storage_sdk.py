"""Calls of Cloud Storage's JSON interface, with deadlines and with its errors converted to ours."""

import os
import threading
from dataclasses import dataclass, field
from typing import Any

from cloudcmp.errors import IncompleteListing, RefusalKind, Refused, Throttled
from cloudcmp.provider.common.findings import parse_http_date
from cloudcmp.provider.common.responses import unclear_response
from cloudcmp.provider.common.sdk_client import SdkClient, retry
from cloudcmp.provider.common.sdk_imports import import_modules
from cloudcmp.provider.gcp.faults import fault_of
from cloudcmp.provider.gcp.sdk import Sdk
from cloudcmp.provider.gcp.tokens import bucket_token

_EMULATOR = "STORAGE_EMULATOR_HOST"
_PROJECT = "GOOGLE_CLOUD_PROJECT"
_EMULATED_PROJECT = "cloudcmp"


def emulator() -> str | None:
    """The URL of an emulator that the environment names, as Google's own client finds it."""
    host = os.environ.get(_EMULATOR, "").rstrip("/")
    return (host if "://" in host else f"http://{host}") if host else None


@dataclass(slots=True)
class StorageSdk(SdkClient):
    """The client of Cloud Storage. `deadline_s` bounds every call; `attempts` applies to repeatable calls."""

    name: str = "gcp"
    attempts: int = 3
    deadline_s: float = 60.0
    pause_s: float = 1.0
    date: str = ""  # of the last response
    _sdk: Sdk = field(default_factory=Sdk)
    _lock: threading.RLock = field(default_factory=threading.RLock)
    _plain: Any = None
    library, extra = "google-cloud-compute", "gcp"

    def endpoint(self) -> str | None:
        """The emulator's URL, instead of Google's own."""
        return emulator()

    def url(self) -> str:
        """The URL of the service, without a slash at its end."""
        return emulator() or f"https://storage.{self.call_library(self._sdk.domain, fault_of)}"

    def project(self) -> str:
        """The project of buckets; an emulator takes any."""
        if emulator():
            return os.environ.get(_PROJECT) or _EMULATED_PROJECT
        return self.call_library(self._sdk.project, fault_of)

    def forget(self) -> None:
        """Drops the cached credentials; the next call reads them again."""
        self._sdk.forget()

    async def read(self, path: str, **params: Any) -> dict[str, Any]:
        """A read-only call; raises IncompleteListing if its response is lost."""

        def once() -> dict[str, Any]:
            return self._call("GET", path, None, params, changes=False)

        def work() -> dict[str, Any]:
            return retry(once, self.attempts, (IncompleteListing, Throttled), lambda tried: self.pause_s * tried / 2)

        return await self.run_in_thread(work)

    async def change(self, method: str, path: str, body: Any = None, **params: Any) -> dict[str, Any]:
        """A call that creates or deletes; raises LostAnswer if it may have been carried out."""
        await self.run_in_thread(self.url)  # if this fails, nothing was sent
        return await self.run_in_thread(lambda: self._call(method, path, body, params, changes=True), changes=True)

    def _call(self, method: str, path: str, body: Any, params: dict[str, Any], *, changes: bool) -> dict[str, Any]:
        def sent() -> dict[str, Any]:
            session, url = self._open(), f"{self.url()}/storage/v1/{path}"
            response = session.request(
                method, url, json=body, params=params or None, timeout=self.deadline_s, allow_redirects=False
            )
            self.date = response.headers.get("Date", "")
            if response.status_code >= 300:
                from google.api_core import exceptions

                raise exceptions.from_http_response(response)  # type: ignore[no-untyped-call]
            if method == "DELETE":  # nothing, or the word OK
                return {}
            try:
                content = response.json()
            except ValueError:
                content = None
            if not isinstance(content, dict):
                raise unclear_response("the answer cannot be read", self.name, changes=changes)
            return content

        return self.call_library(sent, fault_of, changes=changes)

    def _open(self) -> Any:
        import_modules("google.api_core.exceptions", "requests")
        if not emulator():
            return self._sdk.session()
        import requests

        with self._lock:
            if self._plain is None:
                self._plain = requests.Session()
            return self._plain

    def token(self, bucket: str, until: float) -> str | None:
        """A token that opens one bucket's objects and nothing else, valid until a time (Unix s); None: none is needed.

        Raises Refused if no token lives so long, and the kinds of fault.
        """
        if emulator():
            return None
        return self.call_library(lambda: bucket_token(self._sdk, bucket, until), fault_of)

    def time(self) -> float | None:
        """The time in the last response (Unix s), None if it had none."""
        return parse_http_date(self.date)


def is_missing(fault: Refused) -> bool:
    """True if the service says that a bucket or an object does not exist."""
    return fault.is_refusal(RefusalKind.MISSING) or (fault.reason is not None and fault.reason.code == "HTTP 404")


def is_taken(fault: Refused) -> bool:
    """True if the service says that a bucket's name is taken, by this request or by somebody else."""
    return fault.reason is not None and fault.reason.code in {"conflict", "HTTP 409"}
