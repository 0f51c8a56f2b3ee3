"""`cloudcmp list`: shows the available providers, offerings, prices, probes and studies."""

import csv
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Annotated, Any

import typer

from cloudcmp.cli.options import Json, NoPager, Quiet, option
from cloudcmp.cli.output import emit, folded, ignore, plain, warn
from cloudcmp.cli.pager import paged
from cloudcmp.errors import UserMistake


class Kind(StrEnum):
    """What can be listed."""

    PROVIDERS = "providers"
    OFFERINGS = "offerings"
    PRICES = "prices"
    PROBES = "probes"
    SUITES = "suites"
    METRICS = "metrics"
    TOOLS = "tools"
    CREDITS = "credits"
    STUDIES = "studies"


_SOLD = (Kind.OFFERINGS, Kind.PRICES)
_LIMIT = 50


def list_(
    kind: Annotated[Kind, typer.Argument(help="What to list.", show_default=False)],
    name: Annotated[str | None, typer.Argument(help="Only this one, in full.", show_default=False)] = None,
    provider: Annotated[str | None, option("--provider", "Offerings, prices: of this provider.", "NAME")] = None,
    region: Annotated[
        str | None, option("--region", "Offerings, prices: in this region; 'all': in every one.", "NAME")
    ] = None,
    match: Annotated[str | None, option("--match", "Names that match, e.g. 'm7i.*'.", "PATTERN")] = None,
    vcpus: Annotated[str | None, option("--vcpus", "Number of vCPUs, or a range.", "4|4-8|4-|-8")] = None,
    memory_gib: Annotated[str | None, option("--memory-gib", "Memory, or a range.", "8|8-16|8-")] = None,
    category: Annotated[str | None, option("--category", "Category: general, compute, memory, ...", "WORD")] = None,
    os: Annotated[str | None, option("--os", "Prices for linux, rhel, suse or windows.", "WORD")] = None,
    purchase: Annotated[str | None, option("--purchase", "Way to buy: on-demand, spot or reserved.", "WORD")] = None,
    max_price: Annotated[str | None, option("--max-price", "Highest price.", "'0.10 USD/h'")] = None,
    sort: Annotated[
        str | None, option("--sort", "Sort by name, region, vcpus, memory or price; prices by price.", "WORD")
    ] = None,
    limit: Annotated[int | None, option("--limit", "Number of rows; 50 in a filtered table, 0: all.", "N")] = None,
    as_csv: Annotated[bool, typer.Option("--csv", help="Offerings, prices: print a CSV table.")] = False,
    no_pager: NoPager = False,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """List providers, offerings, prices, probes, suites, metrics, tools, credits or studies.

    With a name, shows one of them in full. Offerings and prices can be filtered; they come from the providers and from
    the price book (cloudcmp fetch). Studies are those below the working directory, and those that run, demo or import
    wrote elsewhere. Without --region, those of a provider are in the regions of your settings
    (cloudcmp config regions), else in all.

    Example: cloudcmp list prices --provider aws --region us-east-1 --vcpus 4 --sort price
    """
    words = {"provider": provider, "region": region, "pattern": match, "vcpus": vcpus, "memory_gib": memory_gib,
             "category": category, "system": os, "purchase": purchase, "max_price": max_price,
             "sort": sort}  # fmt: skip
    step = ignore if quiet or json else warn
    where = _where(kind, region, provider or name)
    words["region"] = where.region
    if as_csv or limit is not None or any(word is not None for word in words.values()):
        if kind not in _SOLD:
            raise UserMistake.at("cloudcmp list", f"{kind} cannot be filtered", "filter offerings or prices")
        if name is not None and provider is not None and name != provider:
            raise UserMistake.at("cloudcmp list", "two providers are named", "name one")
        words |= {"provider": provider or name, "sort": sort or ("price" if kind is Kind.PRICES else None)}
        _filtered(kind, words, where, limit, step, as_csv=as_csv, json=json, pager=not no_pager)
        return
    from cloudcmp.app.list_ import inventory
    from cloudcmp.report import list_tables

    found = inventory(kind.value, name, step, where.places)
    (columns, rows), notes = list_tables.table(found), (*where.notes, *list_tables.notes(found))
    if json:
        emit("list", {"kind": kind.value, "rows": [dict(zip(columns, row, strict=True)) for row in rows]}, notes)
        return
    from cloudcmp.report.table import table

    with paged(wanted=not no_pager) as out:
        table(out, columns, rows)
    for line in notes:
        warn(folded(line))


@dataclass(frozen=True, slots=True)
class _Where:
    """The region that was named, else the regions of some providers, with notes that say so."""

    region: str | None = None
    places: Mapping[str, Sequence[str]] = field(default_factory=dict)
    notes: Sequence[str] = ()


def _where(kind: Kind, region: str | None, provider: str | None) -> _Where:
    """The regions that a list is limited to; raises UserMistake for bad settings."""
    from cloudcmp.app.settings import ALL, chosen_regions, regions_notes

    if kind not in _SOLD or region is not None:
        return _Where(None if region == ALL else region)
    _, usual = chosen_regions(())
    places = {name: regions for name, regions in usual.items() if provider in {None, name}}
    return _Where(None, places, regions_notes(places))


def _filtered(
    kind: Kind, words: dict[str, str | None], where: _Where, limit: int | None, step: Callable[[str], None], *,
    as_csv: bool, json: bool, pager: bool,
) -> None:  # fmt: skip
    from cloudcmp.app.offerings.search import filters, search
    from cloudcmp.report import offerings

    if as_csv and json:
        raise UserMistake.at("cloudcmp list", "--csv and --json exclude each other", "give one of them")
    if limit is not None and limit < 0:
        raise UserMistake.at("--limit", f"{limit} is below zero", "write 0 for all")
    most = limit if limit is not None else (0 if as_csv or json else _LIMIT)
    found = search(filters(**words, places=where.places), step, most=most, each_once=kind is Kind.OFFERINGS)
    left_out = (*where.notes, *offerings.left_out_lines(found))
    if json:
        emit("list", {"kind": kind.value, "rows": offerings.records(found)}, left_out)
        return
    if as_csv:
        _csv(offerings.DATA, offerings.records(found))
    else:
        from cloudcmp.report.table import table

        with paged(wanted=pager) as out:
            table(out, *offerings.table(kind.value, found))
    if len(found.offerings) < found.count:
        warn(f"{found.count - len(found.offerings):,} more: add a filter, or --limit 0")
    for line in left_out:
        warn(folded(line))


def _csv(columns: Sequence[str], records: Sequence[dict[str, Any]]) -> None:
    """Print a table for programs; a cell that a spreadsheet would take for a formula becomes text."""
    from cloudcmp.store.tidy import neutral

    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(columns)
    for record in records:
        cells = (plain(record[column]) for column in columns)
        writer.writerow(["" if cell is None else neutral(cell) if isinstance(cell, str) else cell for cell in cells])
