"""`cloudcmp scale`: how many machines a load takes, by which policy, and for what money."""

from pathlib import Path
from typing import Annotated

import typer

from cloudcmp.cli.options import Anonymise, Buying, Json, option, purchase_of
from cloudcmp.cli.output import console, emit, ignore, warn


def scale(
    sources: Annotated[
        list[str],
        typer.Argument(
            help="Folders of studies, tables of offerings, or `prices` for the price book.",
            show_default=False,
            metavar="SOURCE...",
        ),
    ],
    load: Annotated[Path, option("--load", "The load: a table of times and requests per second.", "TRACE.csv")],
    capacity: Annotated[
        str, option("--capacity", "Requests per second of one machine: a number, or a measured column.", "250|METRIC")
    ],
    over: Annotated[
        str, typer.Option("--over", metavar="SHARE", help="The most requests that may be over target.")
    ] = "0.1 %",
    utilisation: Annotated[
        str, typer.Option("--utilisation", metavar="SHARE", help="Plan with this share of a machine's capacity.")
    ] = "70 %",
    watch: Annotated[
        str, typer.Option("--watch", metavar="TIME", help="How long a change of load is not seen.")
    ] = "60 s",
    cool_down: Annotated[
        str, typer.Option("--cool-down", metavar="TIME", help="Give machines back after this time without need.")
    ] = "5 min",
    launch_time: Annotated[
        str, typer.Option("--launch-time", metavar="drawn|p95|TIME", help="Launch times: drawn from measured ones.")
    ] = "drawn",
    owned_cost: Annotated[
        str | None, option("--owned-cost", "Also: how many machines of one's own pay, at this cost.", "'120 USD/month'")
    ] = None,
    purchase: Annotated[Buying | None, option("--purchase", "Use prices of this way to buy machines.")] = None,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Seed of the drawn launch times.")] = 1,
    anonymise: Anonymise = False,
    json: Json = False,
) -> None:
    """Replay a load through measured launch times, capacities and prices: what serves it for the least money.

    Fixed, reactive and scheduled numbers of machines are compared, each with as many idle machines as keep the requests
    over target below --over. A trace has the columns time (seconds or dates) and requests_per_s.

    Example: cloudcmp scale DIR --load trace.csv --capacity 250

    Example: cloudcmp scale DIR prices --load trace.csv --capacity tool_op_per_s --owned-cost '120 USD/month'
    """
    from cloudcmp.app import scale as use_case
    from cloudcmp.model.price import Purchase

    asked = use_case.ScaleQuestion(
        capacity, over=over, utilisation=utilisation, watch=watch, cool_down=cool_down, launch_time=launch_time,
        owned_cost=owned_cost, seed=seed,
    )  # fmt: skip
    found = use_case.scale(
        sources, load, asked, purchase=purchase_of(purchase) or Purchase.ON_DEMAND,
        progress=ignore if json else warn, anonymise=anonymise,
    )  # fmt: skip
    if json:
        from cloudcmp.report.scale_documents import scale as document

        emit("scale", document(found), found.notes)
        return
    from cloudcmp.report.scale import show_scale

    show_scale(console(), found)
