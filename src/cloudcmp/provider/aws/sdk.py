"""The botocore client: imported at the first call, with deadlines, and with its errors converted to ours."""

import os
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any, TypeVar

from cloudcmp.errors import IncompleteListing, NoCredentials
from cloudcmp.provider.aws.faults import CREDENTIALS_HINT, fault_of
from cloudcmp.provider.common.sdk_client import SdkClient, fetch_pages
from cloudcmp.provider.common.sdk_imports import import_modules
from cloudcmp.provider.common.sdk_logging import limit_logging

Response = dict[str, Any]
_T = TypeVar("_T")
_CONNECT_S = 10.0
_NOISY = ("botocore", "urllib3")


@dataclass(slots=True)
class Sdk(SdkClient):
    """The client of one cloud's API. `deadline_s` bounds every call; `attempts` applies to repeatable calls.

    `url` is the endpoint of every service, `profile` the named profile whose credentials are used; both optional.
    `own_keys` are an access key and its secret that replace the credentials of the environment.
    """

    name: str
    attempts: int = 3
    deadline_s: float = 60.0
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _session: Any = None
    _clients: dict[tuple[str, str, int], Any] = field(default_factory=dict)
    account: str | None = None  # of the current credentials
    url: str | None = None
    profile: str | None = None
    own_keys: tuple[str, str] | None = field(default=None, repr=False)
    library, extra = "botocore", "aws"

    def endpoint(self) -> str | None:
        """The endpoint set by the environment, instead of AWS's own."""
        return self.url or os.environ.get("AWS_ENDPOINT_URL_EC2") or os.environ.get("AWS_ENDPOINT_URL") or None

    def default_region(self) -> str:
        """Default region: the environment's, the profile's, else us-east-1."""
        region = os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION")
        if region:
            return region

        def read() -> str:  # raises for an unreadable settings file or a missing profile
            with self._lock:
                return str(self._open_session().get_config_variable("region") or "us-east-1")

        return self.call_library(read, fault_of)

    async def read(self, service: str, region: str, action: str, **params: Any) -> Response:
        """A read-only call; raises IncompleteListing if its response is lost, and the other kinds of fault."""
        return await self.run_in_thread(lambda: self.read_blocking(service, region, action, **params), region)

    def read_blocking(self, service: str, region: str, action: str, **params: Any) -> Response:
        """`read` in this thread. Only its attempts are bounded, so run it in a thread of `blocking_calls`."""
        return self._call(service, region, action, params, self.attempts, changes=False)

    async def change(self, region: str, action: str, *, again: bool = False, **params: Any) -> Response:
        """A call that creates or deletes; `again`: it is idempotent. Raises LostAnswer if it may have been executed."""
        attempts = self.attempts if again else 1
        return await self.run_in_thread(
            lambda: self._call("ec2", region, action, params, attempts, changes=True), region, changes=True
        )

    async def write(self, service: str, region: str, action: str, *, again: bool = False, **params: Any) -> Response:
        """`change` for any service."""
        attempts = self.attempts if again else 1
        return await self.run_in_thread(
            lambda: self._call(service, region, action, params, attempts, changes=True), region, changes=True
        )

    async def url_of(self, service: str, region: str) -> str:
        """The URL that the library uses for a service: AWS's own, or one set by the environment."""

        def read() -> str:
            return str(self._client(service, region, self.attempts).meta.endpoint_url)

        return await self.run_in_thread(lambda: self.call_library(read, fault_of, region), region)

    async def keys(self, region: str) -> tuple[str, str, str | None]:
        """The current access key, its secret and its session token, None for a long-lived key."""

        def read() -> tuple[str, str, str | None]:
            if self.own_keys:
                return (*self.own_keys, None)
            with self._lock:
                credentials = self._open_session().get_credentials()
            if credentials is None:
                raise NoCredentials.at(self.location(region), "there are no credentials", CREDENTIALS_HINT)
            frozen = credentials.get_frozen_credentials()
            return str(frozen.access_key), str(frozen.secret_key), frozen.token

        return await self.run_in_thread(lambda: self.call_library(read, fault_of, region), region)

    async def pages(self, region: str, action: str, key: str, **params: Any) -> list[Any]:
        """A complete list, all of its pages; raises IncompleteListing."""
        return await self.run_in_thread(lambda: self.pages_blocking(region, action, key, **params), region)

    def pages_blocking(self, region: str, action: str, key: str, **params: Any) -> list[Any]:
        """`pages` in this thread. Each page has its own deadline, so run it in a thread of `blocking_calls`."""

        def fetch(token: str) -> tuple[list[Any], str]:
            more = {"NextToken": token} if token else {}
            response = self.read_blocking("ec2", region, action, **params, **more)
            if key not in response:
                raise IncompleteListing.at(self.location(region), f"{action} answered without {key}", "ask again")
            return response[key], response.get("NextToken") or ""

        return fetch_pages(fetch, "", self.location(region), action)

    def forget(self) -> None:
        """Drops the cached credentials; the next call reads them again."""
        with self._lock:
            self._session = None
            self._clients.clear()
            self.account = None

    def _call(
        self, service: str, region: str, action: str, params: Mapping[str, Any], attempts: int, *, changes: bool
    ) -> Response:
        def call() -> Response:
            return dict(getattr(self._client(service, region, attempts), action)(**params))

        return self.call_library(call, fault_of, region, changes=changes)

    def _client(self, service: str, region: str, attempts: int) -> Any:
        with self._lock:
            known = self._clients.get((service, region, attempts))
            if known is not None:
                return known
            session = self._open_session()
            from botocore.config import Config

            config = Config(
                connect_timeout=_CONNECT_S,
                read_timeout=self.deadline_s,
                retries={"mode": "standard", "total_max_attempts": attempts},
                user_agent_extra="cloudcmp",
                # Services that only resemble S3 know no newer checksums, and have buckets in paths.
                request_checksum_calculation="when_required",
                response_checksum_validation="when_required",
                s3={"addressing_style": "path" if self.url else "auto"},
            )
            client = session.create_client(
                service, region_name=region, config=config, endpoint_url=self.url, **self._key_arguments()
            )
            self._clients[service, region, attempts] = client
            return client

    def _key_arguments(self) -> dict[str, str]:
        if self.own_keys is None:
            return {}
        return {"aws_access_key_id": self.own_keys[0], "aws_secret_access_key": self.own_keys[1]}

    def _open_session(self) -> Any:
        if self._session is None:
            self._session = new_session(self.profile)
        return self._session


def new_session(profile: str | None = None) -> Any:
    """A botocore session that logs only warnings: its debug log holds requests with secrets."""
    import_modules("botocore.session", "botocore.loaders", "botocore.config")
    limit_logging(*_NOISY)
    import botocore.session

    # The service descriptions are large: load them once, even if credentials are renewed.
    session = botocore.session.Session(profile=profile)
    session.register_component("data_loader", _descriptions())
    return session


@cache
def _descriptions() -> Any:
    from botocore.loaders import create_loader

    return create_loader()
