"""Calls of Swift, with deadlines and with its errors converted to ours; signed in by Keystone or by Swift itself."""

import json
import os
import re
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from cloudcmp.errors import BadCredentials, NoCredentials, ProviderFault, Refused
from cloudcmp.model.untrusted_text import one_line
from cloudcmp.provider.common.findings import parse_http_date
from cloudcmp.provider.common.responses import unclear_response
from cloudcmp.provider.common.sdk_client import SdkClient
from cloudcmp.provider.common.sdk_imports import import_modules
from cloudcmp.provider.openstack.faults import RENEW, fault_of, refusal, text_of
from cloudcmp.provider.openstack.sdk import Sdk

_V1 = re.compile(r"/v1(\.0)?/?$")
_REASON = re.compile(rb"<h1>(.*?)</h1>(?:<p>(.*?)</p>)?", re.DOTALL)
_NO_EXPIRY_S = 3600.0  # of a login that does not tell how long its token lives


@dataclass(frozen=True, slots=True)
class Response:
    """A good answer: its headers in lower case, and its JSON, None for another body."""

    headers: Mapping[str, str]
    content: Any


@dataclass(frozen=True, slots=True)
class _Login:
    """A sign-in to Swift itself: the URL of the account, the token, and when it expires (Unix s)."""

    url: str
    token: str
    expires_at: float


def own_login() -> str | None:
    """The URL of Swift's own login, first version, if the environment names one; else Keystone is asked."""
    url = os.environ.get("OS_AUTH_URL", "")
    return url if "OS_CLOUD" not in os.environ and _V1.search(urlsplit(url).path) else None


@dataclass(slots=True)
class SwiftSdk(SdkClient):
    """The client of one cloud's Swift. `deadline_s` bounds every call; `attempts` applies to repeatable calls."""

    name: str
    attempts: int = 3
    deadline_s: float = 60.0
    date: str = ""  # of the last response
    keystone: Sdk = field(init=False)
    _lock: threading.RLock = field(default_factory=threading.RLock)
    _login: _Login | None = None
    _session: Any = None
    library, extra = "openstacksdk", "openstack"

    def __post_init__(self) -> None:
        self.keystone = Sdk(self.name)

    def endpoint(self) -> str:
        """The address of the login."""
        return own_login() or self.keystone.endpoint()

    def forget(self) -> None:
        """Drops the cached credentials; the next call reads them again."""
        with self._lock:
            self._login = self._session = None
        self.keystone.forget()

    def access(self, region: str, until: float = 0.0, refused: str = "") -> tuple[str, str]:
        """The URL of the account in a region, and a token that is valid until a time (Unix s).

        A token that equals `refused` is renewed. Swift's own login knows no regions. Raises the kinds of fault.
        """
        url = own_login()
        if url is None:
            return self.keystone.object_store(region, until, refused)
        with self._lock:
            if self._login is None or self._login.token == refused or self._login.expires_at < until:
                self._login = self.call_library(lambda: self._sign_in(url), fault_of)
            login = self._login
        if login.expires_at < until:
            what = f"its token ends in {login.expires_at - time.time():.0f} s, before the trial may end"
            raise Refused.at(self.name, what, "choose shorter trials, or wait until it gives a new one")
        return login.url, login.token

    def _sign_in(self, url: str) -> _Login:
        user, key = os.environ.get("OS_USERNAME"), os.environ.get("OS_PASSWORD")
        if not user or not key:
            raise NoCredentials.at(
                self.name, "the login of Swift lacks a user or a password", "set OS_USERNAME and OS_PASSWORD"
            )
        response = self._send("GET", url, {"X-Auth-User": user, "X-Auth-Key": key}, {}, self.attempts)
        status = int(response.status_code)
        if status in {401, 403}:
            raise BadCredentials.at(self.name, "Swift's login does not accept the credentials", RENEW)
        storage, token = response.headers.get("X-Storage-Url"), response.headers.get("X-Auth-Token")
        if status >= 300 or not storage or not token:
            raise ProviderFault.at(
                self.name, f"no login of Swift answers at {url} (HTTP {status})", "check OS_AUTH_URL"
            )
        lives_s = response.headers.get("X-Auth-Token-Expires", "")
        return _Login(storage.rstrip("/"), token, time.time() + (float(lives_s) if lives_s.isdigit() else _NO_EXPIRY_S))

    async def read(self, region: str, path: str, **params: Any) -> Response:
        """A read-only call on a path below the account; raises IncompleteListing if its response is lost."""
        return await self.run_in_thread(lambda: self._call(region, "GET", path, {}, params, self.attempts), region)

    async def change(self, region: str, method: str, path: str, headers: Mapping[str, str] | None = None) -> Response:
        """A call that creates or deletes, all of which are idempotent; raises LostAnswer if it may be carried out."""

        def work() -> Response:
            return self._call(region, method, path, headers or {}, {}, self.attempts, changes=True)

        await self.run_in_thread(lambda: self.access(region), region)  # if this fails, nothing was sent
        return await self.run_in_thread(work, region, changes=True)

    def _call(
        self, region: str, method: str, path: str, headers: Mapping[str, str], params: Mapping[str, Any], attempts: int,
        *, changes: bool = False,
    ) -> Response:  # fmt: skip
        def once(refused: str = "") -> tuple[Any, str]:
            url, token = self.access(region, refused=refused)
            asked = {**params, "format": "json"} if method == "GET" else params
            return self._send(method, url + path, {**headers, "X-Auth-Token": token}, asked, attempts), token

        def sent() -> Response:
            response, token = once()
            if response.status_code == 401:  # refused before execution
                response, _ = once(token)
            self.date = response.headers.get("Date", "")
            return self._parse(response, region, changes=changes)

        return self.call_library(sent, fault_of, region, changes=changes)

    def _parse(self, response: Any, region: str, *, changes: bool) -> Response:
        status, where = int(response.status_code), self.location(region)
        if status >= 300:
            raise refusal(status, _words(response.content), where, changes=changes)
        headers = {str(key).lower(): str(value) for key, value in response.headers.items()}
        if not headers.get("content-type", "").startswith("application/json"):
            return Response(headers, None)
        try:
            return Response(headers, json.loads(response.content))
        except ValueError:
            raise unclear_response("the answer cannot be read", where, changes=changes) from None

    def _send(self, method: str, url: str, headers: Mapping[str, str], params: Mapping[str, Any], attempts: int) -> Any:
        return self._open().request(
            url,
            method,
            params=dict(params) or None,
            headers=dict(headers),
            authenticated=False,  # the token is in the headers
            timeout=self.deadline_s,
            raise_exc=False,
            redirect=False,
            connect_retries=attempts - 1,
            status_code_retries=attempts - 1,
            retriable_status_codes=[500, 502, 503, 504],
            log=False,  # requests contain keys
        )

    def _open(self) -> Any:
        import_modules("keystoneauth1.session", "keystoneauth1.exceptions")
        from keystoneauth1.session import Session

        with self._lock:
            if self._session is None:
                self._session = Session(verify=os.environ.get("OS_CACERT") or True)
            return self._session

    def time(self) -> float | None:
        """The time in the last response (Unix s), None if it had none."""
        return parse_http_date(self.date)


def _words(body: bytes) -> str:
    """The reason in Swift's page of an error, or in another service's JSON (untrusted, one line, shortened)."""
    found = _REASON.search(body)
    if found is None:
        return text_of(body)
    return one_line(": ".join(part.decode(errors="replace") for part in found.groups() if part))
