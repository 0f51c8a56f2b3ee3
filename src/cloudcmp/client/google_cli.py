"""Google's command `gcloud storage`: Cloud Storage.

It sends a request again after a connection that broke and after a status of 500 or above. No setting turns that off.
"""

import re
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from cloudcmp.catalog.other_clients import CLIS
from cloudcmp.client.adapter import wrong_credential
from cloudcmp.client.command import BODY, Command, CommandFailed
from cloudcmp.client.failures import Failure, Kind
from cloudcmp.client.job import Place

_ONE_PART = 8 * 2**20  # a longer body is announced by a request of its own
_STATUS = re.compile(r"HTTPError ([1-5]\d\d): ?(.*)")
_MISSING = re.compile(r"ERROR: \(gcloud[\w.]*\) ((?:The following URLs matched no objects|gs://\S+ not found: 404).*)")
_VERSION = re.compile(r"Google Cloud SDK (\d[\w.]*)")


class Storage:
    """The objects of a bucket."""

    tries = 5

    def __init__(self, place: Place) -> None:
        if place.credential is not None and place.credential.get("kind") != "token":
            raise wrong_credential(place, "token")
        token = "none" if place.credential is None else str(place.credential["value"]).removeprefix("Bearer ")
        known = CLIS[place.protocol]
        # The command does not run without a folder for its state. It is in the launch's folder, and goes with it.
        state = tempfile.mkdtemp(prefix="gcloud-", dir=Path.cwd())
        self._command = Command(
            known.program, known.install, "CLOUDSDK_AUTH_ACCESS_TOKEN_FILE", token,
            {
                "CLOUDSDK_CONFIG": state,
                "CLOUDSDK_API_ENDPOINT_OVERRIDES_STORAGE": f"{place.endpoint.rstrip('/')}/storage/v1/",
                "CLOUDSDK_CORE_HTTP_TIMEOUT": str(max(1, round(place.silence_s))),
                "CLOUDSDK_CORE_DISABLE_PROMPTS": "1", "CLOUDSDK_CORE_DISABLE_USAGE_REPORTING": "1",
                "CLOUDSDK_CORE_DISABLE_FILE_LOGGING": "1", "CLOUDSDK_COMPONENT_MANAGER_DISABLE_UPDATE_CHECK": "1",
                "CLOUDSDK_STORAGE_MAX_RETRIES": "0",
            },
        )  # fmt: skip
        self.answers = self._command.answers
        self._bucket = f"gs://{place.data_set}/"

    def version(self) -> str:
        """The version of the command."""
        words = self._command.version()
        found = _VERSION.search(words)
        return f"gcloud {found.group(1) if found else words}"

    def failure_of(self, error: Exception) -> Failure:
        """Judges an error by what the command wrote: the status of HTTP, or what broke."""
        if not isinstance(error, CommandFailed):
            return Failure.of(Kind.CLIENT_ERROR, f"{type(error).__name__}: {error}")
        status, missing = _STATUS.search(error.text), _MISSING.search(error.text)
        if status:
            return Failure.of_status(int(status.group(1)), "", status.group(2))
        if missing:
            return Failure.of_status(404, "", missing.group(1))
        if "Timeout" in error.text or "timed out" in error.text:
            return Failure.of(Kind.TIMEOUT, "no answer in time")
        kind = Kind.BROKEN if "Connection" in error.text else Kind.CLIENT_ERROR
        how = f"gcloud ended by signal {-error.code}" if error.code < 0 else f"gcloud exited with {error.code}"
        return Failure.of(kind, f"{how}: {error.text}" if error.text else how)

    def download(self, key: str) -> bytes:
        """The whole body."""
        return self._command.run(["storage", "cat", self._bucket + key])

    def upload(self, key: str, body: bytes) -> object:
        """Writes a body."""
        return self._command.run(["storage", "cp", BODY, self._bucket + key], body)

    def requests(self, op: str, size: int) -> int:
        """A download looks at the object first; an upload looks for it and for a folder of its name."""
        return {"download": 2, "upload": 3 if size <= _ONE_PART else 4}.get(op, 1)

    def names(self, prefix: str) -> list[str]:
        """The first names, 1000 at most."""
        words = ["storage", "objects", "list", f"{self._bucket}{prefix}*", "--limit=1000", "--format=value(name)"]
        return self._command.run(words).decode("utf-8", "replace").split("\n")[:-1]


ADAPTERS: dict[str, Callable[[Place], Any]] = {"gcs": Storage}
"""By protocol."""
