"""`cloudcmp recommend`: the cheapest offering that is fast enough, from studies, tables and prices."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cloudcmp.cli.fleet import (
    Architecture,
    Fleet,
    FleetOptions,
    Headroom,
    Metric,
    Provider,
    Region,
    Stays,
    StudyFile,
    Utilisation,
    answer,
    refuse,
)
from cloudcmp.cli.options import Anonymise, Buying, Json, option, purchase_of
from cloudcmp.cli.output import EXIT_DONE, EXIT_NO, console, emit, ignore, say, warn
from cloudcmp.errors import UserMistake

if TYPE_CHECKING:
    from cloudcmp.model.price import Purchase


def recommend(
    sources: Annotated[
        list[str],
        typer.Argument(
            help="Folders of studies, tables of offerings, or `prices` for the price book.",
            show_default=False,
            metavar="SOURCE...",
        ),
    ],
    require: Annotated[
        list[str] | None, option("--require", "A need, such as 'memory_gib >= 16'; give it once for each.", "NEED")
    ] = None,
    minimise: Annotated[
        str | None, option("--minimise", "What is to be least: a column, or 'cost per COLUMN'. Default: cost.", "WHAT")
    ] = None,
    maximise: Annotated[
        str | None, option("--maximise", "What is to be most: a column, or such as 'speed^2 / cost'.", "WHAT")
    ] = None,
    budget: Annotated[str | None, option("--budget", "The highest price of one hour.", "'0.50 USD/h'")] = None,
    near: Annotated[str | None, option("--region-near", "Only regions near this city.", "CITY")] = None,
    within_km: Annotated[
        float | None, typer.Option("--within-km", metavar="KM", help="How far a near region may be; 1000 km.")
    ] = None,
    like: Annotated[
        str | None,
        option("--like", "At least as good as this offering, or as this machine, which is measured.", "local|OFFERING"),
    ] = None,
    on: Annotated[list[str] | None, option("--on", "A column in which --like compares.", "COLUMN")] = None,
    application: Annotated[
        str | None, option("--class", "Also the needs of a class of applications.", "voip|video-hd|...")
    ] = None,
    machines: Annotated[
        int, typer.Option("--machines", metavar="N", help="Also up to N machines of an offering as one candidate.")
    ] = 1,
    adds: Annotated[
        list[str] | None, option("--adds", "A column that adds up over machines; give it once for each.", "COLUMN")
    ] = None,
    purchase: Annotated[Buying | None, option("--purchase", "Use prices of this way to buy machines.")] = None,
    spread: Annotated[
        str | None, option("--spread", "Assume that single values scatter by this much.", "'5 %'")
    ] = None,
    confidence: Annotated[
        float, typer.Option("--confidence", metavar="P", help="The chance of meeting every need that a choice has.")
    ] = 0.95,
    allow_burstable: Annotated[
        bool, typer.Option("--allow-burstable", help="Also choose burstable and shared machines.")
    ] = False,
    every: Annotated[
        bool, typer.Option("--all", help="Also show the price front, other sizes, and what each need excludes.")
    ] = False,
    page: Annotated[Path | None, option("--page", "Also write the answer as one HTML file.", "FILE")] = None,
    columns: Annotated[
        bool, typer.Option("--columns", help="List the columns that needs and objectives can name.")
    ] = False,
    fleet: Fleet = None,
    utilisation: Utilisation = None,
    metric: Metric = None,
    headroom: Headroom = None,
    architecture: Architecture = Stays.SAME,
    provider: Provider = Stays.SAME,
    region: Region = Stays.SAME,
    study: StudyFile = None,
    anonymise: Anonymise = False,
    json: Json = False,
) -> int:
    """Recommend the cheapest offering that is fast enough, or the best by an objective.

    Sources are joined by provider and name: measurements of one, prices of another. A choice comes with the chance that
    it is right, the runner-up, and what would change it; an offering with an unknown fact is never chosen. The exit
    code is 1 if there is no choice.

    Example: cloudcmp recommend DIR --require 'rtt_s <= 2 ms' --region-near Stockholm

    Example: cloudcmp recommend DIR --machines 8 --require 'total fma_flop_per_s threads=all >= 1e12'

    Example: cloudcmp recommend prices --require 'vcpus = 4' --require 'memory_gib >= 16'

    Example: cloudcmp recommend table.csv --fleet inventory.csv --architecture any
    """
    from cloudcmp.app import recommend as use_case
    from cloudcmp.model.price import Purchase

    if within_km is not None and near is None:
        raise UserMistake.at("--within-km", "is about --region-near, which is not given", "add --region-near CITY")
    if on and not like and not fleet:
        raise UserMistake.at("--on", "is about --like or --fleet, which are not given", "add --like OFFERING")
    within_km = 1000.0 if within_km is None else within_km
    bought = purchase_of(purchase) or Purchase.ON_DEMAND
    progress = ignore if json else warn
    of_fleet = FleetOptions(fleet, utilisation, metric, headroom, architecture, provider, region, study)
    if fleet:
        refuse({"--minimise": minimise, "--maximise": maximise, "--budget": budget, "--like": like,
                "--class": application, "--columns": columns, "--anonymise": anonymise,
                "--machines": machines != 1, "--adds": adds})  # fmt: skip
        request = of_fleet.request(
            require or (), on or (), near=near, within_km=within_km, confidence=confidence, spread=spread,
            allow_burstable=allow_burstable,
        )  # fmt: skip
        return answer(sources, request, bought, study=study, page=page, every=every, json=json)
    of_fleet.check_unused()
    if columns:
        if anonymise:
            raise UserMistake.at("--anonymise", "columns are shown with names as examples", "leave out --columns")
        _columns(sources, near, bought, (machines, adds or []), json=json)
        return EXIT_DONE
    asked = use_case.question(
        minimise, maximise, require or (), budget=budget, near=near, within_km=within_km, confidence=confidence,
        spread=spread, allow_burstable=allow_burstable, like=like, on=on or (), application=application,
        machines=machines, adds=adds or (),
    )  # fmt: skip
    found = use_case.recommend(sources, asked, purchase=bought, progress=progress, anonymise=anonymise)
    if page is not None:
        from cloudcmp.app.report import write_page

        write_page(found, page)
    if json:
        from cloudcmp.report import documents

        emit("recommend", documents.recommendation(found), found.notes)
    else:
        from cloudcmp.report.recommendation import show_recommendation

        show_recommendation(console(), found, every=every)
        if page is not None:
            say(str(page))
    return EXIT_DONE if found.choice is not None else EXIT_NO


def _columns(
    sources: list[str], near: str | None, purchase: "Purchase", several: tuple[int, list[str]], *, json: bool
) -> None:
    from cloudcmp.app.recommend import sold
    from cloudcmp.report.recommendation import columns_of, show_columns

    market = sold(sources, near=near, purchase=purchase, variation=None)
    if several[0] != 1:
        from cloudcmp.answer.choice.several import with_several

        market = with_several(market, *several)
    if json:
        emit("recommend", {"columns": columns_of(market)}, market.notes)
    else:
        show_columns(console(), market)
