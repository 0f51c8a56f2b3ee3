"""Google's client library: imported at the first call, with deadlines, and with its errors converted to ours."""

import asyncio
import os
import threading
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Any, TypeVar

from cloudcmp.errors import IncompleteListing, LostAnswer, NoCredentials, Throttled
from cloudcmp.provider.common.findings import parse_http_date
from cloudcmp.provider.common.sdk_client import SdkClient, fetch_pages, retry
from cloudcmp.provider.common.sdk_imports import import_modules
from cloudcmp.provider.common.sdk_logging import limit_logging
from cloudcmp.provider.gcp.faults import fault_of

_T = TypeVar("_T")
_SCOPE = "https://www.googleapis.com/auth/cloud-platform"
_ENDPOINT = "CLOUDCMP_GCP_ENDPOINT"
_NOISY = ("google", "requests", "urllib3")
_CLIENTS = {
    "disks": "DisksClient",
    "firewalls": "FirewallsClient",
    "global_operations": "GlobalOperationsClient",
    "images": "ImagesClient",
    "instances": "InstancesClient",
    "machine_types": "MachineTypesClient",
    "networks": "NetworksClient",
    "projects": "ProjectsClient",
    "regions": "RegionsClient",
    "zone_operations": "ZoneOperationsClient",
}


