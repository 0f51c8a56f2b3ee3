"""The answers for a first study, and the study that `start` writes from them."""

from dataclasses import dataclass
from pathlib import Path

from cloudcmp.model.offering import Offering
from cloudcmp.model.plan import Plan
from cloudcmp.units import Money


@dataclass(frozen=True, slots=True)
class Answers:
    """The five answers. `matters` is in the order of importance; `budget` is the worst that the study may cost."""

    purpose: str
    users: str
    vcpus: int
    memory_gib: int
    matters: tuple[str, ...]
    budget: Money


@dataclass(frozen=True, slots=True)
class Form:
    """The size of a first study: rounds, runs on each launch, and which of the answers' needs it measures."""

    launches: int
    runs: int
    matters: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CloudAccess:
    """The access to a cloud from here; `text` is one line about it."""

    provider: str
    usable: bool
    text: str


@dataclass(frozen=True, slots=True)
class FetchedPrices:
    """The number of prices fetched from a cloud; `fault` is one line that says why there are none."""

    provider: str
    region: str
    prices: int
    fault: str = ""


@dataclass(frozen=True, slots=True)
class StarterStudy:
    """A first study: its file and plan, the clouds that were checked, and prices from price lists.

    `cheapest` are offerings of the requested size by price list, not measured. `unlisted` are clouds with the region in
    which the price book knows no price of that size. `left_out` says why a usable cloud has no candidate. `schema` is
    the file beside the study with which editors check it; None if it was not written, and `schema_fault` says why.
    """

    path: Path
    text: str
    plan: Plan
    answers: Answers
    form: Form
    seen: tuple[CloudAccess, ...]
    clouds: tuple[str, ...]
    cheapest: tuple[Offering, ...]
    unlisted: tuple[tuple[str, str], ...]
    left_out: tuple[str, ...]
    schema: Path | None = None
    schema_fault: str = ""
