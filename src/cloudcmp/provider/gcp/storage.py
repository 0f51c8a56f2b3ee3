"""Buckets of Google Cloud Storage."""

import asyncio
from collections.abc import Iterable, Sequence
from typing import Any
from urllib.parse import quote, urlsplit

from cloudcmp.errors import IncompleteListing, NoCredentials, ProviderFault, Refused
from cloudcmp.model.cast import DataSet, Service, ServiceKind
from cloudcmp.model.lease import CreateRequest, Handle, Listing
from cloudcmp.model.plan import Candidate
from cloudcmp.model.safety import Finding
from cloudcmp.provider.common.data_sets import DataSetName, DataSets, Found, resources
from cloudcmp.provider.common.hosts import addresses_of, is_loopback
from cloudcmp.provider.gcp.storage_sdk import StorageSdk, emulator, is_missing, is_taken
from cloudcmp.provider.gcp.tags import exact_labels, exact_tags

_PREFIX = "cloudcmp-"
_BATCH, _DELETES = 1000, 8
_CLOCKS_S = 60.0  # a token outlives its trial by as much as clocks may differ
_NOWHERE = ("", "unknown")  # of a study that names no region: Google then chooses one


class StorageDataSets(DataSets):
    """The buckets of Cloud Storage; their labels are the tags, set in the creating call.

    The environment's STORAGE_EMULATOR_HOST names an emulator, which asks for no credentials. A trial gets a token that
    a Credential Access Boundary limits to its bucket's objects; it lives for an hour at most.
    """

    def __init__(self, name: str, services: Iterable[Service] = (), *, sdk: StorageSdk | None = None) -> None:
        self.name = name
        self._sdk = sdk or StorageSdk(name.partition("-")[0])
        self._regions = tuple(dict.fromkeys(one.region for one in services if one.kind is ServiceKind.BLOB))
        self.billed = not is_loopback(emulator() or "")  # nothing that stays on this machine costs money

    async def check(self, candidates: Sequence[Candidate]) -> tuple[Finding, ...]:
        """Whether the credentials may list buckets of the project."""
        if not any(one.service and one.service.kind is ServiceKind.BLOB for one in candidates):
            return ()
        try:
            await self._buckets(most=1)
        except ProviderFault as fault:
            return (Finding("blob of gcp", False, fault.faults[0].what, fault.faults[0].next),)
        project = await self._sdk.run_in_thread(self._sdk.project)
        return (Finding("blob of gcp", True, self._sdk.with_endpoint(f"buckets of project {project} can be listed")),)

    async def account(self) -> str:
        """The project in use, and the endpoint if it is not Google's own."""
        return self._sdk.with_endpoint(await self._sdk.run_in_thread(self._sdk.project))

    async def date(self) -> float | None:
        """The time by the service's clock (Unix s), from a response header."""
        await self._buckets(most=1)
        return self._sdk.time()

    async def _create(self, request: CreateRequest, name: str) -> str:
        # A token for one bucket needs access that is granted by bucket; deleted objects would be billed for a week.
        bucket: dict[str, Any] = {
            "name": name,
            "labels": exact_labels(request.tags),
            "iamConfiguration": {
                "uniformBucketLevelAccess": {"enabled": True},
                "publicAccessPrevention": "enforced",
            },
            "softDeletePolicy": {"retentionDurationSeconds": "0"},
        }
        if request.region not in _NOWHERE:
            bucket["location"] = request.region
        project = await self._sdk.run_in_thread(self._sdk.project)
        try:
            await self._sdk.change("POST", "b", bucket, project=project)
        except Refused as fault:
            if not is_taken(fault):
                raise
            # Buckets of all projects share their names: only one in this project with these labels is ours. An emulator
            # may keep no labels.
            listed = await self._buckets(prefix=name)
            same = [one.get("labels") for one in listed if one.get("name") == name]
            if not (bucket["labels"] in same or (emulator() and None in same)):
                raise
        return name

    async def _list(self, region: str | None) -> Listing:
        place = region or (self._regions[0] if len(self._regions) == 1 else "")
        try:
            listed = await self._buckets(prefix=_PREFIX)
        except NoCredentials:
            raise
        except ProviderFault as fault:
            raise IncompleteListing(*fault.faults) from fault
        return Listing(
            resources(
                Found(
                    str(one["name"]), place or str(one.get("location", "")).lower(), exact_tags(one.get("labels") or {})
                )
                for one in listed
                if DataSetName.read(str(one["name"]))
            )
        )

    async def _buckets(self, *, most: int | None = None, **params: str) -> list[dict[str, Any]]:
        project = await self._sdk.run_in_thread(self._sdk.project)
        return await self._entries("b", most=most, project=project, **params)

    async def _entries(self, path: str, *, most: int | None = None, **params: str) -> list[dict[str, Any]]:
        """The entries of a list, all of them or the first `most`."""
        entries: list[dict[str, Any]] = []
        token: dict[str, str] = {}
        while True:
            answer = await self._sdk.read(path, maxResults=most or _BATCH, **params, **token)
            entries += answer.get("items") or []
            if most or not answer.get("nextPageToken"):
                return entries
            token = {"pageToken": str(answer["nextPageToken"])}

    async def destroy(self, handle: Handle) -> None:
        """Deletes every version of every object of a bucket, then the bucket."""
        bucket = f"b/{handle.cloud_id}"
        try:
            while listed := await self._entries(f"{bucket}/o", versions="true"):
                some = asyncio.Semaphore(_DELETES)
                await asyncio.gather(*(self._delete(bucket, one, some) for one in listed))
            await self._sdk.change("DELETE", bucket)
        except Refused as fault:
            if not is_missing(fault):
                raise

    async def _delete(self, bucket: str, item: dict[str, Any], some: asyncio.Semaphore) -> None:
        version = {"generation": str(item["generation"])} if item.get("generation") else {}
        async with some:
            try:
                await self._sdk.change("DELETE", f"{bucket}/o/{quote(str(item['name']), safe='')}", **version)
            except Refused as fault:
                if not is_missing(fault):
                    raise

    async def gone(self, handle: Handle) -> str | None:
        """Evidence that a bucket is gone: the service does not know it."""
        try:
            await self._sdk.read(f"b/{handle.cloud_id}")
        except Refused as fault:
            if is_missing(fault):
                return f"there is no bucket {handle.cloud_id}"
            raise
        return None

    async def data_set(self, service: Service, handle: Handle, until: float) -> DataSet:
        """The bucket, with a token that is limited to its objects."""
        name = handle.cloud_id
        url = await self._sdk.run_in_thread(self._sdk.url)
        token = await self._sdk.run_in_thread(lambda: self._sdk.token(name, until + _CLOCKS_S))
        credential = {"kind": "token", "header": "authorization", "value": f"Bearer {token}"} if token else None
        addresses = await addresses_of(urlsplit(url).hostname or "")
        return DataSet("gcs", url, name, service.region, addresses=addresses, credential=credential)
