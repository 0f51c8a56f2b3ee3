"""Answers of the emulated Compute Engine in its JSON."""

import json
from typing import Any

from tests.emulated.wire import Answer

HOST = "https://www.googleapis.com/compute/v1"


def whole(said: Any, status: int = 200) -> Answer:
    """An answer that went well."""
    return Answer(status, json.dumps(said).encode(), {"Content-Type": "application/json; charset=UTF-8"})


class Wrong(Exception):
    """A call that is answered by an error."""

    def __init__(self, status: int, reason: str, message: str, word: str = "") -> None:
        super().__init__(message)
        self.status, self.reason, self.message, self.word = status, reason, message, word

    def answer(self) -> Answer:
        """The error as Google writes it: https://cloud.google.com/apis/design/errors, `errors` as of older services."""
        one = {"message": self.message, "domain": "global", "reason": self.reason}
        error: dict[str, Any] = {"code": self.status, "message": self.message, "errors": [one]}
        if self.word:
            error["status"] = self.word
        return whole({"error": error}, self.status)


def reason_in(answer: Answer) -> str:
    """The reason of an error, the status of anything else."""
    if answer.status < 400:
        return str(answer.status)
    try:
        return str(json.loads(answer.body)["error"]["errors"][0]["reason"])
    except (ValueError, KeyError, TypeError):  # the token server's have none
        return str(answer.status)


def not_found(link: str) -> Wrong:
    """What is not there."""
    return Wrong(404, "notFound", f"The resource '{link.partition('/compute/v1/')[2] or link}' was not found")


def injected(code: str) -> Wrong:
    """The error of a fault `error:CODE`, with the status that goes with the code."""
    known = {"authError": 401, "backendError": 503, "internalError": 500, "notFound": 404, "alreadyExists": 409}
    known |= {"rateLimitExceeded": 403, "quotaExceeded": 403, "forbidden": 403, "accessNotConfigured": 403}
    return Wrong(known.get(code, 400), code, f"{code} was injected")
