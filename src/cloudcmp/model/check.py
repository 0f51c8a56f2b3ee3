"""The findings of a check of providers, and a live check of one provider before it starts."""

from dataclasses import dataclass
from pathlib import Path

from cloudcmp.model.plan import Candidate, Plan
from cloudcmp.model.safety import Finding
from cloudcmp.units import Money

SETUP = frozenset({"extra", "credentials", "settings"})
"""Kinds of findings about a provider that is not set up; nothing else can be checked there."""


@dataclass(frozen=True, slots=True)
class ProviderFinding:
    """A finding and its provider; `study` stands for the plan itself."""

    provider: str
    finding: Finding

    @property
    def optional(self) -> bool:
        """True if it only reports that a provider which the user did not name is not set up."""
        return self.finding.what in SETUP and self.finding.ok is None


@dataclass(frozen=True, slots=True)
class LiveCheck:
    """A live check before it starts: `worst` is the upper bound of its cost, None if the provider bills nothing.

    `allow` holds the addresses that its firewalls admit.
    """

    provider: str
    plan: Plan
    text: str
    folder: Path
    worst: Money | None
    budget: Money | None
    allow: str = ""

    @property
    def candidate(self) -> Candidate:
        """The type of machine that is created."""
        return self.plan.candidates[0]
