"""Replaces the names of providers, regions, vantage points and places of people: C1, C1.DC1, V1, P1.

Positions, countries and times stay, and may still tell a reader who is who.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

from cloudcmp.model.move import MoveAnswer
from cloudcmp.model.placement import Delivery, People, RegionsAnswer
from cloudcmp.model.wide_area import NameAnswers, Site, VantagePoint, WideArea
from cloudcmp.report.anonymity import SIMULATED, of_places


def anonymous_area(area: WideArea) -> WideArea:
    """Return an area with new names; a vantage point stays in the network that it was in, under a new name."""
    names = of_places((one.provider, one.region) for one in area.sites)
    providers = {one.provider for one in area.sites}
    others = dict.fromkeys(one.network for one in area.vantages if one.network and one.network not in providers)
    numbers = {network: f"N{at}" for at, network in enumerate(others, 1)}

    def vantage(at: int, one: VantagePoint) -> VantagePoint:
        network = names.provider(one.network) if one.network in providers else numbers.get(one.network, "")
        return replace(one, name=f"V{at}", network=network)

    def name(at: int, one: NameAnswers) -> NameAnswers:
        addresses = tuple(f"A{number}" for number in range(1, len(one.addresses) + 1))
        return replace(one, provider=names.provider(one.provider), name=f"name {at}", addresses=addresses)

    return replace(
        area,
        vantages=tuple(vantage(at, one) for at, one in enumerate(area.vantages, 1)),
        sites=names.rewritten(area.sites),
        source=_source(area.source, area.kind),
        names=tuple(name(at, one) for at, one in enumerate(area.names, 1)),
        notes=tuple(names.text(re.sub(r"^[^:]*: ", "", one)) for one in area.notes),
    )


def _source(source: str, kind: str) -> str:
    return SIMULATED if kind == SIMULATED else "several sources" if ", " in source else "one source"


def anonymous_regions(
    found: RegionsAnswer, sites: Iterable[Site], people: Iterable[People], delivery: Delivery | None,
    sources: Sequence[str],
) -> tuple[RegionsAnswer, Delivery | None]:  # fmt: skip
    """Return a set of regions, and the delivery network before it, with new names, in the order of sites and people.

    Sentences are made from the answer that is returned; its notes name no file of `sources`.
    """
    network = {} if delivery is None else {delivery.name: "a delivery network"}
    names = of_places(((one.provider, one.region) for one in sites), sources, network)
    places = {name: f"P{at}" for at, name in enumerate(dict.fromkeys(one.name for one in people), 1)}

    def filled(pair: str) -> str:
        place, _, site = pair.rpartition(" to ")
        return f"{places[place]} to {names.text(site)}"

    def measured(some: tuple[tuple[str, float], ...]) -> tuple[tuple[str, float], ...]:
        return tuple((places[place], share) for place, share in some)

    model = replace(found.model, filled=tuple(map(filled, found.model.filled)))
    served = tuple(replace(one, people=replace(one.people, name=places[one.people.name])) for one in found.served)
    certainty = found.certainty and replace(
        found.certainty,
        rivals=tuple(replace(one, measure=measured(one.measure)) for one in found.certainty.rivals),
    )
    new = names.rewritten(replace(found, model=model, served=served, certainty=certainty))
    return replace(new, source=_source(found.source, found.kind)), delivery and names.rewritten(delivery)


def anonymous_move(
    found: MoveAnswer, notes: tuple[str, ...], here: str, sources: Sequence[str]
) -> tuple[MoveAnswer, tuple[str, ...]]:
    """Return a move and the notes on its sources with new names; devices that are shipped are numbered.

    `here` is what a place without a name is called.
    """
    ends = [found.origin, found.to]
    devices = dict.fromkeys(one.device.name for one in found.shipments)
    more = {name: f"device {at}" for at, name in enumerate(devices, 1)}
    more |= {one: "V1" for one in ends if "/" not in one and one != here}
    places = [(provider, region) for provider, slash, region in (one.partition("/") for one in ends) if slash]
    places += [(one.device.provider, "") for one in found.shipments]
    names = of_places(places, sources, more)
    bare = (replace(one, device=replace(one.device, source="")) for one in found.shipments)
    return names.rewritten((replace(found, shipments=tuple(bare)), notes))
