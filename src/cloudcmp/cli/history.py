"""`cloudcmp history`: follows candidates over time."""

from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from cloudcmp.cli.options import Anonymise, Json, option
from cloudcmp.cli.output import console, emit, say
from cloudcmp.errors import UserMistake


class Point(StrEnum):
    """What a point of a history is."""

    DAY = "day"
    LAUNCH = "launch"


def history(
    sources: Annotated[
        list[str],
        typer.Argument(help="Folders of studies, or tables with times.", show_default=False, metavar="STUDY..."),
    ],
    metric: Annotated[
        list[str] | None, option("--metric", "Only this metric or cell; repeat it for several.", "CELL")
    ] = None,
    provider: Annotated[str | None, option("--provider", "Only candidates of this provider.", "NAME")] = None,
    application: Annotated[
        str | None, option("--class", "The metrics of a class of applications.", "voip|video-hd|...")
    ] = None,
    by: Annotated[Point, typer.Option("--by", help="What a point is.")] = Point.DAY,
    as_of: Annotated[
        str | None, option("--as-of", "Answer as on this day: later values are left out.", "YYYY-MM-DD")
    ] = None,
    figure: Annotated[Path | None, option("--figure", "Draw the series into this .svg or .png file.", "FILE")] = None,
    anonymise: Anonymise = False,
    json: Json = False,
) -> None:
    """Follow candidates over time: what changed, when and by how much, what to expect now, and which answer is old.

    Several studies of the same candidates are one history. A false change is found in at most 5 of 100 years of daily
    values.

    Example: cloudcmp history 2026-01 2026-02 2026-03 --metric triad_bytes_per_s --figure memory.svg

    Example: cloudcmp history studies.csv --provider azure --class voip
    """
    from cloudcmp.app.history import history as history_of
    from cloudcmp.model.history import By

    if figure is not None:
        _check_suffix(figure)
    found = history_of(
        sources, by=By(by.value), metrics=metric or (), provider=provider, as_of=_moment(as_of),
        application=application, anonymise=anonymise,
    )  # fmt: skip
    if figure is not None:
        from cloudcmp.report.charts.history import figure as drawn_of
        from cloudcmp.report.figures import write_figure

        write_figure(drawn_of(found), figure)
    if json:
        from cloudcmp.report import documents

        emit("history", documents.history(found), found.notes)
        return
    from cloudcmp.report.history import show_history

    show_history(console(), found)
    if figure is not None:
        say(str(figure))


def _check_suffix(path: Path) -> None:
    if path.suffix not in {".svg", ".png"}:
        raise UserMistake.at("--figure", f"{path} is neither .svg nor .png", "name a file that ends so")


def _moment(text: str | None) -> float | None:
    """The end of a day (UTC), or a time with its zone, as Unix time."""
    if text is None:
        return None
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        raise UserMistake.at("--as-of", f"{text!r} is no day", "write e.g. 2026-03-01") from None
    if len(text) == len("2026-03-01"):
        return at.replace(hour=23, minute=59, second=59, microsecond=999999, tzinfo=UTC).timestamp()
    return (at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp()
