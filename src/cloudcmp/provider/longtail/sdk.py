"""The apache-libcloud client: imported at the first call, with deadlines, and with its errors converted to ours.

Only its transport is used. Its drivers end a list silently if a response lacks a link, and its retries could repeat a
creating request, if the user's environment enables them
(https://libcloud.readthedocs.io/en/stable/other/retrying-failed-http-requests.html).
"""

import asyncio
import ipaddress
import json
import os
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache, partial
from typing import Any, TypeVar
from urllib.parse import urlsplit

from cloudcmp.errors import IncompleteListing, LostAnswer, NoCredentials, Throttled, UserMistake
from cloudcmp.provider.common.responses import none_if_missing
from cloudcmp.provider.common.sdk_client import SdkClient, fetch_pages, retry
from cloudcmp.provider.common.sdk_imports import import_modules
from cloudcmp.provider.common.sdk_logging import limit_logging
from cloudcmp.provider.longtail.dialect import Cloud, Response
from cloudcmp.provider.longtail.faults import fault_of, words_of
from cloudcmp.provider.longtail.pages import Json

_T = TypeVar("_T")
_MOST_PAGES = 1000
_Query = tuple[tuple[str, str], ...]
_NOISY = ("libcloud", "paramiko", "requests", "urllib3")


@dataclass(slots=True)
class ApiClient(SdkClient):
    """The client of one cloud. `deadline_s` bounds every call, its attempts included.

    `attempts` applies to repeatable calls, with `pause_s` between them, doubled each time; a creating call is sent
    once.
    """

    cloud: Cloud
    attempts: int = 3
    deadline_s: float = 60.0
    pause_s: float = 0.5
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _idle: list[Any] = field(default_factory=list)  # idle connections, each for one call at a time
    _settings: tuple[str, str] = ("", "")
    account: str | None = None  # of the current token
    library, extra = "apache-libcloud", "libcloud"

    @property
    def name(self) -> str:  # type: ignore[override]
        """The provider's name."""
        return self.cloud.name

    def endpoint(self) -> str | None:
        """The endpoint set by the environment, instead of the cloud's own."""
        return os.environ.get(self.cloud.endpoint) or None

    async def read(self, path: str, **params: str) -> Response:
        """A read-only call; raises IncompleteListing if its response is lost, and the other kinds of fault."""
        return await self.run_in_thread(lambda: self.read_blocking(path, **params))

    def read_blocking(self, path: str, **params: str) -> Response:
        """`read` in this thread: run it in a thread of `blocking_calls`."""
        return self._retry(lambda: self._call("GET", path, params, None, changes=False))

    async def change(self, method: str, path: str, body: Json | None = None, *, again: bool = False) -> Response:
        """A call that creates or deletes; `again`: it is idempotent. Raises LostAnswer if it may have been executed."""

        def once() -> Response:
            return self._call(method, path, {}, body, changes=True)

        return await self.run_in_thread(lambda: self._retry(once) if again else once(), changes=True)

    async def delete(self, path: str) -> bool:
        """Requests the deletion of a resource; False if it did not exist."""
        return await none_if_missing(self.change("DELETE", path, again=True)) is not None

    async def all(self, path: str, key: str) -> list[Json]:
        """A complete list, all of its pages; raises IncompleteListing."""
        return await self.run_in_thread(lambda: self.all_blocking(path, key))

    def all_blocking(self, path: str, key: str) -> list[Json]:
        """`all` in this thread: run it in a thread of `blocking_calls`."""
        return self._retry(lambda: self._fetch_list(path, key))

    def _fetch_list(self, path: str, key: str) -> list[Json]:
        last: Json = {}
        first: _Query = ()

        def fetch(query: _Query) -> tuple[list[Json], _Query]:
            nonlocal last
            last = self._call("GET", path, dict(query), None, changes=False).body
            page = last.get(key)
            if not isinstance(page, list):
                raise IncompleteListing.at(self.name, f"{path} answered without {key}", "ask again")
            return page, tuple((self.cloud.paging.after(last, dict(query), len(page)) or {}).items())

        return self._check_total(path, fetch_pages(fetch, first, self.name, path, _MOST_PAGES), last)

    def _check_total(self, path: str, entries: list[Json], response: Json) -> list[Json]:
        """The list, if its length is the total that the cloud reports; else raises IncompleteListing."""
        total = self.cloud.paging.total(response)
        if total is None or total != len(entries):
            what = f"{path} gave {len(entries)} entries of {'an unknown number' if total is None else total}"
            raise IncompleteListing.at(self.cloud.name, what, "ask again")
        return entries

    async def wait(self) -> None:
        """Waits for one poll interval."""
        await asyncio.sleep(self.pause_s)

    def forget(self) -> None:
        """Drops the cached token; the next call reads it again."""
        with self._lock:
            self._idle.clear()
            self.account = None

    def _retry(self, work: Callable[[], _T]) -> _T:
        """Runs repeatable work, again after a lost response or throttling."""
        return retry(work, self.attempts, _REPEATABLE, lambda tried: self.pause_s * 2 ** (tried - 1))

    def _call(self, method: str, path: str, params: dict[str, str], body: Json | None, *, changes: bool) -> Response:
        data = json.dumps(body) if body is not None else None
        own = partial(fault_of, policy=self.cloud.rights_for(method, path))

        def call() -> tuple[Any, Any]:
            connection = self._idle_connection()  # not reused after an error
            return connection, connection.request(path, params=params, data=data, method=method, retry_failed=False)

        connection, response = self.call_library(call, own, changes=changes)
        headers = {str(key).lower(): str(value) for key, value in response.headers.items()}
        with self._lock:
            self._idle.append(connection)
        return Response(response.object if isinstance(response.object, dict) else {}, headers)

    def _idle_connection(self) -> Any:
        """An idle connection for the current token and endpoint, or a new one."""
        settings = self.renew()
        with self._lock:
            if self._idle:
                return self._idle.pop()
        return self._connection(*settings)

    def renew(self) -> tuple[str, str]:
        """The current token and endpoint of the environment; drops the caches of other ones."""
        settings = (self.token(), self.endpoint() or "")
        with self._lock:
            if settings != self._settings:
                self._idle.clear()
                self._settings, self.account = settings, None
        return settings

    def token(self) -> str:
        """The token in the environment; raises NoCredentials if there is none."""
        value = next((value for name in self.cloud.tokens if (value := os.environ.get(name))), None)
        if value is None:
            raise NoCredentials.at(self.cloud.name, "there is no token", f"set {self.cloud.tokens[0]}")
        return value

    def _connection(self, token: str, endpoint: str) -> Any:
        import_modules("libcloud.http", "libcloud.common.base")
        limit_logging(*_NOISY)
        host, port, secure = _parse_endpoint(self.cloud, endpoint) if endpoint else (self.cloud.host, 443, 1)
        connection: Any = _connection_class()(secure=secure, host=host, port=port, timeout=self.deadline_s)
        connection.own_headers = {**self.cloud.auth(token), "Content-Type": "application/json"}
        connection.own_params = self.cloud.paging.size
        connection.connect()
        return connection


