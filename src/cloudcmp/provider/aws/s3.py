"""Buckets of S3, and of any service that speaks its protocol at an endpoint."""

from typing import Any

from cloudcmp.errors import RefusalKind, Refused
from cloudcmp.model.cast import ServiceKind
from cloudcmp.model.lease import Handle
from cloudcmp.provider.aws.data_sets import AwsDataSets
from cloudcmp.provider.common.data_sets import DataSetName, Found

_FIRST_REGION = "us-east-1"  # the only one that a bucket must not name
_BATCH = 1000


class S3DataSets(AwsDataSets):
    """The buckets of S3. A service without tags leaves a bucket with its name alone."""

    kind = ServiceKind.BLOB
    protocol = library_name = "s3"
    look = "list_buckets"

    async def make(self, place: str, name: str, tags: dict[str, str]) -> str:
        """Creates a bucket, then tags it; idempotent."""
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
            # Some servers that keep no tags take the request for a second creation of the bucket.
            if not (fault.is_refusal(RefusalKind.UNKNOWN_ACTION, RefusalKind.EXISTS) or _taken(fault)):
                raise
        return name

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
            while keys := await self._objects(place, bucket):
                await self._write(place, "delete_objects", Bucket=bucket, Delete={"Objects": keys, "Quiet": True})
            await self._abort_uploads(place, bucket)
            await self._write(place, "delete_bucket", again=True, Bucket=bucket)
        except Refused as fault:
            if not fault.is_refusal(RefusalKind.MISSING):
                raise

    async def _objects(self, place: str, bucket: str) -> list[dict[str, str]]:
        """The first keys of a bucket, with their versions where the service keeps them."""
        try:
            answer = await self._read(place, "list_object_versions", Bucket=bucket, MaxKeys=_BATCH)
        except Refused as fault:
            if not fault.is_refusal(RefusalKind.UNKNOWN_ACTION):
                raise
            answer = await self._read(place, "list_objects_v2", Bucket=bucket, MaxKeys=_BATCH)
            return [{"Key": one["Key"]} for one in answer.get("Contents") or ()]
        listed = [*(answer.get("Versions") or ()), *(answer.get("DeleteMarkers") or ())]
        return [{"Key": one["Key"], "VersionId": one["VersionId"]} for one in listed]

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
            await self._read(handle.region, "list_objects_v2", Bucket=handle.cloud_id, MaxKeys=1)
        except Refused as fault:
            if fault.is_refusal(RefusalKind.MISSING):
                return f"there is no bucket {handle.cloud_id}"
            raise
        return None


def _taken(fault: Refused) -> bool:
    """True if the service says that a name belongs to somebody else."""
    return fault.reason is not None and fault.reason.code == "BucketAlreadyExists"
