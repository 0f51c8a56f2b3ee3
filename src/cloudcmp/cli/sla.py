"""`cloudcmp sla`: what samples prove of a service level, what downtime pays back, and which level is worth it."""

from pathlib import Path
from typing import Annotated

import typer

from cloudcmp.cli.options import Anonymise, Json, option
from cloudcmp.cli.output import EXIT_DONE, EXIT_NO, console, emit, ignore, say, warn


def sla(
    sources: Annotated[
        list[str] | None,
        typer.Argument(
            help="Watched samples, studies, or tables; none to plan a claim.", show_default=False, metavar="SOURCE..."
        ),
    ] = None,
    claim: Annotated[
        list[str] | None,
        option("--claim", "A service level, such as 'availability >= 99.9 % a month'; once for each.", "CLAIM"),
    ] = None,
    credits: Annotated[
        list[str] | None, option("--credits", "What a provider pays for downtime: see 'list credits'.", "TABLE")
    ] = None,
    bill: Annotated[str | None, option("--bill", "Your bill of one month, for --credits.", "'1200 USD'")] = None,
    utility: Annotated[
        Path | None, option("--utility", "Choose by what a level is worth to you, within a budget.", "FILE.yaml")
    ] = None,
    loss: Annotated[
        str | None, option("--loss", "What an hour of downtime loses: is a second copy worth it?", "'500 USD/h'")
    ] = None,
    one_zone: Annotated[str | None, option("--one-zone", "What one copy costs.", "'300 USD/month'")] = None,
    two_zones: Annotated[str | None, option("--two-zones", "What copies in two zones cost.", "'620 USD/month'")] = None,
    two_regions: Annotated[
        str | None, option("--two-regions", "What copies in two regions cost.", "'700 USD/month'")
    ] = None,
    availability: Annotated[
        str | None, option("--availability", "For --loss: of one zone, if nothing was watched.", "'99.5 %'")
    ] = None,
    every: Annotated[
        str | None, option("--every", "The interval of a table's samples; default: the median step.", "'60 s'")
    ] = None,
    unsigned: Annotated[
        bool, typer.Option("--unsigned", help="Also count samples of evidence that no watcher signed.")
    ] = False,
    confidence: Annotated[float, typer.Option("--confidence", metavar="P", help="How sure each bound is.")] = 0.95,
    page: Annotated[Path | None, option("--page", "Also write the answer as one HTML file.", "FILE")] = None,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Seed of resampled days.")] = 1,
    anonymise: Anonymise = False,
    json: Json = False,
) -> int:
    """Say what samples prove of a service level: met, broken, or cannot tell; and what it is worth in money.

    A table of watched samples has the columns time, ok, seconds, and bytes for throughput; of evidence of a watch,
    signed lines count. A claim bounds availability, response time or throughput (p99, mean, max), or any measurement of
    a study. The exit code is 1 if a claim is
    broken or undecided.

    Example: cloudcmp sla watch.csv --claim 'availability >= 99.9 % a month' --claim 'p99 <= 300 ms a month'

    Example: cloudcmp sla watch.csv --credits aws-ec2-region --bill '1200 USD'

    Example: cloudcmp sla --claim 'p99 <= 300 ms over 1 month'

    Example: cloudcmp sla DIR prices --utility utility.yaml
    """
    from cloudcmp.app import sla as use_case
    from cloudcmp.model.service_level import Standing

    question = use_case.SlaQuestion(
        tuple(claim or ()), every, tuple(credits or ()), bill, utility, loss, availability, one_zone, two_zones,
        two_regions, confidence, seed, unsigned, anonymise,
    )  # fmt: skip
    found = use_case.sla(sources or (), question, progress=ignore if json else warn)
    if page is not None:
        from cloudcmp.app.report import write_page

        write_page(found, page)
    if json:
        from cloudcmp.report.sla_documents import sla as document

        emit("sla", document(found), found.notes)
    else:
        from cloudcmp.report.sla import show_sla

        show_sla(console(), found)
        if page is not None:
            say(str(page))
    return EXIT_DONE if all(one.standing is Standing.MET for one in found.claims) else EXIT_NO
