"""What every emulated cloud of the tests tells of: its calls, and the things that exist."""

from dataclasses import dataclass


@dataclass(slots=True)
class Call:
    """One call as it came, and how it was answered (HTTP status, error code, or the fault's name)."""

    at: float
    service: str
    region: str
    action: str
    params: dict[str, str]
    outcome: str = ""

    @property
    def name(self) -> str:
        """The action as policies write it."""
        return f"{self.service}:{self.action}"


@dataclass(frozen=True, slots=True)
class Thing:
    """A resource that exists, whether or not any list shows it."""

    kind: str
    region: str
    id: str
    state: str
    tags: tuple[tuple[str, str], ...] = ()
