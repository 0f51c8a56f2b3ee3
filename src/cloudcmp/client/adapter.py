"""What a provider's client must offer to be measured: one method for each operation, which does nothing else."""

from dataclasses import dataclass
from importlib.metadata import version
from typing import Any, Protocol

from cloudcmp.catalog.other_clients import CLIS, SDKS
from cloudcmp.client.command import CommandFailed
from cloudcmp.client.content import Row
from cloudcmp.client.failures import Ended, Failure, WrongBody, failed
from cloudcmp.client.job import Place
from cloudcmp.client.operation import Answers
from cloudcmp.model.plan import SDK_PYTHON

HIDDEN_S = 60
"""How long a received message is hidden from others, if it is not deleted before."""


class Adapter(Protocol):
    """A client of one data set, for several threads.

    `tries` is how often it may send a request: 1, unless it does not let its user choose that.
    """

    answers: Answers
    tries: int

    def failure_of(self, error: Exception) -> Failure:
        """Judges an error of a call."""


class Blobs(Adapter, Protocol):
    """The blobs of a bucket or container."""

    def download(self, key: str) -> bytes:
        """The whole body."""

    def upload(self, key: str, body: bytes) -> object:
        """Writes a body."""

    def requests(self, op: str, size: int) -> int:
        """How many requests an operation on a blob of so many bytes needs: a download, an upload or a list."""

    def names(self, prefix: str) -> list[str]:
        """The first names, 1000 at most."""

    def size_of(self, key: str) -> int | None:
        """The length of a blob; None if it is not there."""


class Rows(Adapter, Protocol):
    """The rows of a table. `batch` rows can be written at once; `strong_query` says if a query can be strong."""

    batch: int
    strong_query: bool

    def get(self, row: Row, strong: bool) -> Row | None:
        """The row with a key."""

    def put(self, row: Row) -> object:
        """Writes a row, whether or not its key is there."""

    def query(self, row: Row, strong: bool) -> list[Row]:
        """The rows of the group of a row."""

    def write(self, rows: list[Row]) -> int:
        """Writes rows in one batch; returns how many the service left out because there were too many."""


class Messages(Adapter, Protocol):
    """The messages of a queue."""

    def send(self, text: str) -> object:
        """Sends a message."""

    def receive(self) -> tuple[str, Any] | None:
        """A message and what deletes it; None if there is none. Does not wait for one."""

    def delete(self, handle: Any) -> object:
        """Deletes a message that was received."""

    def purge(self) -> object:
        """Deletes all messages."""


@dataclass(frozen=True, slots=True)
class Client:
    """What is measured, and what prepares its data: the library of the same protocol, which may be what is measured.

    `version` is the name and version of what is measured. A `command` is a process for each operation.
    """

    measured: Any
    preparing: Any
    version: str
    command: bool

    def failure_of(self, error: Exception) -> Failure:
        """Judges an error of either."""
        of_command = isinstance(error, CommandFailed | WrongBody)
        return (self.measured if of_command else self.preparing).failure_of(error)  # type: ignore[no-any-return]


def connect(place: Place, client: str) -> Client:
    """The client of a place's protocol; raises Ended if there is none, or it is not installed."""
    library = _library(place)
    if client == SDK_PYTHON:
        name = SDKS[place.protocol].library
        return Client(library, library, f"{name} {version(name)}", command=False)
    if place.protocol not in CLIS:
        raise failed(f"no command is measured for {place.protocol}", f"measure client: {SDK_PYTHON}")
    if SDKS[place.protocol].family == "aws":
        from cloudcmp.client import aws_cli as family
    else:
        from cloudcmp.client import google_cli as family  # type: ignore[no-redef]
    command = family.ADAPTERS[place.protocol](place)
    return Client(command, library, command.version(), command=True)


def _library(place: Place) -> Any:
    known = SDKS.get(place.protocol)
    if known is None:
        raise failed(f"no library is measured for {place.protocol}", "measure client: native")
    try:
        match known.family:
            case "aws":
                from cloudcmp.client import aws as family
            case "azure":
                from cloudcmp.client import azure as family  # type: ignore[no-redef]
            case _:
                from cloudcmp.client import google as family  # type: ignore[no-redef]
        return family.ADAPTERS[place.protocol](place)
    except ImportError as error:
        raise failed(f"{known.library} is not installed", "pip install 'cloudcmp[clients]'") from error


def wrong_credential(place: Place, wanted: str) -> Ended:
    """The end of a trial whose credential is of another kind than its library takes."""
    return failed(f"bad job: {place.protocol} wants a credential of kind {wanted}", "give another credential")
