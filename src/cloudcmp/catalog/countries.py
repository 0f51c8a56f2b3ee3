"""Which continent a country is in, and names of areas that a law or a contract may bind data to.

Source: continents as of GeoNames (CC BY 4.0, `countryInfo`), by codes of ISO 3166; the members of the European Union
and of the European Economic Area as of 2026 (R: written from memory).
"""

import re

from cloudcmp.model.wide_area import Continent

_COUNTRIES = {
    Continent.EUROPE: "AD AL AT AX BA BE BG BY CH CY CZ DE DK EE ES FI FO FR GB GG GI GR HR HU IE IM IS IT JE LI LT LU "
    "LV MC MD ME MK MT NL NO PL PT RO RS RU SE SI SJ SK SM UA VA XK",
    Continent.ASIA: "AE AF AM AZ BD BH BN BT CC CN GE HK ID IL IN IO IQ IR JO JP KG KH KP KR KW KZ LA LB LK MM MN MO "
    "MV MY NP OM PH PK PS QA SA SG SY TH TJ TM TR TW UZ VN YE",
    Continent.NORTH_AMERICA: "AG AI AN AW BB BL BM BQ BS BZ CA CR CU CW DM DO GD GL GP GT HN HT JM KN KY LC MF MQ MS "
    "MX NI PA PM PR SV SX TC TT US VC VG VI",
    Continent.AFRICA: "AO BF BI BJ BW CD CF CG CI CM CV DJ DZ EG EH ER ET GA GH GM GN GQ GW KE KM LR LS LY MA MG ML MR "
    "MU MW MZ NA NE NG RE RW SC SD SH SL SN SO SS ST SZ TD TG TN TZ UG YT ZA ZM ZW",
    Continent.SOUTH_AMERICA: "AR BO BR CL CO EC FK GF GY PE PY SR UY VE",
    Continent.OCEANIA: "AS AU CK CX FJ FM GU KI MH MP NC NF NR NU NZ PF PG PN PW SB TK TL TO TV UM VU WF WS",
}
_CONTINENT_OF = {code: continent for continent, codes in _COUNTRIES.items() for code in codes.split()}

CONTINENT_NAMES = {one: one.name.replace("_", " ").title() for one in Continent}
"""The names of continents for people."""

EUROPEAN_UNION = frozenset(
    "AT BE BG CY CZ DE DK EE ES FI FR GR HR HU IE IT LT LU LV MT NL PL PT RO SE SI SK".split()  # noqa: SIM905
)
_AREAS = {
    "EU": ("the European Union", EUROPEAN_UNION),
    "EEA": ("the European Economic Area", EUROPEAN_UNION | {"IS", "LI", "NO"}),
    **{
        continent.name.replace("_", "-"): (CONTINENT_NAMES[continent], frozenset(codes.split()))
        for continent, codes in _COUNTRIES.items()
    },
}


def continent_of(country: str) -> Continent | None:
    """The continent of a country by its code; None if unknown. Russia and Cyprus count as Europe, Turkey as Asia."""
    return _CONTINENT_OF.get(country.upper())


def area_of(name: str) -> tuple[str, frozenset[str]] | None:
    """An area's name in words and its countries by code; None if unknown.

    `name` is EU (the Union, which is not the continent), EEA, a continent such as `europe` or `north-america`, or the
    code of a country, such as DE.
    """
    key = re.sub(r"[\s_]+", "-", name.strip().upper())
    if key in _AREAS:
        return _AREAS[key]
    return (key, frozenset({key})) if key in _CONTINENT_OF else None


def known_areas() -> tuple[str, ...]:
    """The names of areas that are more than one country, as `area_of` reads them."""
    return tuple(name if name in {"EU", "EEA"} else name.lower() for name in _AREAS)
