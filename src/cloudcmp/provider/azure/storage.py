"""The clients of a storage account's blobs, tables and queues: imported at the first call, with deadlines.

The account is the one that the environment names, in the variables of Azure's own tools:
https://learn.microsoft.com/azure/storage/common/storage-configure-connection-string and
https://learn.microsoft.com/cli/azure/storage
"""

import importlib
import os
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, TypeVar
from urllib.parse import urlsplit

from cloudcmp.errors import BadCredentials, NoCredentials
from cloudcmp.provider.azure.sdk import new_credential
from cloudcmp.provider.azure.storage_faults import fault_of
from cloudcmp.provider.common.findings import parse_http_date
from cloudcmp.provider.common.sdk_client import SdkClient
from cloudcmp.provider.common.sdk_imports import import_modules
from cloudcmp.provider.common.sdk_logging import limit_logging

_T = TypeVar("_T")
_CONNECT_S = 10.0
CONNECTION, ACCOUNT, KEY = "AZURE_STORAGE_CONNECTION_STRING", "AZURE_STORAGE_ACCOUNT", "AZURE_STORAGE_KEY"
"""The variables that name a storage account, and the key of one."""
_HINT = f"set {ACCOUNT}, and {KEY} or az login; or {CONNECTION}"
_SUFFIX = "core.windows.net"
_NOISY = ("azure", "requests", "urllib3")
_CLIENTS = {
    "blob": ("azure.storage.blob", "BlobServiceClient"),
    "table": ("azure.data.tables", "TableServiceClient"),
    "queue": ("azure.storage.queue", "QueueServiceClient"),
}


@dataclass(frozen=True, slots=True)
class StorageAccount:
    """A storage account: its name, its key, empty for a login, and the URL of each service."""

    name: str
    key: str = field(repr=False)
    urls: Mapping[str, str]

    @classmethod
    def of(cls, environ: Mapping[str, str]) -> "StorageAccount":
        """The account that an environment names; raises NoCredentials, BadCredentials."""
        text = environ.get(CONNECTION, "").strip()
        if text:
            return cls.connected(text)
        name = environ.get(ACCOUNT, "").strip()
        if not name:
            raise NoCredentials.at("azure", "no storage account is named", _HINT)
        if not (name.isascii() and name.isalnum()):
            raise BadCredentials.at("azure", f"{ACCOUNT} is no name of a storage account", "letters and digits only")
        urls = {kind: f"https://{name}.{kind}.{_SUFFIX}" for kind in _CLIENTS}
        return cls(name, environ.get(KEY, "").strip(), urls)

    @classmethod
    def connected(cls, text: str, variable: str = CONNECTION) -> "StorageAccount":
        """The account of a variable's connection string, which is never shown: it holds the key.

        Raises BadCredentials.
        """
        pairs = (part.partition("=") for part in text.split(";") if part.strip())
        words = {name.strip().lower(): value.strip() for name, _, value in pairs}
        name, key = words.get("accountname", ""), words.get("accountkey", "")
        if not name or not key:
            what = f"{variable} has no AccountName or no AccountKey"
            raise BadCredentials.at("azure", what, "copy it again from the account's access keys")
        scheme, suffix = words.get("defaultendpointsprotocol", "https"), words.get("endpointsuffix", _SUFFIX)
        own = {kind: words.get(f"{kind}endpoint") or f"{scheme}://{name}.{kind}.{suffix}" for kind in _CLIENTS}
        return cls(name, key, {kind: url.rstrip("/") for kind, url in own.items()})


@dataclass(slots=True)
class StorageSdk(SdkClient):
    """The client of one service of a storage account, `blob`, `table` or `queue`. `deadline_s` bounds every call."""

    kind: str
    name: str
    attempts: int = 3
    deadline_s: float = 60.0
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _account: StorageAccount | None = None
    _client: Any = None
    suffix = ""
    library, extra = "a library of Azure's storage", "azure"

    def endpoint(self) -> str | None:
        """The URL of the service if the environment names another than Azure's own."""
        url = self.account().urls[self.kind]
        own = self.suffix or f"{self.kind}.{_SUFFIX}"
        return None if (urlsplit(url).hostname or "").endswith(f".{own}") else url

    def account(self) -> StorageAccount:
        """The account that the environment names; raises NoCredentials, BadCredentials."""
        if self._account is None:
            self._account = self._named(os.environ)
        return self._account

    def _named(self, environ: Mapping[str, str]) -> StorageAccount:
        return StorageAccount.of(environ)

    def forget(self) -> None:
        """Drops the cached credentials; the next call reads them again."""
        with self._lock:
            self._client = self._account = None

    async def read(self, work: Callable[[Any, Mapping[str, Any]], _T]) -> _T:
        """Read-only work with the service's client and the options of its calls; raises the kinds of ProviderFault."""
        return await self._run(work, self.attempts, changes=False)

    async def change(self, work: Callable[[Any, Mapping[str, Any]], _T], *, again: bool = False) -> _T:
        """Work that creates or deletes; `again`: it is idempotent. Raises LostAnswer if it may have been done."""
        return await self._run(work, self.attempts if again else 1, changes=True)

    async def date(self) -> float | None:
        """The time by the service's clock (Unix s), from the header of a response to a list of nothing."""
        dates: list[str] = []

        def hook(response: Any) -> None:
            dates.append(str(response.http_response.headers.get("date", "")))

        def work(client: Any, options: Mapping[str, Any]) -> None:
            list_ = getattr(client, {"blob": "list_containers", "table": "list_tables"}.get(self.kind, "list_queues"))
            next(iter(list_(results_per_page=1, raw_response_hook=hook, **options)), None)

        await self.read(work)
        return parse_http_date(dates[-1]) if dates else None

    async def _run(self, work: Callable[[Any, Mapping[str, Any]], _T], attempts: int, *, changes: bool) -> _T:
        options = {
            "retry_total": attempts - 1, "connection_timeout": _CONNECT_S, "read_timeout": self.deadline_s / attempts,
        }  # fmt: skip

        def call() -> _T:
            return self.call_library(lambda: work(self._open(), options), fault_of, changes=changes)

        return await self.run_in_thread(call, changes=changes)

    def _open(self) -> Any:
        with self._lock:
            if self._client is None:
                account = self.account()
                package, class_name = _CLIENTS[self.kind]
                import_modules("azure.core.credentials", package)
                from azure.core.credentials import AzureNamedKeyCredential

                limit_logging(*_NOISY)
                named = AzureNamedKeyCredential(account.name, account.key) if account.key else new_credential()
                kind = getattr(importlib.import_module(package), class_name)
                self._client = kind(account.urls[self.kind], credential=named, user_agent="cloudcmp")
            return self._client


def instant(at: float) -> datetime:
    """A time (Unix s) as Azure's libraries take it, in whole seconds."""
    return datetime.fromtimestamp(int(at), UTC)