_REPEATABLE = (LostAnswer, Throttled, IncompleteListing)


def _parse_endpoint(cloud: Cloud, endpoint: str) -> tuple[str, int, int]:
    """Host, port and whether TLS is used; a token is sent without TLS only to this machine."""
    parts = urlsplit(endpoint)
    try:
        host, port = parts.hostname or "", parts.port
    except ValueError:
        host, port = "", None
    if parts.scheme not in {"http", "https"} or not host or parts.path not in {"", "/"}:
        raise UserMistake.at(cloud.endpoint, f"{endpoint!r} is no address", "write e.g. https://api.example.org")
    if parts.scheme == "http" and not _is_loopback(host):
        raise UserMistake.at(cloud.endpoint, "a token would be sent in the clear", "write https://")
    return host, port or (443 if parts.scheme == "https" else 80), int(parts.scheme == "https")


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


@cache
def _connection_class() -> Any:
    """The class of connections to these clouds: libcloud's own responses lose the status of an error."""
    from libcloud.common.base import Connection, JsonResponse
    from libcloud.http import LibcloudConnection

    class OwnResponse(JsonResponse):
        def success(self) -> bool:
            return 200 <= int(self.status) < 300

        def parse_error(self) -> str:
            try:
                return words_of(json.loads(self.body or ""))
            except ValueError:
                return ""

    class OwnConnection(Connection):
        conn_class = LibcloudConnection  # LIBCLOUD_DEBUG would replace it by one that logs tokens
        responseCls = OwnResponse  # noqa: N815 - libcloud's name
        own_headers: Mapping[str, str]
        own_params: Mapping[str, str]

        def add_default_headers(self, headers: dict[str, str]) -> dict[str, str]:
            return {**headers, **self.own_headers}

        def add_default_params(self, params: dict[str, str]) -> dict[str, str]:
            return {**params, **self.own_params}

    return OwnConnection
