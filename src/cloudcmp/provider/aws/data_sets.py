"""The data sets of AWS's storage services: what those of S3, DynamoDB and SQS have in common."""

import asyncio
import os
import time
from abc import abstractmethod
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import Any
from urllib.parse import urlsplit

from cloudcmp.errors import IncompleteListing, NoCredentials, ProviderFault
from cloudcmp.model.cast import DataSet, Service, ServiceKind
from cloudcmp.model.lease import CreateRequest, Handle, Listing
from cloudcmp.model.plan import Candidate
from cloudcmp.model.protocol import UNKNOWN_ACCOUNT
from cloudcmp.model.safety import Finding
from cloudcmp.provider.aws.preflight import account_of, date_of
from cloudcmp.provider.aws.sdk import Sdk, new_session
from cloudcmp.provider.common.data_sets import DataSets, Found, resources, signing_keys
from cloudcmp.provider.common.hosts import addresses_of, is_loopback

_AWS_HOST = ".amazonaws.com"
_FIRST_REGION = "us-east-1"
_CLOCKS_S = 600.0  # a signing key outlives its trial by as much as clocks may differ


class AwsDataSets(DataSets):
    """The data sets of one service of AWS, or of the endpoints of these services that speak its protocol.

    The region of a lease at an endpoint is its URL. `sdk` makes the client of an endpoint; `keys` are an access key and
    its secret in place of the environment's.
    """

    kind: ServiceKind
    protocol: str
    library_name: str  # of the service in the library and in signatures
    look: str  # the call that only lists

    def __init__(
        self,
        name: str,
        services: Iterable[Service] = (),
        *,
        sdk: Callable[[str | None], Sdk] | None = None,
        keys: tuple[str, str] | None = None,
    ) -> None:
        self.name = name
        some = [one for one in services if one.kind is self.kind]
        self._regions = {one.endpoint: one.region for one in some if one.endpoint}
        self._places = tuple(dict.fromkeys(map(place_of, some)))
        self._make_sdk = sdk or (lambda url: Sdk(name, url=url, own_keys=keys))
        self._sdks: dict[str | None, Sdk] = {}
        # Nothing that stays on this machine costs money, and nothing there is listed late.
        self.billed = not self._places or not all(map(self._stays_here, self._places))

    async def check(self, candidates: Sequence[Candidate]) -> tuple[Finding, ...]:
        """Whether the credentials may list data sets at each place."""
        services = [one.service for one in candidates if one.service and one.service.kind is self.kind]
        places = dict.fromkeys(place_of(one) for one in services if not one.serve)
        return tuple(await asyncio.gather(*(self._check(place) for place in places)))

    async def _check(self, place: str) -> Finding:
        what = f"{self.kind.value} at {place}"
        try:
            await self._read(place, self.look)
        except ProviderFault as fault:
            return Finding(what, False, fault.faults[0].what, fault.faults[0].next)
        return Finding(what, True, "its data sets can be listed")

    def _stays_here(self, place: str) -> bool:
        """True if a place is on this machine: an endpoint, or a region that the environment leads to one.

        A setting has the library ignore such a variable: then requests go to Amazon, and are billed.
        """
        if "://" in place:
            return is_loopback(place)
        named = f"AWS_ENDPOINT_URL_{self.library_name.upper()}"
        led = os.environ.get(named) or os.environ.get("AWS_ENDPOINT_URL") or ""
        if not is_loopback(led):
            return False
        with suppress(Exception):  # without the library, or with settings that it cannot read, nothing is sent
            return not new_session().get_config_variable("ignore_configured_endpoint_urls")
        return False

    async def _create(self, request: CreateRequest, name: str) -> str:
        return await self.make(request.region, name, dict(request.tags))

    @abstractmethod
    async def make(self, place: str, name: str, tags: dict[str, str]) -> str:
        """Creates a data set with its tags; idempotent. Returns its cloud id."""

    async def _list(self, region: str | None) -> Listing:
        places = [region] if region else [*self._places] or await self._everywhere()
        found: list[Found] = []
        unlisted: list[str] = []
        for place in places:
            try:
                found += await self._list_in(place)
            except NoCredentials:
                raise  # they hold for every place
            except ProviderFault as fault:
                if region or len(places) == 1:
                    raise IncompleteListing(*fault.faults) from fault
                unlisted.append(f"{place}: {fault.faults[0].what}")
        return Listing(resources(found), tuple(unlisted))

    async def _everywhere(self) -> list[str]:
        """Every region of the account, or one of them where a list holds for all."""
        sdk = self._sdk(None)
        first = sdk.default_region()
        if self.kind is ServiceKind.BLOB:
            return [first]
        answer = await sdk.read("ec2", first, "describe_regions")
        return sorted(str(one["RegionName"]) for one in answer.get("Regions") or ()) or [first]

    async def account(self) -> str:
        """The account in use; an endpoint of the study's own does not tell it."""
        if self.name == self.protocol:
            return UNKNOWN_ACCOUNT
        return await account_of(self._sdk(None), compatible=False)

    async def date(self) -> float | None:
        """The time by the service's clock (Unix s), from a response header."""
        place = self._places[0] if self._places else self._sdk(None).default_region()
        return date_of(await self._read(place, self.look))

    @abstractmethod
    async def _list_in(self, place: str) -> list[Found]:
        """The data sets at one place whose names are cloudcmp's."""

    async def data_set(self, service: Service, handle: Handle, until: float) -> DataSet:
        """The data set, with signing keys of the days of its use in place of the secret key.

        AWS's own library signs with the secret key itself, and with nothing else.
        """
        place = place_of(service)
        region, sdk = self._region(place), self._sdk(service.endpoint or None)
        endpoint = service.endpoint or await sdk.url_of(self.library_name, region)
        access_key, secret, token = await sdk.keys(region)
        credential: dict[str, object] = {"kind": "sigv4", "access_key": access_key}
        if token:
            credential["session_token"] = token
        since, until = time.time() - _CLOCKS_S, until + _CLOCKS_S
        own = {**credential, "kind": "keys", "secret_key": secret}
        credential["keys"] = signing_keys(secret, region, self.library_name, since, until)
        host = urlsplit(endpoint).hostname or ""
        style = "host" if host.endswith(_AWS_HOST) else "path"
        name, addresses = self._name_of(handle.cloud_id), await addresses_of(host)
        return DataSet(
            self.protocol, endpoint, name, region, style, addresses, credential=credential, own_client_credential=own
        )

    def _name_of(self, cloud_id: str) -> str:
        """The name by which requests name a data set."""
        return cloud_id

    def _region(self, place: str) -> str:
        return self._regions.get(place, _FIRST_REGION) if "://" in place else place

    def _sdk(self, url: str | None) -> Sdk:
        return self._sdks.setdefault(url, self._make_sdk(url))

    async def _read(self, place: str, action: str, **params: Any) -> dict[str, Any]:
        url = place if "://" in place else None
        return await self._sdk(url).read(self.library_name, self._region(place), action, **params)

    async def _write(self, place: str, action: str, *, again: bool = False, **params: Any) -> dict[str, Any]:
        url = place if "://" in place else None
        return await self._sdk(url).write(self.library_name, self._region(place), action, again=again, **params)


def place_of(service: Service) -> str:
    """The region of a service's leases: its endpoint, else its region."""
    return service.endpoint or service.region
