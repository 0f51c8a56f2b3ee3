"""Buckets of S3, and of any service that speaks its protocol at an endpoint."""

import asyncio
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any
from urllib.parse import urlsplit

from cloudcmp.errors import IncompleteListing, ProviderFault, RefusalKind, Refused
from cloudcmp.model.cast import DataSet, Service
from cloudcmp.model.lease import CreateRequest, Handle, Listing
from cloudcmp.model.plan import Candidate
from cloudcmp.model.safety import Finding
from cloudcmp.provider.aws.sdk import Sdk
from cloudcmp.provider.common.data_sets import DataSetName, DataSets, Found, resources, signing_keys
from cloudcmp.provider.common.hosts import addresses_of, is_loopback

_SERVICE = "s3"
_FIRST_REGION = "us-east-1"  # the only one that a bucket must not name
_BATCH = 1000
_LEAST_S = 600.0  # a signing key outlives its trial by as much as clocks may differ


class S3DataSets(DataSets):
    """The buckets of AWS, or of the S3-compatible endpoints of these services.

    The region of a lease at an endpoint is its URL. `sdk` makes the client of an endpoint; `keys` are an access key and
    its secret in place of the environment's.
    """

    def __init__(
        self,
        name: str,
        services: Iterable[Service] = (),
        *,
        sdk: Callable[[str | None], Sdk] | None = None,
        keys: tuple[str, str] | None = None,
    ) -> None:
        self.name = name
        self._regions = {one.endpoint: one.region for one in services if one.endpoint}
        self._make_sdk = sdk or (lambda url: Sdk(name, url=url, own_keys=keys))
        self._sdks: dict[str | None, Sdk] = {}
        # Nothing that stays on this machine costs money, and nothing there is listed late.
        self.billed = not self._regions or not all(map(is_loopback, self._regions))

    async def check(self, candidates: Sequence[Candidate]) -> tuple[Finding, ...]:
        """Whether the credentials may list buckets at each endpoint."""
        places = {_place(one.service): None for one in candidates if one.service and not one.service.serve}
        return tuple(await asyncio.gather(*(self._check(place) for place in places)))

    async def _check(self, place: str) -> Finding:
        try:
            await self._read(place, "list_buckets")
        except ProviderFault as fault:
            return Finding(f"buckets at {place}", False, fault.faults[0].what, fault.faults[0].next)
        return Finding(f"buckets at {place}", True, "they can be listed")

    async def _create(self, request: CreateRequest, name: str) -> str:
        await self.create_bucket(request.region, name, dict(request.tags))
        return name

    async def create_bucket(self, place: str, name: str, tags: dict[str, str]) -> None:
        """Creates a bucket and tags it; idempotent. A service without tags leaves it with its name alone."""
        region = self._region(place)
        where: dict[str, Any] = {}
        if region != _FIRST_REGION:
            where["CreateBucketConfiguration"] = {"LocationConstraint": region}
        try:
            await self._write(place, "create_bucket", Bucket=name, **where)
        except Refused as fault:
            if not fault.is_refusal(RefusalKind.EXISTS):
                raise
        pairs = [{"Key": key, "Value": value} for key, value in sorted(tags.items())]
        try:
            await self._write(place, "put_bucket_tagging", Bucket=name, Tagging={"TagSet": pairs})
        except Refused as fault:
            if not fault.is_refusal(RefusalKind.UNKNOWN_ACTION):
                raise

    async def _list(self, region: str | None) -> Listing:
        places = [region] if region else list(self._regions) or [self._sdk(None).default_region()]
        found: list[Found] = []
        unlisted: list[str] = []
        for place in places:
            try:
                found += await self._list_in(place)
            except ProviderFault as fault:
                if region or len(places) == 1:
                    raise IncompleteListing(*fault.faults) from fault
                unlisted.append(f"{place}: {fault.faults[0].what}")
        return Listing(resources(found), tuple(unlisted))

    async def _list_in(self, place: str) -> list[Found]:
        answer = await self._read(place, "list_buckets")
        names = [str(one.get("Name", "")) for one in answer.get("Buckets") or ()]
        return [await self._found(place, name) for name in names if DataSetName.read(name)]

    async def _found(self, place: str, name: str) -> Found:
        """A bucket with its tags; none if it has none, or the service keeps none."""
        try:
            answer = await self._read(place, "get_bucket_tagging", Bucket=name)
        except Refused as fault:
            if not fault.is_refusal(RefusalKind.UNKNOWN_ACTION, RefusalKind.MISSING):
                raise
            return Found(name, place)
        return Found(name, place, tuple((str(one["Key"]), str(one["Value"])) for one in answer.get("TagSet") or ()))

    async def destroy(self, handle: Handle) -> None:
        """Deletes every version and unfinished upload of a bucket, then the bucket."""
        place, bucket = handle.region, handle.cloud_id
        try:
            async for keys in self._objects(place, bucket):
                await self._write(place, "delete_objects", Bucket=bucket, Delete={"Objects": keys, "Quiet": True})
            await self._abort_uploads(place, bucket)
            await self._write(place, "delete_bucket", again=True, Bucket=bucket)
        except Refused as fault:
            if not fault.is_refusal(RefusalKind.MISSING):
                raise

    async def _objects(self, place: str, bucket: str) -> Any:
        """The keys of a bucket in batches, with versions where the service keeps them."""
        while True:
            try:
                answer = await self._read(place, "list_object_versions", Bucket=bucket, MaxKeys=_BATCH)
                listed = [*(answer.get("Versions") or ()), *(answer.get("DeleteMarkers") or ())]
                keys = [{"Key": one["Key"], "VersionId": one["VersionId"]} for one in listed]
            except Refused as fault:
                if not fault.is_refusal(RefusalKind.UNKNOWN_ACTION):
                    raise
                answer = await self._read(place, "list_objects_v2", Bucket=bucket, MaxKeys=_BATCH)
                keys = [{"Key": one["Key"]} for one in answer.get("Contents") or ()]
            if not keys:
                return
            yield keys

    async def _abort_uploads(self, place: str, bucket: str) -> None:
        try:
            answer = await self._read(place, "list_multipart_uploads", Bucket=bucket)
        except Refused as fault:
            if fault.is_refusal(RefusalKind.UNKNOWN_ACTION):
                return
            raise
        for one in answer.get("Uploads") or ():
            what = {"Bucket": bucket, "Key": one["Key"], "UploadId": one["UploadId"]}
            await self._write(place, "abort_multipart_upload", again=True, **what)

    async def gone(self, handle: Handle) -> str | None:
        """Evidence that a bucket is gone: the service does not know it."""
        try:
            await self._read(handle.region, "head_bucket", Bucket=handle.cloud_id)
        except Refused as fault:
            if fault.is_refusal(RefusalKind.MISSING):
                return f"there is no bucket {handle.cloud_id}"
            raise
        return None

    async def data_set(self, service: Service, handle: Handle, until: float) -> DataSet:
        """The bucket, with signing keys of the days of its use in place of the secret key."""
        place = _place(service)
        region = self._region(place)
        endpoint = service.endpoint or f"https://s3.{region}.amazonaws.com"
        access_key, secret, token = await self._sdk(service.endpoint or None).keys(region)
        credential: dict[str, object] = {"kind": "sigv4", "access_key": access_key}
        if token:
            credential["session_token"] = token
        credential["keys"] = signing_keys(secret, region, _SERVICE, time.time() - _LEAST_S, until + _LEAST_S)
        return DataSet(
            "s3", endpoint, handle.cloud_id, region, "path" if service.endpoint else "host",
            await addresses_of(urlsplit(endpoint).hostname or ""), credential=credential,
        )  # fmt: skip

    def _region(self, place: str) -> str:
        return self._regions.get(place, _FIRST_REGION) if "://" in place else place

    def _sdk(self, url: str | None) -> Sdk:
        return self._sdks.setdefault(url, self._make_sdk(url))

    async def _read(self, place: str, action: str, **params: Any) -> dict[str, Any]:
        url = place if "://" in place else None
        return await self._sdk(url).read(_SERVICE, self._region(place), action, **params)

    async def _write(self, place: str, action: str, *, again: bool = False, **params: Any) -> dict[str, Any]:
        url = place if "://" in place else None
        return await self._sdk(url).write(_SERVICE, self._region(place), action, again=again, **params)


def _place(service: Service) -> str:
    """The region of a service's leases: its endpoint, else its region."""
    return service.endpoint or service.region
