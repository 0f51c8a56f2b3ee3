"""Containers of Swift, the object store of OpenStack and of Rackspace (Cloud Files)."""

import asyncio
import os
from collections.abc import Iterable, Sequence
from typing import Any
from urllib.parse import quote, unquote, urlsplit

from cloudcmp.errors import IncompleteListing, NoCredentials, ProviderFault, RefusalKind, Refused
from cloudcmp.model.cast import DataSet, Service, ServiceKind
from cloudcmp.model.lease import CreateRequest, Handle, Listing
from cloudcmp.model.plan import Candidate
from cloudcmp.model.protocol import UNKNOWN_ACCOUNT
from cloudcmp.model.safety import Finding
from cloudcmp.provider.common.data_sets import DataSetName, DataSets, Found, resources
from cloudcmp.provider.common.hosts import addresses_of, is_loopback
from cloudcmp.provider.openstack.sdk import OBJECTS
from cloudcmp.provider.openstack.swift_sdk import SwiftSdk, own_login

_SUFFIX = "-swift"
_PREFIX = "cloudcmp-"
_TAG, _META = "cloudcmp:", "x-container-meta-cloudcmp-"
_BATCH, _DELETES = 1000, 8
_EMPTY_S, _POLL_S = 300.0, 1.0
_CLOCKS_S = 60.0  # a token outlives its trial by as much as clocks may differ


