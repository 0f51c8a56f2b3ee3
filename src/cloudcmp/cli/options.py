"""Options that several verbs share, declared once."""

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from cloudcmp.model import price

Json = Annotated[bool, typer.Option("--json", help="Print one JSON document in place of tables.")]
Folder = Annotated[Path, typer.Argument(help="A study's folder.", show_default=False)]
Adopt = Annotated[
    bool,
    typer.Option("--adopt", help="Act on a study that was made elsewhere: what it names is believed from now on."),
]
Out = Annotated[Path | None, typer.Option("--out", help="Where to write.", show_default=False)]
OutFile = Annotated[
    Path | None,
    typer.Option("--out", help="The file to write; one that is there is replaced only by its like.",
                 show_default=False),
]  # fmt: skip
On = Annotated[
    str | None,
    typer.Option(
        "--on", metavar="simulated|local", help="Let that provider stand in for each candidate.", show_default=False
    ),
]
Short = Annotated[bool, typer.Option("--short", help="Smallest sizes, one run: to try a study out, not to decide.")]
Metric = Annotated[
    str | None,
    typer.Option("--metric", metavar="CELL", help="Show only this metric or cell.", show_default=False),
]
Figures = Annotated[
    Path | None,
    typer.Option(
        "--figures", metavar="DIR", help="Write each figure as SVG and PNG, with its data as CSV.", show_default=False
    ),
]
Reprice = Annotated[bool, typer.Option("--reprice", help="Use today's prices in place of the study's own.")]


class Buying(StrEnum):
    """How machines are bought."""

    ON_DEMAND = "on-demand"
    SPOT = "spot"
    RESERVED = "reserved"


Purchase = Annotated[
    Buying | None,
    typer.Option("--purchase", help="Figures of cost as if machines were bought so.", show_default=False),
]
Terms = Annotated[
    Path | None,
    typer.Option("--terms", metavar="FILE", help="Your account's terms, in place of the study's.", show_default=False),
]
WhatIf = Annotated[
    Path | None,
    typer.Option("--terms", metavar="FILE", help="Figures of cost under an account's terms.", show_default=False),
]
IncludeIds = Annotated[
    bool, typer.Option("--include-ids", help="Public addresses, account and instance ids as they are, not pseudonyms.")
]
All = Annotated[bool, typer.Option("--all", help="Show also the cells that get no verdict.")]
Seed = Annotated[
    int | None, typer.Option("--seed", help="Seed of the order and of simulated numbers.", show_default=False)
]


def purchase_of(purchase: Buying | None) -> "price.Purchase | None":
    """The way to buy that an option names."""
    from cloudcmp.model.price import Purchase

    return Purchase(purchase.value) if purchase else None
