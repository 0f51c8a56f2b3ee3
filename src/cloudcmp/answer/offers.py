"""The offers of a study's providers: services, types with their prices, places.

The tables follow tables 1, 3 and 6 of CloudCmp (IMC 2010). They cover only the offerings in the study, not everything
that a provider sells.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from cloudcmp.catalog import METRICS, place_of
from cloudcmp.model.cell import Cell
from cloudcmp.model.metric import Group
from cloudcmp.model.offering import Price
from cloudcmp.model.plan import Candidate, Plan
from cloudcmp.model.trial import Attempt

_STORES = ("table", "blob", "queue")


@dataclass(frozen=True, slots=True)
class Services:
    """One provider's services in the study, for each of the four kinds that every cloud sells."""

    provider: str
    simulated: bool
    compute: tuple[str, ...]
    storage: tuple[str, ...]
    network: tuple[str, ...]
    wan: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Type:
    """One instance type in one region, with its hourly price; None is unknown. `volume` is its additional volume."""

    provider: str
    region: str
    name: str
    simulated: bool
    vcpus: float | None
    memory_gib: float | None
    volume: str | None
    price: Price | None


@dataclass(frozen=True, slots=True)
class Where:
    """One region of a provider with its place (None if unknown), and the zones in which machines ran."""

    provider: str
    region: str
    simulated: bool
    place: str | None
    part: str | None
    zones: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Offered:
    """The tables of services, types and places, each in the order of the candidates."""

    services: tuple[Services, ...]
    types: tuple[Type, ...]
    places: tuple[Where, ...]


def offered(plan: Plan, attempts: Sequence[Attempt] = ()) -> Offered:
    """Return the offers of the plan's providers; zones are those that the attempts report."""
    zones = _zones(plan, attempts)
    providers = dict.fromkeys(provider_of(one) for one in plan.candidates)
    return Offered(
        tuple(_services(plan, name) for name in providers),
        tuple(dict.fromkeys(map(_type, plan.candidates))),
        tuple(_places(plan, zones)),
    )


def provider_of(candidate: Candidate) -> str:
    """Return the provider of a candidate; each region of `simulated` counts as a separate cloud."""
    sold = candidate.offering
    return f"{sold.provider}/{sold.region}" if sold.provider == "simulated" else sold.provider


def _zones(plan: Plan, attempts: Sequence[Attempt]) -> dict[int, set[str]]:
    """Return the zones of each candidate's machines, by its index."""
    by_candidate: dict[int, set[str]] = {}
    for attempt in attempts:
        try:
            facts = json.loads(attempt.facts or "{}")
        except ValueError:
            continue
        zones = facts.get("zones") if isinstance(facts, dict) else None
        if isinstance(zones, list):
            at = plan.launches[plan.trials[attempt.trial].launch].candidate
            by_candidate.setdefault(at, set()).update(str(zone) for zone in zones)
    return by_candidate


def _services(plan: Plan, provider: str) -> Services:
    own = [one for one in plan.candidates if provider_of(one) == provider]
    cells = {Cell.parse(cell) for cell in _cells(plan, {one.index for one in own})}
    volumes = [one.volume.type for one in own if one.volume]
    stores = [one for one in _STORES if any(cell.metric.startswith(f"{one}_") for cell in cells)]
    return Services(
        provider,
        all(one.simulated for one in own),
        tuple(dict.fromkeys(one.offering.name for one in own)),
        tuple(dict.fromkeys([*volumes, *stores])),
        tuple(sorted({dict(cell.params)["path"] for cell in cells if "path" in dict(cell.params)})),
        tuple(sorted({_vantage(cell) for cell in cells if _group(cell) is Group.WAN})),
    )


def _cells(plan: Plan, candidates: set[int]) -> dict[str, None]:
    own = {one.index for one in plan.launches if one.candidate in candidates}
    return dict.fromkeys(cell for trial in plan.trials if trial.launch in own for cell in trial.cells)


def _group(cell: Cell) -> Group | None:
    metric = METRICS.get(cell.metric)
    return metric.group if metric else None


def _vantage(cell: Cell) -> str:
    return dict(cell.params).get("vantage", "all vantage points")


def _type(one: Candidate) -> Type:
    sold = one.offering
    volume = str(one.volume) if one.volume else None
    return Type(
        provider_of(one), sold.region, sold.name, one.simulated, sold.vcpus, sold.memory_gib, volume, sold.price
    )


def _places(plan: Plan, zones: Mapping[int, set[str]]) -> list[Where]:
    by_region: dict[tuple[str, str], list[Candidate]] = {}
    for one in plan.candidates:
        by_region.setdefault((provider_of(one), one.offering.region), []).append(one)
    return [
        Where(
            provider,
            region,
            all(one.simulated for one in some),
            place.name if (place := place_of(provider, region)) else None,
            place.part if place else None,
            tuple(sorted({zone for one in some for zone in zones.get(one.index, ())})),
        )
        for (provider, region), some in by_region.items()
    ]
