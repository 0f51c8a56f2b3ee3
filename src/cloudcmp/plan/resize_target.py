"""The target offering of a resize, and its price."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from cloudcmp.model.offering import Offering, Price
from cloudcmp.model.plan import Candidate

NEXT = "next"
_PRICED = {"market": "on-demand", "os": "linux", "tenancy": "shared"}
"""Options on which a type's price depends besides its name, with their defaults."""


def resize_price(candidate: Candidate, name: str, candidates: Sequence[Candidate]) -> Price | None:
    """The study's hourly price of a candidate's machine after a resize to another type; None if it has none.

    This is the candidate's own `resize_price`, else the price of a candidate of that type in the same region with the
    same options.
    """
    if candidate.resize_price is not None:
        return candidate.resize_price
    return next((one.offering.price for one in candidates if _alike(one, candidate, name)), None)


def list_prices_apply(candidate: Candidate) -> bool:
    """True if list prices, for Linux on shared machines, apply to a candidate or bound its spot price."""
    return all(_kind(candidate)[key] == _PRICED[key] for key in ("os", "tenancy"))


def target_of(candidate: Candidate, to: str, known: Sequence[Offering], candidates: Sequence[Candidate]) -> Offering:
    """The offering named `to`, with its price if it is known in the candidate's own currency.

    `next` is the cheapest of the larger ones, then one of its own family, then the smallest; if none is known to be
    larger, the result is an offering named `next`.
    """
    sold = candidate.offering
    if not list_prices_apply(candidate):
        known = [replace(one, price=None) if one.price and one.price.how else one for one in known]
    some = [_priced(one, resize_price(candidate, one.name, candidates)) for one in known]
    if to == NEXT:
        larger = (one for one in some if _larger(one, sold))
        target = min(larger, key=lambda one: _rank(one, sold), default=None)
    else:
        target = next((one for one in some if one.name == to), None)
    target = target or _priced(Offering(sold.provider, sold.region, to), resize_price(candidate, to, candidates))
    same = target.price is None or sold.price is None or target.price.currency == sold.price.currency
    return target if same else replace(target, price=None)


def unknown_price(candidate: Candidate, name: str) -> tuple[str, str]:
    """The fault of a resize target without a known price, and the advice."""
    currency = candidate.offering.price.currency if candidate.offering.price else "USD"
    what = f"no price in {currency} is known for {name}, which resize makes of {candidate.id}"
    own = f"write resize_price: 0.20 {currency}/h in that candidate"
    return what, f"{own}, or add a candidate of {name} with its price"


def unknown_price_notes(candidate: Candidate, becomes: Iterable[Offering]) -> list[str]:
    """Notes on why no cost is quoted for a candidate with a known price."""
    some = [one.name for one in becomes if one.price is None] if candidate.offering.price else []
    return [f"no cost is quoted: {'; '.join(unknown_price(candidate, name))}" for name in dict.fromkeys(some)]


def _alike(one: Candidate, candidate: Candidate, name: str) -> bool:
    """True if candidate `one` is of type `name` and its price applies to the other candidate after a resize to it."""
    there, here = one.offering, candidate.offering
    return (
        one.runner == candidate.runner
        and (there.provider, there.region, there.name) == (here.provider, here.region, name)
        and _kind(one) == _kind(candidate)
    )


def _kind(candidate: Candidate) -> dict[str, str]:
    return {**_PRICED, **{key: value for key, value in candidate.options if key in _PRICED}}


def _priced(one: Offering, price: Price | None) -> Offering:
    return one if price is None else replace(one, price=price)


def _larger(one: Offering, than: Offering) -> bool:
    """True if an offering is no smaller in any size and larger in one, with equal category, processor and region."""
    if (one.region, one.category, _processor(one)) != (than.region, than.category, _processor(than)):
        return False
    had = ((one.vcpus or 0.0, than.vcpus or 0.0), (one.memory_gib or 0.0, than.memory_gib or 0.0))
    return all(new >= old for new, old in had) and any(new > old for new, old in had)


def _processor(one: Offering) -> str | None:
    return dict(one.attributes).get("architecture")


def _rank(one: Offering, sold: Offering) -> tuple[float, bool, float, float, str]:
    """The sort key of targets: the cheapest first, then its own family, then the smallest; unknown prices last."""
    price = float(one.price.amount_per_hour) if one.price else float("inf")
    stranger = one.name.partition(".")[0] != sold.name.partition(".")[0]
    return price, stranger, one.vcpus or 0.0, one.memory_gib or 0.0, one.name
