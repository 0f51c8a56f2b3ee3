"""Google's libraries: Cloud Storage and Pub/Sub."""

import os
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from importlib import import_module
from typing import Any
from urllib.parse import urlsplit

from google.api_core import exceptions as errors
from google.auth.credentials import AnonymousCredentials
from google.oauth2.credentials import Credentials

from cloudcmp.client.adapter import wrong_credential
from cloudcmp.client.failures import Failure, Kind
from cloudcmp.client.job import Place
from cloudcmp.client.operation import Answers

_PROJECT = "none"  # a bucket is named without it
_ONE_PART = 8 * 2**20  # a longer body is announced by a request of its own


def _credentials(place: Place) -> Any:
    """The token that the job holds, or none for an emulator."""
    if place.credential is None:
        return AnonymousCredentials()  # type: ignore[no-untyped-call]
    if place.credential.get("kind") != "token":
        raise wrong_credential(place, "token")
    return Credentials(str(place.credential["value"]).removeprefix("Bearer "))  # type: ignore[no-untyped-call]


def _failure_of(error: Exception) -> Failure:
    """Judges an error of Google's libraries."""
    match error:
        case errors.RetryError() | errors.DeadlineExceeded() | errors.GatewayTimeout() | TimeoutError():
            return Failure.of(Kind.TIMEOUT, "no answer in time")
        case errors.GoogleAPICallError() if error.code is not None:
            reasons = [str(one.get("reason", "")) for one in error.errors if isinstance(one, dict)]
            return Failure.of_status(int(error.code), "".join(reasons[:1]), str(error.message))
    name = type(error).__name__
    if name == "DataCorruption":
        return Failure.of(Kind.WRONG_BODY, "the checksum is wrong")
    if name in {"ConnectTimeout", "ReadTimeout", "Timeout"}:
        return Failure.of(Kind.TIMEOUT, "no answer in time")
    if isinstance(error, OSError) or name in {"ServiceUnavailable", "TransportError"}:
        return Failure.of(Kind.BROKEN, error)
    return Failure.of(Kind.CLIENT_ERROR, f"{name}: {error}")


class Storage:
    """The objects of a bucket."""

    tries = 1

    def __init__(self, place: Place) -> None:
        from requests.adapters import HTTPAdapter

        self.answers = Answers()
        client: Any = import_module("google.cloud.storage").Client(
            project=_PROJECT, credentials=_credentials(place), client_options={"api_endpoint": place.endpoint}
        )
        session = client._http
        session.trust_env = False  # no proxy and no .netrc
        session.hooks["response"].append(self.answers.arrived)
        for scheme in ("http://", "https://"):
            session.mount(scheme, HTTPAdapter(pool_maxsize=max(10, place.lanes), max_retries=0))
        self._client, self._bucket = client, client.bucket(place.data_set)
        self._how: dict[str, Any] = {"retry": None, "timeout": place.silence_s}

    def failure_of(self, error: Exception) -> Failure:
        """Judges an error of the library."""
        return _failure_of(error)

    def download(self, key: str) -> bytes:
        """The whole body."""
        body: bytes = self._bucket.blob(key).download_as_bytes(**self._how)
        return body

    def upload(self, key: str, body: bytes) -> object:
        """Writes a body."""
        return self._bucket.blob(key).upload_from_string(body, content_type="application/octet-stream", **self._how)

    def requests(self, op: str, size: int) -> int:
        """One, and one more that announces an upload of more than 8 MiB."""
        return 2 if op == "upload" and size > _ONE_PART else 1

    def names(self, prefix: str) -> list[str]:
        """The first names, 1000 at most."""
        listed = self._client.list_blobs(
            self._bucket, prefix=prefix, max_results=1000, fields="items(name)", **self._how
        )
        return [one.name for one in listed]

    def size_of(self, key: str) -> int | None:
        """The length of a blob; None if it is not there."""
        blob = self._bucket.get_blob(key, **self._how)
        return None if blob is None else int(blob.size)


class PubSub:
    """The messages of a topic, and of its subscription of the same name."""

    tries = 1

    def __init__(self, place: Place) -> None:
        pubsub: Any = import_module("google.cloud.pubsub_v1")

        self.answers = Answers()
        self._topic = place.data_set
        self._subscription = place.data_set.replace("/topics/", "/subscriptions/", 1)
        parts = urlsplit(place.endpoint)
        more: dict[str, Any] = {"client_options": {"api_endpoint": parts.netloc}}
        if place.tls:
            more["credentials"] = _credentials(place)
        else:
            os.environ["PUBSUB_EMULATOR_HOST"] = parts.netloc
        self._publisher: Any = pubsub.PublisherClient(**more)
        self._subscriber: Any = pubsub.SubscriberClient(**more)
        self._how: dict[str, Any] = {"retry": None, "timeout": place.silence_s}
        self._silence_s = place.silence_s

    def failure_of(self, error: Exception) -> Failure:
        """Judges an error of the library."""
        return _failure_of(error)

    def send(self, text: str) -> object:
        """Sends a message as the library does it: with others in one request if they come within 10 ms."""
        return self._publisher.publish(self._topic, text.encode(), **self._how).result(self._silence_s)

    def receive(self) -> tuple[str, Any] | None:
        """A message and what deletes it; None if there is none. Does not wait for one."""
        asked = {"subscription": self._subscription, "max_messages": 1, "return_immediately": True}
        some = self._subscriber.pull(request=asked, **self._how).received_messages
        return (some[0].message.data.decode("utf-8", "replace"), some[0].ack_id) if some else None

    def delete(self, handle: Any) -> object:
        """Deletes a message that was received."""
        asked = {"subscription": self._subscription, "ack_ids": [handle]}
        return self._subscriber.acknowledge(request=asked, **self._how)

    def purge(self) -> object:
        """Deletes all messages."""
        later = datetime.now(UTC) + timedelta(seconds=1)
        return self._subscriber.seek(request={"subscription": self._subscription, "time": later}, **self._how)


ADAPTERS: dict[str, Callable[[Place], Any]] = {"gcs": Storage, "pubsub": PubSub}
"""By protocol."""
