"""Amazon's command `aws`, version 1 or 2: S3 and what speaks its protocol, DynamoDB and SQS."""

import json
import os
import re
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import urlsplit

from cloudcmp.catalog.other_clients import CLIS
from cloudcmp.client.adapter import HIDDEN_S, wrong_credential
from cloudcmp.client.aws import AWS_HOST, INDEX, NO_KEYS, item_of, row_of
from cloudcmp.client.command import BODY, Command, CommandFailed
from cloudcmp.client.content import Row
from cloudcmp.client.failures import Failure, Kind, WrongBody
from cloudcmp.client.job import Place

_SERVICE_ERROR = re.compile(
    r"An error occurred \(([^()\s]{1,100})\) when calling the \w+ operation(?: \([^()]*\))?: ?(.*)"
)
_TEXTS = (
    ("Connect timeout on endpoint URL", Kind.TIMEOUT),
    ("Read timeout on endpoint URL", Kind.TIMEOUT),
    ("Could not connect to the endpoint URL", Kind.BROKEN),
    ("Connection was closed before", Kind.BROKEN),
    ("SSL validation failed", Kind.BROKEN),
    ("Failed to connect to proxy URL", Kind.BROKEN),
    ("An HTTP Client raised an unhandled exception", Kind.BROKEN),
    ("occurred while reading from response stream", Kind.BROKEN),
    ("read, but total bytes expected is", Kind.BROKEN),
    ("Unable to parse response", Kind.WRONG_BODY),
    ("did not match calculated checksum", Kind.WRONG_BODY),
)
"""Beginnings of what the command writes about an error that is not the service's, which is its library's text."""


class _Aws:
    """The command for one service. It gets the job's settings only; no file and no variable of the user's."""

    tries = 1

    def __init__(self, place: Place) -> None:
        if place.credential is not None and place.credential.get("kind") != "keys":
            raise wrong_credential(place, "keys")
        known = CLIS[place.protocol]
        self._command = Command(
            known.program, known.install, "AWS_CONFIG_FILE", "".join(_settings(place)),
            {"AWS_SHARED_CREDENTIALS_FILE": os.devnull, "AWS_EC2_METADATA_DISABLED": "true"},
        )  # fmt: skip
        self.answers = self._command.answers
        self._name, self._place = place.data_set, place
        silence = str(max(1, round(place.silence_s)))
        self._common = ("--endpoint-url", place.endpoint, "--cli-connect-timeout", silence,
                        "--cli-read-timeout", silence)  # fmt: skip

    def version(self) -> str:
        """The version of the command and of the Python that runs it."""
        words = self._command.version().split()
        return ", ".join(word.replace("/", " ") for word in words if word.startswith(("aws-cli/", "Python/")))

    def _run(self, *words: str, body: bytes | None = None) -> bytes:
        return self._command.run([*words, *self._common], body)

    def failure_of(self, error: Exception) -> Failure:
        """Judges an error by what the command wrote: it says the service's code, but no status of HTTP."""
        if isinstance(error, WrongBody):
            return Failure.of(Kind.WRONG_BODY, error)
        if not isinstance(error, CommandFailed):
            return Failure.of(Kind.CLIENT_ERROR, f"{type(error).__name__}: {error}")
        found = _SERVICE_ERROR.search(error.text)
        if found:
            return Failure.of_code(found.group(1), found.group(2))
        kind = next((kind for text, kind in _TEXTS if text in error.text), Kind.CLIENT_ERROR)
        if kind is Kind.TIMEOUT:
            return Failure.of(kind, "no answer in time")
        how = f"aws ended by signal {-error.code}" if error.code < 0 else f"aws exited with {error.code}"
        return Failure.of(kind, f"{how}: {error.text}" if error.text else how)


def _settings(place: Place) -> Iterator[str]:
    """The lines of the settings file: no retries, no pager, no history, and the keys."""
    key = NO_KEYS if place.credential is None else place.credential
    yield f"[default]\nregion = {place.region or 'us-east-1'}\noutput = json\n"
    yield "retry_mode = standard\nmax_attempts = 1\ncli_pager =\ncli_history = disabled\ncli_auto_prompt = off\n"
    yield f"aws_access_key_id = {key['access_key']}\naws_secret_access_key = {key['secret_key']}\n"
    if key.get("session_token"):
        yield f"aws_session_token = {key['session_token']}\n"
    if not (urlsplit(place.endpoint).hostname or "").endswith(AWS_HOST):
        # Services that only resemble Amazon's know no newer checksums.
        yield "request_checksum_calculation = when_required\nresponse_checksum_validation = when_required\n"
    yield f"s3 =\n    addressing_style = {'virtual' if place.style == 'host' else 'path'}\n"


