"""Queues of SQS."""

from urllib.parse import urlsplit

from cloudcmp.errors import RefusalKind, Refused
from cloudcmp.model.cast import ServiceKind
from cloudcmp.model.lease import Handle
from cloudcmp.provider.aws.data_sets import AwsDataSets
from cloudcmp.provider.common.data_sets import DataSetName, Found

_PREFIX = "cloudcmp-"


class SqsDataSets(AwsDataSets):
    """The standard queues of SQS. The cloud id of a queue is the path of its URL: the account, then its name."""

    kind = ServiceKind.QUEUE
    protocol = library_name = "sqs"
    look = "list_queues"

    async def make(self, place: str, name: str, tags: dict[str, str]) -> str:
        """Creates a queue with its tags in one call; idempotent."""
        answer = await self._write(place, "create_queue", again=True, QueueName=name, tags=tags)
        return urlsplit(str(answer["QueueUrl"])).path.strip("/")

    async def _list_in(self, place: str) -> list[Found]:
        urls: list[str] = []
        more: dict[str, str] = {}
        while True:
            answer = await self._read(place, "list_queues", QueueNamePrefix=_PREFIX, MaxResults=1000, **more)
            urls += [str(one) for one in answer.get("QueueUrls") or ()]
            if not answer.get("NextToken"):
                break
            more = {"NextToken": str(answer["NextToken"])}
        paths = [urlsplit(url).path.strip("/") for url in urls]
        named = [path for path in paths if DataSetName.read(path.rpartition("/")[2])]
        return [found for path in named if (found := await self._found(place, path))]

    async def _found(self, place: str, path: str) -> Found | None:
        """A queue with its tags; None if it went meanwhile."""
        try:
            answer = await self._read(place, "list_queue_tags", QueueUrl=await self._url(place, path))
        except Refused as fault:
            if fault.is_refusal(RefusalKind.MISSING):
                return None
            raise
        tags = tuple((str(key), str(value)) for key, value in (answer.get("Tags") or {}).items())
        return Found(path.rpartition("/")[2], place, tags, cloud_id=path)

    async def destroy(self, handle: Handle) -> None:
        """Deletes a queue with its messages."""
        try:
            url = await self._url(handle.region, handle.cloud_id)
            await self._write(handle.region, "delete_queue", again=True, QueueUrl=url)
        except Refused as fault:
            if not fault.is_refusal(RefusalKind.MISSING):
                raise

    async def gone(self, handle: Handle) -> str | None:
        """Evidence that a queue is gone: the service does not know its name, up to 60 s after its deletion."""
        try:
            await self._read(handle.region, "get_queue_url", QueueName=handle.cloud_id.rpartition("/")[2])
        except Refused as fault:
            if fault.is_refusal(RefusalKind.MISSING):
                return f"there is no queue {handle.cloud_id}"
            raise
        return None

    async def _url(self, place: str, path: str) -> str:
        """The URL of a queue at the endpoint that is asked, whatever host the service names."""
        base = place if "://" in place else await self._sdk(None).url_of(self.library_name, self._region(place))
        return f"{base.rstrip('/')}/{path}"
