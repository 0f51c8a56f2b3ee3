"""The openstacksdk client: imported at the first call, with deadlines, and with its errors converted to ours.

The library handles settings, credentials, sessions, the service catalogue and versions. Calls use its session directly,
because the outcome of each call matters more here than the library's objects.
"""

import logging
import os
import re
import sys
import threading
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import parse_qsl, urlsplit

from cloudcmp.errors import IncompleteListing, NoCredentials, Refused
from cloudcmp.provider.common.responses import none_if_missing
from cloudcmp.provider.common.sdk_client import SdkClient, fetch_pages
from cloudcmp.provider.common.sdk_imports import import_modules
from cloudcmp.provider.common.sdk_logging import limit_logging
from cloudcmp.provider.openstack.faults import SET, fault_of, parse_response
from cloudcmp.provider.openstack.safeguards import OPENSTACK

_NAMES = tuple(f"{name}.{suffix}" for name in ("clouds", "secure") for suffix in ("yaml", "yml", "json"))
_SYSTEM = ("/etc/xdg/openstack", "/etc/openstack")
_VARIABLES = ("OS_", "XDG_CONFIG_", "SNAP_REAL_HOME")


def may_have_settings(
    environ: Mapping[str, str] = os.environ, system: tuple[str, ...] = _SYSTEM, platform: str = sys.platform
) -> bool:
    """False only if the library surely finds no settings.

    The library reads variables that begin with `OS_`, and clouds.yaml or secure.yaml (or .yml, .json) in the current
    folder, `~/.config/openstack`, /etc/xdg/openstack and /etc/openstack, or where variables moved these:
    https://docs.openstack.org/openstacksdk/latest/user/config/configuration.html and its `config/loader.py`. On other
    systems than Linux the folders differ, so the library must look.
    """
    if platform != "linux" or any(key.startswith(_VARIABLES) for key in environ):
        return True
    folders = (Path.cwd(), Path("~/.config/openstack").expanduser(), *map(Path, system))
    return any((folder / name).exists() for folder in folders for name in _NAMES)


Response = dict[str, Any]
_T = TypeVar("_T")
_NOISY = ("keystoneauth", "openstack", "urllib3", "requests", "stevedore", "dogpile")
_PREFERRED = (2, 69)
"""The preferred microversion of Nova: the first that lists servers of a cell that is down, instead of hiding them.

https://docs.openstack.org/nova/latest/reference/api-microversion-history.html
"""
_VERSIONED = re.compile(r"/v\d")
COMPUTE, NETWORK, BLOCKS, IMAGE, OBJECTS = "compute", "network", "block-storage", "image", "object-store"


@dataclass(frozen=True, slots=True)
class ServiceEndpoint:
    """The URL of a service in a region, and the microversion to use, if it has any."""

    url: str
    microversion: str | None = None
    newest: str | None = None


