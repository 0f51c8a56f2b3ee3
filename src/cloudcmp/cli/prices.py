"""`cloudcmp prices`: what is dear or cheap for what it is."""

from typing import Annotated

import typer

from cloudcmp.cli.options import Anonymise, Buying, Json, option, purchase_of
from cloudcmp.cli.output import console, emit, ignore, warn


def prices(
    sources: Annotated[
        list[str] | None,
        typer.Argument(
            help="Folders of studies, or tables of offerings; default: the price book.",
            show_default=False,
            metavar="[SOURCE...]",
        ),
    ] = None,
    on: Annotated[
        list[str] | None, option("--on", "A column, such as a score, that prices may follow.", "COLUMN")
    ] = None,
    purchase: Annotated[Buying | None, option("--purchase", "Use prices of this way to buy machines.")] = None,
    every: Annotated[bool, typer.Option("--all", help="Show all that are dear or cheap.")] = False,
    anonymise: Anonymise = False,
    json: Json = False,
) -> None:
    """List the offerings that are dear or cheap for what they are.

    Fits prices by vCPUs, memory, the columns of --on, and provider, each type in its cheapest region, and shows what is
    outside its 95 % interval. Burstable offerings are flagged and do not shape the fit.

    Example: cloudcmp prices offers.csv --on speed
    """
    from cloudcmp.app.prices import prices as fit
    from cloudcmp.model.price import Purchase

    bought = purchase_of(purchase) or Purchase.ON_DEMAND
    found = fit(sources or (), on or (), purchase=bought, progress=ignore if json else warn, anonymise=anonymise)
    if json:
        from cloudcmp.report import documents

        emit("prices", documents.price_model(found), found.notes)
        return
    from cloudcmp.report.prices import show_prices

    show_prices(console(), found, every=every)