def _read(output: bytes) -> Any:
    """What the command wrote as JSON; it writes nothing for an empty answer."""
    try:
        return json.loads(output) if output.strip() else {}
    except ValueError as error:
        raise WrongBody("an output that is not JSON") from error


class S3(_Aws):
    """The objects of a bucket."""

    def download(self, key: str) -> bytes:
        """The whole body."""
        return self._run("s3api", "get-object", "--bucket", self._name, "--key", key, BODY)

    def upload(self, key: str, body: bytes) -> object:
        """Writes a body."""
        return self._run("s3api", "put-object", "--bucket", self._name, "--key", key, "--body", BODY, body=body)

    def requests(self, op: str, size: int) -> int:  # noqa: ARG002
        """One: a body is never split."""
        return 1

    def names(self, prefix: str) -> list[str]:
        """The first names, 1000 at most."""
        words = ("--bucket", self._name, "--prefix", prefix, "--max-keys", "1000", "--no-paginate")
        answer = _read(self._run("s3api", "list-objects-v2", *words))
        return [one["Key"] for one in answer.get("Contents", ())]


class DynamoDb(_Aws):
    """The items of a table with an index of their groups."""

    batch = 25
    strong_query = False

    def get(self, row: Row, strong: bool) -> Row | None:
        """The row with a key."""
        words = ("--table-name", self._name, "--key", json.dumps({"k": {"S": row.k}}))
        answer = _read(self._run("dynamodb", "get-item", *words, *(["--consistent-read"] if strong else [])))
        return row_of(answer["Item"]) if "Item" in answer else None

    def put(self, row: Row) -> object:
        """Writes a row, whether or not its key is there."""
        return self._run("dynamodb", "put-item", "--table-name", self._name, "--item", json.dumps(item_of(row)))

    def query(self, row: Row, strong: bool) -> list[Row]:  # noqa: ARG002 - an index has no strong reads
        """The rows of the group of a row; those of the first page."""
        answer = _read(self._run(
            "dynamodb", "query", "--table-name", self._name, "--index-name", INDEX, "--key-condition-expression",
            "g = :g", "--expression-attribute-values", json.dumps({":g": {"S": row.g}}), "--no-paginate",
        ))  # fmt: skip
        return [row_of(one) for one in answer.get("Items", ())]

    def write(self, rows: list[Row]) -> int:
        """Writes rows in one batch; returns how many the service left out because there were too many."""
        puts = json.dumps({self._name: [{"PutRequest": {"Item": item_of(one)}} for one in rows]})
        answer = _read(self._run("dynamodb", "batch-write-item", "--request-items", puts))
        return sum(map(len, answer.get("UnprocessedItems", {}).values()))


class Sqs(_Aws):
    """The messages of a standard queue; the data set is the path of its URL."""

    def __init__(self, place: Place) -> None:
        super().__init__(place)
        self._queue = ("--queue-url", f"{place.endpoint.rstrip('/')}/{place.data_set}")

    def send(self, text: str) -> object:
        """Sends a message; from a file, because a word of a command is shorter than a long message."""
        words = ("--message-body", f"file://{BODY}")
        return self._run("sqs", "send-message", *self._queue, *words, body=text.encode())

    def receive(self) -> tuple[str, Any] | None:
        """A message and what deletes it; None if there is none. Does not wait for one."""
        words = ("--max-number-of-messages", "1", "--wait-time-seconds", "0", "--visibility-timeout", str(HIDDEN_S))
        some = _read(self._run("sqs", "receive-message", *self._queue, *words)).get("Messages")
        return (some[0]["Body"], some[0]["ReceiptHandle"]) if some else None


ADAPTERS: dict[str, Callable[[Place], Any]] = {"s3": S3, "dynamodb": DynamoDb, "sqs": Sqs}
"""By protocol."""