@dataclass(slots=True)
class Sdk(SdkClient):
    """The client of one OpenStack. `deadline_s` bounds every call; `attempts` applies to repeatable calls."""

    name: str
    attempts: int = 3
    deadline_s: float = 60.0
    date: str = ""  # of the last response
    _lock: threading.RLock = field(default_factory=threading.RLock)
    _clouds: dict[str, Any] = field(default_factory=dict)
    _endpoints: dict[tuple[str, str], ServiceEndpoint | None] = field(default_factory=dict)
    library, extra = "openstacksdk", "openstack"

    # -- where we are

    def default_region(self) -> str:
        """Default region: the settings', else the only one; raises Refused if there are several."""
        region = self._cloud("").config.get("region_name")
        if region:
            return str(region)
        regions = self.regions()
        if len(regions) != 1:
            raise Refused.at(self.name, f"no region is named of {', '.join(regions)}", "set OS_REGION_NAME")
        return regions[0]

    def regions(self, service: str = COMPUTE) -> tuple[str, ...]:
        """The regions in which the service catalogue has a service."""
        catalog = self._access().service_catalog
        kind = self._cloud("").get_interface(service) or "public"
        endpoints = catalog.get_endpoints_data(service_type=service, interface=kind)
        names = {str(one.region_name) for some in endpoints.values() for one in some if one.region_name}
        if not names:
            raise Refused.at(self.name, f"the catalogue has no {kind} endpoint of {service}", "see OS_INTERFACE")
        return tuple(sorted(names))

    def endpoint(self) -> str:
        """The address of Keystone."""
        return str(self._cloud("").config.get("auth", {}).get("auth_url") or "")

    def project(self) -> tuple[str, str]:
        """The id and the name of the credentials' project."""
        access = self._access()
        return str(access.project_id or ""), str(access.project_name or "")

    def roles(self) -> tuple[str, ...]:
        """The names of the user's roles in the project."""
        return tuple(map(str, self._access().role_names))

    def _access(self) -> Any:
        """The content of the token: catalogue, project, roles."""

        def fetch() -> Any:
            with self._lock:
                session = self._cloud("").get_session()
                access = session.auth.get_access(session)
            if access.version != "v3":
                raise Refused.at(self.name, f"its Keystone speaks {access.version}", "only Keystone v3 is supported")
            return access

        return self.call_library(fetch, fault_of)

    def service_endpoint(self, region: str, service: str) -> ServiceEndpoint | None:
        """The endpoint of a service, None if the region has no such service."""
        with self._lock:
            if (region, service) not in self._endpoints:
                self._access()
                self._endpoints[region, service] = self.call_library(
                    lambda: self._find_endpoint(region, service), fault_of, region
                )
            return self._endpoints[region, service]

    def _find_endpoint(self, region: str, service: str) -> ServiceEndpoint | None:
        from keystoneauth1.exceptions import EndpointNotFound

        try:
            client = self._cloud(region).get_session_client(service)
            data = client.get_endpoint_data()
        except EndpointNotFound:
            return None
        if data is None or not data.url:
            return None
        url = str(data.url).rstrip("/")
        # Without versions from the service, the library uses the catalogue's URL, which may have none.
        if not _VERSIONED.search(urlsplit(url).path) or (service == COMPUTE and not data.max_microversion):
            raise IncompleteListing.at(self.location(region), f"{service} does not tell its versions", "ask again")
        if service != COMPUTE:
            return ServiceEndpoint(url)
        most = tuple(data.max_microversion)
        spoken = min(most, _PREFERRED)
        return ServiceEndpoint(url, f"{spoken[0]}.{spoken[1]}", f"{most[0]}.{most[1]}")

    def object_store(self, region: str, until: float, refused: str = "") -> tuple[str, str]:
        """The URL of the project's account in Swift, and a token that is valid until a time (Unix s).

        A token that equals `refused` is renewed. Raises Refused if the region has no Swift, or no token lives so long.
        """
        self._access()

        def look() -> tuple[str, str]:
            from keystoneauth1.exceptions import EndpointNotFound

            cloud = self._cloud(region)
            kind = cloud.get_interface(OBJECTS) or "public"
            with self._lock:
                session = cloud.get_session()
                access = session.auth.get_access(session)
                if access.auth_token == refused or access.expires.timestamp() < until:
                    session.invalidate()
                    access = session.auth.get_access(session)
            if access.expires.timestamp() < until:
                what = f"a token of its Keystone ends at {access.expires:%H:%M:%S} UTC, before the trial may end"
                raise Refused.at(self.location(region), what, "choose shorter trials")
            place = cloud.config.get("region_name") or None
            try:
                url = session.get_endpoint(service_type=OBJECTS, interface=kind, region_name=place)
            except EndpointNotFound:
                url = None
            if not url:
                raise Refused.at(self.location(region), "this cloud has no Swift there", "see 'openstack catalog list'")
            return str(url).rstrip("/"), str(access.auth_token)

        return self.call_library(look, fault_of, region)

    async def has(self, region: str, service: str) -> bool:
        """True if a region has a service."""
        return await self.run_in_thread(lambda: self.service_endpoint(region, service), region) is not None

    # -- calls

    async def read(self, region: str, service: str, path: str, **params: Any) -> Response:
        """A read-only call; raises IncompleteListing if its response is lost, and the other kinds of fault."""
        return await self.run_in_thread(lambda: self.read_blocking(region, service, path, **params), region)

    def read_blocking(self, region: str, service: str, path: str, **params: Any) -> Response:
        """`read` in this thread. Only its attempts are bounded, so run it in a thread of `blocking_calls`."""
        return self._call(region, service, "GET", path, None, params, self.attempts)

    async def change(
        self, region: str, service: str, method: str, path: str, body: Any = None, *, again: bool = False
    ) -> Response:
        """A call that creates or deletes; `again`: it is idempotent. Raises LostAnswer if it may have been executed."""
        attempts = self.attempts if again else 1
        await self.run_in_thread(
            lambda: self._check_service(region, service), region
        )  # if this fails, nothing was sent
        return await self.run_in_thread(
            lambda: self._call(region, service, method, path, body, {}, attempts, changes=True), region, changes=True
        )

    async def delete(self, region: str, service: str, path: str) -> bool:
        """Requests the deletion of a resource; False if it did not exist."""
        return await none_if_missing(self.change(region, service, "DELETE", path, again=True)) is not None

    async def pages(self, region: str, service: str, path: str, key: str, **params: Any) -> list[Any]:
        """A complete list, all of its pages; raises IncompleteListing."""
        return await self.run_in_thread(lambda: self.pages_blocking(region, service, path, key, **params), region)

    def pages_blocking(self, region: str, service: str, path: str, key: str, **params: Any) -> list[Any]:
        """`pages` in this thread. Each page has its own deadline, so run it in a thread of `blocking_calls`."""

        def fetch(link: str) -> tuple[list[Any], str]:
            response = self.read_blocking(region, service, path, **params | dict(parse_qsl(urlsplit(link).query)))
            page = response.get(key)
            if not isinstance(page, list):
                raise IncompleteListing.at(self.location(region), f"{path} answered without {key}", "ask again")
            return page, _next_link(response, key)

        return fetch_pages(fetch, "", self.location(region), path)

    async def own(self, region: str, path: str, key: str) -> list[Any]:
        """A complete list of Neutron without other projects' resources, which administrators see too."""
        listed = await self.pages(region, NETWORK, path, key)
        project, _ = await self.run_in_thread(self.project, region)
        return [one for one in listed if (one.get("project_id") or one.get("tenant_id") or project) == project]

    def forget(self) -> None:
        """Drops the settings and endpoints; the next call reads them again."""
        with self._lock:
            self._clouds.clear()
            self._endpoints.clear()

    def _check_service(self, region: str, service: str) -> ServiceEndpoint:
        """Checks credentials and service; returns the service's endpoint."""
        endpoint = self.service_endpoint(region, service)
        if endpoint is None:
            what = f"this cloud has no {service} there"
            raise Refused.at(self.location(region), what, "see 'openstack catalog list'")
        self.call_library(lambda: self._token_headers(region), fault_of, region)
        return endpoint

    def _token_headers(self, region: str, refused: Mapping[str, str] | None = None) -> dict[str, str]:
        """The token headers of a region, renewed once for all threads, which share it, if they equal `refused`."""
        with self._lock:
            session = self._cloud(region).get_session()
            headers = dict(session.get_auth_headers() or {})
            if headers == refused:
                session.invalidate()
                headers = dict(session.get_auth_headers() or {})
            return headers

    def _call(
        self, region: str, service: str, method: str, path: str, body: Any, params: Mapping[str, Any], attempts: int,
        *, changes: bool = False,
    ) -> Response:  # fmt: skip
        endpoint = self._check_service(region, service)

        def once(token: Mapping[str, str]) -> Any:
            return self._cloud(region).get_session().request(
                endpoint.url + path,
                method,
                json=body,
                params=dict(params) or None,
                headers={"Accept": "application/json", **token},
                authenticated=False,  # the token is in the headers
                microversion=endpoint.microversion,
                microversion_service_type=service if endpoint.microversion else None,
                timeout=self.deadline_s,
                raise_exc=False,
                redirect=False,
                connect_retries=attempts - 1,
                status_code_retries=attempts - 1,
                retriable_status_codes=[500, 502, 503, 504],
                log=False,  # requests contain keys
            )  # fmt: skip

        def sent() -> Response:
            token = self._token_headers(region)
            response = once(token)
            if response.status_code == 401:  # refused before execution
                response = once(self._token_headers(region, refused=token))
            self.date = response.headers.get("Date", "")
            return parse_response(response, self.location(region), changes=changes)

        return self.call_library(sent, fault_of, region, changes=changes)

    def _cloud(self, region: str) -> Any:
        """The settings for a region, empty for their default region."""
        with self._lock:
            if region not in self._clouds:
                self._clouds[region] = self.call_library(lambda: _settings(self.name, region), fault_of, region)
            return self._clouds[region]


