"""Azure's client libraries: imported at the first call, with deadlines, and with their errors converted to ours."""

import json
import logging
import os
import threading
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, TypeVar

from cloudcmp.errors import BadCredentials, IncompleteListing, NoCredentials
from cloudcmp.model.untrusted_text import one_line
from cloudcmp.provider.azure.faults import RENEW, UNREGISTERED, fault_of
from cloudcmp.provider.common.sdk_client import SdkClient
from cloudcmp.provider.common.sdk_imports import import_modules
from cloudcmp.provider.common.sdk_logging import limit_logging

_T = TypeVar("_T")
_CONNECT_S = 10.0
_ATTEMPTS, _BACKOFF_S = 3, 0.2
_WAIT_S = 10.0
_MOST_PAGES = 2000
_NAME = "azure"
_PUBLIC = "https://management.azure.com"
_NOISY = ("azure", "requests", "urllib3")
_VERY_NOISY = ("azure.identity", "msal", "msal_extensions")  # these warn about each unavailable login method
_SUBSCRIPTION_API = "2022-12-01"
_PERMISSIONS_API = "2022-04-01"
_PACKAGES = {
    "compute": ("azure.mgmt.compute", "ComputeManagementClient"),
    "network": ("azure.mgmt.network", "NetworkManagementClient"),
    "resource": ("azure.mgmt.resource.resources", "ResourceManagementClient"),
}


@dataclass(frozen=True, slots=True)
class Reply:
    """A response: its status, its headers by lower-case name, and its body (an object, {} if empty)."""

    status: int
    headers: Mapping[str, str]
    body: dict[str, Any]

    @property
    def operation(self) -> str:
        """The URL of the long-running operation that this response started, empty if there is none.

        https://learn.microsoft.com/azure/azure-resource-manager/management/async-operations
        """
        return self.headers.get("azure-asyncoperation") or self.headers.get("location") or ""


@dataclass(slots=True)
class Sdk(SdkClient):
    """The client of one Resource Manager. `deadline_s` bounds every call; `attempts` applies to repeatable calls."""

    attempts: int = _ATTEMPTS
    deadline_s: float = 60.0
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _clients: dict[str, Any] = field(default_factory=dict)
    _credential: Any = None
    name: str = _NAME
    library, extra = "a library of Azure's", "azure"

    def endpoint(self) -> str | None:
        """The endpoint set by the environment, instead of Azure's own."""
        return (os.environ.get("CLOUDCMP_AZURE_ENDPOINT") or "").rstrip("/") or None

    def subscription(self) -> str:
        """The subscription in AZURE_SUBSCRIPTION_ID; raises NoCredentials if it is not set."""
        id = os.environ.get("AZURE_SUBSCRIPTION_ID", "").strip()
        if not id:
            what = "no subscription is named"
            raise NoCredentials.at(_NAME, what, "set AZURE_SUBSCRIPTION_ID, and sign in (az login, or AZURE_CLIENT_ID)")
        return id

    def default_region(self) -> str:
        """Default region: CLOUDCMP_AZURE_REGION, else eastus."""
        return os.environ.get("CLOUDCMP_AZURE_REGION") or "eastus"

    # -- calls

    async def read(self, client: str, group: str, action: str, *args: Any, **params: Any) -> Reply:
        """A read-only call; raises IncompleteListing if its response is lost, and the other kinds of fault."""
        return await self.run_in_thread(lambda: self.read_blocking(client, group, action, *args, **params))

    def read_blocking(self, client: str, group: str, action: str, *args: Any, **params: Any) -> Reply:
        """`read` in this thread. Only its attempts are bounded, so run it in a thread of `blocking_calls`."""
        return self._call(client, group, action, args, params, self.attempts, changes=False)[-1]

    async def change(
        self,
        client: str,
        group: str,
        action: str,
        *args: Any,
        body: Any = None,
        again: bool = False,
        only_new: bool = False,
        **params: Any,
    ) -> Reply:
        """A call that creates or deletes something; does not wait for its end. `again`: the call is idempotent.

        `only_new`: changes nothing if the name exists already. Raises LostAnswer if it may have been executed, and the
        other kinds of fault if it was not.
        """
        arguments = args if body is None else (*args, json.dumps(body).encode())
        attempts = self.attempts if again else 1
        polling = {"polling": False} if action.startswith("begin_") else {}

        def work() -> Reply:
            more = {**params, **polling, **(_only_if_missing() if only_new else {})}
            return self._call(client, group, action, arguments, more, attempts, changes=True)[-1]

        return await self.run_in_thread(work, changes=True)

    async def pages(self, client: str, group: str, action: str, *args: Any, **params: Any) -> list[dict[str, Any]]:
        """A complete list, all of its pages; raises IncompleteListing."""
        return await self.run_in_thread(lambda: self.pages_blocking(client, group, action, *args, **params))

    def pages_blocking(self, client: str, group: str, action: str, *args: Any, **params: Any) -> list[dict[str, Any]]:
        """`pages` in this thread. Each page has its own deadline, so run it in a thread of `blocking_calls`."""
        entries: list[dict[str, Any]] = []
        for reply in self._call(client, group, action, args, params, self.attempts, changes=False):
            if not isinstance(reply.body.get("value"), list):
                raise IncompleteListing.at(_NAME, f"{group} {action} answered without a list", "ask again")
            entries += reply.body["value"]
        return entries

    async def ask(self, url: str) -> Reply:
        """Reads a URL of this Resource Manager, such as a long-running operation."""
        return await self.run_in_thread(lambda: self.ask_blocking(url))

    def ask_blocking(self, url: str) -> Reply:
        """`ask` in this thread."""
        return self.call_library(lambda: self._get(url), fault_of)

    async def subscribed(self, what: str = "") -> Reply:
        """The subscription itself, or its `locations`."""
        path = f"/subscriptions/{self.subscription()}{f'/{what}' if what else ''}"
        return await self.ask(f"{path}?api-version={_SUBSCRIPTION_API}")

    async def permissions(self) -> Reply:
        """The caller's permissions in the subscription."""
        path = f"/subscriptions/{self.subscription()}/providers/Microsoft.Authorization/permissions"
        return await self.ask(f"{path}?api-version={_PERMISSIONS_API}")

    def locations_blocking(self) -> Reply:
        """The subscription's regions, in this thread."""
        return self.ask_blocking(f"/subscriptions/{self.subscription()}/locations?api-version={_SUBSCRIPTION_API}")

    def forget(self) -> None:
        """Drops the cached credentials; the next call reads them again."""
        with self._lock:
            self._clients.clear()
            self._credential = None

    # -- within a thread

    def _call(
        self,
        client: str,
        group: str,
        action: str,
        args: tuple[Any, ...],
        params: Mapping[str, Any],
        attempts: int,
        *,
        changes: bool,
    ) -> list[Reply]:
        """The responses of one call; several for a list, one for each page."""

        def call() -> list[Reply]:
            responses: list[Any] = []
            hook = {"raw_response_hook": lambda reply: responses.append(reply.http_response), **self._timing(attempts)}
            result = getattr(getattr(self._client(client), group), action)(*args, **params, **hook)
            if hasattr(result, "by_page"):
                for number, page in enumerate(result.by_page()):
                    list(page)
                    if number >= _MOST_PAGES:
                        raise IncompleteListing.at(
                            _NAME, f"{group} {action} does not end after {_MOST_PAGES} pages", "ask again"
                        )
            elif hasattr(result, "result"):
                result.result()
            return [_reply(one) for one in responses if one.status_code < 400]  # without retried ones

        return self.call_library(call, fault_of, changes=changes)

    def _get(self, url: str) -> Reply:
        from azure.core.rest import HttpRequest

        response = self._client("resource").send_request(HttpRequest("GET", url), **self._timing(self.attempts))
        response.raise_for_status()
        return _reply(response)

    def _timing(self, attempts: int) -> dict[str, Any]:
        """Few attempts, and none after the deadline; the clients' default is ten, over minutes."""
        return {
            "timeout": self.deadline_s,
            "retry_total": attempts - 1,
            "retry_backoff_factor": _BACKOFF_S,
            "connection_timeout": _CONNECT_S,
            "read_timeout": self.deadline_s,
        }

    def _client(self, name: str) -> Any:
        subscription = self.subscription()
        with self._lock:
            if name not in self._clients:
                import importlib

                package, class_name = _PACKAGES[name]
                credential = self._open_credential()
                endpoint = self.endpoint() or _PUBLIC
                import_modules(package)
                kind = getattr(importlib.import_module(package), class_name)
                self._clients[name] = kind(
                    credential,
                    subscription,
                    base_url=endpoint,
                    credential_scopes=[f"{endpoint}/.default"],
                    user_agent="cloudcmp",
                    retry_policy=_retry_policy(),
                )
            return self._clients[name]

    def _open_credential(self) -> Any:
        if self._credential is None:
            self._credential = new_credential()
        return self._credential


