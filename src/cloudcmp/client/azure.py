"""Microsoft's libraries: Blob, Table and Queue Storage."""

from collections.abc import Callable
from typing import Any

import requests
from azure.core import exceptions as errors
from azure.core.credentials import AzureNamedKeyCredential, AzureSasCredential
from azure.core.pipeline.transport import RequestsTransport
from requests.adapters import HTTPAdapter

from cloudcmp.client.adapter import HIDDEN_S, wrong_credential
from cloudcmp.client.content import Row
from cloudcmp.client.failures import Failure, Kind
from cloudcmp.client.job import Place
from cloudcmp.client.operation import Answers

_ONE_REQUEST = 4_000 * 2**20  # a body of any size that is measured is uploaded and downloaded by one request


def _credential(place: Place) -> AzureSasCredential | AzureNamedKeyCredential:
    """The credential of a trial in the library's form; raises Ended for one of another service's kind."""
    given = place.credential or {}
    match given.get("kind"):
        case "sas":
            return AzureSasCredential(str(given["query"]))
        case "shared-key" if place.protocol == "azure-table":
            return AzureNamedKeyCredential(str(given["account"]), str(given["key"]))
    raise wrong_credential(place, "sas")


class _Azure:
    """What the clients of the three services share: no retries, and a connection for each lane."""

    tries = 1

    def __init__(self, place: Place) -> None:
        self.answers = Answers()
        session = requests.Session()
        session.trust_env = False  # no proxy and no .netrc
        for scheme in ("http://", "https://"):
            session.mount(scheme, HTTPAdapter(pool_maxsize=max(10, place.lanes), max_retries=0))
        self._credential = _credential(place)
        self._options: dict[str, Any] = {
            "transport": RequestsTransport(session=session, session_owner=False),
            "retry_total": 0, "retry_connect": 0, "retry_read": 0, "retry_status": 0,
            "connection_timeout": place.silence_s, "read_timeout": place.silence_s,
            "raw_response_hook": self.answers.arrived,
        }  # fmt: skip

    def failure_of(self, error: Exception) -> Failure:
        """Judges an error of the library."""
        match error:
            case errors.ServiceRequestTimeoutError() | errors.ServiceResponseTimeoutError():
                return Failure.of(Kind.TIMEOUT, "no answer in time")
            case errors.IncompleteReadError() | errors.ServiceRequestError() | errors.ServiceResponseError():
                return Failure.of(Kind.BROKEN, error)
            case errors.DecodeError():
                return Failure.of(Kind.WRONG_BODY, "an answer that cannot be read")
            case errors.HttpResponseError() if error.status_code:
                code = str(getattr(error, "error_code", None) or getattr(error.error, "code", None) or "")
                message = str(error.message).partition("\n")[0]
                return Failure.of_status(int(error.status_code), code, message)
        return Failure.of(Kind.CLIENT_ERROR, f"{type(error).__name__}: {error}")


class Blob(_Azure):
    """The blobs of a container."""

    def __init__(self, place: Place) -> None:
        super().__init__(place)
        from azure.storage.blob import ContainerClient

        self._client = ContainerClient(
            place.endpoint, place.data_set, credential=self._credential, max_single_put_size=_ONE_REQUEST,
            max_single_get_size=_ONE_REQUEST, **self._options,
        )  # fmt: skip

    def download(self, key: str) -> bytes:
        """The whole body."""
        body: bytes = self._client.download_blob(key).readall()
        return body

    def upload(self, key: str, body: bytes) -> object:
        """Writes a body."""
        return self._client.upload_blob(key, body, overwrite=True)

    def requests(self, op: str, size: int) -> int:  # noqa: ARG002
        """One: a body is never split."""
        return 1

    def names(self, prefix: str) -> list[str]:
        """The first names, 1000 at most."""
        pages = self._client.list_blob_names(name_starts_with=prefix, results_per_page=1000).by_page()
        return [str(name) for name in next(pages)]

    def size_of(self, key: str) -> int | None:
        """The length of a blob; None if it is not there."""
        try:
            return int(self._client.get_blob_client(key).get_blob_properties().size)
        except errors.ResourceNotFoundError as error:
            if getattr(error, "error_code", None) == "ContainerNotFound":
                raise
            return None


class Table(_Azure):
    """The entities of a table; the partition is the key's first two characters. Every read is strong."""

    batch = 100
    strong_query = True

    def __init__(self, place: Place) -> None:
        super().__init__(place)
        from azure.data.tables import TableClient, UpdateMode

        self._replace = UpdateMode.REPLACE
        self._client = TableClient(place.endpoint, place.data_set, credential=self._credential, **self._options)

    def get(self, row: Row, strong: bool) -> Row | None:  # noqa: ARG002
        """The row with a key."""
        try:
            return _row(self._client.get_entity(row.k[:2], row.k))
        except errors.ResourceNotFoundError as error:
            if "TableNotFound" in str(error):
                raise
            return None

    def put(self, row: Row) -> object:
        """Writes a row, whether or not its key is there."""
        return self._client.upsert_entity(_entity(row), mode=self._replace)

    def query(self, row: Row, strong: bool) -> list[Row]:  # noqa: ARG002
        """The rows of the group of a row; those of the first page."""
        filter_ = f"PartitionKey eq '{row.k[:2]}' and g eq '{row.g}'"
        return [_row(one) for one in next(self._client.query_entities(filter_).by_page())]

    def write(self, rows: list[Row]) -> int:
        """Writes rows in one batch, all or none."""
        self._client.submit_transaction([("upsert", _entity(one), {"mode": self._replace}) for one in rows])
        return 0


def _entity(row: Row) -> dict[str, str]:
    return {"PartitionKey": row.k[:2], "RowKey": row.k, "g": row.g, "v": row.v}


def _row(entity: Any) -> Row:
    return Row(*(str(entity.get(name, "")) for name in ("RowKey", "g", "v")))


class Queue(_Azure):
    """The messages of a queue."""

    def __init__(self, place: Place) -> None:
        super().__init__(place)
        from azure.storage.queue import QueueClient

        self._client = QueueClient(place.endpoint, place.data_set, credential=self._credential, **self._options)

    def send(self, text: str) -> object:
        """Sends a message."""
        return self._client.send_message(text)

    def receive(self) -> tuple[str, Any] | None:
        """A message and what deletes it; None if there is none. Does not wait for one."""
        one = self._client.receive_message(visibility_timeout=HIDDEN_S)
        return (str(one.content), (one.id, one.pop_receipt)) if one else None

    def delete(self, handle: Any) -> object:
        """Deletes a message that was received."""
        return self._client.delete_message(*handle)

    def purge(self) -> object:
        """Deletes all messages."""
        return self._client.clear_messages()


ADAPTERS: dict[str, Callable[[Place], Any]] = {"azure-blob": Blob, "azure-table": Table, "azure-queue": Queue}
"""By protocol."""
