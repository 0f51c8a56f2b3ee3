"""The data sets of Azure's storage services: what containers, tables and queues have in common."""

from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from time import time
from typing import Any
from urllib.parse import urlsplit

from cloudcmp.errors import ProviderFault, RefusalKind, Refused
from cloudcmp.model.cast import DataSet, Service, ServiceKind
from cloudcmp.model.lease import CreateRequest, Handle, Listing
from cloudcmp.model.plan import Candidate
from cloudcmp.model.safety import Finding
from cloudcmp.provider.azure.faults import code_of
from cloudcmp.provider.azure.storage import StorageSdk, instant
from cloudcmp.provider.azure.storage_faults import BEING_DELETED
from cloudcmp.provider.common.data_sets import DataSets, Found, resources
from cloudcmp.provider.common.hosts import addresses_of, is_loopback

_CLOCKS_S = 600.0  # a signature begins earlier and ends later than its trial by as much as clocks may differ
_TAG, _KEY = "cloudcmp:", "cloudcmp_"


class AzureDataSets(DataSets):
    """The data sets of one service of the storage account that the environment names.

    An account is in one region; which one, its data do not tell. `sdk` replaces the account's client.
    """

    kind: ServiceKind
    api = ""
    """The name of the service among those of its kind; empty for the first."""
    permissions: str
    """What a trial's signature allows, in Azure's letters."""

    def __init__(self, name: str, services: Iterable[Service] = (), *, sdk: StorageSdk | None = None) -> None:
        self.name = name
        self._regions = tuple(dict.fromkeys(one.region for one in services if one.kind is self.kind))
        self._sdk = sdk or StorageSdk(self.kind.value, name)
        # Nothing that stays on this machine costs money; without an account nothing is made.
        with suppress(ProviderFault):
            self.billed = not is_loopback(self._sdk.account().urls[self.kind.value])

    @property
    def protocol(self) -> str:
        """The name of the service's protocol."""
        return f"azure-{self.kind.value}"

    async def check(self, candidates: Sequence[Candidate]) -> tuple[Finding, ...]:
        """Whether the account's data sets may be listed, and whether one account can be in all regions asked for."""
        services = [
            one.service
            for one in candidates
            if one.service and (one.service.kind, one.service.api) == (self.kind, self.api)
        ]
        regions = sorted({one.region for one in services if one.provider == "azure"})
        what = f"{self.api or self.kind.value} of azure"
        if len(regions) > 1:
            text = f"one storage account cannot be in {' and '.join(regions)}"
            return (Finding(what, False, text, "write a study for each account"),)
        try:
            await self.named()
        except ProviderFault as fault:
            return (Finding(what, False, fault.faults[0].what, fault.faults[0].next),)
        text = self._sdk.with_endpoint(f"the data sets of storage account {self._sdk.account().name} can be listed")
        return (Finding(what, True, text),)

    async def account(self) -> str:
        """The name of the storage account, and its endpoint if it is not Azure's own."""
        return self._sdk.with_endpoint(self._sdk.account().name)

    async def date(self) -> float | None:
        """The time by the service's clock (Unix s), from a response header."""
        return await self._sdk.date()

    async def _create(self, request: CreateRequest, name: str) -> str:
        own = self.spelled(request, name)
        tags = {key.replace(_TAG, _KEY): value for key, value in request.tags}
        try:
            await self._sdk.change(lambda client, options: self.make(client, own, tags, options))
        except Refused as fault:
            if not fault.is_refusal(RefusalKind.EXISTS):
                raise
        return own

    def spelled(self, request: CreateRequest, name: str) -> str:  # noqa: ARG002 - a table's name follows from it
        """The name of a data set as the service allows it."""
        return name

    @abstractmethod
    def make(self, client: Any, name: str, metadata: dict[str, str], options: Mapping[str, Any]) -> None:
        """Creates a data set with its metadata, in one call."""

    @abstractmethod
    def listed(self, client: Any, options: Mapping[str, Any]) -> list[tuple[str, dict[str, str]]]:
        """Names and metadata of the data sets whose names begin as cloudcmp's do."""

    @abstractmethod
    def remove(self, client: Any, name: str, options: Mapping[str, Any]) -> None:
        """Deletes a data set with everything in it."""

    @abstractmethod
    def look(self, client: Any, name: str, options: Mapping[str, Any]) -> bool:
        """Whether a data set is there; a service's refusal of a missing one may pass through."""

    @abstractmethod
    def signed(self, client: Any, name: str, since: float, until: float) -> str:
        """A shared access signature of one data set for a time (Unix s), as a query; raises the kinds of fault."""

    async def named(self) -> list[tuple[str, dict[str, str]]]:
        """Names and metadata of the data sets whose names begin as cloudcmp's do."""
        return await self._sdk.read(self.listed)

    async def _list(self, region: str | None) -> Listing:
        place = region or (self._regions[0] if self._regions else "")
        found = [Found(name, place, _tags(metadata)) for name, metadata in await self.named()]
        return Listing(resources(found))

    async def destroy(self, handle: Handle) -> None:
        """Deletes a data set with everything in it."""
        try:
            await self._sdk.change(lambda client, options: self.remove(client, handle.cloud_id, options), again=True)
        except Refused as fault:
            if not fault.is_refusal(RefusalKind.MISSING) and code_of(fault) not in BEING_DELETED:
                raise

    async def gone(self, handle: Handle) -> str | None:
        """Evidence that a data set is gone: the service does not know it."""
        try:
            there = await self._sdk.read(lambda client, options: self.look(client, handle.cloud_id, options))
        except Refused as fault:
            if not fault.is_refusal(RefusalKind.MISSING):
                raise
            there = False
        return None if there else f"there is no {self.kind.value} data set {handle.cloud_id}"

    async def data_set(self, service: Service, handle: Handle, until: float) -> DataSet:
        """The data set, with what opens it for its time."""
        credential = await self.credential(handle.cloud_id, until)
        url = self._sdk.account().urls[self.kind.value]
        addresses = await addresses_of(urlsplit(url).hostname or "")
        return DataSet(self.protocol, url, handle.cloud_id, service.region, addresses=addresses, credential=credential)

    async def credential(self, data_set: str, until: float) -> dict[str, object]:
        """What opens a data set until then (Unix s): a signature limited to it, in place of the account's key."""
        since, until = time() - _CLOCKS_S, until + _CLOCKS_S
        query = await self._sdk.read(lambda client, _: self.signed(client, data_set, since, until))
        return {"kind": "sas", "query": query}

    def signing(self, delegated: Callable[[], Any], since: float, until: float) -> dict[str, Any]:
        """The arguments of every function that signs: the account's key, or the key that `delegated` asks for."""
        account = self._sdk.account()
        own = {"account_key": account.key} if account.key else {"user_delegation_key": delegated()}
        secure = {"protocol": "https"} if account.urls[self.kind.value].startswith("https:") else {}
        times = {"start": instant(since), "expiry": instant(until)}
        return {"account_name": account.name, "permission": self.permissions, **own, **secure, **times}


def _tags(metadata: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """Metadata as tags; names of metadata hold no colon."""
    return tuple((key.replace(_KEY, _TAG, 1), value) for key, value in metadata.items())
