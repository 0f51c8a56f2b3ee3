"""Finds the offerings that are dear or cheap for what they are."""

from collections.abc import Callable, Sequence

from cloudcmp.answer.choice.hedonic import PriceModel, price_model
from cloudcmp.app.recommend import BOOK, sold
from cloudcmp.model.price import Purchase


def prices(
    sources: Sequence[str], on: Sequence[str] = (), *, purchase: Purchase = Purchase.ON_DEMAND,
    progress: Callable[[str], None] = lambda _: None, anonymise: bool = False,
) -> PriceModel:  # fmt: skip
    """Fit the prices of some sources, those of `recommend`, by default the price book.

    `on` are further columns that an offering's price may follow; `anonymise` replaces names as `recommend` does.
    Raises UserMistake as `sold` and `price_model` do.
    """
    market = sold(sources or [BOOK], purchase=purchase, progress=progress)
    found = price_model(market, on)
    if not anonymise:
        return found
    from cloudcmp.report.anonymity import of_market

    return of_market(market.keys, sources).rewritten(found)
