"""What a machine becomes when it is resized, and what that costs."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from cloudcmp.model.offering import Offering, Price
from cloudcmp.model.plan import Candidate

NEXT = "next"
_PRICED = {"market": "on-demand", "os": "linux", "tenancy": "shared"}
"""What a type's price depends on beside its name, and what holds where nothing is said."""


def price_of_resized(candidate: Candidate, name: str, candidates: Sequence[Candidate]) -> Price | None:
    """What the study says that a candidate's machine costs an hour as another type; None where it says nothing.

    That is the candidate's own `resize_price`, else the price of a candidate of that type in the same region and of the
    same kind.
    """
    if candidate.resize_price is not None:
        return candidate.resize_price
    return next((one.offering.price for one in candidates if _alike(one, candidate, name)), None)


def as_listed_for(candidate: Candidate) -> bool:
    """Whether prices of lists, for Linux on shared machines, are a candidate's own, or bound it on the spot market."""
    return all(_kind(candidate)[key] == _PRICED[key] for key in ("os", "tenancy"))


def target_of(candidate: Candidate, to: str, known: Sequence[Offering], candidates: Sequence[Candidate]) -> Offering:
    """The offering that `to` names, with what it costs as far as that is known in the candidate's own currency.

    `next` is the cheapest of the larger ones, then one of its own family, then the smallest; the offering `next` itself
    where none is known to be larger.
    """
    sold = candidate.offering
    if not as_listed_for(candidate):
        known = [replace(one, price=None) if one.price and one.price.how else one for one in known]
    some = [_priced(one, price_of_resized(candidate, one.name, candidates)) for one in known]
    if to == NEXT:
        larger = (one for one in some if _larger(one, sold))
        found = min(larger, key=lambda one: _rank(one, sold), default=None)
    else:
        found = next((one for one in some if one.name == to), None)
    found = found or _priced(Offering(sold.provider, sold.region, to), price_of_resized(candidate, to, candidates))
    same = found.price is None or sold.price is None or found.price.currency == sold.price.currency
    return found if same else replace(found, price=None)


def unpriced(candidate: Candidate, name: str) -> tuple[str, str]:
    """That nobody says what a type costs which a machine becomes, and what to write."""
    currency = candidate.offering.price.currency if candidate.offering.price else "USD"
    what = f"no price in {currency} is known for {name}, which resize makes of {candidate.id}"
    own = f"write resize_price: 0.20 {currency}/h in that candidate"
    return what, f"{own}, or add a candidate of {name} with its price"


def unpriced_notes(candidate: Candidate, becomes: Iterable[Offering]) -> list[str]:
    """Why no cost is quoted for a candidate whose own price is known."""
    some = [one.name for one in becomes if one.price is None] if candidate.offering.price else []
    return [f"no cost is quoted: {'; '.join(unpriced(candidate, name))}" for name in dict.fromkeys(some)]


def _alike(one: Candidate, candidate: Candidate, name: str) -> bool:
    """Whether a candidate is what another one becomes under that name, as far as a price goes."""
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
    """Whether an offering has no less of anything and more of something, of the same kind, processor and region."""
    if (one.region, one.category, _processor(one)) != (than.region, than.category, _processor(than)):
        return False
    had = ((one.vcpus or 0.0, than.vcpus or 0.0), (one.memory_gib or 0.0, than.memory_gib or 0.0))
    return all(new >= old for new, old in had) and any(new > old for new, old in had)


def _processor(one: Offering) -> str | None:
    return dict(one.attributes).get("architecture")


def _rank(one: Offering, sold: Offering) -> tuple[float, bool, float, float, str]:
    """The cheapest first, then its own family, then the smallest; an unknown price comes last."""
    price = float(one.price.amount_per_hour) if one.price else float("inf")
    stranger = one.name.partition(".")[0] != sold.name.partition(".")[0]
    return price, stranger, one.vcpus or 0.0, one.memory_gib or 0.0, one.name
