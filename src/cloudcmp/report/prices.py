"""Prints a hedonic fit: what is dear or cheap for what it is, and what a price follows."""

from collections.abc import Sequence

from rich.console import Console

from cloudcmp.answer.choice.hedonic import PricedOffer, PriceModel
from cloudcmp.report.table import Head, say, table

_SHOWN = 8
_FLAGS = {True: "burstable", False: "", None: "?"}
_NOTE = (
    "ratio: price against the expected one; usual: 95 % of single prices, so about one in twenty is outside by chance; "
    "?: not known to be burstable or not"
)


def show_prices(console: Console, found: PriceModel, *, every: bool = False) -> None:
    """Print the dear and the cheap offerings and the terms of the fit; `every` shows all of them."""
    if found.simulated:
        say(console, "SIMULATED: planted prices", "yellow")
    dear = [one for one in found.dear if not one.burstable]
    cheap = [one for one in found.cheap if not one.burstable]
    burst = [one for one in (*found.cheap, *found.dear) if one.burstable]
    say(console, f"{len(dear)} offerings are dear for what they are, {len(cheap)} are cheap, of {len(found.offers):,}.",
        "bold")  # fmt: skip
    columns = f"{', '.join(found.columns)} and provider"
    say(console, f"Fitted to {found.n:,} offerings by {columns}: two thirds of prices lie within "
        f"{(found.typical - 1) * 100:.0f} %, {found.explained * 100:.1f} % of their variance is explained.",
        "dim")  # fmt: skip
    titled = [("Cheap for what it is", cheap), ("Dear for what it is", dear)]
    titled += [("Burstable, outside the fit", burst)] if every else []
    for title, some in titled:
        if some:
            say(console, "")
            _offers(console, found, some if every else some[:_SHOWN], f"{title}: {len(some):,}")
    if burst and not every:
        say(console, f"{len(burst)} burstable ones are outside too, because they sell a share: --all shows them", "dim")
    say(console, _NOTE, "dim")
    say(console, "")
    _terms(console, found)
    for text in (*(f"left out: {one}" for one in found.left_out), *found.notes):
        say(console, text, "dim")


def _offers(console: Console, found: PriceModel, some: Sequence[PricedOffer], title: str) -> None:
    rows = [[str(one.key), f"{one.price:.4g}", f"{one.bounds.low:.3g} to {one.bounds.high:.3g}", f"×{one.ratio:.2f}",
             _FLAGS[one.burstable]] for one in some]  # fmt: skip
    heads: list[str | Head] = ["offering", Head(f"{found.currency}/h"), Head("usual"), Head("ratio"), "flag"]
    if not any(row[-1] for row in rows):
        heads, rows = heads[:-1], [row[:-1] for row in rows]
    table(console, heads, rows, title=title)


def _terms(console: Console, found: PriceModel) -> None:
    rows = []
    for one in found.terms:
        ends = f"{one.bounds.low:.3g} to {one.bounds.high:.3g}"
        rows.append([one.name, f"×{one.value:.3g}" if one.is_provider else f"^{one.value:.3g}", ends])
    note = f"^: the price grows with this power of the column; ×: level against {found.base}, all else equal"
    table(console, ["price follows", Head("by"), Head("95 % interval")], rows, title="What a price follows", note=note)
