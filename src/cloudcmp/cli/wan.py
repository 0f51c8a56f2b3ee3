"""`cloudcmp wan`: which provider reaches vantage points best."""

from pathlib import Path
from typing import Annotated

import typer

from cloudcmp.cli.options import Anonymise, Json, option
from cloudcmp.cli.output import console, emit, ignore, say, warn


def wan(
    sources: Annotated[
        list[str] | None,
        typer.Argument(
            help="RIPE Atlas results, tables of times, studies with wan_rtt_s, or Skyplane's round-trip times.",
            show_default=False,
            metavar="[SOURCE...]",
        ),
    ] = None,
    to: Annotated[
        list[str] | None,
        option("--to", "Look at it from this machine, now: URL, or PROVIDER/REGION=URL.", "URL"),
    ] = None,
    place: Annotated[str, typer.Option("--from", metavar="NAME", help="The name of this machine, with --to.")] = "here",
    count: Annotated[int, typer.Option("--count", metavar="N", help="Pages of each URL, with --to.")] = 10,
    out: Annotated[Path | None, option("--out", "Also write the times as a table, with --to.", "FILE.csv")] = None,
    vantages: Annotated[
        Path | None, option("--vantages", "Places and weights of vantage points, or RIPE Atlas's probes.", "FILE")
    ] = None,
    targets: Annotated[
        Path | None, option("--targets", "Which region a measured name or address belongs to.", "FILE")
    ] = None,
    over: Annotated[
        str, typer.Option("--over", metavar="TIME", help="A vantage point is far above this round trip.")
    ] = "100 ms",
    initial_window: Annotated[
        str,
        typer.Option("--initial-window", metavar="BYTES", help="What a server sends before it waits for the client."),
    ] = "14600 B",
    page: Annotated[Path | None, option("--page", "Also write the answer, with figures, as HTML.", "FILE")] = None,
    every: Annotated[bool, typer.Option("--all", help="Show all rows, not only the first.")] = False,
    anonymise: Anonymise = False,
    json: Json = False,
) -> None:
    """Compare how providers reach vantage points: lowest round trips, far places, mapping, times of pages.

    Each vantage point counts with its best region of each provider, and pairs the providers. A vantage point inside a
    provider's network does not count for that provider. Round trips that light in fibre could not make are left out.

    Example: cloudcmp wan times.csv --over '80 ms' --page reach.html

    With --to, this machine itself looks at URLs: a round trip and a page each, --count times.

    Example: cloudcmp wan atlas.json --vantages probes.json --targets targets.csv

    Example: cloudcmp wan --to https://one.example.org --to https://two.example.org --from stockholm --out look.csv
    """
    from cloudcmp.app import wan as use_case
    from cloudcmp.app import wan_look
    from cloudcmp.report.wide_area import show_wide_area, wide_area_document

    use_case.check_kind(sources or (), to or (), out)
    progress = ignore if json else warn
    if to:
        found = wan_look.look(wan_look.LookRequest(tuple(to), place, count, vantages), progress=progress)
    else:
        asked = use_case.WanRequest(tuple(sources or ()), vantages, targets, over, initial_window, anonymise)
        found = use_case.wan(asked, progress=progress)
    if out is not None:
        wan_look.save(found, out)
    if page is not None:
        from cloudcmp.app.report import write_page

        write_page(found, page)
    if json:
        emit("wan", wide_area_document(found), found.cautions)
        return
    show_wide_area(console(), found, every=every)
    for path in (out, page):
        if path is not None:
            say(str(path))