def _retry_policy() -> Any:
    """The retry policy of a client, without waits that outlast the deadline, and without registering services.

    Azure requests such waits with HTTP 429 and `Retry-After`:
    https://learn.microsoft.com/azure/azure-resource-manager/management/request-limits-and-throttling. For an
    unregistered service the client would register it, wait without limit, and repeat the call: a check would change the
    subscription, and a create would execute after its caller gave up.
    """
    from azure.core.exceptions import HttpResponseError
    from azure.core.pipeline.policies import RetryPolicy

    class Retries(RetryPolicy[Any, Any]):
        def send(self, request: Any) -> Any:
            response = super().send(request)
            if response.http_response.status_code == 409:
                text = ""
                with suppress(Exception):  # the client reads no code of an incomplete response either
                    text = response.http_response.text()
                if UNREGISTERED in text:
                    raise HttpResponseError(response=response.http_response)
            return response

        def is_retry(self, settings: Any, response: Any) -> bool:
            most_s = min(_WAIT_S, settings["timeout"] / 4)
            return (self.get_retry_after(response) or 0.0) <= most_s and bool(super().is_retry(settings, response))

    return Retries()


def new_credential() -> Any:
    """The credential that azure-identity finds; logs only warnings, since debug logs hold secrets."""
    import_modules("azure.identity", "azure.core.rest", "azure.core.pipeline.policies")
    from azure.identity import DefaultAzureCredential

    limit_logging(*_NOISY)
    limit_logging(*_VERY_NOISY, level=logging.ERROR)
    # Trusts a configured authority (a sovereign or private cloud, an emulator) that Microsoft may not know.
    retry = {"retry_total": _ATTEMPTS - 1, "retry_backoff_factor": _BACKOFF_S, "connection_timeout": _CONNECT_S}
    try:
        return DefaultAzureCredential(disable_instance_discovery=bool(os.environ.get("AZURE_AUTHORITY_HOST")), **retry)
    except ValueError as error:
        raise BadCredentials.at(_NAME, one_line(str(error)), RENEW) from None


def _only_if_missing() -> dict[str, Any]:
    from azure.core import MatchConditions

    return {"match_condition": MatchConditions.IfMissing}


def _reply(response: Any) -> Reply:
    headers = {str(key).lower(): str(value) for key, value in response.headers.items()}
    text = response.text() if response.content else ""
    body = json.loads(text) if text.strip() else {}
    return Reply(int(response.status_code), headers, body if isinstance(body, dict) else {"value": body})
