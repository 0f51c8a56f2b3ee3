"""Options that several verbs share, declared once."""

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from cloudcmp.model import price


def option(name: str, help: str, metavar: str | None = None) -> Any:
    """An option of a verb that shows no default: without it nothing is chosen."""
    return typer.Option(name, metavar=metavar, help=help, show_default=False)


Json = Annotated[bool, typer.Option("--json", help="Print one JSON document in place of tables.")]
Folder = Annotated[Path, typer.Argument(help="A study's folder.", show_default=False)]
Adopt = Annotated[
    bool,
    typer.Option("--adopt", help="Act on a study that was made elsewhere: what it names is believed from now on."),
]
Out = Annotated[Path | None, option("--out", "Where to write.")]
OutFile = Annotated[Path | None, option("--out", "The file to write; one that is there is replaced only by its like.")]
On = Annotated[str | None, option("--on", "Let that provider stand in for each candidate.", "simulated|local")]
Short = Annotated[bool, typer.Option("--short", help="Smallest sizes, one run: to try a study out, not to decide.")]
Metric = Annotated[str | None, option("--metric", "Show only this metric or cell.", "CELL")]
Figures = Annotated[Path | None, option("--figures", "Write each figure as SVG and PNG, with its data as CSV.", "DIR")]
Reprice = Annotated[bool, typer.Option("--reprice", help="Use today's prices in place of the study's own.")]


class Buying(StrEnum):
    """How machines are bought."""

    ON_DEMAND = "on-demand"
    SPOT = "spot"
    RESERVED = "reserved"


Purchase = Annotated[Buying | None, option("--purchase", "Figures of cost as if machines were bought so.")]
Terms = Annotated[Path | None, option("--terms", "Your account's terms, in place of the study's.", "FILE")]
WhatIf = Annotated[Path | None, option("--terms", "Figures of cost under an account's terms.", "FILE")]
IncludeIds = Annotated[
    bool, typer.Option("--include-ids", help="Public addresses, account and instance ids as they are, not pseudonyms.")
]
All = Annotated[bool, typer.Option("--all", help="Show also the cells that get no verdict.")]
Seed = Annotated[int | None, option("--seed", "Seed of the order and of simulated numbers.")]


def purchase_of(purchase: Buying | None) -> "price.Purchase | None":
    """The way to buy that an option names."""
    from cloudcmp.model.price import Purchase

    return Purchase(purchase.value) if purchase else None
