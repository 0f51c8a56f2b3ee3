"""The continents of countries, by their codes of ISO 3166, in the parts that CloudAnalyst calls regions.

Source: the list of countries of GeoNames (CC BY 4.0), which puts Russia in Europe, and Turkey and Cyprus where it says.
Antarctica has no continent here: nobody sells there.
"""

from cloudcmp.model.wide_area import Continent

_COUNTRIES = {
    Continent.EUROPE: (
        "AD AL AT AX BA BE BG BY CH CY CZ DE DK EE ES FI FO FR GB GG GI GR HR HU IE IM IS IT JE LI LT LU LV MC MD ME "
        "MK MT NL NO PL PT RO RS RU SE SI SJ SK SM UA VA XK"
    ),
    Continent.ASIA: (
        "AE AF AM AZ BD BH BN BT CC CN GE HK ID IL IN IO IQ IR JO JP KG KH KP KR KW KZ LA LB LK MM MN MO MV MY NP "
        "OM PH PK PS QA SA SG SY TH TJ TM TR TW UZ VN YE"
    ),
    Continent.AFRICA: (
        "AO BF BI BJ BW CD CF CG CI CM CV DJ DZ EG EH ER ET GA GH GM GN GQ GW KE KM LR LS LY MA MG ML MR MU MW MZ NA "
        "NE NG RE RW SC SD SH SL SN SO SS ST SZ TD TG TN TZ UG YT ZA ZM ZW"
    ),
    Continent.NORTH_AMERICA: (
        "AG AI AW BB BL BM BQ BS BZ CA CR CU CW DM DO GD GL GP GT HN HT JM KN KY LC MF MQ MS MX NI PA PM PR SV SX TC "
        "TT US VC VG VI"
    ),
    Continent.SOUTH_AMERICA: "AR BO BR CL CO EC FK GF GY PE PY SR UY VE",
    Continent.OCEANIA: "AS AU CK CX FJ FM GU KI MH MP NC NF NR NU NZ PF PG PN PW SB TK TL TO TV UM VU WF WS",
}  # fmt: skip
_BY_COUNTRY = {code: continent for continent, codes in _COUNTRIES.items() for code in codes.split()}

NAMES = {
    Continent.NORTH_AMERICA: "North America",
    Continent.SOUTH_AMERICA: "South America",
    Continent.EUROPE: "Europe",
    Continent.ASIA: "Asia",
    Continent.AFRICA: "Africa",
    Continent.OCEANIA: "Oceania",
}
"""The names of continents for people."""


def continent_of(country: str) -> Continent | None:
    """The continent of a country by its code of two letters; None if unknown."""
    return _BY_COUNTRY.get(country.upper())
