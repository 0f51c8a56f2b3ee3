"""Adds what is publicly known of places to vantage points and sites, and puts several sources together."""

from collections.abc import Sequence
from dataclasses import replace

from cloudcmp.catalog.cities import country_of, nearest_country, position_of
from cloudcmp.catalog.countries import continent_of
from cloudcmp.catalog.places import place_of
from cloudcmp.model.wide_area import AddressTime, Continent, NameAnswers, PathTime, Phase, Site, VantagePoint, WideArea
from cloudcmp.units import are, counted


def located(area: WideArea) -> WideArea:
    """Return an area with the positions, countries and continents that are known and that it does not state.

    A site has the place of its provider's region. A vantage point that stands in a provider's region, such as
    `aws/eu-west-1` in the network `aws`, has that of the region, and one named after a city that of the city, unless it
    states another country: then a note says so. The continent of a position without a country is that of the nearest
    known city.
    """
    vantages = tuple(_vantage(one) for one in area.vantages)
    elsewhere = [
        f"the {one.name} that is known is in {known}, not in {one.country}: its place is unknown until it is given"
        for one in vantages if one.at is None and one.country and (known := country_of(one.name))
    ]  # fmt: skip
    return replace(
        area, vantages=vantages, sites=tuple(_site(one) for one in area.sites), notes=(*area.notes, *elsewhere)
    )


def _vantage(one: VantagePoint) -> VantagePoint:
    at, country = one.at, one.country
    region = one.name.removeprefix(f"{one.network}/")
    if one.network and region != one.name and (place := place_of(one.network, region)):
        at, country = at or place.at, country or place.country
    elif at is None and (found := position_of(one.name, one.country)) is not None:
        at, country = found, country or country_of(one.name)
    return replace(one, at=at, country=country, continent=one.continent or _continent(country, at))


def _site(one: Site) -> Site:
    place = place_of(one.provider, one.region)
    at, country = one.at, one.country
    if place is not None:
        at, country = at or place.at, country or place.country
    return replace(one, at=at, country=country, continent=one.continent or _continent(country, at))


def _continent(country: str, at: tuple[float, float] | None) -> Continent | None:
    if country:
        return continent_of(country)
    return None if at is None else continent_of(nearest_country(at))


def joined(areas: Sequence[WideArea]) -> WideArea:
    """Return several areas as one; of two times of one path that with more attempts counts, else the first.

    `areas` has at least one. Vantage points of one name are one, and so are sites of one region.
    """
    if len(areas) == 1:
        return areas[0]
    vantages: dict[str, VantagePoint] = {}
    sites: dict[tuple[str, str], Site] = {}
    paths: dict[tuple[str, tuple[str, str], Phase, int | None], PathTime] = {}
    names: dict[tuple[str, str], list[tuple[WideArea, NameAnswers]]] = {}
    repeated = 0
    for area in areas:
        for vantage in area.vantages:
            vantages.setdefault(vantage.name, vantage)
        for site in area.sites:
            sites.setdefault((site.provider, site.region), site)
        for path in area.paths:
            own = area.sites[path.site]
            key = area.vantages[path.vantage].name, (own.provider, own.region), path.phase, path.size_bytes
            repeated += key in paths
            if key not in paths or path.started > paths[key].started:
                paths[key] = path
        for name in area.names:
            names.setdefault((name.provider, name.name), []).append((area, name))
    vantage_at = {name: at for at, name in enumerate(vantages)}
    site_at = {key: at for at, key in enumerate(sites)}
    notes = [note for area in areas for note in area.notes]
    if repeated:
        notes.append(f"{counted(repeated, 'time')} {are(repeated)} in two sources: the one with more attempts counts")
    return WideArea(
        tuple(vantages.values()),
        tuple(sites.values()),
        tuple(
            replace(path, vantage=vantage_at[vantage], site=site_at[site])
            for (vantage, site, _, _), path in paths.items()
        ),
        ", ".join(dict.fromkeys(area.source for area in areas)),
        areas[0].kind if len({area.kind for area in areas}) == 1 else "measured and imported",
        tuple(_joined_name(some, vantage_at) for some in names.values()),
        tuple(notes),
    )


def _joined_name(some: Sequence[tuple[WideArea, NameAnswers]], vantage_at: dict[str, int]) -> NameAnswers:
    address_at = {one: at for at, one in enumerate(dict.fromkeys(each for _, name in some for each in name.addresses))}
    answers: dict[tuple[int, int], None] = {}
    times: dict[tuple[int, int], AddressTime] = {}
    for area, name in some:
        for vantage, address in name.answers:
            answers[vantage_at[area.vantages[vantage].name], address_at[name.addresses[address]]] = None
        for one in name.times:
            key = vantage_at[area.vantages[one.vantage].name], address_at[name.addresses[one.address]]
            if key not in times or one.started > times[key].started:
                times[key] = replace(one, vantage=key[0], address=key[1])
    first = some[0][1]
    return NameAnswers(first.provider, first.name, tuple(address_at), tuple(answers), tuple(times.values()))
