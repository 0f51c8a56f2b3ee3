"""A storage service at a server, as its provider's own client sees it, with look-alikes in it."""

import uuid
from abc import ABC, abstractmethod
from collections.abc import Mapping

from tests.servers.serving import Served

ANOTHER = (("cloudcmp:schema", "1"), ("cloudcmp:study", "another-study"))
NAMES = ("cloudcmp-backup", *(f"cloudcmp-{uuid.UUID(int=k, version=4).hex}-7fffffff" for k in (1, 2)), "other")


RETRIES = 3  # a server may close a connection that waits for minutes just when it is used again


class HeldService(ABC):
    """A service at a server, which holds data sets of a study and look-alikes of other people.

    The look-alikes are one whose name begins like cloudcmp's, two of another study, of which one has its tags, and one
    that has nothing of cloudcmp's. Each has something in it.
    """

    kind: str
    prices: str = "requests: 0.05 USD/10000, moved: 0.01 USD/GB, stored: 0.02 USD/GB-month"
    look_alikes: tuple[str, ...] = NAMES

    def __init__(self, served: Served, store: str) -> None:
        self.served, self.store = served, store

    @property
    @abstractmethod
    def candidate(self) -> str:
        """The service as a study names it."""

    @property
    @abstractmethod
    def environ(self) -> Mapping[str, str]:
        """The variables by which a command finds it."""

    sweep_environ: Mapping[str, str] = {}
    """More variables that a sweep needs, in a command of its own."""

    @abstractmethod
    def names(self) -> set[str]:
        """All data sets."""

    @abstractmethod
    def make(self, name: str, tags: Mapping[str, str]) -> None:
        """Makes a data set with something in it."""

    @abstractmethod
    def holds(self, name: str) -> bool:
        """True if what was put into a data set is still there."""

    def plant(self) -> None:
        """Makes the look-alikes."""
        for name in self.look_alikes:
            self.make(name, dict(ANOTHER) if name == self.look_alikes[1] else {})

    def touched(self) -> list[str]:
        """The look-alikes that are no longer whole."""
        there = self.names()
        return [name for name in self.look_alikes if name not in there or not self.holds(name)]

    def left(self) -> set[str]:
        """All data sets but the look-alikes."""
        return self.names() - set(self.look_alikes)
