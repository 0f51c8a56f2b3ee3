"""`cloudcmp fetch`: fetches price lists into the price book."""

from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cloudcmp.cli.options import Json, Quiet, option
from cloudcmp.cli.output import console, emit, folded, say, warn
from cloudcmp.errors import UserMistake

if TYPE_CHECKING:
    from cloudcmp.model.price import PriceListImport


def fetch(
    providers: Annotated[
        list[str] | None,
        typer.Argument(metavar="[PROVIDER...]", help="aws, azure, gcp or libcloud.", show_default=False),
    ] = None,
    region: Annotated[
        list[str] | None, option("--region", "Only this region; may be repeated; 'all': every one.", "REGION")
    ] = None,
    file: Annotated[
        list[Path] | None, option("--from", "Read this file instead; repeat it for more pages.", "FILE")
    ] = None,
    kind: Annotated[
        str | None, option("--as", "Format of the file: aws, azure, gcp, sparecores, libcloud, csv.", "KIND")
    ] = None,
    as_of: Annotated[str | None, option("--as-of", "Date of the file's prices, e.g. 2026-11-20.", "DATE")] = None,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Fetch price lists into the price book of this computer.

    A list is stored whole or not at all, with its date. A price that it does not state clearly stays unknown. Without
    --region, takes the regions of your settings (cloudcmp config regions).

    Example: cloudcmp fetch aws --region eu-central-1
    """
    from cloudcmp.app.fetch import fetch as fetch_lists
    from cloudcmp.app.settings import chosen_regions, regions_notes
    from cloudcmp.report import documents
    from cloudcmp.report.table import Head, table

    notes = []
    if file:
        taken = [_from_files(providers, file, kind, as_of)]
    else:
        if kind is not None or as_of is not None:
            raise UserMistake.at("cloudcmp fetch", "--as and --as-of describe a file", "name it with --from")
        regions, usual = chosen_regions(region or ())
        notes = regions_notes({name: usual[name] for name in providers or () if name in usual})
        for line in () if json else notes:
            warn(folded(line))
        step = None if json or quiet else warn
        taken = list(fetch_lists(providers or (), regions, progress=step, usual=usual))
    doubts = [one.line() for each in taken for one in each.first_doubts]
    if json:
        emit("fetch", [documents.price_list(one) for one in taken], [*notes, *doubts])
        return
    rows = [(one.kind, one.source, str(one.dated or "unknown"), f"{one.rows:,}", f"{one.doubts:,}",
             "again" if one.again else "new") for one in taken]  # fmt: skip
    table(console(), ("list", "from", "prices of", Head("prices"), Head("unknown"), "in the book"), rows)
    for line in doubts:
        warn(folded(f"unknown: {line}"))
    more = sum(one.doubts - len(one.first_doubts) for one in taken)
    if more:
        say(f"{more:,} more prices are unknown for similar reasons")


def _from_files(
    providers: list[str] | None, files: list[Path], kind: str | None, as_of: str | None
) -> "PriceListImport":
    from cloudcmp.app.fetch import kinds, take_in

    named = [kind] if kind else list(providers or ())
    if len(named) != 1:
        raise UserMistake.at("--from", "the format of the list is not given", f"add --as {'|'.join(kinds())}")
    try:
        day = date.fromisoformat(as_of) if as_of else None
    except ValueError:
        raise UserMistake.at("--as-of", f"{as_of!r} is no date", "write e.g. --as-of 2026-11-20") from None
    return take_in(named[0], files, as_of=day)
