"""Other prices in place of a study's own: today's, those of another way of buying, or those under other terms."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from cloudcmp.app.plan import billing_of, offerings_of, quoted
from cloudcmp.cost import commitment
from cloudcmp.cost import offering_prices as catalogue
from cloudcmp.cost.account_pricing import apply_terms
from cloudcmp.cost.account_terms import commitment_for, effective_per_hour
from cloudcmp.cost.parts import as_rented
from cloudcmp.cost.rules import shares_of
from cloudcmp.model.bill import BillLine, Use
from cloudcmp.model.offering import Price
from cloudcmp.model.plan import Candidate, Plan, Quote
from cloudcmp.model.price import Item, Purchase
from cloudcmp.model.terms import Commitment
from cloudcmp.plan import as_listed_for
from cloudcmp.provider.registry import names

# Sources of prices that people gave: nobody lists them.
_UNLISTED = {"study file", "imported"}
_Priced = tuple[Price | None, str]
"""A price, and a line that says what it is or why it is not known."""


def reprice(plan: Plan) -> Plan:
    """The plan with the prices that providers and price lists tell now; one that is not listed any more is unknown.

    A price that the study itself gave stays: nobody lists it.
    """
    return replace(plan, candidates=tuple(map(_repriced, plan.candidates)))


def bought(plan: Plan, purchase: Purchase) -> Plan:
    """The plan as if its machines were bought so, with a note for each candidate; numbers and intervals stay.

    On demand and spot are as listed now: a spot price moves, and bears its date. Reserved is the study's own
    commitment of that type, else the cheapest that a price list has for it, at what an hour costs if every hour of its
    term is used; from how many hours on it is cheaper than on demand is said in words.
    """
    price_of: dict[Purchase, Callable[[Candidate], _Priced]] = {
        Purchase.ON_DEMAND: _on_demand, Purchase.SPOT: _spot, Purchase.RESERVED: partial(_reserved, plan)
    }  # fmt: skip
    candidates, lines = [], []
    for one in plan.candidates:
        price, line = price_of[purchase](one)
        candidates.append(replace(one, offering=replace(one.offering, price=price)))
        lines.append(f"{one.id}: {line}")
    notes = (*plan.quote.notes, *dict.fromkeys(lines))
    return replace(plan, candidates=tuple(candidates), quote=replace(plan.quote, notes=notes))


def under_terms(plan: Plan, name: str, purchase: Purchase | None = None) -> Plan:
    """The plan with what its terms, of a file of that name, make of each candidate's hour, and a note for each.

    What is bought in a way that was asked for is covered by no further commitment. The quote's sum under the terms is
    told only where the price book still says of the rest of it what it said when the study was planned.
    """
    if purchase is not None:
        plan = replace(plan, terms=replace(plan.terms, commitments=()))
    terms = plan.terms
    candidates, lines = [], [f"figures of cost are under the terms of {name}, not the study's own"]
    for one in plan.candidates:
        spot = dict(one.options).get("market") == "spot"
        way = purchase or (Purchase.SPOT if spot else Purchase.ON_DEMAND)
        found, line = apply_terms(one, terms, billing_of(one.offering.provider), way)
        candidates.append(found)
        lines.append(line)
    if terms.support or terms.credits:
        lines.append("support plans and credits are in no figure of cost: they are of a whole bill")
    notes = (*plan.quote.notes, *dict.fromkeys(lines))
    quote = replace(_quoted_under(plan), notes=notes)
    return replace(plan, candidates=tuple(candidates), quote=quote)


def _quoted_under(plan: Plan) -> Quote:
    """The plan's own quote, with what the terms make of it."""
    again = quoted(plan).quote if len(plan.stays) == len(plan.candidates) else None
    if again is None or again.expected_cost is None or again.expected_cost != plan.quote.expected_cost:
        why = "there is no quote" if plan.quote.expected_cost is None else "prices are others than when it was planned"
        return replace(plan.quote, own=(BillLine("your terms", None, "", None, None, why),), with_terms=None)
    return replace(plan.quote, own=again.own, with_terms=again.with_terms)


def _repriced(candidate: Candidate) -> Candidate:
    offering, volume = candidate.offering, candidate.volume
    if offering.price is None or offering.provider not in names():
        return candidate
    if volume is not None and volume.price is not None and volume.price.source not in _UNLISTED:
        bare = replace(candidate, volume=replace(volume, price=None))
        candidate = replace(candidate, volume=catalogue.price(bare)[0].volume)
    if offering.price.source in _UNLISTED:
        return candidate
    return replace(candidate, offering=replace(offering, price=_today(candidate)))


def _today(candidate: Candidate) -> Price | None:
    """What a candidate's machine costs an hour on demand, by its provider or else by the newest price list.

    What a provider offers is priced for Linux on shared machines: any other kind is looked up as it is asked for.
    """
    wanted = candidate.offering
    known = offerings_of(wanted.provider, wanted.region) if as_listed_for(candidate) else ()
    for offering in known:
        if (offering.region, offering.name) == (wanted.region, wanted.name) and offering.price is not None:
            return offering.price
    return catalogue.price(replace(candidate, offering=replace(wanted, price=None)))[0].offering.price


def _on_demand(candidate: Candidate) -> _Priced:
    own = candidate.offering.price
    if own is not None and own.source in _UNLISTED and dict(candidate.options).get("market") != "spot":
        return own, f"on demand, as the study says: {_told(own)}"
    price = _today(candidate)
    return price, f"on demand: {_told(price)}" if price else "on demand: no price is known"


def _spot(candidate: Candidate) -> _Priced:
    price, why = catalogue.price_bought(candidate, Purchase.SPOT)
    if price is None:
        return None, f"spot: no price is known ({why})"
    dated = f"of {price.as_of}" if price.as_of else "without a date"
    return price, f"spot: {_told(price)}, the price {dated}, which moves"


def _reserved(plan: Plan, candidate: Candidate) -> _Priced:
    own = _own(plan, candidate) or catalogue.commitment_of(candidate)
    if own is None:
        return None, "reserved: no price is known, neither in the study's terms nor in a price list"
    each, hour = effective_per_hour(own), _on_demand(candidate)[0]
    price = Price(each.amount, each.currency, f"{own.purchase.value} for {own.term_months} months")
    if hour is None or hour.currency != each.currency:
        known = f"{price.source}: {each.amount:.6g} {each.currency}/h if it runs all the time"
        return price, f"{known}; no price on demand is known to set beside it"
    sold = candidate.offering
    monthly = shares_of(sold.provider, sold.name) if hour.source not in _UNLISTED else ()
    return price, commitment.describe(own, hour.amount_per_hour, monthly)


def _own(plan: Plan, candidate: Candidate) -> Commitment | None:
    sold = candidate.offering
    use = Use(sold.provider, sold.region, Item.INSTANCE, sold.name)
    return commitment_for(as_rented(use, candidate), plan.terms)


def _told(price: Price) -> str:
    return f"{price.amount_per_hour:.6g} {price.currency}/h ({price.source})"
