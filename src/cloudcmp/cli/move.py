"""`cloudcmp predict move`: money and days to bring data in, refresh them and leave again."""

from pathlib import Path
from typing import Annotated

import typer

from cloudcmp.cli.options import Anonymise, Json, option
from cloudcmp.cli.output import console, emit, ignore, warn


def move(
    size: Annotated[str, option("--size", "How much is moved.", "'50 TB'")],
    to: Annotated[str, option("--to", "The region that the data go to.", "PROVIDER/REGION")],
    sources: Annotated[
        list[str] | None,
        typer.Argument(
            help="Measured throughput: tables, or folders of studies. Or give --rate.",
            show_default=False,
            metavar="[SOURCE...]",
        ),
    ] = None,
    origin: Annotated[
        str | None, option("--from", "Where they are: a region, or a vantage point of a source.", "PLACE")
    ] = None,
    refresh: Annotated[str | None, option("--refresh", "What is renewed regularly.", "'100 GB/day'")] = None,
    months: Annotated[float | None, option("--months", "Refresh for so long; 12 if not given.", "N")] = None,
    rate: Annotated[
        str | None, option("--rate", "Throughput into the region, in place of a measured one.", "'1 Gbit/s'")
    ] = None,
    rate_out: Annotated[str | None, option("--rate-out", "The same out of the region.", "'1 Gbit/s'")] = None,
    egress: Annotated[str | None, option("--egress", "The price of a GB that leaves a region.", "CSV|prices")] = None,
    ingress: Annotated[
        str | None, option("--ingress", "The price of a GB that enters the region.", "none|'0.02 USD/GB'")
    ] = None,
    object_size: Annotated[
        str | None, option("--object", "Also count requests, for objects of this size.", "'8 MB'")
    ] = None,
    put: Annotated[str | None, option("--put", "The price of write requests.", "none|'0.005 USD/1000'")] = None,
    get: Annotated[str | None, option("--get", "The price of read requests.", "none|'0.0004 USD/1000'")] = None,
    disks: Annotated[
        Path | None, option("--disks", "Devices that are shipped, instead of the provider's.", "CSV")
    ] = None,
    anonymise: Anonymise = False,
    json: Json = False,
) -> None:
    """Predict the days and the money to bring data into a region, to refresh them, and to leave again.

    Times have the interval of the measured throughput. Beside the link: devices that are shipped, with the throughput
    and the size above which they are quicker or cheaper.

    Example: cloudcmp predict move throughput.csv --size '50 TB' --from gcp/us-east1 --to aws/us-east-1

    Example: cloudcmp predict move --size '20 TB' --to aws/eu-west-1 --rate '500 Mbit/s' --refresh '50 GB/day'
    """
    from cloudcmp.app import move as use_case

    asked = use_case.MoveRequest(
        size=size, to=to, origin=origin, refresh=refresh, months=months, rate=rate, rate_out=rate_out, egress=egress,
        ingress=ingress, object_size=object_size, put=put, get=get, disks=disks,
        anonymise=anonymise,
    )  # fmt: skip
    found, notes = use_case.predict_move(sources or (), asked, progress=ignore if json else warn)
    if json:
        from cloudcmp.report.move import document

        emit("predict-move", document(found), [*notes, *found.cautions])
    else:
        from cloudcmp.report.move import show_move

        show_move(console(), found, notes)
