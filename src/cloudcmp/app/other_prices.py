"""Other prices for a study: today's, those of another way to buy, and those of an account's terms."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

from cloudcmp.app.plan import billing_of, offerings_of, quoted, read_terms
from cloudcmp.cost import account_pricing
from cloudcmp.cost import offering_prices as catalogue
from cloudcmp.cost.account_pricing import apply_terms
from cloudcmp.cost.account_terms import commitment_for, effective_per_hour
from cloudcmp.cost.parts import with_system
from cloudcmp.cost.rules import shares_of
from cloudcmp.cost.service_prices import with_service_prices
from cloudcmp.model.bill import BillLine, Use
from cloudcmp.model.offering import Price
from cloudcmp.model.plan import Candidate, Plan, Quote
from cloudcmp.model.price import Item, Purchase
from cloudcmp.model.terms import Commitment
from cloudcmp.plan import list_prices_apply
from cloudcmp.provider.registry import names

_AT_LIST = "costs are at list price, without the study's own terms: write the terms into a file for --terms"
# Sources of prices that users gave; no list has them.
_UNLISTED = {"study file", "imported"}
_Priced = tuple[Price | None, str]
"""A price, and a line that describes it or says why it is unknown."""


def priced(plan: Plan, *, reprice: bool, purchase: Purchase | None, terms: Path | None) -> Plan:
    """The plan at today's prices, for another way to buy, and under the terms of a file, with a note for each change.

    Raises UserMistake with every fault of the terms.
    """
    own = read_terms(terms) if terms else None
    plan = at_todays_prices(plan) if reprice else plan
    plan = replace(plan, terms=own) if own is not None else plan
    plan = bought(plan, purchase) if purchase else plan
    plan = under_terms(plan, terms.name, purchase) if terms else plan
    return with_note(plan, _AT_LIST) if plan.terms and not terms else plan


def with_note(plan: Plan, note: str) -> Plan:
    """The plan with one more note."""
    return replace(plan, quote=replace(plan.quote, notes=(*plan.quote.notes, note)))


def at_todays_prices(plan: Plan) -> Plan:
    """The plan at today's prices of providers and price lists; an offering that is no longer listed has no price.

    A price that the study itself gives stays.
    """
    return replace(plan, candidates=tuple(_with_todays_service(_repriced(one)) for one in plan.candidates))


def bought(plan: Plan, purchase: Purchase) -> Plan:
    """The plan at the prices of another way to buy, with a note for each candidate; numbers and intervals stay.

    On-demand and spot prices are as listed now; a spot price moves, so its date is shown. Reserved is the study's own
    commitment for the type, else the cheapest in a price list, at the hourly cost if every hour of its term is used.
    The note says from how many hours on it is cheaper than on demand.
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
    """The plan with its terms applied to each candidate's hourly price, and a note for each; `name` is the terms' file.

    If `purchase` is given, no further commitment applies. The quote's sum under the terms is known only if the price
    book still has the prices with which the study was planned.
    """
    if purchase is not None:
        plan = replace(plan, terms=replace(plan.terms, commitments=()))
    terms = plan.terms
    candidates, lines = [], [f"costs use the terms of {name}, not the study's own"]
    for one in plan.candidates:
        spot = dict(one.options).get("market") == "spot"
        way = purchase or (Purchase.SPOT if spot else Purchase.ON_DEMAND)
        found, line = apply_terms(one, terms, billing_of(one.offering.provider), way)
        candidates.append(found)
        lines.append(line)
    if terms.support or terms.credits:
        lines.append("costs exclude support plans and credits, which apply to a whole bill")
    notes = (*plan.quote.notes, *dict.fromkeys(lines))
    quote = replace(_quoted_under(plan), notes=notes)
    return replace(plan, candidates=tuple(candidates), quote=quote)


def _quoted_under(plan: Plan) -> Quote:
    """The plan's own quote, with the terms applied."""
    again = quoted(plan).quote if len(plan.usage) == len(plan.candidates) else None
    if again is None or again.expected_cost is None or again.expected_cost != plan.quote.expected_cost:
        why = "there is no quote" if plan.quote.expected_cost is None else "prices have changed since it was planned"
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


def _with_todays_service(candidate: Candidate) -> Candidate:
    """The candidate with today's unit prices of its service, if it has some of a price list."""
    if not any(price.name for price in candidate.unit_prices):
        return candidate
    return with_service_prices(replace(candidate, unit_prices=()))[0]


def _today(candidate: Candidate) -> Price | None:
    """The hourly on-demand price of a candidate's machine, by its provider or else the newest price list.

    A provider's offerings are priced for Linux on shared machines; any other kind is looked up as requested.
    """
    wanted = candidate.offering
    known = offerings_of(wanted.provider, wanted.region) if list_prices_apply(candidate) else ()
    for offering in known:
        if (offering.region, offering.name) == (wanted.region, wanted.name) and offering.price is not None:
            return offering.price
    return catalogue.price(replace(candidate, offering=replace(wanted, price=None)))[0].offering.price


def _on_demand(candidate: Candidate) -> _Priced:
    own = candidate.offering.price
    if own is not None and own.source in _UNLISTED and dict(candidate.options).get("market") != "spot":
        return own, f"on demand, as the study says: {_described(own)}"
    price = _today(candidate)
    return price, f"on demand: {_described(price)}" if price else "on demand: no price is known"


def _spot(candidate: Candidate) -> _Priced:
    price, why = catalogue.price_for_purchase(candidate, Purchase.SPOT)
    if price is None:
        return None, f"spot: no price is known ({why})"
    dated = f"of {price.as_of}" if price.as_of else "without a date"
    return price, f"spot: {_described(price)}, the price {dated}, which changes"


def _reserved(plan: Plan, candidate: Candidate) -> _Priced:
    own = _own(plan, candidate) or catalogue.commitment_of(candidate)
    if own is None:
        return None, "reserved: no price is known, neither in the study's terms nor in a price list"
    each, hour = effective_per_hour(own), _on_demand(candidate)[0]
    price = Price(each.amount, each.currency, f"{own.purchase.value} for {own.term_months} months")
    if hour is None or hour.currency != each.currency:
        known = f"{price.source}: {each.amount:.6g} {each.currency}/h if it runs all the time"
        return price, f"{known}; no on-demand price is known to compare with"
    sold = candidate.offering
    monthly = shares_of(sold.provider, sold.name) if hour.source not in _UNLISTED else ()
    return price, account_pricing.describe(own, hour.amount_per_hour, monthly)


def _own(plan: Plan, candidate: Candidate) -> Commitment | None:
    sold = candidate.offering
    use = Use(sold.provider, sold.region, Item.INSTANCE, sold.name)
    return commitment_for(with_system(use, candidate), plan.terms)


def _described(price: Price) -> str:
    return f"{price.amount_per_hour:.6g} {price.currency}/h ({price.source})"
