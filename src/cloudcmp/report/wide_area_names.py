"""Replaces the names of an area's providers, regions and vantage points: C1, C1.DC1, V1.

Positions, countries and times stay, and may still tell a reader who is who.
"""

import re
from dataclasses import replace

from cloudcmp.model.market import OfferKey
from cloudcmp.model.wide_area import NameAnswers, VantagePoint, WideArea
from cloudcmp.report.anonymity import SIMULATED, Anonymity


def anonymous_area(area: WideArea) -> WideArea:
    """Return an area with new names; a vantage point stays in the network that it was in, under a new name."""
    names = Anonymity(OfferKey(one.provider, one.region, "") for one in area.sites)
    providers = {one.provider for one in area.sites}
    others = dict.fromkeys(one.network for one in area.vantages if one.network and one.network not in providers)
    numbers = {network: f"N{at}" for at, network in enumerate(others, 1)}

    def vantage(at: int, one: VantagePoint) -> VantagePoint:
        network = names.provider(one.network) if one.network in providers else numbers.get(one.network, "")
        return replace(one, name=f"V{at}", network=network)

    def name(at: int, one: NameAnswers) -> NameAnswers:
        addresses = tuple(f"A{number}" for number in range(1, len(one.addresses) + 1))
        return replace(one, provider=names.provider(one.provider), name=f"name {at}", addresses=addresses)

    keys = [names.key(OfferKey(one.provider, one.region, "")) for one in area.sites]
    sites = (replace(one, provider=key.provider, region=key.region) for one, key in zip(area.sites, keys, strict=True))
    return replace(
        area,
        vantages=tuple(vantage(at, one) for at, one in enumerate(area.vantages, 1)),
        sites=tuple(sites),
        source=SIMULATED if area.kind == SIMULATED else "several sources" if ", " in area.source else "one source",
        names=tuple(name(at, one) for at, one in enumerate(area.names, 1)),
        notes=tuple(names.text(re.sub(r"^[^:]*: ", "", one)) for one in area.notes),
    )