@dataclass(slots=True)
class Sdk(SdkClient):
    """The client of Compute Engine. `deadline_s` bounds every call; `attempts` are for read-only calls only."""

    name: str = "gcp"
    attempts: int = 3
    deadline_s: float = 60.0
    pause_s: float = 1.0
    ahead_s: float | None = None
    """How far the cloud's clock was ahead of this machine's at the last reading."""
    _lock: threading.RLock = field(default_factory=threading.RLock)
    _credentials: Any = None
    _project: str = ""
    _clients: dict[str, Any] = field(default_factory=dict)
    _session: Any = None
    library, extra = "google-cloud-compute", "gcp"

    def endpoint(self) -> str | None:
        """The endpoint set by the environment, instead of Google's own."""
        return os.environ.get(_ENDPOINT) or None

    def default_region(self) -> str:
        """Default region: `CLOUDSDK_COMPUTE_REGION`, else us-central1."""
        return os.environ.get("CLOUDSDK_COMPUTE_REGION") or "us-central1"

    async def read(self, service: str, method: str, **fields: Any) -> Any:
        """A read-only call; raises IncompleteListing if its response is lost, and the other kinds of fault."""
        return await self.run_in_thread(lambda: self.read_blocking(service, method, **fields))

    def read_blocking(self, service: str, method: str, **fields: Any) -> Any:
        """`read` in this thread. Only its attempts are bounded, so run it in a thread of `blocking_calls`."""

        def once() -> Any:
            return self._call(service, method, fields, changes=False)

        return retry(once, self.attempts, (IncompleteListing, Throttled), lambda tried: self.pause_s * tried / 2)

    async def change(self, service: str, method: str, **fields: Any) -> Any:
        """A call that creates or deletes something, sent once; raises LostAnswer if it may have been executed."""
        response = await self.run_in_thread(lambda: self._call(service, method, fields, changes=True), changes=True)
        if not response.name:
            raise LostAnswer.at(self.name, f"{service}.{method} answered without an operation", "cloudcmp looks for it")
        return response

    async def pages(self, service: str, method: str = "list", **fields: Any) -> list[Any]:
        """A complete list, as the responses of all its pages; raises IncompleteListing."""
        return await self.run_in_thread(lambda: self.pages_blocking(service, method, **fields))

    def pages_blocking(self, service: str, method: str = "list", **fields: Any) -> list[Any]:
        """`pages` in this thread. Each page has its own deadline, so run it in a thread of `blocking_calls`."""

        def fetch(token: str) -> tuple[list[Any], str]:
            more = {"page_token": token} if token else {}
            response = self.read_blocking(service, method, **fields, **more)
            if not response.kind:
                raise IncompleteListing.at(self.name, f"{service}.{method} answered without a list", "ask again")
            return [response], str(response.next_page_token)

        return fetch_pages(fetch, "", self.name, f"{service}.{method}")

    async def date(self) -> float | None:
        """The time by the cloud's own clock (Unix s), from a response header, None if it has none."""
        await self.read("regions", "list", max_results=1)
        return None if self.ahead_s is None else time.time() + self.ahead_s

    async def granted_permissions(self, permissions: tuple[str, ...]) -> frozenset[str]:
        """The permissions among these that the caller has in the project.

        https://cloud.google.com/resource-manager/reference/rest/v1/projects/testIamPermissions
        """
        return await self.run_in_thread(lambda: self._test_permissions(permissions))

    def _test_permissions(self, permissions: tuple[str, ...]) -> frozenset[str]:
        def call() -> frozenset[str]:
            project = self.project()
            host = self.endpoint() or f"https://cloudresourcemanager.{self._universe()}"
            url = f"{host}/v1/projects/{project}:testIamPermissions"
            response = self._open_session().post(url, json={"permissions": list(permissions)}, timeout=self.deadline_s)
            if response.status_code != 200:
                from google.api_core import exceptions

                raise exceptions.from_http_response(response)  # type: ignore[no-untyped-call]
            return frozenset(map(str, response.json().get("permissions", ())))

        return self.call_library(call, fault_of)

    def project(self) -> str:
        """The project of the environment, else of the credentials; raises NoCredentials if there is none."""
        with self._lock:
            self._open()
            return self._project

    def session(self) -> Any:
        """A session of HTTP that carries the credentials; raises what finding them raises."""
        return self.call_library(self._open_session, fault_of)

    def domain(self) -> str:
        """The domain of the credentials' cloud."""
        self.project()
        return self._universe()

    def forget(self) -> None:
        """Drops the cached credentials; the next call reads them again."""
        with self._lock:
            self._credentials = self._session = None
            self._project = ""
            self._clients.clear()

    def run_blocking(self, work: Callable[[], _T], region: str = "") -> _T:
        """Runs blocking read-only work; imports the client before the deadline begins."""
        if self._credentials is None:
            self._check_installed()
            SdkClient.run_blocking(self, self._find_credentials)
        self._import_client()
        return SdkClient.run_blocking(self, work, region)

    async def run_in_thread(self, work: Callable[[], _T], region: str = "", *, changes: bool = False) -> _T:
        """Runs blocking work in a thread; imports the client before the deadline begins."""
        if self._credentials is None:
            self._check_installed()
            await SdkClient.run_in_thread(self, self._find_credentials)
        await asyncio.to_thread(self._import_client)
        return await SdkClient.run_in_thread(self, work, region, changes=changes)

    def _call(self, service: str, method: str, fields: dict[str, Any], *, changes: bool) -> Any:
        def call() -> Any:
            client = self._client(service)
            request = {"project": self.project(), **fields}
            # Without the client's own retries: only read-only calls are repeated, by `read`.
            response = getattr(client, method)(request=request, retry=None, timeout=self.deadline_s)
            return next(iter(response.pages)) if hasattr(response, "pages") else response

        return self.call_library(call, fault_of, changes=changes)

    def _client(self, service: str) -> Any:
        with self._lock:
            if service not in self._clients:
                self._open()
                self._clients[service] = self._new_client(service)
            return self._clients[service]

    def _new_client(self, service: str) -> Any:
        from google.cloud import compute_v1

        kind = getattr(compute_v1, _CLIENTS[service])
        options = {"universe_domain": self._universe()}
        if endpoint := self.endpoint():
            options["api_endpoint"] = endpoint
        transport: Any = "rest"
        if service == "regions":
            from google.cloud.compute_v1.services.regions.transports import rest

            transport = _transport_with_date(self, rest)
        client = kind(credentials=self._credentials, client_options=options, transport=transport)
        limit_logging(*_NOISY)  # the first client sets levels from GOOGLE_SDK_PYTHON_LOGGING_SCOPE
        return client

    def _universe(self) -> str:
        """The domain of the credentials' cloud: Google's own, or one that a partner runs."""
        return str(getattr(self._credentials, "universe_domain", "") or "googleapis.com")

    def _find_credentials(self) -> None:
        """Finds the credentials; without any, the large client is never loaded."""
        with self._lock:
            self.call_library(self._open, fault_of)

    def _check_installed(self) -> None:
        """Raises UserMistake if the client is not installed, without importing it."""
        try:
            spec = find_spec("google.cloud.compute_v1")
        except ImportError:
            spec = None
        if spec is None:
            raise self.missing_library()

    def _import_client(self) -> None:
        """Imports the client before any deadline begins: it takes seconds, and many on a busy machine."""
        self.call_library(lambda: import_modules("google.cloud.compute_v1"), fault_of)

    def _open(self) -> None:
        if self._credentials is not None:
            return
        import_modules("google.auth", "google.auth.transport.requests")
        import google.auth

        limit_logging(*_NOISY)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a user's own login has no quota project
            credentials, project = google.auth.default(scopes=[_SCOPE])
        if not project:
            raise NoCredentials.at(self.name, "no project is named", "set GOOGLE_CLOUD_PROJECT")
        self._credentials, self._project = credentials, str(project)

    def _open_session(self) -> Any:
        with self._lock:
            self._open()
            if self._session is None:
                from google.auth.transport.requests import AuthorizedSession

                self._session = AuthorizedSession(self._credentials)  # type: ignore[no-untyped-call]
            return self._session


def _transport_with_date(sdk: Sdk, rest: Any) -> Callable[..., Any]:
    """A transport factory for one service that records the date header of each list response."""

    class DateRecorder(rest.RegionsRestInterceptor):  # type: ignore[misc]
        def post_list_with_metadata(self, response: Any, metadata: Any) -> Any:
            date = {str(key).lower(): str(value) for key, value in metadata}.get("date", "")
            at = parse_http_date(date)
            sdk.ahead_s = None if at is None else at - time.time()
            return response, metadata

    return lambda **more: rest.RegionsRestTransport(interceptor=DateRecorder(), **more)
