"""The sheets of each provider's services, types and places, following tables 1, 3 and 6 of CloudCmp (IMC 2010)."""

from collections.abc import Iterable
from dataclasses import replace

from cloudcmp.answer.offers import Services, Type, Where, offered
from cloudcmp.model.untrusted_text import one_line
from cloudcmp.report.numbers import UNKNOWN
from cloudcmp.report.report_model import StudyView
from cloudcmp.report.sheets.candidates import memory, price_field, price_source, studied_on
from cloudcmp.report.sheets.sheet import Field, Sheet, captioned, columns, row

TITLE = "What each provider offers"
_NOTE = (
    "Only the offerings of this study, as known when it was planned; a provider sells more. "
    "A dash: unknown, or not in this study."
)


def sheets(study: StudyView) -> tuple[Sheet, ...]:
    """Return the tables of services, types and places; no places if nothing is known of any.

    None for an imported table, which does not name offerings.
    """
    if study.view.plan.imported or not study.candidates:
        return ()
    found = offered(study.view.plan, study.view.attempts)
    some = [_services(study, found.services), _types(study, found.types)]
    if any(one.place or one.part or one.zones for one in found.places):
        some.append(_places(study, found.places))
    return (*some[:-1], replace(some[-1], note=_NOTE))


def _services(study: StudyView, found: Iterable[Services]) -> Sheet:
    rows = [
        row(_of(one.provider, one.simulated), *map(_listed, (one.compute, one.storage, one.network, one.wan)))
        for one in found
    ]
    titles = ("provider", "instance types", "storage", "network measured", "wide area")
    return Sheet(captioned(study.origin, "Services"), columns(*titles), tuple(rows))


def _types(study: StudyView, found: Iterable[Type]) -> Sheet:
    day = studied_on(study)
    rows = [
        row(_of(f"{one.provider} / {one.name}", one.simulated, f"with {one.volume}" if one.volume else ""), one.region,
            UNKNOWN if one.vcpus is None else f"{one.vcpus:g}", memory(one.memory_gib), price_field(one.price),
            price_source(one.price, day))
        for one in found
    ]  # fmt: skip
    titles = ("type", "region", "vCPUs", "memory", "price an hour", "price from")
    numeric = ("vCPUs", "memory", "price an hour")
    return Sheet(captioned(study.origin, "Instance types"), columns(*titles, numeric=numeric), tuple(rows))


def _places(study: StudyView, found: Iterable[Where]) -> Sheet:
    rows = [
        row(_of(one.provider, one.simulated), one.region, one.place or UNKNOWN, one.part or UNKNOWN, _listed(one.zones))
        for one in found
    ]
    titles = ("provider", "region", "place", "part of the world", "zones of its machines")
    return Sheet(captioned(study.origin, "Places"), columns(*titles), tuple(rows))


def _of(name: str, simulated: bool, below: str = "") -> Field:
    label = "simulated" if simulated and not name.startswith("simulated/") else ""
    return Field(name, ", ".join(filter(None, (below, label))))


def _listed(words: tuple[str, ...]) -> str:
    return ", ".join(words) or UNKNOWN


def brief(study: StudyView) -> list[tuple[str, str, str, str]]:
    """Return a line for each provider for a terminal: its offerings, their places, and the dates of its prices.

    Empty if the study has only this machine, or is an imported table.
    """
    plan = study.view.plan
    if plan.imported or all(one.offering.provider == "local" for one in study.candidates):
        return []
    found, lines = offered(plan, study.view.attempts), []
    for one in found.services:
        own = [each for each in found.types if each.provider == one.provider]
        places = [_where(each) for each in found.places if each.provider == one.provider]
        name = (
            f"{one.provider}, simulated" if one.simulated and not one.provider.startswith("simulated") else one.provider
        )
        services = ", ".join((*one.compute, *one.storage))
        lines.append(
            (one_line(name, 40), one_line(services, 200), one_line("; ".join(places), 300), one_line(_dates(own), 80))
        )
    return lines


def _where(one: Where) -> str:
    return f"{one.region} ({one.place})" if one.place else one.region


def _dates(types: Iterable[Type]) -> str:
    """The days of the prices, oldest and newest."""
    prices = [one.price for one in types]
    days = sorted({price.as_of for price in prices if price and price.as_of})
    words = [" to ".join(dict.fromkeys((str(days[0]), str(days[-1]))))] if days else []
    words += ["undated"] if any(price and price.as_of is None for price in prices) else []
    words += ["unknown"] if None in prices else []
    return ", ".join(words)
