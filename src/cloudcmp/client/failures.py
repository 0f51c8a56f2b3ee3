"""What came of an operation that did not succeed, in the agent's kinds, and the end of a trial that cannot go on."""

from dataclasses import dataclass
from enum import StrEnum

from cloudcmp.model.trial import Outcome
from cloudcmp.model.untrusted_text import one_line

_LONGEST = 300
_TOO_MANY = 429
_SERVER = 500


class Kind(StrEnum):
    """The kinds of failure, by the notes that count them, in the agent's order."""

    THROTTLED = "throttled"
    SERVER_ERROR = "server_errors"
    CLIENT_ERROR = "client_errors"
    TIMEOUT = "timeouts"
    WRONG_BODY = "wrong_bodies"
    BROKEN = "broken_connections"

    @property
    def advice(self) -> str:
        """What to do if every operation of a trial failed so."""
        return _ADVICE[self]


_ADVICE = {
    Kind.THROTTLED: "ask for less, or raise the service's limits",
    Kind.SERVER_ERROR: "see the service's status, and try again",
    Kind.CLIENT_ERROR: "check the credentials, the data set, the region and this machine's clock",
    Kind.TIMEOUT: "see that the service answers, or raise deadline_s",
    Kind.WRONG_BODY: "see what stands between here and the service; or empty the data set",
    Kind.BROKEN: "see that the endpoint can be reached and that its certificate is trusted",
}
# S3 and Azure report throttling with status 503, Cloud Storage with 403.
_THROTTLES = frozenset(
    {
        "OperationTimedOut",
        "ProvisionedThroughputExceededException",
        "RESOURCE_EXHAUSTED",
        "RequestLimitExceeded",
        "RequestThrottled",
        "ServerBusy",
        "SlowDown",
        "ThrottledException",
        "Throttling",
        "ThrottlingException",
        "TooManyRequests",
        "TooManyRequestsException",
        "rateLimitExceeded",
        "userRateLimitExceeded",
    }
)
# Codes of Amazon's services with a status of 500 and above.
_SERVER_CODES = frozenset(
    {"InternalError", "InternalFailure", "InternalServerError", "InternalServiceError", "ServiceUnavailable"}
)


@dataclass(frozen=True, slots=True)
class Failure:
    """A failed operation: its kind, and its reason in one line with the service's own code."""

    kind: Kind
    what: str

    @classmethod
    def of(cls, kind: Kind, what: object) -> "Failure":
        """A failure with a library's own words, on one line."""
        return cls(kind, one_line(str(what), _LONGEST))

    @classmethod
    def of_status(cls, status: int, code: str, message: str) -> "Failure":
        """Judges an answer without success by its status and the service's code."""
        if status == _TOO_MANY or code.rpartition("#")[2] in _THROTTLES:
            kind = Kind.THROTTLED
        else:
            kind = Kind.SERVER_ERROR if status >= _SERVER else Kind.CLIENT_ERROR
        return cls.of(kind, f"{status} {': '.join(filter(None, (code, message)))}".rstrip())

    @classmethod
    def of_code(cls, code: str, message: str) -> "Failure":
        """Judges an answer without success by the service's code alone; a number is the status."""
        if code.isdigit():
            return cls.of_status(int(code), "", message)
        kind = Kind.THROTTLED if code in _THROTTLES else Kind.CLIENT_ERROR
        return cls.of(Kind.SERVER_ERROR if code in _SERVER_CODES else kind, f"{code}: {message}".rstrip(": "))


class WrongBody(Exception):
    """An answer that is not what was written."""


class Ended(Exception):
    """The end of a trial that is not ok: its outcome, the reason, and what to do."""

    def __init__(self, outcome: Outcome, what: str, advice: str) -> None:
        super().__init__(what)
        self.outcome, self.what, self.advice = outcome, what, advice


def failed(what: str, advice: str) -> Ended:
    """The end of a trial that could not be measured."""
    return Ended(Outcome.FAILED, what, advice)