def _next_link(response: Response, key: str) -> str:
    """The link of the next page in a response of Nova, Neutron and Cinder (`servers_links`), or Glance (`next`)."""
    links = response.get(f"{key}_links") or ()
    link = next((str(one.get("href", "")) for one in links if one.get("rel") == "next"), "")
    return link or str(response.get("next") or "")


def _settings(name: str, region: str) -> Any:
    """The cloud in the environment or clouds.yaml; limits its logging to errors, which we report ourselves."""
    if find_spec("openstack") is not None and not may_have_settings():
        raise NoCredentials.at(name, "there are no settings", SET)
    import_modules("openstack.config", "openstack.exceptions", "keystoneauth1.exceptions")
    import openstack.config
    import openstack.exceptions

    limit_logging(*_NOISY, level=logging.ERROR)
    # The library triggers these warnings itself.
    warnings.filterwarnings("ignore", category=PendingDeprecationWarning, module=r"openstack\.")
    settings = openstack.config.OpenStackConfig(app_name="cloudcmp")
    # Prefer a cloud with the provider's own name, so that one study can use two of them.
    own: dict[str, Any] = {"cloud": name} if name != OPENSTACK and name in settings.get_cloud_names() else {}
    if not region:
        return settings.get_one(**own)
    try:
        return settings.get_one(region_name=region, **own)
    except openstack.exceptions.ConfigException:
        # The settings know only the regions listed there; the catalogue has more.
        cloud = settings.get_one(**own)
        cloud.config["region_name"] = region
        return cloud
