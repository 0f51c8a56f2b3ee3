"""The verb that brings price lists: fetch."""

from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cloudcmp.cli.options import Json
from cloudcmp.cli.output import console, emit, folded, say, warn
from cloudcmp.errors import UserMistake

if TYPE_CHECKING:
    from cloudcmp.app.price_lists import AcceptedList

_SHOWN = 3


def fetch(
    providers: Annotated[
        list[str] | None,
        typer.Argument(metavar="[PROVIDER...]", help="aws, azure or gcp; or libcloud.", show_default=False),
    ] = None,
    region: Annotated[
        list[str] | None,
        typer.Option("--region", metavar="REGION", help="Only this region; may be repeated.", show_default=False),
    ] = None,
    file: Annotated[
        list[Path] | None,
        typer.Option("--from", metavar="FILE", help="Read this file instead; repeat it for pages.", show_default=False),
    ] = None,
    kind: Annotated[
        str | None,
        typer.Option("--as", metavar="KIND", help="What the file is: aws, azure, gcp, sparecores, libcloud, csv.",
                     show_default=False),
    ] = None,
    as_of: Annotated[
        str | None,
        typer.Option("--as-of", metavar="DATE", help="The day of the file's prices, e.g. 2026-11-20.",
                     show_default=False),
    ] = None,
    json: Json = False,
) -> None:  # fmt: skip
    """Fetch price lists into the price book of this computer.

    A list is taken in whole or not at all, and kept with its date. What it does not tell surely is left unknown.

    Example: cloudcmp fetch aws --region eu-central-1
    """
    from cloudcmp.cost import offering_prices as catalogue

    if file:
        taken = [_from_files(catalogue, providers, file, kind, as_of)]
    else:
        if kind is not None or as_of is not None:
            raise UserMistake.at("cloudcmp fetch", "--as and --as-of are of a file", "name it with --from")
        from cloudcmp.app import fetch as fetching

        taken = list(fetching.fetch(providers or (), region or (), progress=None if json else warn))
    doubts = [one.line() for each in taken for one in each.kept.first]
    if json:
        emit("fetch", [as_data(one) for one in taken], doubts)
        return
    from cloudcmp.report.table import Head, table

    rows = [(one.kind, one.source, str(one.dated or "unknown"), f"{one.kept.rows:,}", f"{one.kept.doubts:,}",
             "again" if one.kept.again else "new") for one in taken]  # fmt: skip
    table(console(), ("list", "from", "prices of", Head("prices"), Head("unknown"), "in the book"), rows)
    for line in doubts:
        warn(folded(f"unknown: {line}"))
    more = sum(one.kept.doubts - len(one.kept.first) for one in taken)
    if more:
        say(f"{more:,} more prices are unknown for such reasons")


def _from_files(
    catalogue: Any, providers: list[str] | None, files: list[Path], kind: str | None, as_of: str | None
) -> "AcceptedList":
    named = [kind] if kind else list(providers or ())
    if len(named) != 1:
        raise UserMistake.at("--from", "what kind of list it is is not said", f"add --as {'|'.join(catalogue.kinds())}")
    try:
        day = date.fromisoformat(as_of) if as_of else None
    except ValueError:
        raise UserMistake.at("--as-of", f"{as_of!r} is no date", "write e.g. --as-of 2026-11-20") from None
    return catalogue.take_in(named[0], files, as_of=day)  # type: ignore[no-any-return]


def as_data(one: "AcceptedList") -> dict[str, Any]:
    """A list that was taken, as the JSON document's data."""
    return {
        "kind": one.kind,
        "source": one.source,
        "how": one.how,
        "dated": one.dated,
        "sha256": one.sha256,
        "bytes": one.bytes,
        "rows": one.kept.rows,
        "types": one.kept.sold,
        "unknown": one.kept.doubts,
        "again": one.kept.again,
    }
