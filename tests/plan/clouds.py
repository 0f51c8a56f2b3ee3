"""Studies and clouds for plans: small, and without a file."""

from decimal import Decimal
from typing import Any

from cloudcmp import plan, study
from cloudcmp.cost.quote import Market, with_quote
from cloudcmp.model.offering import Offering, Price
from cloudcmp.model.plan import Candidate, Plan
from cloudcmp.model.study import Study

# Monday, 5 January 2026, 00:00 UTC.
MONDAY = 1767571200.0
HOUR = 3600.0
DAY = 86400.0


def sold(
    provider: str, region: str, name: str, size: tuple[float, float], category: str, price: str | None
) -> Offering:
    """An offering of so many vCPUs and GiB."""
    cost = None if price is None else Price(Decimal(price), "USD", "test")
    return Offering(provider, region, name, *size, category, cost)


SOLD = (
    sold("aws", "eu", "small", (1, 2), "general", "0.02"),
    sold("aws", "eu", "large", (4, 16), "general", "0.20"),
    sold("aws", "eu", "large-memory", (4, 32), "memory", "0.25"),
    sold("aws", "us", "large", (4, 15), "general", "0.18"),
    sold("gcp", "eu", "wide", (8, 16), "compute", None),
    sold("simulated", "nimbus", "small", (1, 2), "general", "0.02"),
    sold("simulated", "stratus", "medium", (2, 8), "general", "0.10"),
    sold("local", "local", "1cpu", (1, 4), "general", None),
    sold("local", "local", "2cpu", (2, 4), "general", None),
)
PROVIDERS = {one.provider for one in SOLD} | plan.published_providers() | {"azure"}

TWO = "[{provider: simulated, offering: small}, {provider: simulated, region: stratus, offering: medium}]"


def offerings_of(provider: str, region: str | None) -> tuple[Offering, ...]:
    """What is sold; nothing by a provider without a driver."""
    return tuple(one for one in SOLD if one.provider == provider and region in {None, one.region})


def host_of(candidate: Candidate) -> str:
    """Local candidates share this machine."""
    return "this machine" if candidate.runner == "local" else candidate.id


def study_of(candidates: str = TWO, probes: str = "[{probe: fma}]", rest: str = "") -> Study:
    """The study of these parts, written as in a file."""
    text = f"schema: 1\nquestion: which?\ncandidates: {candidates}\nprobes: {probes}\n{rest}\n"
    return study.read_text(text, "test.yaml", providers=PROVIDERS)


def host_of_any(candidate: Candidate) -> str:
    """Each has a host of its own."""
    return candidate.id


def study_text(text: str) -> Study:
    """The study of a whole text."""
    return study.read_text(text, "test.yaml", providers=PROVIDERS)


def planned(candidates: str = TWO, probes: str = "[{probe: fma}]", rest: str = "", **how: Any) -> Plan:
    """The plan of these parts, with its money; `billing_of`, `rate_of` and `free` are of the market."""
    how = {"start_at": MONDAY, "offerings_of": offerings_of, "host_of": host_of} | how
    market = Market(**{name: how.pop(name) for name in ("billing_of", "rate_of", "on_day") if name in how},
                    **({"free": how["free"]} if "free" in how else {}))  # fmt: skip
    return with_quote(plan.make(study_of(candidates, probes, rest), **how), market)