class SwiftDataSets(DataSets):
    """The containers of Swift; their metadata are the tags, set in the creating call.

    The account is that of the environment or of clouds.yaml: Keystone is asked, or Swift's own login of the first
    version where OS_AUTH_URL names one. A trial gets the account's URL and a token. That token opens the whole account
    and lives for hours: Swift has none that is narrower and lets its bearer write and list.
    """

    def __init__(self, name: str, services: Iterable[Service] = (), *, sdk: SwiftSdk | None = None) -> None:
        self.name = name
        self._sdk = sdk or SwiftSdk(name.removesuffix(_SUFFIX))
        self._regions = tuple(dict.fromkeys(one.region for one in services if one.kind is ServiceKind.BLOB))
        # Nothing that stays on this machine costs money.
        self.billed = "OS_CLOUD" in os.environ or not is_loopback(os.environ.get("OS_AUTH_URL", ""))

    async def check(self, candidates: Sequence[Candidate]) -> tuple[Finding, ...]:
        """Whether the credentials may list containers in each region."""
        services = [one.service for one in candidates if one.service and one.service.kind is ServiceKind.BLOB]
        return tuple([await self._check(region) for region in dict.fromkeys(one.region for one in services)])

    async def _check(self, region: str) -> Finding:
        what = f"blob at {self._sdk.location(region)}"
        try:
            await self._sdk.read(region, "", limit=1)
        except ProviderFault as fault:
            return Finding(what, False, fault.faults[0].what, fault.faults[0].next)
        return Finding(what, True, "its containers can be listed")

    async def account(self) -> str:
        """The project of the credentials, or the account that Swift's own login names, and the login's address."""
        if own_login() is None:
            account, _ = await self._sdk.run_in_thread(self._sdk.keystone.project)
        else:
            url, _ = await self._sdk.run_in_thread(lambda: self._sdk.access(""))
            account = urlsplit(url).path.rpartition("/")[2]
        return self._sdk.with_endpoint(account or UNKNOWN_ACCOUNT)

    async def date(self) -> float | None:
        """The time by the service's clock (Unix s), from a response header."""
        await self._sdk.read((await self._places())[0], "", limit=1)
        return self._sdk.time()

    async def _create(self, request: CreateRequest, name: str) -> str:
        tags = {key.removeprefix(_TAG): value for key, value in request.tags if key.startswith(_TAG)}
        headers = {f"{_META}{key}": quote(value) for key, value in tags.items()}
        await self._sdk.change(request.region, "PUT", f"/{name}", headers)
        return name

    async def _list(self, region: str | None) -> Listing:
        places = [region] if region else await self._places()
        found: list[Found] = []
        unlisted: list[str] = []
        for place in places:
            try:
                found += await self._list_in(place)
            except NoCredentials:
                raise
            except ProviderFault as fault:
                if len(places) == 1:
                    raise IncompleteListing(*fault.faults) from fault
                unlisted.append(f"{place}: {fault.faults[0].what}")
        return Listing(resources(found), tuple(unlisted))

    async def _places(self) -> list[str]:
        """The study's regions, else all; Swift's own login has one without a name."""
        if self._regions:
            return list(self._regions)
        if own_login() is not None:
            return [""]
        return list(await self._sdk.run_in_thread(lambda: self._sdk.keystone.regions(OBJECTS)))

    async def _list_in(self, place: str) -> list[Found]:
        names = [str(one["name"]) for one in await self._names(place, "", prefix=_PREFIX)]
        return [found for name in names if DataSetName.read(name) if (found := await self._found(place, name))]

    async def _names(self, place: str, path: str, *, most: int | None = None, **params: Any) -> list[Any]:
        """The entries of an account or a container, all of them or the first `most`."""
        entries: list[Any] = []
        while True:
            last = {"marker": entries[-1]["name"]} if entries else {}
            answer = await self._sdk.read(place, path, limit=most or _BATCH, **params, **last)
            page = answer.content if isinstance(answer.content, list) else None
            if page is None and answer.content is not None:
                raise IncompleteListing.at(self._sdk.location(place), "a list cannot be read", "ask again")
            entries += page or []
            if not page or most:
                return entries

    async def _found(self, place: str, name: str) -> Found | None:
        """A container with its tags; None if it went meanwhile."""
        try:
            headers = (await self._sdk.read(place, f"/{name}", limit=1)).headers
        except Refused as fault:
            if fault.is_refusal(RefusalKind.MISSING):
                return None
            raise
        own = {key.removeprefix(_META): unquote(value) for key, value in headers.items() if key.startswith(_META)}
        return Found(name, place, tuple((f"{_TAG}{key}", value) for key, value in own.items()))

    async def destroy(self, handle: Handle) -> None:
        """Empties and deletes a container. Lists may lag behind deletions, so it is emptied until it can be deleted."""
        waited_s = 0.0
        while True:
            try:
                await self._empty(handle)
                await self._sdk.change(handle.region, "DELETE", f"/{handle.cloud_id}")
                return
            except Refused as fault:
                if fault.is_refusal(RefusalKind.MISSING):
                    return
                if not _is_conflict(fault) or waited_s >= _EMPTY_S:
                    raise
            await asyncio.sleep(_POLL_S)
            waited_s += _POLL_S

    async def _empty(self, handle: Handle) -> None:
        path, some = f"/{handle.cloud_id}", asyncio.Semaphore(_DELETES)

        async def delete(name: str) -> None:
            async with some:
                try:
                    await self._sdk.change(handle.region, "DELETE", f"{path}/{quote(name)}")
                except Refused as fault:
                    if not fault.is_refusal(RefusalKind.MISSING):
                        raise

        for _ in range(2):  # what is listed again was deleted already, or came meanwhile
            names = [str(one["name"]) for one in await self._names(handle.region, path)]
            if not names:
                return
            await asyncio.gather(*map(delete, names))

    async def gone(self, handle: Handle) -> str | None:
        """Evidence that a container is gone: the service does not know it."""
        try:
            await self._sdk.read(handle.region, f"/{handle.cloud_id}", limit=1)
        except Refused as fault:
            if fault.is_refusal(RefusalKind.MISSING):
                return f"there is no container {handle.cloud_id}"
            raise
        return None

    async def data_set(self, service: Service, handle: Handle, until: float) -> DataSet:
        """The container, with a token that outlives its use."""
        url, token = await self._sdk.run_in_thread(lambda: self._sdk.access(handle.region, until + _CLOCKS_S))
        credential = {"kind": "token", "header": "x-auth-token", "value": token}
        addresses = await addresses_of(urlsplit(url).hostname or "")
        return DataSet("swift", url, handle.cloud_id, service.region, addresses=addresses, credential=credential)


def _is_conflict(fault: Refused) -> bool:
    """True if a container could not be deleted because something is in it."""
    return fault.reason is not None and fault.reason.code == "HTTP 409"
