"""`cloudcmp regions`: the regions that serve a population best."""

from pathlib import Path
from typing import Annotated

import typer

from cloudcmp.cli.options import Anonymise, Json, option
from cloudcmp.cli.output import EXIT_DONE, console, emit, ignore, say, warn


def regions(
    sources: Annotated[
        list[str],
        typer.Argument(
            help="Times between places and regions: tables, RIPE Atlas results, Skyplane's grid, studies.",
            show_default=False,
            metavar="SOURCE...",
        ),
    ],
    people: Annotated[
        Path, option("--people", "Who is where: columns name, people, and lat and lon or country.", "CSV")
    ],
    sites: Annotated[int, typer.Option("--sites", metavar="K", help="How many regions.")] = 3,
    goal: Annotated[
        str, typer.Option("--goal", metavar="mean|p95|worst|'within 100 ms'", help="What is to be best for people.")
    ] = "mean",
    provider: Annotated[
        list[str] | None, option("--provider", "Only regions of this provider; give it once for each.", "NAME")
    ] = None,
    mix: Annotated[bool, typer.Option("--mix", help="Regions of several providers may be in one set.")] = False,
    within: Annotated[
        list[str] | None, option("--within", "Only regions in this area: EU, EEA, europe, a country.", "AREA")
    ] = None,
    keep: Annotated[
        list[str] | None, option("--keep", "People of an area are served from an area: DE=EU.", "AREA=AREA")
    ] = None,
    egress: Annotated[
        str | None, option("--egress", "The price of a GB by region, a table or the price book.", "CSV|prices")
    ] = None,
    gb: Annotated[float | None, option("--gb", "GB that one user gets a month.", "GB")] = None,
    users: Annotated[
        float | None, option("--users", "So many users, spread as the people are; all people without it.", "N")
    ] = None,
    site_cost: Annotated[str | None, option("--site-cost", "What a region costs itself.", "'200 USD/month'")] = None,
    budget: Annotated[str | None, option("--budget", "The most that all may cost.", "'5000 USD/month'")] = None,
    cdn: Annotated[
        Path | None, option("--cdn", "Also behind a delivery network: its hits, distance and prices.", "FILE")
    ] = None,
    limit: Annotated[
        str, typer.Option("--limit", metavar="TIME", help="Show the share of people within this time.")
    ] = "100 ms",
    last_mile: Annotated[
        str | None, option("--last-mile", "Add the round trip of people's own access.", "'15 ms'")
    ] = None,
    cities: Annotated[
        Path | None, option("--cities", "Cities over which the people of whole countries are spread.", "CSV")
    ] = None,
    vantages: Annotated[Path | None, option("--vantages", "Where the vantage points are.", "FILE")] = None,
    targets: Annotated[Path | None, option("--targets", "Which region a measured address is of.", "FILE")] = None,
    largest: Annotated[int | None, option("--largest", "Only the N places with the most people.", "N")] = None,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Seed of the drawn times.")] = 1,
    every: Annotated[
        bool, typer.Option("--all", help="Also show every set on the price front, and regions that are left out.")
    ] = False,
    page: Annotated[Path | None, option("--page", "Also write the answer, with a map, as HTML.", "FILE")] = None,
    anonymise: Anonymise = False,
    json: Json = False,
) -> int:
    """Find the regions that serve a population best, and what they cost.

    The set is the best there is by the times, with its proof; times of places that were not measured are modelled, and
    how often the set stays the best within the error of the model is shown.

    Example: cloudcmp regions latency.csv --people cities.csv --sites 3

    Example: cloudcmp regions latency.csv --people bases.csv --goal 'within 100 ms' --keep EU=EU

    Example: cloudcmp regions latency.csv --people cities.csv --egress prices.csv --gb 2 --users 1000000
    """
    from cloudcmp.app import regions as use_case

    asked = use_case.RegionsRequest(
        people=people, sites=sites, goal=goal, limit=limit, cities=cities, vantages=vantages, targets=targets,
        providers=tuple(provider or ()), mix=mix, within=tuple(within or ()), keep=tuple(keep or ()), egress=egress,
        gb=gb, users=users, site_cost=site_cost, budget=budget, cdn=cdn, last_mile=last_mile, most=largest, seed=seed,
        anonymise=anonymise,
    )  # fmt: skip
    found = use_case.regions(sources, asked, progress=ignore if json else warn)
    if page is not None:
        from cloudcmp.app.report import write_page

        write_page(found, page)
    if json:
        from cloudcmp.report.placement_documents import regions as document

        emit("regions", document(found), [*found.notes, *found.cautions])
    else:
        from cloudcmp.report.placement import show_regions

        show_regions(console(), found, every=every)
    if page is not None and not json:
        say(str(page))
    return EXIT_DONE
