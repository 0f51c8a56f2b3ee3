"""The exceptions that cloudcmp raises on purpose.

CloudcmpError                 carries one or more faults: where, what, what next
├── CheckFailed               exit 1: what was to be checked is not so
├── UserMistake               exit 2: the study, an argument or a table must be changed
│   └── RefusedAnswer         no study can be made of one of the answers of `start`
└── OutsideFault              exit 3: the machine, a provider or a file failed
    ├── CorruptStore          a study's file does not hold what was acknowledged
    ├── NewerSchema           written by a later version
    ├── StudyBusy             another process works on the study
    ├── StorageFault          a full disk, a read-only folder, an I/O error
    ├── AgentMissing          no measuring agent for the machine
    ├── BudgetSpent           creating more could cost more than was allowed
    └── ProviderFault         a provider refused, or did not answer
        ├── NoCapacity        none left at this moment: another zone may have some
        ├── Refused           permission, bad request: asking again does not help
        │   ├── QuotaReached  the account's own limit
        │   ├── NotAllowed    the user may not do it
        │   ├── NotOurs       it lacks the study's tags: it is kept
        │   └── NoCredentials there are none
        │       └── BadCredentials  wrong or expired ones
        │           └── OtherAccount  valid ones, of another account than the study's
        ├── Unreached         it cannot be reached from here: nothing was sent
        ├── Throttled         too many requests: asking later helps
        ├── LostAnswer        the request may or may not have been carried out
        ├── IncompleteListing a list is incomplete or missing: it proves nothing
        ├── Preempted         the provider took a machine back before it was up
        ├── TooLate           a wait exceeded its limit
        ├── ConnectionLost    the connection to a machine broke: the machine may be well
        └── WrongHost         the machine that answers is not the one that was launched
"""

from dataclasses import dataclass
from enum import Enum
from typing import Self


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault, as people read it: where it is, what it is, and what to do next."""

    where: str
    what: str
    next: str = ""

    def line(self) -> str:
        """The fault as one line."""
        text = f"{self.where}: {self.what}" if self.where else self.what
        return f"{text}; {self.next}" if self.next else text


class CloudcmpError(Exception):
    """A failure with one line for each fault and the exit code that goes with it."""

    exit_code = 3

    def __init__(self, *faults: Fault) -> None:
        self.faults = faults
        super().__init__("\n".join(fault.line() for fault in faults))

    @classmethod
    def at(cls, where: str, what: str, next: str = "") -> Self:
        """The error with a single fault."""
        return cls(Fault(where, what, next))


class CheckFailed(CloudcmpError):
    """What was to be checked is not so: the answer to a yes/no question is no."""

    exit_code = 1


class UserMistake(CloudcmpError):
    """The request cannot be carried out as it was written."""

    exit_code = 2


class RefusedAnswer(UserMistake):
    """No study can be made of one of the answers of `start`; its fault's `where` is the option of the question.

    `instead` is an answer with which one can be made.
    """

    instead: str = ""

    def propose(self, answer: str) -> Self:
        """Set the answer that would do; returns the fault."""
        self.instead = answer
        return self


class OutsideFault(CloudcmpError):
    """Something outside cloudcmp failed, or a file is corrupt."""


class CorruptStore(OutsideFault):
    """A study's file does not hold what was acknowledged."""


class NewerSchema(OutsideFault):
    """The study was written by a later version of cloudcmp."""


class StudyBusy(OutsideFault):
    """Another process holds the study."""


class StorageFault(OutsideFault):
    """The disk is full, read-only or failing."""


class AgentMissing(OutsideFault):
    """No measuring agent was found for the machine."""


class RefusalKind(Enum):
    """The meaning of a provider's own error code or text, if a driver acts on it."""

    MISSING = "the named resource does not exist"
    EXISTS = "the named resource or rule exists already"
    DENIED = "the caller lacks the permission"
    ALLOWED = "a dry run: the call would have succeeded"
    UNKNOWN_ACTION = "this cloud does not have the call"
    UNKNOWN_PARAMETER = "this cloud does not know a parameter of the call"
    UNKNOWN_OFFERING = "there is no such offering"
    OTHER = "anything else: only its code and text are known"


@dataclass(frozen=True, slots=True)
class Refusal:
    """A provider's error: its kind, and the provider's own code and text (untrusted, one line)."""

    kind: RefusalKind
    code: str = ""
    text: str = ""


class ProviderFault(OutsideFault):
    """A provider refused, or did not answer.

    `reason` is the provider's error response; None if there is none, or if no code acts on it.
    """

    reason: Refusal | None = None

    def because(self, reason: Refusal | None) -> Self:
        """Set the reason; returns the fault."""
        self.reason = reason
        return self

    def is_refusal(self, *kinds: RefusalKind) -> bool:
        """True if the provider's error is of one of these kinds."""
        return self.reason is not None and self.reason.kind in kinds


class NoCapacity(ProviderFault):
    """The provider has none of the offering left at this moment."""


class Refused(ProviderFault):
    """The provider refused for good: permission or a bad request."""


class QuotaReached(Refused):
    """The account's own limit is reached."""


class NotAllowed(Refused):
    """The user lacks the permission."""


class NotOurs(Refused):
    """A resource to destroy lacks the study's tags: it is kept, and asking again does not help."""


class NoCredentials(Refused):
    """There are no credentials."""


class BadCredentials(NoCredentials):
    """The provider does not accept the credentials, or not any more."""


class OtherAccount(BadCredentials):
    """The credentials belong to another account or endpoint than the study's resources."""


class Unreached(ProviderFault):
    """The provider cannot be reached from here: nothing was sent, and the state there is unknown."""


class Throttled(ProviderFault):
    """The provider wants fewer requests; the same request may be sent again later."""


class LostAnswer(ProviderFault):
    """A request was sent and no answer came: the resource may exist."""


class IncompleteListing(ProviderFault):
    """A list is incomplete or missing."""


class Preempted(ProviderFault):
    """The provider took a machine back before it was up, as it may in the spot market."""


class TooLate(ProviderFault):
    """A wait exceeded its limit."""


class ConnectionLost(ProviderFault):
    """The connection to a machine broke; the machine may be well."""


class WrongHost(ProviderFault):
    """A machine showed another host key than the one that it was given."""


class BudgetSpent(OutsideFault):
    """Nothing more may be created within the budget."""


CONTROLLER_FAULTS = (NoCredentials, Unreached)
"""Faults on this side: the request was not the cause, and no candidate is to blame."""

NOTHING_MADE = (NoCapacity, Refused, Throttled, Unreached)
"""Faults of a create request after which it is known that nothing was created."""

ACCOUNT_FAULTS = (QuotaReached, NotAllowed, Throttled, LostAnswer, IncompleteListing)
"""Faults of an account or of a call: this launch failed for reasons unrelated to the candidate."""
