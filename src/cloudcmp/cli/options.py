"""Options that several verbs share, declared once."""

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cloudcmp.errors import UserMistake

if TYPE_CHECKING:
    from cloudcmp.model import price


def option(name: str, help: str, metavar: str | None = None) -> Any:
    """An option of a verb, without a default in its help text."""
    return typer.Option(name, metavar=metavar, help=help, show_default=False)


Json = Annotated[bool, typer.Option("--json", help="Print one JSON document instead of tables.")]
Quiet = Annotated[bool, typer.Option("--quiet", help="Print no progress; warnings and faults stay.")]
NoPager = Annotated[bool, typer.Option("--no-pager", help="Print a long answer at once, without $PAGER.")]
Folder = Annotated[Path, typer.Argument(help="A study's folder.", show_default=False)]
Adopt = Annotated[
    bool,
    typer.Option("--adopt", help="Accept a study that was made elsewhere as yours, from now on."),
]
Out = Annotated[Path | None, option("--out", "Where to write.")]
OutFile = Annotated[Path | None, option("--out", "File to write; replaces only a file of the same kind.")]
On = Annotated[str | None, option("--on", "Run every candidate on this provider instead.", "simulated|local")]
Short = Annotated[bool, typer.Option("--short", help="Smallest sizes, one run: to test a study; gives no verdicts.")]
Metric = Annotated[str | None, option("--metric", "Show only this metric or cell.", "CELL")]
Figures = Annotated[Path | None, option("--figures", "Write each figure as SVG and PNG, with its data as CSV.", "DIR")]
AllPairs = Annotated[
    bool,
    typer.Option("--all-pairs", help="With many candidates: verdicts on every pair, not only against the best."),
]
AllowBlocks = Annotated[
    bool, option("--allow-blocks", "Give verdicts on sides measured at different times, without common rounds.", "")
]
Reprice = Annotated[bool, typer.Option("--reprice", help="Use today's prices instead of the study's.")]


class Buying(StrEnum):
    """How machines are bought."""

    ON_DEMAND = "on-demand"
    SPOT = "spot"
    RESERVED = "reserved"


Purchase = Annotated[Buying | None, option("--purchase", "Show costs for this way to buy machines.")]
Terms = Annotated[Path | None, option("--terms", "Your account's terms, instead of the study's.", "FILE")]
WhatIf = Annotated[Path | None, option("--terms", "Show costs under an account's terms.", "FILE")]
IncludeIds = Annotated[
    bool,
    typer.Option("--include-ids", help="Show real public addresses, account and instance ids instead of pseudonyms."),
]
Anonymise = Annotated[
    bool, typer.Option("--anonymise", help="Replace names of providers, regions and offerings: C1, C1.DC1, C1.1.")
]
All = Annotated[bool, typer.Option("--all", help="Also show the cells that get no verdict.")]
Ca = Annotated[
    Path | None,
    typer.Option("--ca", metavar="FILE", envvar="CLOUDCMP_CA", show_envvar=False, show_default=False,
                 help="Also trust the certificate authorities in this PEM file ($CLOUDCMP_CA)."),
]  # fmt: skip
Seed = Annotated[int | None, option("--seed", "Seed of the random order and of simulated numbers.")]


def trust_also(ca: Path | None) -> None:
    """Trust the authorities of --ca, if any; raises UserMistake."""
    if ca is not None:
        from cloudcmp.provider.common.authorities import trust

        trust(ca)


def purchase_of(purchase: Buying | None) -> "price.Purchase | None":
    """The way to buy that an option names."""
    from cloudcmp.model.price import Purchase

    return Purchase(purchase.value) if purchase else None


def check_hidden(*, include_ids: bool, anonymise: bool) -> None:
    """Raises UserMistake if both real ids and new names are asked for."""
    if include_ids and anonymise:
        raise UserMistake.at("--anonymise", "real ids would name the providers", "leave out --include-ids")
